"""An environment without a sandbox, for tests of what plays it.

An action is looked up by its first word: ``fail`` prints and is invalid, ``break`` raises a sandbox
error, ``bug`` raises something else; anything else is echoed. An episode is worth 1 if the last
action is the task's gold, else 0.5.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from intercode.errors import SandboxError, TaskError
from intercode.rewards.score import Score
from intercode.tasks.model import Task


def make_task(name: str = "t", gold: str = "good", **more: Any) -> Task:
    return Task(id=name, env="bash", instruction=f"do {name}", gold=gold, **more)


class ScriptedEnv:
    def __init__(self) -> None:
        self.closed = False
        self.seeds: list[int | None] = []
        self.threads: set[int] = set()
        self.task: Task | None = None
        self.last = ""

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        self.threads.add(threading.get_ident())
        self.seeds.append(seed)
        self.task = (options or {})["task"]
        self.last = ""
        if self.task.gold == "unscorable":
            raise TaskError("its set-up fails")
        return self.task.instruction, {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self.threads.add(threading.get_ident())
        if action.startswith("submit"):
            score = self.score()
            return "", score.reward, True, False, {"action_executed": True, "score": score}
        if action.startswith("skip"):
            return "", 0.0, True, False, {"action_executed": True}
        word = action.partition(" ")[0]
        if word == "break":
            raise SandboxError("the sandbox broke")
        if word == "bug":
            raise ZeroDivisionError("in the environment")
        self.last = action
        valid = word != "fail"
        info = {"action_executed": valid, "exit_code": 0 if valid else 1, "timed_out": False}
        return f"ran {action}", 0.0, False, word == "cut", info

    def score(self) -> Score:
        assert self.task is not None
        right = self.last == self.task.gold
        return Score(1.0 if right else 0.5, {"base": 0.5, "answer": 0.5 * right})

    def close(self) -> None:
        self.closed = True


class Speaker:
    """An agent that says the same words in every episode, whatever it is shown."""

    def __init__(self, *words: str) -> None:
        self.words = words
        self.seen: list[tuple[str, float]] = []

    def start(self, task: Task) -> None:
        self._left = iter(self.words)

    def act(self, observation: str, reward: float, info: Mapping[str, Any]) -> str:
        self.seen.append((observation, reward))
        return next(self._left, "submit")
