"""Aggregates that SQLite lacks, or has otherwise."""

from __future__ import annotations

import json
import math
from functools import reduce
from typing import Any

from intercode.engines.sqlite.mysql import collate
from intercode.engines.sqlite.mysql.functions.values import number, text, whole

Value = Any

_LONGEST_GROUP = 1024
"""MySQL's group_concat_max_len, in bytes."""


class _GroupConcat:
    """``step(separator, distinct, value, key, descending, …)``."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, tuple[Any, ...]]] = []
        self.separator = ","
        self.down: list[bool] = []
        self.seen: set[str] | None = None

    def step(self, separator: Value, distinct: Value, value: Value, *order: Value) -> None:
        self.separator = text(separator) or ""
        if value is None:
            return
        said = text(value) or ""
        if distinct:
            self.seen = set() if self.seen is None else self.seen
            if collate.key(said) in self.seen:
                return
            self.seen.add(collate.key(said))
        self.down = [bool(flag) for flag in order[1::2]]
        if len(self.rows) * 2 < 1_000_000:
            self.rows.append((said, tuple(map(_sortable, order[::2]))))

    def finalize(self) -> str | None:
        if not self.rows:
            return None
        if self.seen is not None and not self.down:
            self.rows.sort(key=lambda row: collate.key(row[0]))
        for place in reversed(range(len(self.down))):
            self.rows.sort(key=lambda row: row[1][place], reverse=self.down[place])
        joined = self.separator.join(said for said, _ in self.rows)
        return joined.encode("utf-8", "replace")[:_LONGEST_GROUP].decode("utf-8", "ignore")


def _sortable(value: Value) -> tuple[int, Any]:
    if value is None:
        return (0, 0)
    return (1, value) if isinstance(value, int | float) else (2, collate.key(text(value) or ""))


class _First:
    """The value of a group's first row."""

    def __init__(self) -> None:
        self.value: Value = None
        self.seen = False

    def step(self, value: Value) -> None:
        if not self.seen:
            self.value, self.seen = value, True

    def finalize(self) -> Value:
        return self.value


class _One:
    """The only value there is. :raises ValueError: there are two"""

    def __init__(self) -> None:
        self.count = 0
        self.value: Value = None

    def step(self, value: Value) -> None:
        self.count += 1
        if self.count > 1:
            raise ValueError("more than one row")
        self.value = value

    def finalize(self) -> Value:
        return self.value


class _Spread:
    """Welford's running variance."""

    sample = False
    root = False

    def __init__(self) -> None:
        self.count = 0
        self.mean = 0.0
        self.squares = 0.0

    def step(self, value: Value) -> None:
        found = number(value)
        if found is None:
            return
        self.count += 1
        delta = found - self.mean
        self.mean += delta / self.count
        self.squares += delta * (found - self.mean)

    def finalize(self) -> float | None:
        freedom = self.count - self.sample
        if freedom <= 0:
            return None
        variance = self.squares / freedom
        return math.sqrt(variance) if self.root else variance


class _SampleVariance(_Spread):
    sample = True


class _Deviation(_Spread):
    root = True


class _SampleDeviation(_Spread):
    sample = True
    root = True


class _Bits:
    def __init__(self) -> None:
        self.values: list[int] = []

    def step(self, value: Value) -> None:
        found = whole(value)
        if found is not None:
            self.values.append(found)


class _BitAnd(_Bits):
    def finalize(self) -> int:
        return reduce(lambda a, b: a & b, self.values, -1)


class _BitOr(_Bits):
    def finalize(self) -> int:
        return reduce(lambda a, b: a | b, self.values, 0)


class _BitXor(_Bits):
    def finalize(self) -> int:
        return reduce(lambda a, b: a ^ b, self.values, 0)


class _JsonArray:
    def __init__(self) -> None:
        self.values: list[Value] = []

    def step(self, value: Value) -> None:
        self.values.append(value)

    def finalize(self) -> str:
        return json.dumps(self.values, ensure_ascii=False, default=str)


class _CountDistinct:
    """COUNT(DISTINCT a, b): rows with a NULL do not count."""

    def __init__(self) -> None:
        self.rows: set[tuple[Any, ...]] = set()

    def step(self, *values: Value) -> None:
        if None not in values:
            self.rows.add(tuple(map(_sortable, values)))

    def finalize(self) -> int:
        return len(self.rows)


AGGREGATES: dict[str, Any] = {
    "group_concat": _GroupConcat,
    "first": _First,
    "one": _One,
    "var_pop": _Spread,
    "var_samp": _SampleVariance,
    "stddev_pop": _Deviation,
    "stddev_samp": _SampleDeviation,
    "bit_and": _BitAnd,
    "bit_or": _BitOr,
    "bit_xor": _BitXor,
    "json_arrayagg": _JsonArray,
    "count_distinct": _CountDistinct,
}
