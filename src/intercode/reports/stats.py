"""The few statistics that reports use: every published share comes with its uncertainty."""

from __future__ import annotations

import math
from collections.abc import Sequence

Z_95 = 1.959963984540054
"""How many standard deviations around the mean hold 95 % of a normal distribution."""


def wilson(successes: int, n: int, z: float = Z_95) -> tuple[float, float]:
    """Wilson's score interval of a share: within 0 and 1, and sensible for few or extreme results.

    No trial at all says nothing: (0, 1).

    :raises ValueError: more successes than trials, or a negative number.
    """
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes of {n} trials")
    if n == 0:
        return 0.0, 1.0
    share, doubt = successes / n, z * z / n
    centre = (share + doubt / 2) / (1 + doubt)
    reach = math.sqrt(doubt * (share * (1 - share) + doubt / 4)) / (1 + doubt)
    low = 0.0 if successes == 0 else max(0.0, centre - reach)
    high = 1.0 if successes == n else min(1.0, centre + reach)
    return low, high


def mean(values: Sequence[float]) -> float:
    """The arithmetic mean.

    :raises ValueError: no values.
    """
    if not values:
        raise ValueError("no values have no mean")
    return math.fsum(values) / len(values)


def standard_error(values: Sequence[float]) -> float | None:
    """The standard error of the mean, from the sample's own spread; None for fewer than two values,
    which have none."""
    n = len(values)
    if n < 2:
        return None
    centre = mean(values)
    variance = math.fsum((value - centre) ** 2 for value in values) / (n - 1)
    return math.sqrt(variance / n)
