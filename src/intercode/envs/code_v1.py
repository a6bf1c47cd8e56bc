"""`intercode/Code-v1`: programs in the language of the task, compiled and run in a sandbox."""

from __future__ import annotations

import posixpath
import re
from typing import Any, ClassVar

from intercode.envs.code_grading import judged
from intercode.envs.code_toolchain import WORK, Toolchain, prove, toolchain
from intercode.envs.lasting_shell import OBSERVATION_BYTES
from intercode.envs.sandboxed import SandboxedEnv
from intercode.rewards import code
from intercode.rewards.score import Score
from intercode.sandboxes.base import CommandResult, Image, Limits, Sandbox
from intercode.tasks.languages import language_spec
from intercode.tasks.model import Dataset, Task
from intercode.tasks.sources.code_tests import CodeSpec

LIMITS = Limits(memory_mib=1024, disk_mib=512)
"""Compilers need more than a command of Bash does."""
MAX_SOURCE_BYTES = 1 << 20

_NAMED = re.compile(r"\s*(?://|#|--|/\*)\s*file:\s*(\S+)\s*(?:\*/)?\s*(?:\n|\Z)")


class CodeV1(SandboxedEnv):
    """See the module, and `InteractiveEnv` for the interface.

    An action is the text of a program. It is kept as a file in ``/work``, compiled where the
    language is, and run there, with ``input.txt`` as its standard input if there is such a file.
    With a first line ``// file: NAME`` (or ``#``, ``--``) the rest is written to that file and not
    run. ``submit`` scores the last program, or the file that the task asks for; ``submit FILE``
    that file. All files stay for the episode; only the submitted text leaves it.
    """

    kind: ClassVar[str] = "code"
    idle: ClassVar[str] = ""

    _program: str | None = None
    _tools: Toolchain | None = None

    def __init__(
        self,
        dataset: str | Dataset = "bundled:code",
        *,
        limits: Limits | None = None,
        **options: Any,
    ) -> None:
        """``options``: those of `SandboxedEnv`."""
        super().__init__(dataset, limits=limits or LIMITS, **options)

    def _begin(self, task: Task) -> None:
        self._program = None
        spec = CodeSpec.from_mapping(task.reward, task=task.id)
        super()._begin(task)
        self._tools = toolchain(self.sandbox, language_spec(spec.language))
        self.sandbox.run(["mkdir", "-p", WORK])

    def _image(self, task: Task) -> Image:
        return self._runtime.image(self.dataset, task)

    def _open(self, task: Task) -> Sandbox:
        return self._runtime.sandbox(self._image(task), self.limits)

    def _execute(self, action: str) -> tuple[str, dict[str, Any]]:
        if not action.strip():
            return "", {"action_executed": True, "exit_code": 0}
        if named := _NAMED.match(action):
            body = action[named.end() :].encode("utf-8", "replace")
            problem = self._write(named[1], body)
            note = problem or f"[wrote {len(body)} bytes to {_place(named[1])}]\n"
            return note, {"action_executed": not problem}
        assert self._tools is not None
        self._program = action
        file = self._tools.language.file
        source = action.encode("utf-8", "replace")
        if self._write(file, source):
            self.sandbox.run(["rm", "-rf", _place(file)])  # a program has put something else there
            if problem := self._write(file, source):
                return problem, {"action_executed": False}
        built = self._tools.compiled(self.sandbox, file)
        if built is not None and (built.exit_code != 0 or built.timed_out):
            return _shown("", built, "the compiler"), _facts(built)
        result = self._tools.run(
            self.sandbox, file, timeout_s=self.limits.timeout_s, most=OBSERVATION_BYTES
        )
        return _shown(built.output if built else "", result, "the program"), _facts(result)

    def _write(self, name: str, body: bytes) -> str:
        """Why a file cannot be written, or nothing."""
        try:
            self.sandbox.write_file(_place(name), body)
        except (OSError, ValueError) as error:
            said = getattr(error, "strerror", None) or str(error)
            return f"[{_place(name)} cannot be written: {said}]\n"
        return ""

    def _judged(self, submission: str) -> Score:
        spec = CodeSpec.from_mapping(self.task.reward, task=self.task.id)
        name = submission.removeprefix("submit").strip() or spec.file
        if name:
            try:
                with self.sandbox.paused():
                    source = self.sandbox.read_file(_place(name), max_bytes=MAX_SOURCE_BYTES + 1)
            except (OSError, ValueError):
                return code.nothing(f"there is no file {_place(name)}")
        elif self._program is None:
            return code.nothing("no program was run")
        else:
            source = self._program.encode("utf-8", "replace")
        if len(source) > MAX_SOURCE_BYTES:
            return code.nothing(f"a program may have {MAX_SOURCE_BYTES >> 20} MiB")
        image = self._image(self.task)
        score = judged(spec, source, lambda: self._runtime.pool.borrowed(image, self.limits))
        if score.reward == 0:  # is that the program's doing?
            key = ("code-v1", spec.language, image, self.limits)
            self._runtime.gold(key, lambda: self._prove(spec.language, image))
        return score

    def _prove(self, language: str, image: Image) -> None:
        with self._runtime.pool.borrowed(image, self.limits) as sandbox:
            prove(sandbox, language_spec(language))

    def _memory(self) -> Any:
        return self._program, self._tools

    def _recall(self, memory: Any) -> None:
        self._program, self._tools = memory


def _place(name: str) -> str:
    return posixpath.normpath(posixpath.join(WORK, name))


def _shown(said: str, result: CommandResult, who: str) -> str:
    """What the agent sees: the compiler's words, the output, and how it ended."""
    text = said + result.output
    note = ""
    if result.timed_out:
        note = f"[{who} timed out after {result.duration_s:.0f} s and was killed]\n"
    elif result.exit_code != 0:
        note = f"[{who} ended with exit code {result.exit_code}]\n"
    return text + ("\n" if note and text and not text.endswith("\n") else "") + note


def _facts(result: CommandResult) -> dict[str, Any]:
    return {
        "action_executed": result.exit_code == 0,
        "exit_code": result.exit_code,
        "timed_out": result.timed_out,
        "truncated": result.truncated,
    }
