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
    gives the same rows and, in its last ``hidden`` columns, the rest of the keys (counted from the
    end where it is not known how many columns come before). With a ``limit``, ``sql`` goes on after
    it: the query's own rows are the first ones, and which of those with the same keys are cut off
    is left open."""

    sql: str
    keys: tuple[int, ...] | None
    hidden: int = 0
    limit: int | None = None


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
    starred = any(column.is_star for column in shown)
    keys: list[int] = []
    hidden: list[Any] = []
    for ordered in order.expressions:
        position = None if starred else _position(ordered.this, shown)
        if position is None:
            if isinstance(ordered.this, exp.Literal):
                return None
            position = len(hidden) if starred else len(shown) + len(hidden)
            hidden.append(ordered.this)
        keys.append(position)
    # DISTINCT and UNION look at all that is shown.
    plain = isinstance(query, exp.Select) and not query.args.get("distinct")
    if hidden and not plain:
        return None
    limit = _limit(query)
    if not hidden and limit is None:
        return Order(sql, tuple(keys))
    wider = query.copy()
    if hidden:
        wider = wider.select(*(key.copy() for key in hidden), copy=False)
    if limit is not None:
        wider.set("limit", None)
    if starred:
        keys = [key - len(hidden) for key in keys]
    return Order(wider.sql(dialect=dialect), tuple(keys), len(hidden), limit)


def _limit(query: Any) -> int | None:
    """The number of rows it is cut to, if that is plain and they are the first."""
    limit = query.args.get("limit")
    if limit is None or query.args.get("offset") is not None or limit.args.get("offset"):
        return None
    count = limit.args.get("expression") or limit.args.get("count")
    return int(count.this) if count is not None and count.is_int else None


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
