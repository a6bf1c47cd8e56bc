"""One episode: an agent and an environment take turns until one of them, or a limit, ends it."""

from __future__ import annotations

import math
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from intercode.agents.base import SKIP, Agent
from intercode.errors import InterCodeError, TaskError
from intercode.rewards.score import Score
from intercode.runs.record import LABELS, EpisodeRecord, TurnRecord
from intercode.tasks.model import Task

DEFAULT_TURNS = 10


class Environment(Protocol):
    """What playing needs of an environment; every ``intercode.envs`` one has it."""

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]: ...

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]: ...

    def score(self, submission: str = "submit") -> Score: ...

    def close(self) -> None: ...


class Stopped(Exception):
    """The episode was called off between two turns. It is no result, so there is no record."""


def play_episode(
    env: Environment,
    agent: Agent,
    task: Task,
    *,
    seed: int | None = None,
    max_turns: int = DEFAULT_TURNS,
    max_s: float | None = None,
    score_each_turn: bool = False,
    name: str | None = None,
    attempt: int = 1,
    stopped: Callable[[], bool] = lambda: False,
) -> EpisodeRecord:
    """Plays ``task`` to its end and says what came of it.

    An agent that has not ended the episode after ``max_turns`` actions, or at its first turn after
    ``max_s`` seconds, is scored as if it had submitted then. With ``score_each_turn`` every action
    is scored, the first reward of 1 ends the episode, and the best turn counts: so the paper's
    multi-turn runs went.

    Whatever goes wrong is in the record: ``cause`` is that of the ``InterCodeError``, ``agent`` for
    any other exception of the agent, ``internal`` for one of the environment.

    :raises Stopped: ``stopped`` said so.
    """
    play = _Play(env, agent, task, max_turns, max_s, score_each_turn, stopped)
    started_at = datetime.now(UTC).isoformat(timespec="milliseconds")
    start = time.perf_counter()
    try:
        outcome = play.run(seed)
    except Stopped:
        raise
    except Exception as error:
        outcome = _failure(error)
    return EpisodeRecord(
        task_id=task.id,
        agent=name or type(agent).__name__,
        seed=seed,
        attempt=attempt,
        instruction=task.instruction,
        task_hash=task.content_hash,
        labels=_labels(task),
        turns=tuple(play.turns),
        started_at=started_at,
        duration_s=round(time.perf_counter() - start, 6),
        **outcome,
    )


class _AgentFailure(Exception):
    """Wraps what an agent raised, to tell it from what an environment did."""


@dataclass
class _Play:
    """The state of one episode under way."""

    env: Environment
    agent: Agent
    task: Task
    max_turns: int
    max_s: float | None
    score_each_turn: bool
    stopped: Callable[[], bool]

    def __post_init__(self) -> None:
        self.turns: list[TurnRecord] = []
        self.best: Score | None = None

    def run(self, seed: int | None) -> dict[str, Any]:
        """The fields of the record that say how it ended."""
        deadline = math.inf if self.max_s is None else time.monotonic() + self.max_s
        observation, info = self.env.reset(seed=seed, options={"task": self.task})
        self._ask(lambda: self.agent.start(self.task))
        reward = 0.0
        while True:
            if self.stopped():
                raise Stopped
            if len(self.turns) >= self.max_turns or time.monotonic() >= deadline:
                end = "turns" if len(self.turns) >= self.max_turns else "time"
                return self._ended(end, self._standing())
            seen = (observation, reward, info)
            action = self._action(*seen)
            observation, reward, terminated, truncated, info = self._step(action)
            if terminated:
                end = SKIP if action.startswith(SKIP) and "score" not in info else "submit"
                return self._ended(end, info.get("score") or Score(float(reward)))
            if truncated:
                return self._ended("env", info.get("score") or self._standing())
            if self.best is not None and self.best.success:
                return self._ended("solved", self.best)

    def _action(self, observation: str, reward: float, info: Mapping[str, Any]) -> str:
        action = self._ask(lambda: self.agent.act(observation, reward, info))
        if not isinstance(action, str):
            raise _AgentFailure(f"the agent's action is {type(action).__name__}, not text")
        return action

    def _ask(self, question: Callable[[], Any]) -> Any:
        try:
            return question()
        except InterCodeError:
            raise
        except Exception as error:
            raise _AgentFailure(_described(error)) from error

    def _step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        start = time.perf_counter()
        observation, reward, terminated, truncated, info = self.env.step(action)
        duration_s = time.perf_counter() - start
        scored = None
        if terminated:
            scored = float(reward)
        elif self.score_each_turn:
            score = self.env.score()
            scored = reward = _number(score.reward)
            if self.best is None or score.reward > self.best.reward:
                self.best = score
        self.turns.append(
            TurnRecord(
                action=action,
                observation=observation,
                reward=scored,
                executed=None if terminated else bool(info.get("action_executed", True)),
                exit_code=info.get("exit_code"),
                timed_out=bool(info.get("timed_out", False)),
                duration_s=round(duration_s, 6),
            )
        )
        return observation, reward, terminated, truncated, info

    def _standing(self) -> Score:
        """What the agent has reached if nothing more is to come."""
        return self.best if self.score_each_turn and self.best else self.env.score()

    def _ended(self, end: str, score: Score) -> dict[str, Any]:
        if self.best is not None and self.best.reward > score.reward:
            score = self.best
        components = {name: float(value) for name, value in score.components.items()}
        return {"end": end, "reward": _number(score.reward), "components": components}


def _number(reward: float) -> float:
    if not math.isfinite(reward):
        raise TaskError(f"its reward is {reward}, not a number")
    return float(reward)


def _failure(error: Exception) -> dict[str, Any]:
    if isinstance(error, InterCodeError):
        return {"cause": error.cause, "message": str(error), "retryable": error.retryable}
    if isinstance(error, _AgentFailure):
        return {"cause": "agent", "message": str(error)}
    return {"cause": InterCodeError.cause, "message": _described(error)}


def _described(error: Exception) -> str:
    """What a stranger's exception says, and where it was raised."""
    where = ""
    for frame in traceback.extract_tb(error.__traceback__)[-1:]:
        where = f" ({frame.filename}:{frame.lineno})"
    return f"{type(error).__name__}: {error}{where}"


def _labels(task: Task) -> dict[str, Any]:
    labels = {name: task.metadata.get(name) for name in LABELS}
    labels |= {"env": task.env, "file_system": task.file_system, "database": task.database}
    labels |= {"flags": list(task.flags)}
    plain = {k: list(v) if isinstance(v, tuple) else v for k, v in labels.items()}
    return {name: value for name, value in plain.items() if value not in (None, [])}
