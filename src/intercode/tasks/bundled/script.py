"""Databases written as code: a schema and plain rows in, the same SQL script out every time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta

Value = int | float | str | None
Row = tuple[Value, ...]

_ROWS_PER_INSERT = 100


def script(schema: str, rows: Mapping[str, Sequence[Row]]) -> str:
    """``schema``'s CREATE TABLE statements, then INSERT statements for ``rows`` by table name."""
    inserts = (
        f'INSERT INTO "{table}" VALUES\n' + ",\n".join(map(_tuple, part)) + ";\n"
        for table, all_rows in rows.items()
        for start in range(0, len(all_rows), _ROWS_PER_INSERT)
        if (part := all_rows[start : start + _ROWS_PER_INSERT])
    )
    return schema.strip() + "\n" + "".join(inserts)


def later(day: str, days: int) -> str:
    """The date ``days`` after ``day``, both ``YYYY-MM-DD``."""
    return (date.fromisoformat(day) + timedelta(days)).isoformat()


def _tuple(row: Row) -> str:
    return "(" + ", ".join(map(_literal, row)) + ")"


def _literal(value: Value) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return repr(value)
