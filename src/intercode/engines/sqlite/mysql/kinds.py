"""Types of expressions by MySQL's rules, and values of those types from what SQLite gives.

The rules are those of the MySQL 8.0 reference manual, 12.6 (arithmetic), 12.19 (aggregates), 12.24
(precision).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Any, Literal

from intercode.engines.types import SqlType, parse_type

Family = Literal["int", "decimal", "float", "text", "date", "datetime", "time", "blob", "null"]

_MOST_DIGITS = 30


@dataclass(frozen=True, slots=True)
class Kind:
    """``scale`` is a decimal's; ``single`` is FLOAT and not DOUBLE; ``fixed`` the digits of a
    ``FLOAT(M,D)``; ``collated`` that SQLite compares it as it is by the column's collation."""

    family: Family
    scale: int = 0
    single: bool = False
    fixed: int | None = None
    collated: bool = False

    @property
    def numeric(self) -> bool:
        return self.family in ("int", "decimal", "float", "null")

    @property
    def exact(self) -> bool:
        return self.family in ("int", "decimal")

    @property
    def temporal(self) -> bool:
        return self.family in ("date", "datetime", "time")


INT = Kind("int")
DOUBLE = Kind("float")
TEXT = Kind("text")
BLOB = Kind("blob")
DATE = Kind("date")
DATETIME = Kind("datetime")
TIME = Kind("time")
NULL = Kind("null")
COLLATED = Kind("text", collated=True)


def decimal(scale: int) -> Kind:
    return Kind("decimal", min(scale, _MOST_DIGITS))


def of_column(declared: str | SqlType) -> Kind:
    """Of a column with that declared type."""
    if not declared:
        return NULL  # a view's expression: as it comes
    kind = parse_type(declared) if isinstance(declared, str) else declared
    match kind.family:
        case "int" | "bit" | "bool":
            return INT
        case "decimal":
            return decimal(kind.scale)
        case "float":
            fixed = kind.arguments[1] if len(kind.arguments) > 1 else None
            return Kind("float", single=kind.base in ("FLOAT", "FLOAT4"), fixed=fixed)
        case "date" | "datetime" | "time" | "blob":
            return Kind(kind.family)
    return COLLATED


def as_column(kind: Kind) -> Kind:
    """As SQLite has it where it has given the expression the collation."""
    return replace(kind, collated=kind.family == "text")


def replace_fixed(kind: Kind, digits: int) -> Kind:
    return replace(kind, fixed=digits)


def plain(kind: Kind) -> Kind:
    """As the value of an expression: what was a column's alone is gone."""
    return replace(kind, collated=False) if kind.collated else kind


def arithmetic(operator: str, left: Kind, right: Kind) -> Kind:
    """Of ``+ - * / DIV %``."""
    if operator == "div":
        return INT
    left, right = _counted(left), _counted(right)
    if not (left.exact or left.family == "null") or not (right.exact or right.family == "null"):
        return replace(DOUBLE, fixed=_fixed(operator, left, right))
    if operator == "/":
        return decimal(left.scale + 4)
    if left.family == "int" == right.family:
        return INT
    if operator == "*":
        return decimal(left.scale + right.scale)
    return decimal(max(left.scale, right.scale)) if "decimal" in _pair(left, right) else INT


def _fixed(operator: str, left: Kind, right: Kind) -> int | None:
    """Digits behind the point of a float where both sides have some number of them."""
    digits = [
        k.fixed if k.family == "float" else k.scale if k.exact else None for k in (left, right)
    ]
    one, other = digits
    if one is None or other is None:
        return None
    if operator == "*":
        return one + other
    return max(one, other) + (4 if operator == "/" else 0)


def _counted(kind: Kind) -> Kind:
    """A date in arithmetic is the whole number of its digits."""
    return INT if kind.temporal else kind


def _pair(left: Kind, right: Kind) -> tuple[str, str]:
    return left.family, right.family


def merged(kinds: Iterable[Kind]) -> Kind:
    """Of IF, CASE, COALESCE, UNION: one type for all."""
    given = [plain(kind) for kind in kinds if kind.family != "null"]
    if not given:
        return NULL
    if all(kind == given[0] for kind in given):
        return given[0]
    families = {kind.family for kind in given}
    if families <= {"int", "decimal"}:
        return decimal(max(kind.scale for kind in given))
    if families <= {"int", "decimal", "float"}:
        return DOUBLE
    if families <= {"date", "datetime"}:
        return DATETIME
    return TEXT


def total(kind: Kind) -> Kind:
    """Of SUM."""
    kind = _counted(kind)
    exact = kind.exact or kind.family == "null"
    return decimal(kind.scale) if exact else replace(DOUBLE, fixed=kind.fixed)


def spread(kind: Kind) -> Kind:
    """Of STDDEV and VARIANCE."""
    digits = kind.scale if kind.exact else kind.fixed
    return replace(DOUBLE, fixed=None if digits is None else digits + 4)


def average(kind: Kind) -> Kind:
    kind = _counted(kind)
    if kind.exact or kind.family == "null":
        return decimal(kind.scale + 4)
    return replace(DOUBLE, fixed=kind.fixed + 4) if kind.fixed is not None else DOUBLE


def in_single(row: tuple[Any, ...], places: Iterable[int]) -> tuple[Any, ...]:
    """The row with numbers at those places rounded to single precision."""
    values = list(row)
    for place in places:
        if _number(values[place]):
            values[place] = single(values[place])
    return tuple(values)


def single(value: float) -> float:
    """Rounded to single precision; what is beyond its range stays."""
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return value


Decoder = Callable[[Any], Any]


def decoder(kind: Kind) -> Decoder | None:
    """Makes a value of the kind from SQLite's; None where SQLite's is one already. What does not
    fit stays as it is, and NULL is NULL."""
    match kind.family:
        case "decimal":
            scale = kind.scale
            return lambda value: as_decimal(value, scale)
        case "float":
            if kind.fixed is not None:
                digits = kind.fixed
                return lambda value: round(float(value), digits) if _number(value) else value
            return _single if kind.single else _double
        case "date":
            return _date
        case "datetime":
            return _datetime
        case "time":
            return _time
        case "text":
            return None if kind.collated else _text
        case "int":
            return _int
    return None


def _number(value: Any) -> bool:
    return isinstance(value, int | float)


def as_decimal(value: Any, scale: int) -> Any:
    if value is None:
        return None
    try:
        number = Decimal(repr(value) if isinstance(value, float) else value)
        return number.quantize(Decimal(1).scaleb(-scale), rounding=ROUND_HALF_UP)
    except (InvalidOperation, ValueError, TypeError):
        return value


def _single(value: Any) -> Any:
    return float(f"{value:.6g}") if _number(value) else value


def _double(value: Any) -> Any:
    return float(value) if isinstance(value, int) else value


def _int(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _date(value: Any) -> Any:
    try:
        return date.fromisoformat(value[:10]) if isinstance(value, str) else value
    except ValueError:
        return None if value.startswith("0000") else value


def _datetime(value: Any) -> Any:
    try:
        return datetime.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        return None if value.startswith("0000") else value


def _time(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    sign, clock = (-1, value[1:]) if value.startswith("-") else (1, value)
    try:
        hours, minutes, seconds = clock.split(":")
        return sign * timedelta(
            hours=int(hours), minutes=int(minutes), microseconds=round(float(seconds) * 1_000_000)
        )
    except ValueError:
        return value


def _text(value: Any) -> Any:
    return number_text(value) if _number(value) else value


def number_text(value: Any) -> str:
    """A number as MySQL writes it into text: ``3``, ``1.5``, ``1e20``."""
    if isinstance(value, int):
        return str(value)
    if value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return repr(float(value)).replace("e+", "e").replace("e-0", "e-")
