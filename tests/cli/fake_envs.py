"""Environments without sandboxes, in the place of the real ones.

An action prints itself. An episode is worth 1 if the last action is the gold, else 0.5; one whose
gold is ``break`` meets a broken sandbox.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from intercode.errors import SandboxError
from intercode.rewards.score import Score
from intercode.tasks.model import Dataset, FileSystem, Task


class FakeEnv:
    def __init__(self) -> None:
        self.closed = False
        self.task: Task | None = None
        self.last = ""

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        self.task, self.last = (options or {})["task"], ""
        return self.task.instruction, {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        if action.startswith("submit"):
            score = self.score()
            return self.last, score.reward, True, False, {"action_executed": True, "score": score}
        if action.startswith("skip"):
            return "", 0.0, True, False, {"action_executed": True}
        if action == "break":
            raise SandboxError("the sandbox broke")
        self.last = action
        valid = not action.startswith("fail")
        info = {"action_executed": valid, "exit_code": 0 if valid else 3, "timed_out": False}
        return f"ran {action}\n", 0.0, False, False, info

    def score(self) -> Score:
        assert self.task is not None
        right = float(self.last == self.task.gold)
        return Score(0.5 + right / 2, {"base": 0.5, "answer": right / 2})

    def close(self) -> None:
        self.closed = True


class Workshop:
    """Stands for ``environment_factory`` and remembers what it was asked for."""

    def __init__(self, make: Callable[[], FakeEnv] = FakeEnv) -> None:
        self.make = make
        self.asked: list[dict[str, Any]] = []
        self.envs: list[FakeEnv] = []

    @contextlib.contextmanager
    def __call__(
        self, env_id: str, dataset: Dataset, **more: Any
    ) -> Iterator[Callable[[], FakeEnv]]:
        self.asked.append({"env_id": env_id, "tasks": len(dataset), **more})
        yield self._one

    def _one(self) -> FakeEnv:
        self.envs.append(self.make())
        return self.envs[-1]


def install(
    monkeypatch: pytest.MonkeyPatch, folder: Path, make: Callable[[], FakeEnv] = FakeEnv
) -> Workshop:
    """Puts the fakes in place: environments, a dataset ``six`` of six tasks, an empty folder."""
    workshop = Workshop(make)
    monkeypatch.chdir(folder)
    monkeypatch.setattr("intercode.envs.registration.environment_factory", workshop)
    monkeypatch.setattr("intercode.tasks.registry.load", load)
    return workshop


def load(name: str, *, path: Path | None = None) -> Dataset:
    """``six``, or ``broken``: the same with a third task that cannot be done."""
    golds = ["g0", "g1", "break" if name == "broken" else "g2", "g3", "g4", "g5"]
    tasks = tuple(
        Task(
            id=f"t/{n}",
            env="bash",
            instruction=f"do [{n}]",
            gold=gold,
            file_system=f"fs_{n % 2 + 1}",
            metadata={"flags": ("clock",)} if n == 5 else {},
        )
        for n, gold in enumerate(golds)
    )
    systems = {f"fs_{n}": FileSystem(f"fs_{n}") for n in (1, 2)}
    return Dataset(name, tasks, systems)
