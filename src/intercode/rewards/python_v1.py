"""The paper's reward for Python: the share of tests that come out as they do for the gold.

A test comes out as what the interpreter printed and the words of its error. So a test that fails
for the gold too, in the same words, counts as passed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from intercode.rewards.score import Score

Results = Sequence[Mapping[str, str]]
"""What each test came to: ``output`` and ``error``, or ``error`` alone for an exception."""


def score(
    tests: Sequence[str], agent: Results, gold: Results, *, function: str, leaked: bool = False
) -> Score:
    """``leaked``: the function that was tested is the gold's own, which a scoring before left in
    the interpreter. The original rewards that, and so does this; the score's details tell."""
    same = {test: a == g for test, a, g in zip(tests, agent, gold, strict=True)}
    # Two tests of the same words are one, as in a mapping by test.
    reward = sum(same.values()) / len(same) if same else 0.0
    details: dict[str, Any] = {
        "function": function,
        "failed": [test for test, passed in same.items() if not passed],
        "leaked": leaked,
    }
    return Score(reward, {"tests": reward}, details)


def without_leak(score: Score) -> float:
    """The reward that the score would be if the gold had not stayed in the interpreter: 0, because
    what was submitted was nothing of the agent's."""
    return 0.0 if score.details.get("leaked") else score.reward


def submitted(action: str) -> str | None:
    """The name in a submission: its second word, if there is one."""
    words = action.split(" ")
    return words[1] if len(words) > 1 else None
