"""What both Python environments share: an interpreter that lasts, and its history."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from intercode.envs.base import InteractiveEnv, Rehearsal
from intercode.envs.sandboxed import SandboxedEnv
from intercode.sandboxes.base import Image, Sandbox
from intercode.sandboxes.languages import Interpreter
from intercode.sandboxes.pool import Prepare
from intercode.tasks.model import Task
from intercode.tasks.sources.python_tests import TestSpec

OBSERVATION_BYTES = 1 << 16


class PythonEnv(SandboxedEnv):
    """An episode is what was done in it, action by action.

    No process can move to another sandbox, and few objects can be written down. So a snapshot is
    the episode's history, and `fork` and `restore` do all of it again in a fresh sandbox: any
    object comes back, and so do files, at the cost of the actions (of one that timed out, a second
    at most). What is drawn at random without a seed, or read off a clock, comes out anew.
    """

    kind: ClassVar[str] = "python"

    def _begin(self, task: Task) -> None:
        self._history: list[Any] = []
        self._spec = TestSpec.from_mapping(task.reward, task=task.id)
        super()._begin(task)
        self._set_out()

    def _set_out(self) -> None:
        """Give a fresh interpreter what the task begins with."""

    def _image(self, task: Task) -> Image:
        return self._runtime.image(self.dataset, task)

    def _open(self, task: Task) -> Sandbox:
        return self._runtime.sandbox(self._image(task), self.limits, self._prepare())

    def _prepare(self) -> Prepare:
        """What is done to sandboxes ahead of an episode: have the interpreter ready."""
        raise NotImplementedError

    def _interpreter(self) -> Interpreter:
        return self.sandbox.interpreter("python")

    def _again(self, done: Any) -> None:
        """Do once more an entry of the history."""
        raise NotImplementedError

    def _saved(self) -> Any:
        return tuple(self._history)

    def _go_back(self, state: Any) -> None:
        self._end()
        self._begin(self.task)
        for done in state:
            self._again(done)
        self._history = list(state)

    def _forked(self, count: int) -> Sequence[InteractiveEnv]:
        twins: list[PythonEnv] = []
        try:
            for _ in range(count):
                twin = self._around(None)
                twins.append(twin)
                twin._task = self.task
                twin._go_back(self._saved())
        except BaseException:
            for twin in twins:
                twin.close()
            raise
        return twins

    def _around(self, sandbox: Sandbox | None) -> Any:
        twin = type(self)(self.dataset, limits=self.limits, runtime=self._runtime)
        twin._sandbox = sandbox
        return twin

    def rehearse(self) -> Rehearsal:
        observation, _, _, _, info = self.step(self.task.gold)
        return Rehearsal(observation, info, golden_submission(self.task))


def golden_submission(task: Task) -> str:
    """What submits the gold once it has been executed."""
    name = task.reward.get("entry_point")
    return f"submit {name}" if name else "submit"
