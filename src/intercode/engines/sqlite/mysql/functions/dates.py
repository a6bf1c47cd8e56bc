"""Functions of dates and times. What is no date gives NULL."""

from __future__ import annotations

import calendar
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

from intercode.engines.sqlite.mysql.functions.formats import formatted, parsed
from intercode.engines.sqlite.mysql.functions.values import (
    clock,
    day_text,
    has_clock,
    moment,
    moment_text,
    number,
    text,
    whole,
)
from intercode.engines.sqlite.template import span

Value = Any


def _of(part: Callable[[datetime], Value]) -> Callable[[Value], Value]:
    def read(value: Value) -> Value:
        found = moment(value)
        return None if found is None else part(found)

    return read


def _of_clock(part: Callable[[timedelta], int]) -> Callable[[Value], int | None]:
    def read(value: Value) -> int | None:
        found = clock(value)
        return None if found is None else part(abs(found))

    return read


def _year_part(value: Value, part: Callable[[datetime], int]) -> int | None:
    """MySQL reads a year or a month also of a date with noughts for what is not known."""
    found = moment(value)
    return part(found) if found else None


def _week(value: Value, mode: Value = 0) -> int | None:
    found = moment(value)
    return None if found is None else _year_week(found.date(), (whole(mode) or 0) & 7)[1]


def _yearweek(value: Value, mode: Value = 0) -> int | None:
    found = moment(value)
    if found is None:
        return None
    year, week = _year_week(found.date(), ((whole(mode) or 0) & 7) | 2)
    return year * 100 + week


def _year_week(day: date, mode: int) -> tuple[int, int]:
    """Year and week by MySQL's eight modes (reference manual, WEEK())."""
    monday, from_one = bool(mode & 1), bool(mode & 2)
    four_days = bool(mode & 4) != monday
    year = day.year

    def first(of_year: int) -> date:
        start = date(of_year, 1, 1)
        offset = start.weekday() if monday else (start.weekday() + 1) % 7
        if four_days:
            return start - timedelta(offset) + timedelta(7 if offset > 3 else 0)
        return start + timedelta((7 - offset) % 7)

    begin = first(year)
    if day < begin:
        if not from_one:
            return year, 0
        year -= 1
        begin = first(year)
    elif from_one and year < 9999 and day >= first(year + 1):
        return year + 1, 1
    return year, (day - begin).days // 7 + 1


_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12, "YEAR_MONTH": 1}
_SECONDS = {
    "MICROSECOND": 0,
    "SECOND": 1,
    "MINUTE": 60,
    "HOUR": 3600,
    "DAY": 86400,
    "WEEK": 604800,
}
_COMPOUND = {
    "DAY_HOUR": (86400, 3600),
    "DAY_MINUTE": (86400, 3600, 60),
    "DAY_SECOND": (86400, 3600, 60, 1),
    "HOUR_MINUTE": (3600, 60),
    "HOUR_SECOND": (3600, 60, 1),
    "MINUTE_SECOND": (60, 1),
}


def _add(value: Value, amount: Value, unit: Value, sign: Value = 1) -> str | None:
    """``value + INTERVAL amount unit``: a date stays one where the unit is a day or longer."""
    name = str(unit).upper()
    found = moment(value)
    count = number(amount)
    if found is None or count is None:
        return None
    try:
        if name in _MONTHS:
            moved = _months(found, sign * _month_count(amount, name))
        else:
            moved = found + sign * _span(amount, count, name)
    except (OverflowError, ValueError):
        return None
    keeps_day = name in ("DAY", "WEEK", *_MONTHS) and not has_clock(value)
    return day_text(moved) if keeps_day else moment_text(moved)


def _month_count(amount: Value, name: str) -> int:
    if name == "YEAR_MONTH":
        years, _, months = (text(amount) or "").replace(":", "-").partition("-")
        return (whole(years) or 0) * 12 + (whole(months) or 0)
    return (whole(amount) or 0) * _MONTHS[name]


def _span(amount: Value, count: float, name: str) -> timedelta:
    if name in _COMPOUND:
        said = "".join(c if c.isdigit() else " " for c in text(amount) or "").split()
        weights = _COMPOUND[name][-len(said) :] if said else ()
        seconds = sum(int(part) * weight for part, weight in zip(said, weights, strict=False))
        return timedelta(seconds=-seconds if (text(amount) or "").startswith("-") else seconds)
    if name == "MICROSECOND":
        return timedelta(microseconds=count)
    if name not in _SECONDS:
        raise ValueError(name)
    exact = count if name == "SECOND" else whole(count) or 0
    return timedelta(seconds=exact * _SECONDS[name])


def _months(found: datetime, months: int) -> datetime:
    year, month = divmod(found.year * 12 + found.month - 1 + months, 12)
    if not 1 <= year <= 9999:
        raise ValueError(year)
    last = calendar.monthrange(year, month + 1)[1]
    return found.replace(year=year, month=month + 1, day=min(found.day, last))


def _datediff(left: Value, right: Value) -> int | None:
    one, other = moment(left), moment(right)
    return None if one is None or other is None else (one.date() - other.date()).days


def _timestampdiff(unit: Value, first: Value, second: Value) -> int | None:
    """Whole units from the first to the second."""
    one, other = moment(first), moment(second)
    if one is None or other is None:
        return None
    name = str(unit).upper().removeprefix("SQL_TSI_")
    sign = 1
    if other < one:
        one, other, sign = other, one, -1
    if name in _MONTHS:
        months = (other.year - one.year) * 12 + other.month - one.month
        if _within(other) < _within(one):
            months -= 1
        return sign * (months // _MONTHS[name])
    micro = (other - one) // timedelta(microseconds=1)
    if name == "MICROSECOND":
        return sign * micro
    return sign * (micro // (1_000_000 * _SECONDS[name])) if _SECONDS.get(name) else None


def _within(value: datetime) -> tuple[int, timedelta]:
    return value.day, value - datetime.combine(value.date(), datetime.min.time())


def _timediff(left: Value, right: Value) -> str | None:
    if _CLOCK_ONLY(left) and _CLOCK_ONLY(right):
        one, other = clock(left), clock(right)
        return span(one - other) if one is not None and other is not None else None
    first, second = moment(left), moment(right)
    return span(first - second) if first is not None and second is not None else None


def _CLOCK_ONLY(value: Value) -> bool:  # noqa: N802
    return moment(value) is None and clock(value) is not None


def _to_days(value: Value) -> int | None:
    found = moment(value)
    return None if found is None else found.date().toordinal() + 365


def _from_days(value: Value) -> str | None:
    days = whole(value)
    if days is None or not 366 <= days <= 3_652_424:
        return None
    return day_text(date.fromordinal(days - 365))


def _unix_timestamp(value: Value) -> int | None:
    found = moment(value)
    return None if found is None else int(found.replace(tzinfo=UTC).timestamp())


def _from_unixtime(value: Value, form: Value = None) -> str | None:
    seconds = number(value)
    if seconds is None or not 0 <= seconds < 2**36:
        return None
    found = datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)
    return moment_text(found) if form is None else formatted(found, str(form))


def _date_format(value: Value, form: Value) -> str | None:
    found = moment(value)
    return None if found is None or form is None else formatted(found, text(form) or "")


def _time_format(value: Value, form: Value) -> str | None:
    found = clock(value)
    if found is None or form is None:
        return None
    return formatted(datetime(2000, 1, 1) + found % timedelta(days=1), text(form) or "")


def _str_to_date(value: Value, form: Value) -> str | None:
    return None if value is None or form is None else parsed(text(value) or "", text(form) or "")


def _makedate(year: Value, day: Value) -> str | None:
    days = whole(day)
    if days is None or year is None or days < 1:
        return None
    try:
        return day_text(date(whole(year) or 0, 1, 1) + timedelta(days - 1))
    except (ValueError, OverflowError):
        return None


def _last_day(found: datetime) -> str:
    last = calendar.monthrange(found.year, found.month)[1]
    return day_text(found.replace(day=last))


def _addtime(value: Value, amount: Value, sign: int) -> str | None:
    added = clock(amount)
    if added is None:
        return None
    if _CLOCK_ONLY(value):
        start = clock(value)
        return None if start is None else span(start + sign * added)
    found = moment(value)
    return None if found is None else moment_text(found + sign * added)


def _extract(unit: Value, value: Value) -> int | None:
    name = str(unit).upper()
    read = FUNCTIONS.get({"DAY": "dayofmonth"}.get(name, name.lower()))
    if read is not None:
        found = read(value)
        return int(found) if found is not None else None
    at = moment(value)
    if at is None:
        return None
    forms = {
        "YEAR_MONTH": "%Y%m", "DAY_HOUR": "%d%H", "DAY_MINUTE": "%d%H%M", "DAY_SECOND": "%d%H%M%S",
        "HOUR_MINUTE": "%H%M", "HOUR_SECOND": "%H%M%S", "MINUTE_SECOND": "%M%S",
    }  # fmt: skip
    return int(at.strftime(forms[name])) if name in forms else None


def _packed(value: Value) -> int | None:
    """The digits of a date or a time as a number: 20200131 and 20200131235959."""
    if value is None:
        return None
    digits = "".join(character for character in text(value) or "" if character.isdigit())
    return int(digits[:14] or 0)


def _now() -> str:
    return moment_text(datetime.now().replace(microsecond=0))


FUNCTIONS: dict[str, Callable[..., Value]] = {
    "year": lambda value: _year_part(value, lambda found: found.year),
    "month": lambda value: _year_part(value, lambda found: found.month),
    "dayofmonth": _of(lambda found: found.day),
    "dayofweek": _of(lambda found: (found.weekday() + 1) % 7 + 1),
    "weekday": _of(lambda found: found.weekday()),
    "dayofyear": _of(lambda found: found.timetuple().tm_yday),
    "quarter": _of(lambda found: (found.month + 2) // 3),
    "monthname": _of(lambda found: calendar.month_name[found.month]),
    "dayname": _of(lambda found: calendar.day_name[found.weekday()]),
    "week": _week,
    "weekofyear": lambda value: _week(value, 3),
    "yearweek": _yearweek,
    "hour": _of_clock(lambda found: found // timedelta(hours=1)),
    "minute": _of_clock(lambda found: found // timedelta(minutes=1) % 60),
    "second": _of_clock(lambda found: found // timedelta(seconds=1) % 60),
    "microsecond": _of_clock(lambda found: found.microseconds),
    "time_to_sec": _of_clock(lambda found: found // timedelta(seconds=1)),
    "sec_to_time": lambda value: (
        None if value is None else span(timedelta(seconds=whole(value) or 0))
    ),
    "date": _of(day_text),
    "datetime": _of(moment_text),
    "time": lambda value: None if clock(value) is None else span(clock(value) or timedelta()),
    "last_day": _of(_last_day),
    "date_add": _add,
    "date_sub": lambda value, amount, unit: _add(value, amount, unit, -1),
    "datediff": _datediff,
    "timestampdiff": _timestampdiff,
    "timediff": _timediff,
    "addtime": lambda value, amount: _addtime(value, amount, 1),
    "subtime": lambda value, amount: _addtime(value, amount, -1),
    "to_days": _to_days,
    "from_days": _from_days,
    "unix_timestamp": _unix_timestamp,
    "from_unixtime": _from_unixtime,
    "date_format": _date_format,
    "time_format": _time_format,
    "str_to_date": _str_to_date,
    "packed": _packed,
    "makedate": _makedate,
    "maketime": lambda h, m, s: None if None in (h, m, s) else f"{h:02}:{m:02}:{s:02}",
    "extract": _extract,
    "period_diff": lambda left, right: _period(left) - _period(right),
}


def _period(value: Value) -> int:
    digits = whole(value) or 0
    return digits // 100 * 12 + digits % 100


CHANGING: dict[str, Callable[..., Value]] = {
    "now": lambda *_: _now(),
    "curdate": lambda: _now()[:10],
    "curtime": lambda *_: _now()[11:],
    "unix_now": lambda: int(datetime.now(UTC).timestamp()),
}
