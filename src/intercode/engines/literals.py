"""What a query expects of its columns: the constants it compares them with, and which repeat."""

from __future__ import annotations

from typing import NamedTuple

from intercode.engines.lexer import Token, name_value, significant, string_value

Constant = int | float | str


class Literal(NamedTuple):
    """``column`` is the bare name, in small letters, of what it is compared with; None where that
    is no column (``COUNT(*) > 3``). Where ``value`` is None the query
    groups by the column, takes each of its values once, or looks for what two selections of them
    share: it expects them to repeat."""

    column: str | None
    value: Constant | None


_COMPARES = {"=", "==", "<", ">", "<=", ">=", "<>", "!=", "<=>", "LIKE", "ILIKE", "IN", "BETWEEN"}
_JOINS = {"AND", "OR", "WHERE", "HAVING", "ON", "WHEN", "THEN", "SELECT", "FROM", "NOT", "IS"}
_AFTER_GROUP = {
    "FROM",
    "HAVING",
    "ORDER",
    "LIMIT",
    "UNION",
    "INTERSECT",
    "EXCEPT",
    "WINDOW",
    ")",
    ";",
}
_UNCOMPARED = {"LIMIT", "OFFSET", "ORDER", "GROUP", "FETCH"}


def literals(sql: str, dialect: str) -> frozenset[Literal]:
    """All of a query, whatever it is: any text has an answer. Of a pattern (``'%Ha%'``) the plain
    part. In SQLite and MySQL a text in double quotes may be a constant or a name, and is taken for
    both."""
    found: set[Literal] = set()
    column: str | None = None
    compared = uncompared = between = False
    before: Token | None = None
    for token in significant(sql, dialect):
        word = token.upper
        if word in _COMPARES:
            compared, uncompared, between = True, False, word == "BETWEEN"
        elif word == "AND" and between:
            between = False
        elif word in _JOINS:
            compared = uncompared = False
            column = None
        elif word in _UNCOMPARED:
            uncompared = True
        elif token.kind in ("string", "number") and not uncompared:
            found.add(Literal(column, _value(token, dialect, before)))
        elif token.kind == "quoted" and compared and token.text[0] == '"':
            found.add(Literal(column, _plain(name_value(token))))
        elif token.kind in ("word", "quoted") and not compared:
            column = name_value(token).casefold()
        elif word == "(" and before is not None and before.kind == "word" and not compared:
            # A function: what follows is its argument, or nothing.
            column = None
        before = token
    return frozenset(found) | {Literal(name, None) for name in _grouped(sql, dialect)}


def _grouped(sql: str, dialect: str) -> set[str]:
    """The bare names of what is grouped by, taken DISTINCT, or met with itself:
    the last word of each term."""
    found: set[str] = set()
    name = None
    tokens = significant(sql, dialect)
    starts = {"GROUP", "DISTINCT"}
    if any(token.upper == "INTERSECT" for token in tokens):
        starts.add("SELECT")
    grouping = False
    for token in (*tokens, None):
        ends = token is None or token.upper in _AFTER_GROUP
        if grouping and name and (ends or (token is not None and token.text == ",")):
            found.add(name)
            name = None
        if ends or token is None:
            grouping = False
        elif token.upper in starts:
            grouping, name = True, None
        elif token.kind in ("word", "quoted") and token.upper != "BY":
            name = name_value(token).casefold()
    return found


def _value(token: Token, dialect: str, before: Token | None) -> Constant:
    if token.kind == "string":
        return _plain(string_value(token, dialect))
    negative = before is not None and before.text == "-"
    text = token.text.lower()
    if text.startswith("0x"):
        number: int | float = int(text, 16)
    elif text.isdigit():
        number = int(text)
    else:
        number = float(text)
    return -number if negative else number


def _plain(pattern: str) -> str:
    return pattern.strip("%").replace("%", " ")
