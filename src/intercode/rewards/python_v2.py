"""Python-v2's reward: 1 for passing every test, else the share of tests passed."""

from __future__ import annotations

from collections.abc import Sequence

from intercode.rewards.score import Score

Verdicts = Sequence[bool | None]
"""What each test says; None for an input that is no test."""


def score(verdicts: Verdicts, *, function: str | None = None) -> Score:
    """``details["failed"]`` are the positions of the tests that failed, from 0: not their texts,
    which stay hidden."""
    judged = [verdict for verdict in verdicts if verdict is not None]
    reward = sum(judged) / len(judged) if judged else 0.0
    failed = [n for n, verdict in enumerate(verdicts) if verdict is False]
    return Score(
        reward,
        {"tests": reward},
        {"function": function, "tests": len(judged), "failed": failed},
    )


def nothing(why: str, tests: int) -> Score:
    """The score of an episode in which nothing was made that could be tested."""
    return Score(0.0, {"tests": 0.0}, {"error": why, "tests": tests})
