"""Agents that need no model: they prove that tasks, environments and rewards are sound."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from intercode.agents.base import SUBMIT
from intercode.errors import TaskError
from intercode.tasks.model import Task


class ScriptedAgent:
    """Sends what ``script`` gives for a task, action by action, then submits."""

    def __init__(self, script: Callable[[Task], Sequence[str]]) -> None:
        self._script = script
        self._actions: Iterator[str] = iter(())

    def start(self, task: Task) -> None:
        self._actions = iter(self._script(task))

    def act(self, observation: str, reward: float, info: Mapping[str, Any]) -> str:
        return next(self._actions, SUBMIT)


class GoldAgent(ScriptedAgent):
    """Does what the task's author would do: its score is the highest that can be asked for."""

    def __init__(self) -> None:
        super().__init__(_golden)


def _golden(task: Task) -> Sequence[str]:
    """A gold is an action, but for a flag, which is what to submit; a function is named."""
    if task.env == "ctf":
        return (f"{SUBMIT} {task.gold}",)
    function = task.reward.get("entry_point") if task.env == "python" else None
    return (task.gold, f"{SUBMIT} {function}") if function else (task.gold,)


class NoopAgent(ScriptedAgent):
    """Submits at once: its score is what doing nothing is worth."""

    def __init__(self) -> None:
        super().__init__(lambda task: ())


class ReplayAgent(ScriptedAgent):
    """Repeats recorded actions; ``actions`` finds those of a task, or None.

    :raises TaskError: on ``start``, for a task without recorded actions.
    """

    def __init__(self, actions: Callable[[Task], Sequence[str] | None]) -> None:
        def recorded(task: Task) -> Sequence[str]:
            found = actions(task)
            if found is None:
                raise TaskError(f"task {task.id!r}: no actions are recorded for it")
            return found

        super().__init__(recorded)
