"""DATE_FORMAT and STR_TO_DATE: MySQL's letters for the parts of a date."""

from __future__ import annotations

import calendar
import re
from datetime import datetime
from typing import Any


def formatted(at: datetime, form: str) -> str:
    return re.sub(r"%(.)", lambda found: _part(at, found[1]), form, flags=re.DOTALL)


def _part(at: datetime, letter: str) -> str:
    from intercode.engines.sqlite.mysql.functions.dates import _year_week

    hour = at.hour % 12 or 12
    half = "AM" if at.hour < 12 else "PM"
    match letter:
        case "Y":
            return f"{at.year:04}"
        case "y":
            return f"{at.year % 100:02}"
        case "m":
            return f"{at.month:02}"
        case "c":
            return str(at.month)
        case "d":
            return f"{at.day:02}"
        case "e":
            return str(at.day)
        case "D":
            return f"{at.day}{_ending(at.day)}"
        case "H":
            return f"{at.hour:02}"
        case "k":
            return str(at.hour)
        case "h" | "I":
            return f"{hour:02}"
        case "l":
            return str(hour)
        case "i":
            return f"{at.minute:02}"
        case "s" | "S":
            return f"{at.second:02}"
        case "f":
            return f"{at.microsecond:06}"
        case "p":
            return half
        case "r":
            return f"{hour:02}:{at.minute:02}:{at.second:02} {half}"
        case "T":
            return f"{at.hour:02}:{at.minute:02}:{at.second:02}"
        case "M":
            return calendar.month_name[at.month]
        case "b":
            return calendar.month_abbr[at.month]
        case "W":
            return calendar.day_name[at.weekday()]
        case "a":
            return calendar.day_abbr[at.weekday()]
        case "j":
            return f"{at.timetuple().tm_yday:03}"
        case "w":
            return str((at.weekday() + 1) % 7)
        case "U" | "u" | "V" | "v":
            mode = {"U": 0, "u": 1, "V": 2, "v": 3}[letter]
            return f"{_year_week(at.date(), mode)[1]:02}"
        case "X" | "x":
            return f"{_year_week(at.date(), 2 if letter == 'X' else 3)[0]:04}"
    return letter


def _ending(day: int) -> str:
    return "th" if 10 < day % 100 < 14 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")


_NAMES = {
    "M": "|".join(calendar.month_name[1:]),
    "b": "|".join(calendar.month_abbr[1:]),
    "W": "|".join(calendar.day_name),
    "a": "|".join(calendar.day_abbr),
}
_DIGITS = {
    "Y": r"\d{4}", "y": r"\d{2}", "m": r"\d{1,2}", "c": r"\d{1,2}", "d": r"\d{1,2}",
    "e": r"\d{1,2}", "D": r"\d{1,2}(?:st|nd|rd|th)", "H": r"\d{1,2}", "k": r"\d{1,2}",
    "h": r"\d{1,2}", "I": r"\d{1,2}", "l": r"\d{1,2}", "i": r"\d{1,2}", "s": r"\d{1,2}",
    "S": r"\d{1,2}", "f": r"\d{1,6}", "p": "AM|PM", "j": r"\d{1,3}",
}  # fmt: skip
_WHOLE = {"T": "%H:%i:%s", "r": "%h:%i:%s %p"}


def parsed(said: str, form: str) -> str | None:
    """STR_TO_DATE: a date, a time, or both, as the form has parts of."""
    for letter, long in _WHOLE.items():
        form = form.replace("%" + letter, long)
    letters: list[str] = []
    pattern = r"\s*"
    position = 0
    while position < len(form):
        character = form[position]
        if character == "%" and position + 1 < len(form):
            letter = form[position + 1]
            position += 2
            part = _NAMES.get(letter) or _DIGITS.get(letter)
            if part is None:
                pattern += re.escape(letter)
                continue
            letters.append(letter)
            pattern += rf"\s*({part})"
        else:
            pattern += r"\s*" if character.isspace() else re.escape(character)
            position += 1
    found = re.match(pattern, said, re.IGNORECASE)
    return _assembled(dict(zip(letters, found.groups(), strict=True))) if found else None


def _assembled(parts: dict[str, str]) -> str | None:
    year = _year(parts)
    month = _month(parts)
    day = _first(parts, "d", "e") or int(re.sub(r"\D", "", parts.get("D", "")) or 0)
    hour = _first(parts, "H", "k")
    if any(letter in parts for letter in "hIl"):
        hour = _first(parts, "h", "I", "l") % 12 + (12 if parts.get("p", "").upper() == "PM" else 0)
    minute, second = _first(parts, "i"), _first(parts, "s", "S")
    has_day = any(letter in parts for letter in "YymcMbdeDj")
    has_clock = any(letter in parts for letter in "HkhIlisSf")
    clock = f"{hour:02}:{minute:02}:{second:02}"
    if "f" in parts:
        clock += "." + parts["f"].ljust(6, "0")
    if hour > 23 or minute > 59 or second > 59:
        return None
    if not has_day:
        return clock
    if month > 12 or day > 31 or (month and day and day > calendar.monthrange(year or 4, month)[1]):
        return None
    date = f"{year:04}-{month:02}-{day:02}"
    return f"{date} {clock}" if has_clock else date


def _first(parts: dict[str, str], *letters: str) -> int:
    return next((int(parts[letter]) for letter in letters if letter in parts), 0)


def _year(parts: dict[str, str]) -> int:
    if "Y" in parts:
        return int(parts["Y"])
    short = int(parts["y"]) if "y" in parts else None
    return 0 if short is None else short + (2000 if short < 70 else 1900)


def _month(parts: dict[str, str]) -> int:
    names: list[tuple[str, Any]] = [("M", calendar.month_name), ("b", calendar.month_abbr)]
    for letter, listed in names:
        if letter in parts:
            return [name.lower() for name in listed].index(parts[letter].lower())
    return _first(parts, "m", "c")
