"""Kendall's τ-b: how far two lists of values agree in their order, ties accounted for.

    τ-b = (C - D) / √(T - Tx) / √(T - Ty)

over all T = n(n-1)/2 pairs of positions, of which C are in the same order in both lists, D in
opposite ones, Tx tied in the first and Ty in the second (M. G. Kendall, "The treatment of ties in
ranking problems", Biometrika 33, 1945). Counted in O(n log² n) at most, almost all of
it in C, after W. R. Knight, "A computer
method for calculating Kendall's tau with ungrouped data", JASA 61, 1966: sorted by the first list,
the discordant pairs are the inversions of the second.

The number is SciPy's ``kendalltau(...).statistic`` to the last bit: the same operations in the same
order.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Any

_RUN = 64
"""Below this insertion is cheaper than merging."""


def tau_b(first: Sequence[Any], second: Sequence[Any]) -> float | None:
    """Between -1 and 1, or None where it is undefined: fewer than two values, or only equal ones
    in either list. The values of each list must be comparable with one another.

    :raises ValueError: the lists differ in length.
    """
    if len(first) != len(second):
        raise ValueError(f"lists of {len(first)} and {len(second)} values have no common order")
    x, y = _ranks(first), _ranks(second)
    pairs = _pairs(len(x))
    x_ties, y_ties = _ties(x), _ties(y)
    if pairs in (x_ties, y_ties):
        return None
    both = sorted(zip(x, y, strict=True))
    discordant = inversions([rank for _, rank in both])
    difference = pairs - x_ties - y_ties + _ties(both) - 2 * discordant
    tau = difference / math.sqrt(pairs - x_ties) / math.sqrt(pairs - y_ties)
    return min(1.0, max(-1.0, tau))


def inversions(values: Sequence[int]) -> int:
    """How many pairs of positions have the greater value first: counted while runs are merged."""
    count = 0
    runs = []
    for start in range(0, len(values), _RUN):
        run: list[int] = []
        for value in values[start : start + _RUN]:
            place = bisect_right(run, value)
            count += len(run) - place
            run.insert(place, value)
        runs.append(run)
    while len(runs) > 1:
        for left, right in zip(runs[::2], runs[1::2], strict=False):
            if left[-1] > right[0]:
                not_greater = sum(map(bisect_right, repeat(left), right))
                count += len(left) * len(right) - not_greater
            left += right
            left.sort()  # Two sorted runs: one pass.
        runs = runs[::2]
    return count


def _ranks(values: Sequence[Any]) -> list[int]:
    """Small whole numbers in the same order: cheaper to compare than long texts."""
    rank = {value: index for index, value in enumerate(sorted(set(values)))}
    return [rank[value] for value in values]


def _ties(values: Iterable[Any]) -> int:
    return sum(map(_pairs, Counter(values).values()))


def _pairs(size: int) -> int:
    return size * (size - 1) // 2
