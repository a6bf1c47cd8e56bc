"""Chance that is the same on every machine, in every Python, for ever."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

_MULTIPLIER = 6_364_136_223_846_793_005
_INCREMENT = 1_442_695_040_888_963_407
_MODULUS = 2**64


class Dice:
    """A linear congruential generator: the standard library promises no such stability."""

    def __init__(self, seed: int) -> None:
        self._state = seed
        for _ in range(4):  # neighbouring seeds begin alike; a few steps part them
            self.below(2)

    def below(self, limit: int) -> int:
        """A whole number from 0 up to, not including, ``limit``."""
        self._state = (self._state * _MULTIPLIER + _INCREMENT) % _MODULUS
        return (self._state >> 33) % limit

    def between(self, low: int, high: int) -> int:
        """A whole number from ``low`` to ``high``, both included."""
        return low + self.below(high - low + 1)

    def chance(self, percent: int) -> bool:
        return self.below(100) < percent

    def pick(self, options: Sequence[T]) -> T:
        return options[self.below(len(options))]
