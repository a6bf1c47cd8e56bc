"""`intercode/Bash-v2`: actions arrive as they were written, in one shell that lasts."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, get_args

from intercode.envs.bash_v1 import is_volatile
from intercode.envs.lasting_shell import OBSERVATION_BYTES, LastingShell
from intercode.errors import TaskError, UsageError
from intercode.rewards import archives, bash_v2
from intercode.rewards.score import Score
from intercode.sandboxes.base import Image, Sandbox
from intercode.tasks.model import Dataset, Task

_MAX_LOOKED_AT = 256
"""How many changed files are asked whether they are archives,"""
_MAX_ARCHIVES = 32
"""and how many of those are looked into."""


class BashV2(LastingShell):
    """See the module, and `InteractiveEnv` for the interface.

    ``judge`` says when an episode is solved. ``lenient``, the default, accepts the gold's answer
    in other dress too (``ls -l`` where the gold says ``ls``); ``strict`` wants the same text, up to
    spacing and order where neither is asked for. Both want the same files. Lenient is the default
    because it misses far fewer right answers and takes no more answers to other questions for
    right, as ``benchmarks/alfa_classifier.py`` measures; a score names both verdicts.
    """

    kind: ClassVar[str] = "bash"
    options: ClassVar[tuple[str, ...]] = ("judge",)

    _began_ns = 0

    def __init__(
        self,
        dataset: str | Dataset = "bundled",
        *,
        judge: bash_v2.Judge = "lenient",
        **options: Any,
    ) -> None:
        """``options``: those of `SandboxedEnv`."""
        judges = get_args(bash_v2.Judge)
        if judge not in judges:
            raise UsageError(f"there is no judge {judge!r}", remedy=f"one of {', '.join(judges)}")
        super().__init__(dataset, **options)
        self.judge = judge

    def _image(self, task: Task) -> Image:
        return self._runtime.image(self.dataset, task)

    def _open(self, task: Task) -> Sandbox:
        self._began_ns = time.time_ns()
        return self._runtime.sandbox(self._image(task), self.limits)

    def _scored(self) -> Score:
        sandbox, best = self.sandbox, Score(-1.0)
        with sandbox.paused():
            agent = _seen(sandbox, self._output, self._began_ns)
            for command in (self.task.gold, *self.task.alternatives):
                gold = self._gold(command)
                score = bash_v2.score(
                    replace(agent, canonical=_canonical(sandbox, agent, gold)),
                    gold,
                    instruction=self.task.instruction,
                    command=command,
                    judge=self.judge,
                )
                best = max(best, score, key=lambda score: score.reward)
                if best.success:
                    break
        return best

    def _gold(self, gold: str) -> bash_v2.Outcome:
        task, image = self.task, self._image(self.task)
        if is_volatile(task, gold):
            return self._run_gold(task, gold, image)
        key = ("bash-v2", task.content_hash, gold, image, self.limits)
        return self._runtime.gold(key, lambda: self._run_gold(task, gold, image))

    def _run_gold(self, task: Task, gold: str, image: Image) -> bash_v2.Outcome:
        with self._runtime.pool.borrowed(image, self.limits) as sandbox:
            began_ns = time.time_ns()
            result = self._fresh_shell(sandbox, task).run(gold, max_output_bytes=OBSERVATION_BYTES)
            if result.timed_out or result.restarted:
                why = result.restarted or "it timed out"
                raise TaskError(f"the gold of task {task.id!r} does not run to its end: {why}")
            with sandbox.paused():
                gold_outcome = _seen(sandbox, result.output, began_ns)
                return replace(gold_outcome, canonical=_canonical(sandbox, gold_outcome))

    def _memory(self) -> Any:
        return super()._memory(), self._began_ns

    def _recall(self, memory: Any) -> None:
        output, self._began_ns = memory
        super()._recall(output)

    def _around(self, sandbox: Sandbox) -> BashV2:
        twin = super()._around(sandbox)
        assert isinstance(twin, BashV2)
        twin.judge = self.judge
        return twin


def _seen(sandbox: Sandbox, output: str, began_ns: int) -> bash_v2.Outcome:
    return bash_v2.Outcome(output, tuple(sandbox.changes()), span=(began_ns, time.time_ns()))


def _canonical(
    sandbox: Sandbox, outcome: bash_v2.Outcome, gold: bash_v2.Outcome | None = None
) -> Mapping[str, str]:
    """Digests of what changed archives hold; with a gold, only where its bytes are others."""
    changed = [c for c in outcome.changes if c.digest and c.size <= archives.MAX_BYTES]
    if gold is not None:
        bytes_of = {c.path: c.digest for c in gold.changes if c.path in gold.canonical}
        changed = [c for c in changed if bytes_of.get(c.path, c.digest) != c.digest]
    found: dict[str, str] = {}
    for change in changed[:_MAX_LOOKED_AT]:
        with contextlib.suppress(OSError):  # what cannot be read is compared by its bytes
            data = sandbox.read_file(change.path, max_bytes=archives.HEAD_BYTES)
            if archives.is_archive(data) and len(found) < _MAX_ARCHIVES:
                data = sandbox.read_file(change.path, max_bytes=archives.MAX_BYTES + 1)
                if digest := archives.digest(data):
                    found[change.path] = digest
    return found
