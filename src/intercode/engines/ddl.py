"""CREATE TABLE for a `Table` in any dialect: its own words where it has them in that dialect, else
made from columns and keys, with types wide enough for the rows that it holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from intercode.engines.content import Column, ForeignKey, Table
from intercode.engines.types import Family, SqlType, parse_type


def quote(name: str, dialect: str) -> str:
    """As a name, whatever is in it. PostgreSQL and DuckDB keep its case then."""
    mark = "`" if dialect == "mysql" else '"'
    return mark + name.replace(mark, mark * 2) + mark


def create_table(table: Table, source: str, target: str, *, foreign_keys: bool = True) -> str:
    """``table.ddl`` verbatim where both dialects are the same; it has its foreign keys then
    whatever is asked. A primary key that the rows break (SQLite allows NULL in one) is left out."""
    if source == target and table.ddl is not None:
        return table.ddl
    types = column_types(table, source, target)
    key = table.primary_key if _keeps(table) else ()
    lines = []
    for column, kind in zip(table.columns, types, strict=True):
        name = quote(column.name, target)
        if target == "sqlite" and key == (column.name,) and kind == "INTEGER":
            lines.append(f"{name} INTEGER PRIMARY KEY")
            key = ()
            continue
        fixed = "" if column.nullable and column.name not in key else " NOT NULL"
        lines.append(f"{name} {kind}{_collation(column, source, target)}{fixed}")
    if key:
        lines.append(f"PRIMARY KEY ({_names(key, target)})")
    if foreign_keys:
        lines += [_foreign_key(reference, target) for reference in table.foreign_keys]
    body = ",\n  ".join(lines)
    return f"CREATE TABLE {quote(table.name, target)} (\n  {body}\n)"


def add_foreign_keys(table: Table, target: str) -> list[str]:
    """The table's foreign keys as ALTER TABLE statements, for when all tables are there."""
    name = quote(table.name, target)
    return [
        f"ALTER TABLE {name} ADD {_foreign_key(reference, target)}"
        for reference in table.foreign_keys
    ]


def column_types(table: Table, source: str, target: str) -> tuple[str, ...]:
    """The columns' types as declared in the target dialect."""
    keyed = {name for reference in table.foreign_keys for name in reference.columns}
    keyed.update(table.primary_key)
    return tuple(
        _column_type(column, [row[place] for row in table.rows], source, target, keyed)
        for place, column in enumerate(table.columns)
    )


def _names(names: Iterable[str], target: str) -> str:
    return ", ".join(quote(name, target) for name in names)


def _foreign_key(reference: ForeignKey, target: str) -> str:
    columns = _names(reference.columns, target)
    references = f" ({_names(reference.references, target)})" if reference.references else ""
    return f"FOREIGN KEY ({columns}) REFERENCES {quote(reference.table, target)}{references}"


def _keeps(table: Table) -> bool:
    places = [i for i, column in enumerate(table.columns) if column.name in table.primary_key]
    return all(row[place] is not None for row in table.rows for place in places)


def _collation(column: Column, source: str, target: str) -> str:
    """MySQL's text compares without regard to case, and SQLite's can be told to."""
    text = parse_type(column.type).family == "text"
    return " COLLATE NOCASE" if text and (source, target) == ("mysql", "sqlite") else ""


def _column_type(
    column: Column, values: list[Any], source: str, target: str, keyed: set[str]
) -> str:
    if source == target:
        return column.type
    kind = parse_type(column.type)
    given = [value for value in values if value is not None]
    family = _widened(kind, given, source)
    return _WRITERS[target](kind, family, given, column.name in keyed)


def _widened(kind: SqlType, given: list[Any], source: str) -> Family:
    """The declared family where every value is of it, else one that holds them all."""
    family = kind.family
    if family == "decimal" and source == "sqlite" and not kind.arguments:
        family = "float"
    if family == "other":
        family = "int" if source == "sqlite" and given and not kind.base else "text"
    wider: dict[Family, tuple[Family, ...]] = {
        "bool": ("bool", "int", "float"),
        "int": ("int", "decimal" if kind.unsigned else "float"),
        "bit": ("int", "float"),
        "float": ("float",),
        "decimal": ("decimal", "float"),
        "date": ("date", "datetime"),
        "datetime": ("datetime",),
        "time": ("time",),
    }
    for candidate in wider.get(family, (family,)):
        if all(_FITS[candidate](value) for value in given):
            return candidate
    return "blob" if any(isinstance(value, bytes) for value in given) else "text"


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and -(2**63) <= value < 2**63


def _is_day(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) == 10 and _parses(date.fromisoformat, value)
    return isinstance(value, date) and not isinstance(value, datetime)


def _is_moment(value: Any) -> bool:
    if isinstance(value, str):
        return _parses(datetime.fromisoformat, value)
    return isinstance(value, date)


def _is_clock(value: Any) -> bool:
    if isinstance(value, str):
        return _parses(time.fromisoformat, value)
    return isinstance(value, time | timedelta)


def _parses(parse: Callable[[str], object], text: str) -> bool:
    try:
        parse(text)
    except ValueError:
        return False
    return True


_FITS: dict[Family, Callable[[Any], bool]] = {
    "int": _is_whole,
    "bit": _is_whole,
    "bool": lambda value: value in (0, 1) and isinstance(value, int),
    "float": lambda value: isinstance(value, int | float | Decimal),
    "decimal": lambda value: isinstance(value, int | float | Decimal),
    "date": _is_day,
    "datetime": _is_moment,
    "time": _is_clock,
    "text": lambda value: not isinstance(value, bytes),
    "blob": lambda value: True,
    "other": lambda value: True,
}


def _sqlite(kind: SqlType, family: Family, given: list[Any], keyed: bool) -> str:
    if family == "decimal" and kind.arguments:
        return f"DECIMAL({', '.join(map(str, kind.arguments))})"
    if family == "text" and kind.family == "text" and kind.arguments:
        return f"VARCHAR({kind.arguments[0]})"
    return {
        "int": "INTEGER",
        "bit": "INTEGER",
        "bool": "BOOLEAN",
        "decimal": "NUMERIC",
        "float": "REAL",
        "blob": "BLOB",
        "date": "DATE",
        "datetime": "DATETIME",
        "time": "TIME",
    }.get(family, "TEXT")


def _mysql(kind: SqlType, family: Family, given: list[Any], keyed: bool) -> str:
    if family == "text":
        return _varchar(kind, given, limit=500) or ("varchar(255)" if keyed else "text")
    if family == "int":
        return _whole(kind, given)
    if family == "decimal":
        return f"decimal({_digits(kind, given, 65, 30)})"
    return {
        "bit": "bigint",
        "bool": "tinyint(1)",
        "float": "double",
        "blob": "varbinary(255)" if keyed else "longblob",
        "date": "date",
        "datetime": "datetime(6)" if _has_fractions(given) else "datetime",
        "time": "time(6)" if _has_fractions(given) else "time",
    }[family]


def _postgres(kind: SqlType, family: Family, given: list[Any], keyed: bool) -> str:
    if family == "text":
        return _varchar(kind, given, limit=10_000) or "text"
    if family == "int":
        return "bigint" if _whole(kind, given) == "bigint" else "integer"
    if family == "decimal":
        return f"numeric({_digits(kind, given, 1000, 1000)})"
    spans = any(isinstance(value, timedelta) for value in given)
    return {
        "bit": "bigint",
        "bool": "boolean",
        "float": "double precision",
        "blob": "bytea",
        "date": "date",
        "datetime": "timestamp",
        "time": "interval" if spans else "time",
    }[family]


def _duckdb(kind: SqlType, family: Family, given: list[Any], keyed: bool) -> str:
    if family == "decimal":
        return f"DECIMAL({_digits(kind, given, 38, 38)})"
    written = _postgres(kind, family, given, keyed).upper()
    return {
        "DOUBLE PRECISION": "DOUBLE",
        "BYTEA": "BLOB",
        "TEXT": "VARCHAR",
    }.get(written, written)


_WRITERS: dict[str, Callable[[SqlType, Family, list[Any], bool], str]] = {
    "sqlite": _sqlite,
    "mysql": _mysql,
    "postgres": _postgres,
    "duckdb": _duckdb,
}


def _whole(kind: SqlType, given: list[Any]) -> str:
    wide = kind.base in ("BIGINT", "INT8", "BIGSERIAL") or kind.unsigned
    return "bigint" if wide or any(abs(value) >= 2**31 for value in given) else "int"


def _digits(kind: SqlType, given: list[Any], most: int, most_behind: int) -> str:
    """Precision and scale, as declared or as the values need."""
    if kind.arguments:
        return f"{min(kind.arguments[0], most)},{min(kind.scale, most_behind)}"
    exponents = [int(Decimal(str(value)).as_tuple().exponent) for value in given]
    return f"{min(38, most)},{min(max([0, *(-exponent for exponent in exponents)]), 18)}"


def _varchar(kind: SqlType, given: list[Any], limit: int) -> str | None:
    if kind.family != "text" or not kind.arguments or not 0 < kind.arguments[0] <= limit:
        return None
    longest = max((len(str(value)) for value in given), default=0)
    return f"varchar({kind.arguments[0]})" if longest <= kind.arguments[0] else None


def _has_fractions(given: list[Any]) -> bool:
    return any(
        "." in value if isinstance(value, str) else bool(getattr(value, "microsecond", 0))
        for value in given
    )
