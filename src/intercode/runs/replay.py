"""Doing again what was recorded: every action of an old run, in our environment, turn by turn.

The strongest test of an environment there is: where rewards agree on thousands of turns of real
agents, it means the same. Where they do not, each disagreement is named by what lies behind it.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher
from itertools import accumulate, product
from typing import Any

from intercode.agents.recording import RecordedEpisode, RecordedTurn, Recording
from intercode.errors import DatasetError, InterCodeError
from intercode.rewards.score import Score
from intercode.runs.causes import Comparison, cause_of
from intercode.runs.episode import Environment
from intercode.runs.sql_causes import sql_cause_of
from intercode.tasks.model import Dataset, Task

_EPSILON = 1e-9
_NOT_CODE = "Error executing query: Your last `execute` action did not contain {} code"
"""What ReAct's wrapper answered, in the environment's place, to an action of another form."""

_NO_CODE = re.compile(r"No \w+ code was found in your last response\.")
"""How the recorder answered, in the environment's place, to words without code."""

Readings = Mapping[str, Callable[[Score], float]]
"""Rewards that a score may be read as, by name, the usual one first."""


_REWORDED = 0.75
"""The least share of words in common of a task and the same task, reworded."""

_NOTICEABLE = 10
"""Turns that a second reading must explain: fewer may be chance."""


def _reward(score: Score) -> float:
    return score.reward


_AS_GIVEN: Readings = {"": _reward}


@dataclass(frozen=True)
class Range:
    """The recorded tasks from number ``first`` to ``last``, and the reading that agrees best with
    them. ``start`` and ``stop`` are their positions among all, by task number."""

    variant: str
    first: int
    last: int
    start: int
    stop: int

    def to_json(self) -> dict[str, Any]:
        return {"variant": self.variant, "first": self.first, "last": self.last}


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
    leaked: tuple[int, ...] = ()
    """Turns that are rewarded for a gold that a scoring before has left behind, from 0."""
    solved_fairly: bool = False
    """Solved, and not by such a turn."""


@dataclass(frozen=True)
class ReplayReport:
    """All episodes of a recording. Shares are of 1. ``ranges`` tell by which reading each part of
    the recording was compared, where there are several."""

    episodes: tuple[ReplayedEpisode, ...]
    ranges: tuple[Range, ...] = ()

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
            **self._leaks(),
            "causes": _counted(one.cause for one in found),
            **({"variants": [span.to_json() for span in self.ranges]} if self.ranges else {}),
            "disagreements": [asdict(one) for one in found],
        }

    def _leaks(self) -> dict[str, Any]:
        """Turns rewarded only through the original's leak of golds, and success without them."""
        turns = [[one.task, turn] for one in self.episodes for turn in one.leaked]
        fairly = sum(one.solved_fairly for one in self.episodes) / (len(self.episodes) or 1)
        return {"leaked_turns": turns, "success_without_leaks": fairly} if turns else {}


def replay(
    recording: Recording,
    dataset: Dataset,
    make_env: Callable[[], Environment],
    *,
    jobs: int = 1,
    readings: Readings = _AS_GIVEN,
    progress: Callable[[ReplayedEpisode], None] = lambda _: None,
) -> ReplayReport:
    """Replay every episode, ``jobs`` at a time; the report is in the recording's order.

    Where there are several ``readings`` of a score, the one that agrees best is found, with at most
    one change in the course of the recording; ``progress`` is told by the first.

    :raises DatasetError: an episode's task is not in the dataset.
    """
    pairs = [(episode, _task_of(recording, episode, dataset)) for episode in recording.episodes]
    own = threading.local()
    usual = next(iter(readings.values()))

    def one(pair: tuple[RecordedEpisode, Task]) -> _Played:
        if not hasattr(own, "env"):
            own.env = make_env()
        played = _play(own.env, recording, *pair)
        progress(_compared(played, usual))
        return played

    with ThreadPoolExecutor(jobs, thread_name_prefix="replay") as threads:
        try:
            played = list(threads.map(one, pairs))
        except BaseException:
            threads.shutdown(cancel_futures=True)
            raise
    # A change of the reward falls between two tasks, whatever order they are recorded in.
    in_order = sorted(played, key=lambda one: one.episode.task_index)
    ranges = _ranges(in_order, readings)
    chosen = {
        id(one): readings[span.variant]
        for span in ranges
        for one in in_order[span.start : span.stop]
    }
    episodes = tuple(_compared(one, chosen[id(one)]) for one in played)
    return ReplayReport(episodes, ranges if len(readings) > 1 else ())


def _task_of(recording: Recording, episode: RecordedEpisode, dataset: Dataset) -> Task:
    if episode.task_id is not None:
        task: Task = dataset[episode.task_id]
        return task
    words = episode.instruction.split()
    same = [task for task in dataset if task.instruction.split() == words]
    same = same or [task for task in dataset if _is_reworded(task, episode)]
    if not same:
        raise DatasetError(
            f"{recording.path}: task {episode.task_index} ({episode.instruction[:60]!r}) "
            f"is not in dataset {dataset.name!r}",
            remedy="name the dataset that was recorded: --dataset NAME",
        )
    return max(same, key=lambda task: task.metadata.get("index") == episode.task_index)


def _is_reworded(task: Task, episode: RecordedEpisode) -> bool:
    """Whether it is the task of that number, asked in nearly the same words: some of the published
    CTF tasks were worded anew, or their hosts moved, after they had been recorded."""
    if task.env != "ctf" or task.metadata.get("index") != episode.task_index:
        return False
    alike = SequenceMatcher(a=task.instruction.split(), b=episode.instruction.split()).ratio()
    return alike >= _REWORDED


@dataclass(frozen=True)
class _Turn:
    """``score`` is None where the environment was not asked for one: the reward is 0."""

    recorded: RecordedTurn
    observation: str
    score: Score | None

    def reward(self, reading: Callable[[Score], float]) -> float:
        return 0.0 if self.score is None else reading(self.score)

    @property
    def leaked(self) -> bool:
        return self.score is not None and self.score.details.get("leaked") is True

    def agrees(self, reading: Callable[[Score], float]) -> bool:
        published = self.recorded.reward
        return published is None or abs(self.reward(reading) - published) <= _EPSILON


@dataclass(frozen=True)
class _Played:
    """An episode as it was replayed; ``turns`` end where an error of ours ended it."""

    episode: RecordedEpisode
    task: Task
    turns: tuple[_Turn, ...]
    error: InterCodeError | None


def _play(env: Environment, recording: Recording, episode: RecordedEpisode, task: Task) -> _Played:
    turns: list[_Turn] = []
    error = None
    try:
        env.reset(options={"task": task})
        for turn in episode.turns:
            observation, score = _replay_turn(env, recording, turn)
            turns.append(_Turn(turn, observation, score))
    except InterCodeError as failure:
        error = failure
    return _Played(episode, task, tuple(turns), error)


def _replay_turn(
    env: Environment, recording: Recording, turn: RecordedTurn
) -> tuple[str, Score | None]:
    """(observation, score) of a recorded turn, scored when and as the recorder did it."""
    action = turn.action
    if recording.environment == "python" and recording.kind == "multi-turn":
        # Each function was submitted when it was defined, and nothing else was scored.
        observation, function = env.step(action)[0], re.match(r"def (\w+)\(", action)
        return observation, env.score(f"submit {function[1]}") if function else None
    if recording.kind == "react" and not action.startswith(("submit", "skip")):
        code = re.search(r"execute\[(.*)\]", action, re.DOTALL)
        # The environment was not asked, or asked without a score.
        return (env.step(code[1])[0] if code else _NOT_CODE.format(recording.environment)), None
    if action.startswith("skip"):
        return turn.observation, None
    if action.startswith("submit"):
        # Not a step: some recordings go on after it.
        return turn.observation, env.score(action)
    if _NO_CODE.match(turn.observation):
        return turn.observation, env.score()
    observation = env.step(action)[0]
    return observation, env.score()


def _compared(played: _Played, reading: Callable[[Score], float]) -> ReplayedEpisode:
    task, found = played.task, []
    history: list[str] = []
    for number, turn in enumerate(played.turns):
        history.append(turn.recorded.action)
        if not turn.agrees(reading):
            reward = turn.reward(reading)
            parts = turn.score.components if turn.score else {}
            earlier = tuple(
                (one.recorded.observation, one.observation) for one in played.turns[:number]
            )
            compared = Comparison(
                task, tuple(history), turn.recorded, turn.observation, reward, parts, earlier
            )
            found.append(_disagreement(task, number, turn.recorded, reward, compared))
    error = None
    recorded = played.episode.turns
    if played.error is not None:
        cause = played.error.cause
        error = f"{cause}: {played.error}"
        found += [
            Disagreement(task.id, number, turn.action, turn.reward, None, f"failed: {cause}", False)
            for number, turn in enumerate(recorded[len(played.turns) :], len(played.turns))
            if turn.reward is not None
        ]
    return ReplayedEpisode(
        task=task.id,
        turns=sum(turn.reward is not None for turn in recorded),
        disagreements=tuple(found),
        solved_published=played.episode.solved,
        solved_replayed=any(turn.reward(reading) == 1.0 for turn in played.turns),
        same_observations=sum(
            turn.observation == turn.recorded.observation for turn in played.turns
        ),
        error=error,
        leaked=tuple(
            number
            for number, turn in enumerate(played.turns)
            if turn.leaked and turn.reward(reading) > 0
        ),
        solved_fairly=any(turn.reward(reading) == 1.0 and not turn.leaked for turn in played.turns),
    )


def _ranges(played: Sequence[_Played], readings: Readings) -> tuple[Range, ...]:
    """The readings that agree with most turns: one for all, or two if the second agrees with
    noticeably more, the change falling between two episodes."""
    agree = {
        name: list(accumulate((_agreeing(one, reading) for one in played), initial=0))
        for name, reading in readings.items()
    }
    best = max(readings, key=lambda name: agree[name][-1])

    def both(change: tuple[str, str, int]) -> int:
        first, second, at = change
        return agree[first][at] + agree[second][-1] - agree[second][at]

    def span(name: str, start: int, stop: int) -> Range:
        numbers = [one.episode.task_index for one in played[start:stop]]
        return Range(name, min(numbers, default=0), max(numbers, default=0), start, stop)

    changes = product(readings, readings, range(1, len(played)))
    first, second, at = max(changes, key=both, default=(best, best, 0))
    if first == second or both((first, second, at)) - agree[best][-1] < _NOTICEABLE:
        return (span(best, 0, len(played)),)
    return (span(first, 0, at), span(second, at, len(played)))


def _agreeing(played: _Played, reading: Callable[[Score], float]) -> int:
    return sum(turn.agrees(reading) for turn in played.turns)


def _disagreement(
    task: Task, number: int, turn: RecordedTurn, reward: float, compared: Comparison
) -> Disagreement:
    assert turn.reward is not None
    same = compared.observation == turn.observation
    cause = sql_cause_of if task.env == "sql" else cause_of
    return Disagreement(task.id, number, turn.action, turn.reward, reward, cause(compared), same)


def _counted(causes: Iterator[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for cause in causes:
        counts[cause] = counts.get(cause, 0) + 1
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
