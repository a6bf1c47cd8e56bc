"""One environment for a dataset whose tasks are of several kinds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from intercode.envs.base import EnvSnapshot, InteractiveEnv
from intercode.errors import UsageError
from intercode.rewards.score import Score
from intercode.tasks.model import Task


class RoutedEnv:
    """Plays each task in the environment of its kind, made when the first such task comes.

    `reset` has to name the task. It closes what it has made.
    """

    def __init__(self, make: Callable[[str], InteractiveEnv]) -> None:
        self._make = make
        self._envs: dict[str, InteractiveEnv] = {}
        self._now: InteractiveEnv | None = None

    @property
    def current(self) -> InteractiveEnv:
        """The environment of the episode that was begun last."""
        if self._now is None:
            raise UsageError("there is no episode yet", remedy="call reset() first")
        return self._now

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        task = (options or {}).get("task")
        if not isinstance(task, Task):
            raise UsageError("reset: name the task", remedy='options={"task": a Task}')
        if task.env not in self._envs:
            self._envs[task.env] = self._make(task.env)
        self._now = self._envs[task.env]
        return self._now.reset(seed=seed, options=options)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        return self.current.step(action)

    def score(self, submission: str = "submit") -> Score:
        return self.current.score(submission)

    def fork(self, count: int = 1) -> list[InteractiveEnv]:
        return self.current.fork(count)

    def snapshot(self) -> EnvSnapshot:
        return self.current.snapshot()

    def restore(self, snapshot: EnvSnapshot) -> None:
        self.current.restore(snapshot)

    def close(self) -> None:
        for env in self._envs.values():
            env.close()

    def __getattr__(self, name: str) -> Any:
        """What only some kinds have, of the one that is being played."""
        return getattr(self.current, name)
