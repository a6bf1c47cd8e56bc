"""What was recorded of agents at work, whoever recorded it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from intercode.tasks.model import Task


@dataclass(frozen=True)
class RecordedTurn:
    """An action with its observation; ``valid`` is the environment's word on it, as recorded."""

    action: str
    observation: str
    reward: float | None = None
    valid: bool | None = None
    thought: str | None = None


@dataclass(frozen=True)
class RecordedEpisode:
    """One task's turns.

    ``source`` is the name of the dataset's file that ``task_index`` counts in, ``task_id`` ours,
    each where recorded. ``turns_taken`` is what the recording itself says, which for ReAct may be
    one less than there are turns. ``info`` is as recorded.
    """

    task_index: int
    instruction: str
    turns: tuple[RecordedTurn, ...]
    max_reward: float
    gold: str | None = None
    task_id: str | None = None
    source: str | None = None
    hardness: str | None = None
    turns_taken: int | None = None
    turns_max: int | None = None
    info: Any = None

    @property
    def solved(self) -> bool:
        return self.max_reward == 1.0


@dataclass(frozen=True)
class Recording:
    """A file of episodes. ``kind`` is ``multi-turn``, ``react``, ``plan-solve``, ``human`` or
    ``run``; ``environment`` is None where nothing tells it."""

    path: Path
    kind: str
    environment: str | None
    episodes: tuple[RecordedEpisode, ...]
    meta: Mapping[str, Any] = field(default_factory=dict)

    @property
    def solved(self) -> int:
        return sum(episode.solved for episode in self.episodes)

    @property
    def success_rate(self) -> float | None:
        return self.solved / len(self.episodes) if self.episodes else None

    @property
    def mean_max_reward(self) -> float | None:
        return _mean([episode.max_reward for episode in self.episodes])

    @property
    def mean_turns(self) -> float | None:
        """Over the episodes that say how many turns they took."""
        return _mean([e.turns_taken for e in self.episodes if e.turns_taken is not None])

    def find(self, task: Task) -> RecordedEpisode | None:
        """The episode of that task: by our id, else by instruction. Where several share the
        instruction, place in the dataset's file decides."""
        if task.id in self._by_id:
            return self._by_id[task.id]
        wanted = (task.metadata.get("index"), task.metadata.get("source"))

        def likeness(episode: RecordedEpisode) -> tuple[bool, bool]:
            return episode.source == wanted[1], episode.task_index == wanted[0]

        same = self._by_instruction.get(_plain(task.instruction), [])
        return max(same, key=likeness, default=None)

    @cached_property
    def _by_id(self) -> Mapping[str, RecordedEpisode]:
        return {e.task_id: e for e in self.episodes if e.task_id is not None}

    @cached_property
    def _by_instruction(self) -> Mapping[str, list[RecordedEpisode]]:
        found: dict[str, list[RecordedEpisode]] = {}
        for episode in self.episodes:
            if episode.instruction and episode.task_id is None:
                found.setdefault(_plain(episode.instruction), []).append(episode)
        return found


def _plain(instruction: str) -> str:
    return " ".join(instruction.split())


def _mean(values: list[float] | list[int]) -> float | None:
    return sum(values) / len(values) if values else None
