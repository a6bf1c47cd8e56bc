"""Values of SQLite as MySQL converts them: to numbers, text and dates."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from typing import Any

from intercode.engines.sqlite.mysql.kinds import number_text

LONGEST = 4_000_000
"""Characters of a function's result; more is NULL, as beyond MySQL's max_allowed_packet."""

Number = int | float

_NUMBER = re.compile(r"\s*([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)")


def number(value: Any) -> Number | None:
    """The number that text begins with, else 0."""
    if value is None or isinstance(value, int | float):
        return value
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    found = _NUMBER.match(value)
    if not found:
        return 0
    digits = found[1]
    return int(digits) if digits.lstrip("+-").isdigit() and len(digits) < 19 else float(digits)


def whole(value: Any) -> int | None:
    """Rounded to a whole number, halves away from zero."""
    found = number(value)
    if found is None or isinstance(found, int):
        return found
    return int(found + 0.5) if found >= 0 else -int(-found + 0.5)


def text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return number_text(value)


_MOMENT = re.compile(
    r"\s*(\d{4}|\d{2})[-/.:](\d{1,2})[-/.:](\d{1,2})"
    r"(?:[T ]+(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,6})\d*)?)?)?)?"
)
_PACKED = re.compile(r"(\d{4})(\d\d)(\d\d)(?:(\d\d)(\d\d)(\d\d))?")


def moment(value: Any) -> datetime | None:
    """The date and time that a value says, None where it says none."""
    if value is None:
        return None
    said = text(value) or ""
    found = _MOMENT.match(said) or _PACKED.fullmatch(said.strip())
    if not found:
        return None
    parts = found.groups()
    year = int(parts[0])
    if len(parts[0]) == 2:
        year += 2000 if year < 70 else 1900
    micro = int(parts[6].ljust(6, "0")) if len(parts) > 6 and parts[6] else 0
    hour, minute, second = (int(part or 0) for part in parts[3:6])
    try:
        return datetime(year, int(parts[1]), int(parts[2]), hour, minute, second, micro)
    except ValueError:
        return None


def has_clock(value: Any) -> bool:
    """Whether it says a time of day, and not a date alone."""
    said = (text(value) or "").strip()
    found = _MOMENT.match(said)
    return bool(found and found[4]) or len(said) == 14


_CLOCK = re.compile(r"\s*(-?)(?:(\d+) )?(\d+):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,6}))?)?\s*")


def clock(value: Any) -> timedelta | None:
    """A time, as MySQL's TIME: of a moment that of the day."""
    if value is None:
        return None
    said = text(value) or ""
    found = _CLOCK.fullmatch(said)
    if found:
        sign, days, hours, minutes, seconds, part = found.groups()
        micro = int((part or "0").ljust(6, "0"))
        total = timedelta(
            days=int(days or 0), hours=int(hours), minutes=int(minutes),
            seconds=int(seconds or 0), microseconds=micro,
        )  # fmt: skip
        return -total if sign else total
    whole_moment = moment(value)
    if whole_moment is None:
        return None
    return whole_moment - datetime.combine(whole_moment.date(), datetime.min.time())


def day_text(value: date) -> str:
    return f"{value.year:04}-{value.month:02}-{value.day:02}"


def moment_text(value: datetime) -> str:
    part = f".{value.microsecond:06}" if value.microsecond else ""
    return f"{day_text(value)} {value.hour:02}:{value.minute:02}:{value.second:02}{part}"
