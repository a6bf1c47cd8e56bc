"""Values like others: near misses of a constant, and new ones of a column's kind.

None differs from one that is there only in case or accents: engines that take these for equal show
any one of them, so that of two right queries each may show another.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from random import Random
from typing import Any

_DATE = re.compile(r"(\d{4}-\d\d-\d\d)(.*)", re.DOTALL)
_NUMBER = re.compile(r"-?\d{1,15}(\.\d{1,9})?")
_LENGTH = re.compile(r"char[a-z ]*\(\s*(\d+)\s*\)", re.IGNORECASE)
_PRECISION = re.compile(r"(?:decimal|numeric)\s*\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)", re.IGNORECASE)
_RANGES = {"tinyint": 127, "smallint": 32_767, "mediumint": 8_388_607, "year": 2_155}
_FIXED = re.compile(r"\b(enum|set|bool|bit|json|uuid|blob|binary|bytea|time|interval)", re.I)
_OPTION = re.compile(r"'((?:[^']|'')*)'")

_WORDS = (
    "Ann", "Bo", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hana", "Ivo", "Jo", "Kim", "Lea", "Max",
    "Nora", "Otto", "Pia", "Quin", "Rosa", "Sam", "Tess", "Uma", "Vic", "Wes", "Xena", "Yan", "Zoe",
)  # fmt: skip
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class Kind:
    """What a column may hold: read off its declared type and the values it has."""

    type: str
    values: tuple[Any, ...]
    """Those it has, NULL left out, as often as it has them."""
    fixed: bool
    """No other values than those will do."""
    dates_are_text: bool = False

    @property
    def longest(self) -> int | None:
        found = _LENGTH.search(self.type)
        return int(found[1]) if found else None


def kind_of(declared: str, values: Sequence[Any], dialect: str) -> Kind:
    present = tuple(value for value in values if value is not None)
    if not values and "enum" in declared.lower():
        present = tuple(option.replace("''", "'") for option in _OPTION.findall(declared))
    flags = bool(present) and all(value in (0, 1) for value in set(map(_hashable, present)))
    of_types = all(isinstance(value, (int, float, str, Decimal, date)) for value in present)
    named = _FIXED.search(declared.replace("datetime", "").replace("timestamp", ""))
    fixed = bool(present) and (flags or bool(named) or not of_types)
    return Kind(declared, present, fixed, dates_are_text=dialect == "sqlite")


def _hashable(value: Any) -> Any:
    return value if isinstance(value, (int, float, str, Decimal, date)) else repr(value)


def varied(value: Any, kind: Kind, draw: Random) -> Any:
    """A value near this one, of the same type and format, that the column can hold."""
    if isinstance(value, bool) or kind.fixed:
        return draw.choice(kind.values) if kind.values else value
    if isinstance(value, datetime | date):
        return _shifted_date(value, draw)
    if isinstance(value, (int, float, Decimal)):
        return _fitting(_shifted(value, draw), kind, value)
    if isinstance(value, str):
        return _varied_text(value, draw)[: kind.longest]
    return value


def fits(value: Any, kind: Kind) -> Any:
    """A constant as the column would hold it; None if it would not."""
    sample = kind.values[0] if kind.values else new(kind, Random(0))
    if kind.fixed:
        return next((own for own in kind.values if own == value), None)
    if isinstance(sample, str):
        text = str(value)
        return text if kind.longest is None or len(text) <= kind.longest else None
    if isinstance(sample, (datetime, date)) and isinstance(value, str):
        return _read_date(value, sample)
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        value = float(value) if "." in value else int(value)
    if isinstance(sample, (int, float, Decimal)) and isinstance(value, (int, float)):
        if isinstance(sample, int):
            return _fitting(int(value), kind, sample)
        if isinstance(sample, Decimal):
            return _fitting(Decimal(str(value)), kind, sample)
        return float(value)
    return None


def new(kind: Kind, draw: Random) -> Any:
    """Any value of a column's declared type, where it has none to go by."""
    declared = kind.type.lower()
    if "date" in declared or "timestamp" in declared:
        day = date(draw.randrange(1990, 2021), draw.randrange(1, 13), draw.randrange(1, 29))
        moment = datetime.combine(day, time(draw.randrange(24)))
        made = moment if "time" in declared else day
        return str(made) if kind.dates_are_text else made
    if any(word in declared for word in ("json", "uuid", "blob", "binary", "bytea", "interval")):
        return None
    if "time" in declared:
        clock = time(draw.randrange(24), draw.randrange(60))
        return str(clock) if kind.dates_are_text else clock
    if "year" in declared:
        return draw.randrange(1990, 2021)
    if any(word in declared for word in ("int", "serial", "bool", "bit")):
        return draw.randrange(2 if "bool" in declared or "bit" in declared else 60)
    if any(word in declared for word in ("real", "floa", "doub")):
        return float(draw.randrange(240)) / 4
    if any(word in declared for word in ("dec", "num")):
        return _fitting(Decimal(draw.randrange(60)), kind, Decimal(0))
    # Some more often than others, so that groups differ in size.
    return _WORDS[int(len(_WORDS) * draw.random() ** 3)][: kind.longest]


def new_key(kind: Kind, number: int, draw: Random) -> Any:
    """One that is likely not there yet; ``number`` differs from call to call."""
    values = kind.values
    sample = draw.choice(values) if values else new(kind, draw)
    if isinstance(sample, str):
        if values and _NUMBER.fullmatch(sample):
            return str(int(float(sample)) + number)
        size = min(kind.longest or 12, max(3, len(sample)))
        return "".join(draw.choice(_LETTERS) for _ in range(size)).capitalize()[: kind.longest]
    if isinstance(sample, (int, float, Decimal)) and not isinstance(sample, bool):
        top = max(values) if values else 0
        return _fitting(top + number, kind, sample)
    if isinstance(sample, date):
        return sample + timedelta(days=number)
    return varied(sample, kind, draw)


def _shifted(value: int | float | Decimal, draw: Random) -> int | float | Decimal:
    """By one, by a part of itself, or twice it. A number without a sign gets none."""
    step = draw.choice((1, -1, 1, -1, 2, -2, None, None))
    if step is None:
        step = int(value * draw.choice((1, 3, 10, 20)) / 20) * draw.choice((1, -1)) or 1
    shifted = value + step
    return value + abs(step) if shifted < 0 <= value else shifted


def _fitting(value: Any, kind: Kind, sample: Any) -> Any:
    """Within the declared range, in the sample's type."""
    declared = kind.type.lower()
    for name, top in _RANGES.items():
        if name in declared and abs(value) > top:
            value = top - abs(value) % 100
    found = _PRECISION.search(declared)
    if found:
        digits = int(found[1]) - int(found[2] or 0)
        if abs(value) >= 10**digits:
            value = type(value)(int(value) % 10**digits)
    if isinstance(sample, Decimal):
        places = int(found[2] or 0) if found else 2
        return round(Decimal(str(value)), places)
    if isinstance(sample, int):
        if abs(value) >= 2**31 > max(map(abs, kind.values), default=0):
            value = value % 2**31
        return int(value)
    return round(float(value), 6)


def _shifted_date(value: date, draw: Random) -> date:
    days = draw.choice((1, -1, 7, 31, -31, 365, -366))
    try:
        return value + timedelta(days=days)
    except OverflowError:
        return value


def _varied_text(value: str, draw: Random) -> str:
    if found := _DATE.fullmatch(value):
        try:
            return _shifted_date(date.fromisoformat(found[1]), draw).isoformat() + found[2]
        except ValueError:
            return value
    if _NUMBER.fullmatch(value):
        if "." in value:
            places = len(value.partition(".")[2])
            return f"{_shifted(float(value), draw):.{places}f}"
        return str(_shifted(int(value), draw))
    letter = draw.choice(_LETTERS)
    return draw.choice((value[: max(1, len(value) // 2)], value + letter, letter + value))


def _read_date(text: str, sample: date) -> date | None:
    try:
        if isinstance(sample, datetime):
            return datetime.fromisoformat(text)
        return date.fromisoformat(text[:10])
    except ValueError:
        return None
