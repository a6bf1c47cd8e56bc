"""Declared column types: what family a declaration belongs to, and values of that family."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any, Literal

Family = Literal[
    "int", "decimal", "float", "bool", "text", "blob", "date", "time", "datetime", "bit", "other"
]


@dataclass(frozen=True)
class SqlType:
    """``varchar(20)`` is base ``VARCHAR``, family ``text``, arguments ``(20,)``."""

    family: Family
    base: str
    arguments: tuple[int, ...] = ()
    unsigned: bool = False

    @property
    def scale(self) -> int:
        """Digits behind the point, of a decimal."""
        return self.arguments[1] if len(self.arguments) > 1 else 0


_FAMILIES: dict[str, Family] = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "MEDIUMINT", "INT", "INTEGER", "BIGINT"), "int"),
    **dict.fromkeys(("INT2", "INT4", "INT8", "SERIAL", "BIGSERIAL", "SMALLSERIAL"), "int"),
    **dict.fromkeys(("YEAR", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"), "int"),
    **dict.fromkeys(("DECIMAL", "NUMERIC", "DEC", "FIXED", "NUMBER"), "decimal"),
    **dict.fromkeys(("DOUBLE", "FLOAT", "REAL", "FLOAT4", "FLOAT8"), "float"),
    **dict.fromkeys(("BOOL", "BOOLEAN"), "bool"),
    **dict.fromkeys(("CHAR", "VARCHAR", "CHARACTER", "NCHAR", "NVARCHAR", "BPCHAR"), "text"),
    **dict.fromkeys(("TINYTEXT", "TEXT", "MEDIUMTEXT", "LONGTEXT", "CLOB", "STRING"), "text"),
    **dict.fromkeys(("ENUM", "SET", "JSON", "JSONB", "UUID", "NAME", "CITEXT"), "text"),
    **dict.fromkeys(("BINARY", "VARBINARY", "TINYBLOB", "BLOB", "MEDIUMBLOB"), "blob"),
    **dict.fromkeys(("LONGBLOB", "BYTEA"), "blob"),
    "DATE": "date",
    **dict.fromkeys(("TIME", "TIMETZ"), "time"),
    **dict.fromkeys(("DATETIME", "TIMESTAMP", "TIMESTAMPTZ"), "datetime"),
    "BIT": "bit",
}

_TYPE = re.compile(r"\W*([A-Za-z_]\w*)\s*(?:\(\s*(-?\d+)\s*(?:,\s*(-?\d+)\s*)?\))?", re.ASCII)


@lru_cache(maxsize=4096)
def parse_type(declared: str) -> SqlType:
    """Any text has a type; what is not known is of the family ``other``."""
    found = _TYPE.match(declared)
    if not found:
        return SqlType("other", "")
    base = found[1].upper()
    arguments = tuple(int(number) for number in found.groups()[1:] if number is not None)
    unsigned = bool(re.search(r"\bunsigned\b", declared, re.IGNORECASE))
    family = _FAMILIES.get(base, "other")
    return SqlType(family, base, arguments, unsigned)


def value_of(text: str, kind: SqlType, dialect: str) -> Any:
    """A literal's text as the value that a column of this type holds; what does not fit the type
    (``0000-00-00``) stays text."""
    try:
        match kind.family:
            case "int" | "bit":
                return int(text) if text.strip().lstrip("+-").isdigit() else _whole(text)
            case "decimal":
                return _decimal(text, kind, dialect)
            case "float":
                return float(text)
            case "bool":
                return _truth(text)
            case "date":
                return date.fromisoformat(text)
            case "datetime":
                return datetime.fromisoformat(text)
            case "time":
                return _time(text, dialect)
            case "blob":
                return text.encode("utf-8", "surrogateescape")
    except (ValueError, InvalidOperation, OverflowError):
        pass
    return text


def _whole(text: str) -> int:
    number = Decimal(text)
    return int(number.to_integral_value(rounding="ROUND_HALF_UP"))


def _decimal(text: str, kind: SqlType, dialect: str) -> Decimal:
    number = Decimal(text)
    if not number.is_finite() or (not kind.arguments and dialect != "mysql"):
        return number
    return number.quantize(Decimal(1).scaleb(-kind.scale), rounding="ROUND_HALF_UP")


def _truth(text: str) -> bool:
    word = text.strip().lower()
    if word in ("t", "true", "yes", "y", "on", "1"):
        return True
    if word in ("f", "false", "no", "n", "off", "0"):
        return False
    raise ValueError(text)


_CLOCK = re.compile(r"(-?)(\d+):(\d\d?)(?::(\d\d?)(?:\.(\d{1,6}))?)?")


def _time(text: str, dialect: str) -> time | timedelta:
    """MySQL's TIME is a span of time, and its clients say so."""
    if dialect != "mysql":
        return time.fromisoformat(text)
    found = _CLOCK.fullmatch(text.strip())
    if not found:
        raise ValueError(text)
    sign, hours, minutes, seconds, part = found.groups()
    span = timedelta(
        hours=int(hours),
        minutes=int(minutes),
        seconds=int(seconds or 0),
        microseconds=int((part or "0").ljust(6, "0")),
    )
    return -span if sign else span
