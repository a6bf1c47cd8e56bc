"""Functions of SQLite whose own time grows with the product of their arguments' lengths, again in
time that grows with the sum: nothing can interrupt a function call."""

from __future__ import annotations

import sqlite3
from typing import Any


def register(connection: sqlite3.Connection) -> None:
    connection.create_function("instr", 2, _instr, deterministic=True)
    connection.create_function("replace", 3, _replacer(connection), deterministic=True)
    for name, sides in (("trim", "lr"), ("ltrim", "l"), ("rtrim", "r")):
        connection.create_function(name, 2, _trimmer(sides), deterministic=True)


def as_text(value: Any) -> str:
    """As SQLite casts a value to text."""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, float):
        short = f"{value:.15g}"
        if short.lstrip("-").isdigit():
            return short + ".0"
        mantissa, mark, exponent = short.partition("e")
        if mark:
            return f"{mantissa if '.' in mantissa else mantissa + '.0'}e{exponent}"
        return short.capitalize() if short.lstrip("-") in ("inf", "nan") else short
    return str(value)


def _instr(text: Any, part: Any) -> int | None:
    if text is None or part is None:
        return None
    if isinstance(text, bytes) and isinstance(part, bytes):
        return text.find(part) + 1
    return as_text(text).find(as_text(part)) + 1


def _replacer(connection: sqlite3.Connection) -> Any:
    longest = connection.getlimit(sqlite3.SQLITE_LIMIT_LENGTH)

    def replace(text: Any, old: Any, new: Any) -> str | None:
        if text is None or old is None or new is None:
            return None
        text, old, new = as_text(text), as_text(old), as_text(new)
        if not old:
            return str(text)
        if len(text) + text.count(old) * (len(new) - len(old)) > longest:
            raise OverflowError
        return str(text.replace(old, new))

    return replace


def _trimmer(sides: str) -> Any:
    def trim(text: Any, unwanted: Any) -> str | None:
        if text is None or unwanted is None:
            return None
        text, marks = as_text(text), set(as_text(unwanted))
        first, last = 0, len(text)
        if "l" in sides:
            while first < last and text[first] in marks:
                first += 1
        if "r" in sides:
            while last > first and text[last - 1] in marks:
                last -= 1
        return str(text[first:last])

    return trim
