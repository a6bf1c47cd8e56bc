"""The paper's SQL reward: the share of rows in common, times how far they are in the same order.

Rows are compared by their text: what Python prints of a tuple, as the paper's MySQL client gave it
(``(Decimal('1.50'), None)``). The reward was changed while the paper's runs were made, so there are
three variants of it, and each recorded file was made with one:

- ``tau``: iou · τ, rounded to two decimals: the released code, and most of GPT-3.5's runs. A
  reversed order scores -1.
- ``iou``: no term for order, unrounded: GPT-4's run.
- ``tau01``: iou · (τ + 1) / 2, unrounded.

Where τ is undefined (one common row, or only equal ones) every variant gives the unrounded iou.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

from intercode.rewards.kendall import tau_b
from intercode.rewards.score import Score

Variant = Literal["tau", "iou", "tau01"]
VARIANTS: tuple[Variant, ...] = ("tau", "iou", "tau01")


def score(
    agent_rows: Sequence[tuple[Any, ...]] | None,
    gold_rows: Sequence[tuple[Any, ...]] | None,
    *,
    variant: Variant = "tau",
) -> Score:
    """The reward of the agent's last result, measured against the gold's. None: a statement that
    failed or has no result. A gold that failed counts as one without rows in the paper: ``()``."""
    return score_texts(texts(agent_rows), texts(gold_rows), variant=variant)


def texts(rows: Sequence[tuple[Any, ...]] | None) -> list[str] | None:
    """The rows as `score_texts` compares them."""
    return None if rows is None else [str(tuple(row)) for row in rows]


def score_texts(
    agent: Sequence[str] | None, gold: Sequence[str] | None, *, variant: Variant = "tau"
) -> Score:
    """`score` of rows already printed. Components: ``iou`` from 0 to 1, and ``tau`` from -1 to 1
    where it is defined."""
    if agent is None or gold is None:
        return Score(0.0, {"iou": 0.0})
    if not agent and not gold:
        return Score(1.0, {"iou": 1.0})
    ours, theirs = Counter(agent), Counter(gold)
    common = ours & theirs
    iou = common.total() / (ours | theirs).total()
    tau = tau_b(_only(agent, common), _only(gold, common))
    if tau is None:
        return Score(iou, {"iou": iou})
    return Score(_combined(iou, tau, variant), {"iou": iou, "tau": tau})


def in_variant(score: Score, variant: Variant) -> float:
    """The reward that another variant gives for the same two results."""
    parts = score.components
    return _combined(parts["iou"], parts["tau"], variant) if "tau" in parts else score.reward


def _combined(iou: float, tau: float, variant: Variant) -> float:
    if variant == "iou":
        return iou
    if variant == "tau01":
        return iou * (tau + 1) / 2
    return round_hundredths(iou * tau)


def round_hundredths(value: float) -> float:
    """As NumPy rounds to two decimals, since the paper's τ is one of its numbers: the multiple of a
    hundred is rounded, half to even. Python rounds the exact value: 0.015 to 0.01 and not 0.02."""
    return round(value * 100) / 100


def _only(rows: Sequence[str], common: Counter[str]) -> list[str]:
    """The first of each as often as both sides have them, in this side's order."""
    left = dict(common)
    chosen = []
    for row in rows:
        if left.get(row, 0):
            left[row] -= 1
            chosen.append(row)
    return chosen
