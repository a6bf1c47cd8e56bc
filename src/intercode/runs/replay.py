"""Doing again what was recorded: every action of an old run, in our environment, turn by turn.

The strongest test of an environment there is: where rewards agree on thousands of turns of real
agents, it means the same. Where they do not, each disagreement is named by what lies behind it.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

from intercode.agents.recording import RecordedEpisode, RecordedTurn, Recording
from intercode.errors import DatasetError, InterCodeError
from intercode.runs.causes import Comparison, cause_of
from intercode.runs.episode import Environment
from intercode.tasks.model import Dataset, Task

_EPSILON = 1e-9
NOT_CODE = "Error executing query: Your last `execute` action did not contain bash code"
"""What ReAct's wrapper answered, in the environment's place, to an action of another form."""


@dataclass(frozen=True)
class Disagreement:
    """One turn whose reward came out otherwise. ``turn`` counts from 0."""

    task: str
    turn: int
    action: str
    published: float
    replayed: float | None
    cause: str
    same_observation: bool


@dataclass(frozen=True)
class ReplayedEpisode:
    task: str
    turns: int
    disagreements: tuple[Disagreement, ...]
    solved_published: bool
    solved_replayed: bool
    same_observations: int
    error: str | None = None


@dataclass(frozen=True)
class ReplayReport:
    """All episodes of a recording. Shares are of 1."""

    episodes: tuple[ReplayedEpisode, ...]

    @property
    def turns(self) -> int:
        return sum(episode.turns for episode in self.episodes)

    @property
    def disagreements(self) -> list[Disagreement]:
        return [found for episode in self.episodes for found in episode.disagreements]

    @property
    def agreement(self) -> float:
        return 1 - len(self.disagreements) / self.turns if self.turns else 1.0

    def to_json(self) -> dict[str, Any]:
        found = self.disagreements
        count = len(self.episodes) or 1
        return {
            "tasks": len(self.episodes),
            "turns": self.turns,
            "turns_agree": self.turns - len(found),
            "agreement": self.agreement,
            "observations_agree": sum(episode.same_observations for episode in self.episodes),
            "success_published": sum(episode.solved_published for episode in self.episodes) / count,
            "success_replayed": sum(episode.solved_replayed for episode in self.episodes) / count,
            "failed": sum(episode.error is not None for episode in self.episodes),
            "causes": _counted(one.cause for one in found),
            "disagreements": [asdict(one) for one in found],
        }


def replay(
    recording: Recording,
    dataset: Dataset,
    make_env: Callable[[], Environment],
    *,
    jobs: int = 1,
    progress: Callable[[ReplayedEpisode], None] = lambda _: None,
) -> ReplayReport:
    """Replay every episode, ``jobs`` at a time; the report is in the recording's order.

    :raises DatasetError: an episode's task is not in the dataset.
    """
    pairs = [(episode, _task_of(recording, episode, dataset)) for episode in recording.episodes]
    own = threading.local()

    def one(pair: tuple[RecordedEpisode, Task]) -> ReplayedEpisode:
        if not hasattr(own, "env"):
            own.env = make_env()
        done = _replay_episode(own.env, recording, *pair)
        progress(done)
        return done

    with ThreadPoolExecutor(jobs, thread_name_prefix="replay") as threads:
        try:
            return ReplayReport(tuple(threads.map(one, pairs)))
        except BaseException:
            threads.shutdown(cancel_futures=True)
            raise


def _task_of(recording: Recording, episode: RecordedEpisode, dataset: Dataset) -> Task:
    if episode.task_id is not None:
        task: Task = dataset[episode.task_id]
        return task
    words = episode.instruction.split()
    same = [task for task in dataset if task.instruction.split() == words]
    if not same:
        raise DatasetError(
            f"{recording.path}: task {episode.task_index} ({episode.instruction[:60]!r}) "
            f"is not in dataset {dataset.name!r}",
            remedy="name the dataset that was recorded: --dataset NAME",
        )
    return max(same, key=lambda task: task.metadata.get("index") == episode.task_index)


def _replay_episode(
    env: Environment, recording: Recording, episode: RecordedEpisode, task: Task
) -> ReplayedEpisode:
    found: list[Disagreement] = []
    rewards: list[float] = []
    turns = same = 0
    error = None
    history: list[str] = []
    try:
        env.reset(options={"task": task})
        for number, turn in enumerate(episode.turns):
            history.append(turn.action)
            observation, reward = _replay_turn(env, recording, turn)
            rewards.append(reward)
            same += observation == turn.observation
            if turn.reward is None:
                continue
            turns += 1
            if abs(reward - turn.reward) > _EPSILON:
                compared = Comparison(task, tuple(history), turn, observation, reward)
                found.append(_disagreement(task, number, turn, reward, compared))
    except InterCodeError as failure:
        error = f"{failure.cause}: {failure}"
        number = len(rewards)
        for rest, turn in enumerate(episode.turns[number:], number):
            if turn.reward is not None:
                turns += 1
                found.append(
                    Disagreement(
                        task.id, rest, turn.action, turn.reward, None, f"failed: {failure.cause}",
                        False,
                    )
                )  # fmt: skip
    solved = 1.0 in rewards
    return ReplayedEpisode(task.id, turns, tuple(found), episode.solved, solved, same, error)


def _replay_turn(env: Environment, recording: Recording, turn: RecordedTurn) -> tuple[str, float]:
    """(observation, reward) of a recorded turn, scored when and as the recorder did it."""
    action = turn.action
    if recording.kind == "react" and not action.startswith(("submit", "skip")):
        code = re.search(r"execute\[(.*)\]", action, re.DOTALL)
        # The environment was not asked, or asked without a score.
        return (env.step(code[1])[0], 0.0) if code else (NOT_CODE, 0.0)
    if action.startswith("skip"):
        return turn.observation, 0.0
    if action.startswith("submit"):
        # Not a step: some recordings go on after it.
        return turn.observation, env.score().reward
    observation = env.step(action)[0]
    return observation, env.score().reward


def _disagreement(
    task: Task, number: int, turn: RecordedTurn, reward: float, compared: Comparison
) -> Disagreement:
    assert turn.reward is not None
    same = compared.observation == turn.observation
    return Disagreement(task.id, number, turn.action, turn.reward, reward, cause_of(compared), same)


def _counted(causes: Iterator[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for cause in causes:
        counts[cause] = counts.get(cause, 0) + 1
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
