"""What a set of episodes amounts to, with its uncertainty, as a whole and by group.

Shares and means are over the episodes that have a reward. One that failed for a reason that is not
the agent's is counted by its cause, and in nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from intercode.reports.stats import mean, standard_error, wilson
from intercode.runs.record import EpisodeRecord

GROUP_KEYS = ("env", "file_system", "database", "hardness", "tags")


@dataclass(frozen=True)
class Summary:
    """Figures of some episodes; None where there is nothing to take a share or mean of.

    ``tasks`` counts all episodes, ``scored`` those with a reward. ``success_interval`` is Wilson's
    at 95 %. ``mean_turns`` counts actions before the end; ``error_rate`` is the share of them that
    the environment calls invalid.
    """

    name: str
    tasks: int
    scored: int
    solved: int
    success_rate: float | None
    success_interval: tuple[float, float]
    mean_reward: float | None
    reward_error: float | None
    mean_turns: float | None
    error_rate: float | None
    failed: Mapping[str, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name, "tasks": self.tasks, "scored": self.scored, "solved": self.solved,
            "success_rate": self.success_rate, "success_interval": list(self.success_interval),
            "mean_reward": self.mean_reward, "reward_error": self.reward_error,
            "mean_turns": self.mean_turns, "error_rate": self.error_rate,
            "failed": sum(self.failed.values()), "failed_by_cause": dict(self.failed),
        }  # fmt: skip


def summarise(records: Iterable[EpisodeRecord], name: str = "all") -> Summary:
    """All of them together."""
    records = list(records)
    scored = [record for record in records if record.reward is not None]
    rewards = [record.reward for record in scored if record.reward is not None]
    solved = sum(record.success for record in scored)
    actions = [turn for record in scored for turn in record.actions]
    invalid = sum(not turn.executed for turn in actions)
    causes = Counter(record.cause or "unknown" for record in records if record.failed)
    return Summary(
        name=name,
        tasks=len(records),
        scored=len(scored),
        solved=solved,
        success_rate=solved / len(scored) if scored else None,
        success_interval=wilson(solved, len(scored)),
        mean_reward=mean(rewards) if rewards else None,
        reward_error=standard_error(rewards),
        mean_turns=len(actions) / len(scored) if scored else None,
        error_rate=invalid / len(actions) if actions else None,
        failed=dict(causes.most_common()),
    )


def group(records: Sequence[EpisodeRecord], key: str) -> tuple[Summary, ...]:
    """One summary for each value that ``key`` has among the records' labels, in the order of names.

    A record with several values (tags) counts in each group; one without any, in none.
    """
    members: dict[str, list[EpisodeRecord]] = {}
    for record in records:
        for value in _values(record.labels.get(key)):
            members.setdefault(value, []).append(record)
    return tuple(summarise(members[name], name) for name in sorted(members))


def groups(
    records: Sequence[EpisodeRecord], keys: Iterable[str] = GROUP_KEYS, *, fewest: int = 2
) -> dict[str, tuple[Summary, ...]]:
    """By each key that gives at least ``fewest`` groups: one group alone tells nothing apart."""
    found = {key: group(records, key) for key in keys}
    return {key: summaries for key, summaries in found.items() if len(summaries) >= fewest}


def _values(label: Any) -> list[str]:
    if label is None:
        return []
    return [str(value) for value in (label if isinstance(label, list | tuple) else [label])]
