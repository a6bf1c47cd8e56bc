"""Capture the Flag: an episode that ends with the right flag, or with too many wrong ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from intercode.envs.base import Rehearsal
from intercode.envs.sandboxed import SandboxedEnv
from intercode.errors import TaskError, UsageError
from intercode.rewards import ctf
from intercode.rewards.score import Score
from intercode.sandboxes.base import Sandbox
from intercode.tasks.model import Dataset, Task


class FlagEnv(SandboxedEnv):
    """``attempts`` is how many wrong submissions end an episode, 0 for never. Without a submission
    an episode is worth nothing, whatever was done; so is `score` without one. What happens in the
    sandbox is no part of the score, and the flag is no part of the sandbox.
    """

    kind: ClassVar[str] = "ctf"
    options: ClassVar[tuple[str, ...]] = ("attempts",)
    usual_attempts: ClassVar[int]

    _wrong = 0

    def __init__(
        self,
        dataset: str | Dataset = "bundled:ctf",
        *,
        attempts: int | None = None,
        **options: Any,
    ) -> None:
        """``options``: those of `SandboxedEnv`."""
        if attempts is not None and (not isinstance(attempts, int) or attempts < 0):
            raise UsageError(f"attempts cannot be {attempts!r}", remedy="a number, 0 for no limit")
        super().__init__(dataset, **options)
        self.attempts = self.usual_attempts if attempts is None else attempts

    @property
    def left(self) -> int | None:
        """Wrong submissions that the episode still allows; None: any number."""
        return self.attempts - self._wrong if self.attempts else None

    def _begin(self, task: Task) -> None:
        self._wrong = 0
        super()._begin(task)

    def _open(self, task: Task) -> Sandbox:
        return self._runtime.sandbox(self._runtime.image(self.dataset, task), self.limits)

    def _judged(self, submission: str) -> Score:
        if not self.task.gold:
            raise TaskError(f"task {self.task.id!r} has no flag to be scored by")
        return self._verdict(submission)

    def _verdict(self, submission: str) -> Score:
        """Whether it is the task's flag."""
        raise NotImplementedError

    def _submitted(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        score = self._judged(action)
        over = score.success
        if not over:
            self._wrong += 1
            over = self.left == 0
            self._last = self._refusal(score)
            self._transcript.append(self._last)
        if over:
            self._stop()
        info = {"action_executed": True, "score": score, "wrong_submissions": self._wrong}
        return self._last, score.reward, over, False, info

    def _refusal(self, score: Score) -> str:
        """What a wrong submission is answered with, when it has been counted."""
        raise NotImplementedError

    def rehearse(self) -> Rehearsal:
        """The task's own solution, where it has one; the flag submitted is the one it printed. Else
        whether the programs that solving it takes are there."""
        facts = self.task.metadata
        observation = ""
        info: Mapping[str, Any] = {}
        for action in facts.get("solution", ()) or [_looking_for(facts.get("needs", ()))]:
            observation, _, _, _, info = self.step(action)
        solved = "solution" in facts
        found = ctf.find(observation, self.task.gold) if solved else self.task.gold
        return Rehearsal(observation, info, f"submit {found or ''}".strip())

    def _memory(self) -> Any:
        return self._wrong, super()._memory()

    def _recall(self, memory: Any) -> None:
        self._wrong, rest = memory
        super()._recall(rest)

    def _around(self, sandbox: Sandbox) -> FlagEnv:
        twin = super()._around(sandbox)
        assert isinstance(twin, FlagEnv)
        twin.attempts = self.attempts
        return twin


def _looking_for(needs: Sequence[str]) -> str:
    """A command that complains, as Bash does, of each program that is missing. ``python3:NAME`` is
    one of Python's modules."""
    lacking = "echo 'bash: {}: command not found'"
    return "\n".join(f"{_test(name)} || {lacking.format(name)}" for name in needs) or "true"


def _test(name: str) -> str:
    program, colon, module = name.partition(":")
    return (
        f"{program} -c 'import {module}' 2> /dev/null"
        if colon
        else f"command -v {name} > /dev/null"
    )
