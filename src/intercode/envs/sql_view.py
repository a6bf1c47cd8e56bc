"""What an agent of `SQL-v2` is shown of a statement's result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from intercode.engines.base import QueryResult

MAX_ROWS = 100
MAX_CHARS = 1 << 14
MAX_CELL_CHARS = 1000


def observed(results: Sequence[QueryResult]) -> str:
    """All results, one after another; a line each for what has no rows."""
    return "\n".join(_shown(result) for result in results)


def _shown(result: QueryResult) -> str:
    if result.error is not None:
        return f"Error: {result.error}"
    if result.rows is None:
        if result.affected is None or result.affected < 0:
            return "OK"
        return f"OK, {_count(result.affected)} changed"
    lines = [" | ".join(result.columns)] if result.columns else []
    length = 0
    for row in result.rows[:MAX_ROWS]:
        lines.append(" | ".join(map(cell, row)))
        length += len(lines[-1]) + 1
        if length > MAX_CHARS:
            break
    shown = len(lines) - bool(result.columns)
    if shown < len(result.rows):
        lines.append("…")
    total = len(result.rows)
    of_all = f"more than {total:,} rows" if result.truncated else _count(total)
    cut = f", the first {shown:,} shown" if shown < total else ""
    return "\n".join([*lines, f"({of_all}{cut})"])


def cell(value: Any) -> str:
    """One value on one line."""
    if value is None:
        return "NULL"
    if isinstance(value, bytes | bytearray):
        text = f"x'{bytes(value[:MAX_CELL_CHARS]).hex()}'"
    else:
        text = str(value)
    if len(text) > MAX_CELL_CHARS:
        text = f"{text[:MAX_CELL_CHARS]}… ({len(text):,} characters)"
    printable = text.replace("\\", "\\\\") if "\n" in text or "\r" in text else text
    printable = printable.replace("\n", "\\n").replace("\r", "\\r").replace("\0", "\\0")
    return printable.encode("utf-8", "backslashreplace").decode("utf-8")


def _count(number: int) -> str:
    return f"{number:,} row{'' if number == 1 else 's'}"
