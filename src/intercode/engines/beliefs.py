"""What the data lets one believe, though no schema says it.

A name that no two rows share, a region that is always on the same continent, a rental that ends
after it began: who looks at the data writes queries that rely on it, and is right to. What may be
chance (few rows; numbers, which differ anyway) is believed by nobody.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from intercode.engines.content import Row, Table

ENOUGH = 8
"""Rows from which on texts that all differ are believed to be names of the rows. Of eight random
rows the texts of a column with up to 20 values (countries, kinds) all differ in under a quarter of
all cases, and of one with up to 10 values in under 2 %; as many dates of eight pairs are in order
by chance in 0.4 %."""
ENOUGH_NAMES = 3
"""Rows that are enough where the column is called a name."""
_NAMES = 0.85
"""How many names have to be different: two of a class may be called Jordan."""
_NAME = re.compile(r"(^|[\W_]|[a-z])(name|title)$", re.IGNORECASE)
_PART = re.compile(r"(first|last|middle|family|given|sur|nick|^f|^l)[\W_]?name$", re.IGNORECASE)
"""People share parts of their names, so that no number of rows would tell."""
_LIKELY = 0.2
"""References that are all different with less than this chance are believed to be."""
_MOSTLY = 0.95
"""How many of the rows whose value is not their own alone keep a dependency."""
_BY_CHANCE = math.log(0.001)
_DAY = re.compile(r"\d{4}-\d\d-\d\d.*", re.DOTALL)
_NUMBER = re.compile(r"\s*[-+]?\d+([.,]\d+)*\s*")


def shared_names(table: Table, index: int, repeated: bool) -> frozenset[str] | None:
    """Of a column whose texts tell rows from one another: those that do not. None if it is no such
    column; numbers and dates in texts are not, nor is what is expected to be ``repeated``, unless
    it is called a name."""
    called = table.columns[index].name.casefold()
    is_name = bool(_NAME.search(called)) or table.name.casefold() in (called, f"{called}s")
    values = [row[index] for row in table.rows if row[index] is not None]
    if (
        len(values) < (ENOUGH_NAMES if is_name else ENOUGH)
        or (repeated and not is_name)
        or _PART.search(called)
        or not all(isinstance(value, str) for value in values)
        or all(_DAY.fullmatch(value) or _NUMBER.fullmatch(value) for value in values)
    ):
        return None
    times = Counter(compared((value,)) for value in values)
    if len(times) < (_NAMES if is_name else 1) * len(values):
        return None
    return frozenset(value for value in values if times[compared((value,))] > 1)


def compared(values: Row) -> Row:
    """As the least discerning engine would compare them."""
    return tuple(v.strip().casefold() if isinstance(v, str) else v for v in values)


def is_unique_reference(values: Sequence[Row], parents: int) -> bool:
    """Whether references (without NULL) to so many ``parents`` all differ, and not by chance."""
    if not 2 <= len(values) <= parents or len(set(values)) < len(values):
        return False
    return math.prod(1 - taken / parents for taken in range(len(values))) < _LIKELY


# Columns that follow from others


@dataclass(frozen=True)
class Dependency:
    """The second column's value follows from the first's: ``known`` has it for all that do."""

    first: int
    second: int
    known: dict[Any, Any] = field(default_factory=dict)
    free: frozenset[Any] = frozenset()
    """Values that nothing follows from."""


def dependencies(rows: Sequence[Row], columns: Collection[int]) -> list[Dependency]:
    """Those among ``columns`` that hold in all the rows, or nearly all, and not by chance."""
    if len(rows) < ENOUGH:
        return []
    values = {
        index: [row[index] for row in rows]
        for index in columns
        if all(isinstance(row[index], Hashable) for row in rows)
    }
    distinct = {index: len(set(of)) for index, of in values.items()}
    found = [
        one
        for first in values
        for second in values
        if first != second and len(rows) > distinct[first] >= distinct[second] > 1
        if (one := _dependency(first, second, values[first], values[second]))
    ]
    # Those from which more follows come first.
    return sorted(found, key=lambda one: -distinct[one.first])


def _dependency(
    first: int, second: int, causes: list[Any], effects: list[Any]
) -> Dependency | None:
    known: dict[Any, Any] = {}
    free: set[Any] = set()
    sizes: Counter[Any] = Counter()
    most = (1 - _MOSTLY) * len(causes)
    for cause, effect in zip(causes, effects, strict=True):
        if cause is None:
            continue
        sizes[cause] += 1
        if known.setdefault(cause, effect) != effect:
            free.add(cause)
            if len(free) > most:
                return None
    shared = sum(size for size in sizes.values() if size > 1)
    if sum(sizes[cause] for cause in free) > (1 - _MOSTLY) * shared:
        return None
    shares = [count / len(effects) for count in Counter(effects).values()]
    chance = sum(
        math.log(sum(share**size for share in shares))
        for cause, size in sizes.items()
        if size > 1 and cause not in free
    )
    if chance > _BY_CHANCE:
        return None
    of = {cause: effect for cause, effect in known.items() if cause not in free}
    return Dependency(first, second, of, frozenset(free))


class Settled:
    """What follows from what in one copy. It learns of new values as rows are added."""

    def __init__(
        self,
        rows: Sequence[Row],
        columns: Collection[int],
        allowed: Mapping[int, Collection[Any]],
    ) -> None:
        """``allowed``: what a column is confined to in the copy, where it is."""
        self._found = dependencies(rows, columns)
        for one in self._found:
            if one.second in allowed:
                gone = [k for k, v in one.known.items() if v not in allowed[one.second]]
                for cause in gone:
                    del one.known[cause]

    def columns(self) -> frozenset[int]:
        return frozenset(index for one in self._found for index in (one.first, one.second))

    def mend(self, row: list[Any]) -> bool:
        """False if what follows from one value contradicts what follows from another."""
        for _ in range(2):
            for one in self._found:
                row[one.second] = one.known.get(row[one.first], row[one.second])
            if self._holds(row):
                return True
        return False

    def _holds(self, row: Sequence[Any]) -> bool:
        return all(
            one.known.get(row[one.first], row[one.second]) == row[one.second] for one in self._found
        )

    def learn(self, row: Sequence[Any]) -> None:
        for one in self._found:
            if row[one.first] is not None and row[one.first] not in one.free:
                one.known.setdefault(row[one.first], row[one.second])


# Dates in order


def ordered_dates(rows: Sequence[Row], width: int) -> list[tuple[int, int]]:
    """Pairs of columns of which the second's date is never before the first's, and not always the
    same."""
    days = [index for index in range(width) if _are_dates([row[index] for row in rows])]
    return [
        (start, end)
        for start in days
        for end in days
        if start != end and _in_order([(row[start], row[end]) for row in rows])
    ]


def _are_dates(values: Sequence[Any]) -> bool:
    present = [value for value in values if value is not None]
    texts = all(isinstance(value, str) and _DAY.fullmatch(value) for value in present)
    return len(present) >= ENOUGH and (texts or all(isinstance(one, date) for one in present))


def _in_order(pairs: Sequence[tuple[Any, Any]]) -> bool:
    both = [(start, end) for start, end in pairs if start is not None and end is not None]
    if sum(start != end for start, end in both) < ENOUGH:
        return False
    return {type(start) for start, _ in both} == {type(end) for _, end in both} and all(
        start <= end for start, end in both
    )


# The largest and the smallest


def single_extremes(rows: Sequence[Row], columns: Collection[int]) -> list[tuple[int, bool]]:
    """The columns of numbers or dates whose largest value (True) or smallest (False) one row alone
    has: whoever asks for the oldest there means one."""
    found = []
    for index in columns:
        values = [row[index] for row in rows if row[index] is not None]
        if len(values) < ENOUGH_NAMES or any(_inward(value, 1) is None for value in values):
            continue
        if len({type(value) for value in values}) > 1:
            continue
        found += [(index, top) for top in (True, False) if values.count(_extreme(values, top)) == 1]
    return found


def untied(rows: Sequence[Row], extremes: Collection[tuple[int, bool]]) -> list[Row]:
    """With one row alone at each: others step back by as little as can be."""
    made = [list(row) for row in rows]
    for index, top in extremes:
        values = [row[index] for row in made if row[index] is not None]
        best = _extreme(values, top) if values else None
        tied = [row for row in made if row[index] == best and best is not None]
        for row in tied[1:]:
            stepped = _inward(best, -1 if top else 1)
            row[index] = best if stepped is None else stepped
    return [tuple(row) for row in made]


def _extreme(values: Sequence[Any], top: bool) -> Any:
    return max(values) if top else min(values)


def _inward(value: Any, step: int) -> Any:
    """None for what has no next value, or none of its kind."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float | Decimal):
        number: Any = value
        if isinstance(value, Decimal) and abs(value) < 2:
            moved = number + step * Decimal(1).scaleb(int(value.as_tuple().exponent))
        else:
            moved = number + (step if abs(number) >= 2 or number == 0 else step * number / 2)
        return None if moved < 0 <= value else type(value)(moved)
    if isinstance(value, date):
        return _next_day(value, step)
    if isinstance(value, str) and re.fullmatch(r"\d{1,9}", value):
        text = str(int(value) + step)
        return text if len(text) == len(value) else None
    if isinstance(value, str) and _DAY.fullmatch(value):
        try:
            moved = _next_day(date.fromisoformat(value[:10]), step)
        except ValueError:
            return None
        return None if moved is None else moved.isoformat() + value[10:]
    return None


def _next_day(day: date, step: int) -> date | None:
    try:
        return day + timedelta(days=step)
    except OverflowError:
        return None
