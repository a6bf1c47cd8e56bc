"""`intercode/Python-v2`: an interpreter as one knows it, and tests that the agent cannot reach.

Actions arrive as they were written. ``submit NAME`` submits what NAME stands for, plain ``submit``
the function that the tests call. Where the tests are of a program and not of a function, the
program is the last action's text.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar

from intercode.envs import python_scoring
from intercode.envs.python import OBSERVATION_BYTES, PythonEnv
from intercode.rewards import python_v2
from intercode.rewards.score import Score
from intercode.sandboxes.base import CommandResult, Sandbox
from intercode.sandboxes.pool import Prepare

_PATH = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*\Z")


def _ready(sandbox: Sandbox) -> None:
    sandbox.interpreter("python").start()


class PythonV2(PythonEnv):
    """See the module, and `InteractiveEnv` for the interface.

    What is tested is what the agent's actions define when all since the interpreter's last start
    are done again, failed ones included (they may have defined something before they failed), in
    an interpreter that has never seen the agent. So files that they write are written again; what
    depends on time or chance may come out otherwise.
    """

    idle: ClassVar[str] = "pass"

    def _set_out(self) -> None:
        self._defining: list[tuple[str, bool]] = []
        if self._spec.given:
            self._do(self._spec.given)

    def _prepare(self) -> Prepare:
        return _ready

    def _execute(self, action: str) -> tuple[str, dict[str, Any]]:
        self._history.append(action)
        if "\0" in action:
            return "[an action cannot hold a NUL byte]\n", {"action_executed": False}
        result = self._do(action)
        timed_out = result.timed_out or result.exit_code == 124
        return _observed(result, timed_out), {
            "action_executed": result.exit_code == 0,
            "exit_code": result.exit_code,
            "timed_out": timed_out,
            "truncated": result.truncated,
        }

    def _do(self, action: str) -> CommandResult:
        result = self._interpreter().run(action, max_output_bytes=OBSERVATION_BYTES)
        self._defining.append((action, result.exit_code == 124))
        if result.restarted:
            survived = result.restarted == "it took no more actions"
            self._defining = [(self._spec.given, False)] if self._spec.given else []
            if self._spec.given:
                self._interpreter().run(self._spec.given)
            if survived:
                self._defining.append((action, result.exit_code == 124))
        return result

    def _again(self, done: Any) -> None:
        self._execute(done)

    def _judged(self, submission: str) -> Score:
        spec = self._spec
        name = submission.removeprefix("submit").strip() or spec.entry_point
        program = self._history[-1] if self._history else ""
        if spec.style in ("stdin", "source"):
            name = None
            if not program:
                return python_v2.nothing("nothing was executed", spec.count)
        elif name is None:
            return python_v2.nothing("no function is named", spec.count)
        elif not _PATH.match(name):
            return python_v2.nothing(f"{name!r} is not a name", spec.count)
        found = python_scoring.verdicts(
            self._runtime,
            self._image(self.task),
            self.limits,
            spec,
            self._defining,
            name,
            program,
        )
        return python_v2.score(found, function=name)

    def _memory(self) -> Any:
        return list(self._history), list(self._defining)

    def _recall(self, memory: Any) -> None:
        self._history, self._defining = list(memory[0]), list(memory[1])


def _observed(result: CommandResult, timed_out: bool) -> str:
    """What the agent sees: the output, and what it could not know from it."""
    notes = []
    if timed_out:
        notes.append(f"timed out after {result.duration_s:.0f} s")
    if result.restarted:
        why = "" if result.restarted == "it timed out" else f"{result.restarted}: "
        notes.append(f"{why}the interpreter was started again, and what was defined is gone")
    if not notes:
        return result.output
    newline = "" if not result.output or result.output.endswith("\n") else "\n"
    return f"{result.output}{newline}[{'; '.join(notes)}]\n"
