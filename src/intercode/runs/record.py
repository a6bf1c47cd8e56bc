"""What is kept of an episode: every turn, the reward, or why there is none.

A record stands on its own: it says what the task was and how reports may group it, so that nothing
else has to be read beside it. Its JSON form is one line of a run's ``episodes.jsonl``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from intercode.errors import RunError

LABELS = ("hardness", "tags", "source")
"""What of a task's metadata a record keeps, next to its file system and flags."""


@dataclass(frozen=True)
class TurnRecord:
    """One action and what came of it.

    ``executed`` is whether the environment calls the action valid; None for one that was not for
    executing: it ended the episode. ``reward`` is there if this turn was scored.
    """

    action: str
    observation: str
    reward: float | None = None
    executed: bool | None = None
    exit_code: int | None = None
    timed_out: bool = False
    duration_s: float = 0.0


@dataclass(frozen=True)
class EpisodeRecord:
    """One agent's go at one task.

    ``reward`` is None if the episode failed for a reason that is not the agent's doing; ``cause``
    then names it, ``message`` explains it, ``retryable`` says whether another go may help.
    ``attempt`` counts those goes from 1. ``end`` is what ended an episode that did not fail:
    ``submit``, ``skip``, ``solved``, ``turns`` or ``time`` (a limit), ``env`` (the environment).
    """

    task_id: str
    agent: str
    seed: int | None = None
    attempt: int = 1
    instruction: str = ""
    task_hash: str = ""
    labels: Mapping[str, Any] = field(default_factory=dict)
    turns: tuple[TurnRecord, ...] = ()
    reward: float | None = None
    components: Mapping[str, float] = field(default_factory=dict)
    end: str | None = None
    cause: str | None = None
    message: str | None = None
    retryable: bool = False
    started_at: str = ""
    duration_s: float = 0.0

    @property
    def failed(self) -> bool:
        return self.reward is None

    @property
    def success(self) -> bool:
        """The paper's meaning of solved: a reward of exactly 1."""
        return self.reward == 1.0

    @property
    def actions(self) -> tuple[TurnRecord, ...]:
        """The turns that were meant to be executed."""
        return tuple(turn for turn in self.turns if turn.executed is not None)

    def to_json(self) -> dict[str, Any]:
        body = asdict(self)
        return body | {"turns": list(body["turns"]), "success": self.success}

    @classmethod
    def from_json(cls, body: Any) -> EpisodeRecord:
        """
        :raises RunError: it is not an episode; the message says which field is wrong.
        """
        values = _checked(body, _EPISODE, "the episode")
        turns = [_checked(turn, _TURN, f"turn {n}") for n, turn in enumerate(values["turns"])]
        return cls(**values | {"turns": tuple(TurnRecord(**turn) for turn in turns)})


_NUMBER = (int, float)
_TURN: dict[str, tuple[type, ...]] = {
    "action": (str,),
    "observation": (str,),
    "reward": (*_NUMBER, type(None)),
    "executed": (bool, type(None)),
    "exit_code": (int, type(None)),
    "timed_out": (bool,),
    "duration_s": _NUMBER,
}
_EPISODE: dict[str, tuple[type, ...]] = {
    "task_id": (str,),
    "agent": (str,),
    "seed": (int, type(None)),
    "attempt": (int,),
    "instruction": (str,),
    "task_hash": (str,),
    "labels": (dict,),
    "turns": (list,),
    "reward": (*_NUMBER, type(None)),
    "components": (dict,),
    "end": (str, type(None)),
    "cause": (str, type(None)),
    "message": (str, type(None)),
    "retryable": (bool,),
    "started_at": (str,),
    "duration_s": _NUMBER,
}
_REQUIRED = frozenset(["task_id", "agent", "turns", "reward", "action", "observation"])


def _checked(body: Any, fields: dict[str, tuple[type, ...]], what: str) -> dict[str, Any]:
    """The known fields of ``body``; others, which a newer version may write, are passed over."""
    if not isinstance(body, dict):
        raise RunError(f"{what} is {type(body).__name__}, not an object")
    values = {name: body[name] for name in fields if name in body}
    for name, types in fields.items():
        if name not in values:
            if name in _REQUIRED:
                raise RunError(f"{what} has no field {name!r}")
        elif not isinstance(values[name], types):
            raise RunError(f"{what}: {name} is {type(values[name]).__name__}")
    return values
