"""When two values of results are the same value: classes, so that rows can be counted and hashed.

- Numbers are equal across types: 1, 1.0 and ``Decimal('1.00')`` are one value, and so is True,
  since two of the engines have no other truth than 1.
- Whole numbers are equal only to themselves: of two ids that differ by one, one is wrong, however
  large they are. Other numbers may be off by `tolerance`.
- Text is never a number, bytes are never text, case and blanks count.
- Dates and times are their ISO text, since SQLite has no type for them.
- NULL is NULL, and NaN is NaN.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

Row = Sequence[Any]
Key = tuple[Hashable, ...]

_RELATIVE = 1e-6
"""Single precision has seven digits, of which a sum loses some."""
_CENTS = 1e-3
"""In large amounts the sixth digit is money: never off by as much as a cent."""
_ROUNDING = 1e-12
"""What a sum of thousands of doubles may be off by, relative to its size."""
_CANCELLED = 1e-9
"""What may be left of sums that cancel."""
_DIVIDED = 4
"""MySQL gives a quotient four digits more than its dividend, so that ``AVG(n)`` is 0.3333 and
``SUM(n) * 1.0 / COUNT(*)`` is 0.33333: from that many on, the last digit is taken as rounded."""
_EXACT = 2**53
"""From here on not every whole number is a double."""


def tolerance(number: float | Decimal) -> float:
    """How far another number may be from one that is not whole, and be the same."""
    size = abs(float(number))
    allowed = max(min(_RELATIVE * size, _CENTS), _ROUNDING * size, _CANCELLED)
    if isinstance(number, Decimal):
        exponent = number.as_tuple().exponent
        if isinstance(exponent, int) and -exponent >= _DIVIDED:
            allowed = max(allowed, 0.5 * 10.0**exponent)
    return allowed


class Classes:
    """The values of some results, sorted into classes of equal ones.

    Built from all the rows that will be compared: whether two numbers are near enough is seen only
    beside the others. Data denser than the tolerance is told from rounding by a smaller tolerance.
    """

    def __init__(self, *results: Iterable[Row]) -> None:
        fractions: dict[float, float] = {}
        whole: set[int] = set()
        for rows in results:
            for row in rows:
                for value in row:
                    _collect(value, fractions, whole)
        self._nearest = _grouped(fractions, whole) if fractions else {}

    def key(self, row: Row) -> Key:
        return tuple(map(self.of, row))

    def keys(self, rows: Iterable[Row]) -> list[Key]:
        return [self.key(row) for row in rows]

    def of(self, value: Any) -> Hashable:
        """Equal for equal values, and for no others. Numbers stand for themselves."""
        if value is None:
            return None
        if isinstance(value, str):
            return ("text", value)
        if isinstance(value, int):
            return value
        if isinstance(value, (float, Decimal)):
            return self._number(value)
        if isinstance(value, bytes | bytearray | memoryview):
            return ("bytes", bytes(value))
        if isinstance(value, dict):
            pairs = [(self.of(name), self.of(item)) for name, item in value.items()]
            return ("map", frozenset(pairs))
        if isinstance(value, list | tuple):
            return ("list", tuple(map(self.of, value)))
        if isinstance(value, set | frozenset):
            return ("set", frozenset(map(self.of, value)))
        return ("text", _text(value))

    def _number(self, value: float | Decimal) -> Hashable:
        if not _finite(value):
            return ("number", _infinite(value))
        if _is_whole(value):
            return int(value)
        return self._nearest[float(value)]


def _collect(value: Any, fractions: dict[float, float], whole: set[int]) -> None:
    """Numbers that are not whole, with their tolerance, and those that are."""
    if value is None or isinstance(value, str):
        return
    if isinstance(value, (float, Decimal)):
        if not _finite(value):
            return
        if _is_whole(value):
            whole.add(int(value))
        else:
            number = float(value)
            fractions[number] = max(tolerance(value), fractions.get(number, 0.0))
    elif isinstance(value, int):
        whole.add(value)
    elif isinstance(value, dict):
        for item in value.values():
            _collect(item, fractions, whole)
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            _collect(item, fractions, whole)


_LONGEST = 150_000
"""Digits: more than any engine has, and few enough to compute with."""


def _finite(value: float | Decimal) -> bool:
    if isinstance(value, Decimal):
        return value.is_finite() and value.adjusted() < _LONGEST
    return math.isfinite(value)


def _infinite(value: float | Decimal) -> str:
    if isinstance(value, Decimal) and value.is_finite():
        return str(value)
    nan = value.is_nan() if isinstance(value, Decimal) else math.isnan(value)
    return "nan" if nan else "inf" if value > 0 else "-inf"


def _is_whole(value: float | Decimal) -> bool:
    """A double beyond 2**53 is not known to the unit, so it is not one that is exact."""
    if isinstance(value, float):
        return value.is_integer() and abs(value) < _EXACT
    return value == value.to_integral_value()


def _grouped(fractions: dict[float, float], whole: set[int]) -> dict[float, Hashable]:
    """The class of each number that is not whole: that of a whole one near enough, or of the
    smallest of those that are near one another."""
    numbers: dict[float, float] = dict(fractions)
    exact = {float(number): number for number in whole if abs(number) <= 2**1023}
    for number in exact:
        numbers.setdefault(number, 0.0)
    classes: dict[float, Hashable] = {}
    for chain in _chains(sorted(numbers), numbers, exact, 1.0):
        whole_ones = [number for number in chain if number in exact]
        name: Hashable = exact[whole_ones[0]] if whole_ones else ("number", chain[0])
        classes.update((number, name) for number in chain)
    return classes


_SHRINK = 1e-3
_WIDEST = 4
"""Tolerances. A chain of neighbours that is wider is dense data, and no one number."""


def _chains(
    ascending: Sequence[float], allowed: dict[float, float], exact: dict[float, int], scale: float
) -> list[list[float]]:
    chains: list[list[float]] = []
    for number in ascending:
        if chains:
            last = chains[-1][-1]
            if number - last <= scale * max(allowed[number], allowed[last]):
                chains[-1].append(number)
                continue
        chains.append([number])
    settled = []
    for chain in chains:
        width = scale * _WIDEST * max(allowed[number] for number in chain)
        dense = chain[-1] - chain[0] > width or sum(number in exact for number in chain) > 1
        if not dense:
            settled.append(chain)
        elif scale < 1e-9:
            settled += [[number] for number in chain]
        else:
            settled += _chains(chain, allowed, exact, scale * _SHRINK)
    return settled


def _text(value: Any) -> str:
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return _clock(value)
    return str(value)


def _clock(value: timedelta) -> str:
    """``-838:59:59.000001``: how engines without a type for it, and MySQL itself, write a time."""
    micros = value // timedelta(microseconds=1)
    seconds, fraction = divmod(abs(micros), 1_000_000)
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    if fraction:
        text += f".{fraction:06}"
    return "-" + text if micros < 0 else text
