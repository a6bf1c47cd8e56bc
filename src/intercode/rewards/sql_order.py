"""Whether a query's rows have an order, and what they are sorted by.

An ORDER BY counts only at the top: one in a subquery, a window or a part of a UNION says nothing of
the result.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from intercode.engines.lexer import Token, significant


@dataclass(frozen=True)
class Order:
    """``keys``: the columns of ``sql``'s result that it is sorted by; None where they cannot be
    told. ``sql`` is the query itself, or, where it is sorted by what it does not show, one that
    gives the same rows and, in its last ``hidden`` columns, the rest of the keys."""

    sql: str
    keys: tuple[int, ...] | None
    hidden: int = 0


def is_ordered(sql: str, dialect: str) -> bool:
    """Whether the last statement has an ORDER BY at its top. Any text has an answer."""
    statement: list[list[Token]] = [[]]
    for token in significant(sql, dialect):
        if token.upper == ";":
            statement.append([])
        else:
            statement[-1].append(token)
    words = next((part for part in reversed(statement) if part), [])
    while _in_brackets(words):
        words = words[1:-1]
    depth = 0
    for token, after in pairwise(words):
        depth += {"(": 1, ")": -1}.get(token.upper, 0)
        if depth == 0 and token.upper == "ORDER" and after.upper == "BY":
            return True
    return False


def _in_brackets(words: list[Token]) -> bool:
    """Whether the first bracket is closed by the last."""
    if len(words) < 2 or words[0].upper != "(":
        return False
    depth = 0
    for index, token in enumerate(words):
        depth += {"(": 1, ")": -1}.get(token.upper, 0)
        if depth == 0:
            return index == len(words) - 1
    return False


def order_of(sql: str, dialect: str) -> Order | None:
    """None for a query without an order. Without `sqlglot`, or where it cannot read the query, the
    keys are not known."""
    if not is_ordered(sql, dialect):
        return None
    unknown = Order(sql, None)
    try:
        import sqlglot
    except ImportError:
        return unknown
    try:
        parsed = sqlglot.parse(sql, read=dialect)
        if len(parsed) != 1 or parsed[0] is None:
            return unknown
        return _read(sql, parsed[0], dialect) or unknown
    except (sqlglot.errors.SqlglotError, RecursionError):
        return unknown


def _read(sql: str, query: Any, dialect: str) -> Order | None:
    """``Any``: sqlglot's own types differ between its versions."""
    from sqlglot import exp

    while isinstance(query, exp.Subquery | exp.Paren) and not query.args.get("order"):
        query = query.this
    order = query.args.get("order")
    if order is None or not isinstance(query, exp.Query):
        return None
    shown = query.selects
    if any(column.is_star for column in shown):
        return None
    keys: list[int] = []
    hidden: list[Any] = []
    for ordered in order.expressions:
        position = _position(ordered.this, shown)
        if position is None:
            position = len(shown) + len(hidden)
            hidden.append(ordered.this)
        keys.append(position)
    if not hidden:
        return Order(sql, tuple(keys))
    # DISTINCT and UNION look at all that is shown.
    if not isinstance(query, exp.Select) or query.args.get("distinct"):
        return None
    wider = query.copy().select(*(key.copy() for key in hidden), copy=False)
    return Order(wider.sql(dialect=dialect), tuple(keys), len(hidden))


def _position(key: Any, shown: list[Any]) -> int | None:
    """Where a key is shown: by number, by name, or as the same expression."""
    from sqlglot import exp

    if isinstance(key, exp.Literal) and not key.is_string:
        number = int(key.this) if key.this.isdigit() else 0
        return number - 1 if 1 <= number <= len(shown) else None
    for index, column in enumerate(shown):
        named = isinstance(key, exp.Column) and not key.table
        if named and column.alias_or_name.casefold() == key.name.casefold():
            return index
    for index, column in enumerate(shown):
        if column.unalias() == key:
            return index
    return None
