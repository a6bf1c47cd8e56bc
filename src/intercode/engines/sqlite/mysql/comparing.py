"""Two values made comparable in SQLite as MySQL compares them.

Text with a number compares as numbers, with a date as dates, text with text by the collation
(reference manual, 12.3).
"""

from __future__ import annotations

from typing import Any

from intercode.engines.sqlite.mysql import kinds
from intercode.engines.sqlite.mysql.build import collated, literal, mine, numeric, text_literal
from intercode.engines.sqlite.mysql.collate import NAME, is_plain
from intercode.engines.sqlite.mysql.functions.values import (
    clock,
    day_text,
    has_clock,
    moment,
    moment_text,
    number,
)
from intercode.engines.sqlite.mysql.kinds import Kind
from intercode.engines.sqlite.template import span

Typed = tuple[Any, Kind]


class Comparing:
    def __init__(self, collation: str) -> None:
        self._collation = collation

    def pair(self, left: Any, left_kind: Kind, right: Any, right_kind: Kind) -> tuple[Any, Any]:
        """Both sides of a comparison."""
        if "null" in (left_kind.family, right_kind.family):
            return left, right
        if left_kind.single or right_kind.single:
            left, right = _as_single(left, right_kind), _as_single(right, left_kind)
        if left_kind.temporal or right_kind.temporal:
            return self._dates(left, left_kind, right, right_kind)
        if left_kind.numeric != right_kind.numeric:
            return numeric(left, left_kind), numeric(right, right_kind)
        if left_kind.family == "text" == right_kind.family:
            return self._collation_for(left, left_kind, right, right_kind), right
        return left, right

    def _collation_for(self, left: Any, left_kind: Kind, right: Any, right_kind: Kind) -> Any:
        """The left side, with the collation where SQLite would not find it by itself, or where the
        faster one is not enough for what stands there."""
        if not all(map(_plain, (left, right))):
            return collated(left, NAME)
        loose = not left_kind.collated and not right_kind.collated
        return collated(left, self._collation) if loose else left

    def many(self, value: Any, kind: Kind, options: list[Typed]) -> tuple[Any, list[Any]]:
        """The value of an IN and its options."""
        families = {other.family for _, other in options}
        numbers = any(other.numeric for _, other in options)
        if kind.family == "text" and numbers and families <= {"int", "decimal", "float", "text"}:
            return numeric(value, kind), [numeric(o, other) for o, other in options]
        pairs = [self.pair(value.copy(), kind, option, other) for option, other in options]
        changed = [left for left, _ in pairs if left != value]
        return (changed[0] if changed else value), [option for _, option in pairs]

    def _dates(self, left: Any, left_kind: Kind, right: Any, right_kind: Kind) -> tuple[Any, Any]:
        if left_kind.family == right_kind.family:
            return left, right
        if left_kind.temporal and right_kind.temporal:
            return _as_moment(left, left_kind), _as_moment(right, right_kind)
        if left_kind.temporal:
            first, second = self._dated(left, left_kind, right, right_kind)
            return first, second
        second, first = self._dated(right, right_kind, left, left_kind)
        return first, second

    def _dated(self, date: Any, kind: Kind, other: Any, other_kind: Kind) -> tuple[Any, Any]:
        said = str(other.this) if type(other).__name__ == "Literal" else None
        if kind.family == "time":
            found = clock(said) if said is not None else None
            if found is not None:
                return date, text_literal(span(found))
            return date, other if other_kind.family == "text" else mine("time", other)
        if said is None:
            if other_kind.numeric:
                return date, mine("date", other) if kind.family == "date" else mine(
                    "datetime", other
                )
            return _as_moment(date, kind), mine("datetime", other)
        at = moment(said)
        if at is None:
            return date, text_literal(said)
        if kind.family == "date" and not has_clock(said):
            return date, text_literal(day_text(at))
        return _as_moment(date, kind), text_literal(moment_text(at))


def _as_single(node: Any, other: Kind) -> Any:
    """A constant as exact as the FLOAT(M,D) that it meets."""
    if other.fixed is None or not other.single or type(node).__name__ != "Literal":
        return node
    return literal(kinds.single(float(number(str(node.this)) or 0)))


def _plain(node: Any) -> bool:
    """Not a literal of which SQLite's own collation has another opinion than MySQL's."""
    return not getattr(node, "is_string", False) or is_plain(str(node.this))


def _as_moment(node: Any, kind: Kind) -> Any:
    return node if kind.family == "datetime" else mine("datetime", node)
