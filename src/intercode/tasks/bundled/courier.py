"""A bicycle-courier firm: riders and their bosses, zones and ways, jobs, tariffs, shifts."""

from __future__ import annotations

from collections.abc import Iterator

from intercode.tasks.bundled.dice import Dice
from intercode.tasks.bundled.script import Row, later, script

_SCHEMA = """
CREATE TABLE rider (
  id INTEGER PRIMARY KEY,
  name VARCHAR(60) NOT NULL,
  boss_id INTEGER REFERENCES rider (id),
  hired VARCHAR(10) NOT NULL,
  left_on VARCHAR(10)
);
CREATE TABLE zone (
  code VARCHAR(4) PRIMARY KEY,
  name VARCHAR(40) NOT NULL
);
CREATE TABLE way (
  a VARCHAR(4) NOT NULL REFERENCES zone (code),
  b VARCHAR(4) NOT NULL REFERENCES zone (code),
  minutes INTEGER NOT NULL,
  PRIMARY KEY (a, b)
);
CREATE TABLE customer (
  id INTEGER PRIMARY KEY,
  name VARCHAR(60) NOT NULL,
  zone VARCHAR(4),
  phone VARCHAR(24)
);
CREATE TABLE job (
  id INTEGER PRIMARY KEY,
  customer_id INTEGER NOT NULL REFERENCES customer (id),
  rider_id INTEGER REFERENCES rider (id),
  "from" VARCHAR(4) NOT NULL REFERENCES zone (code),
  "to" VARCHAR(4) NOT NULL REFERENCES zone (code),
  ordered_at VARCHAR(16) NOT NULL,
  picked_at VARCHAR(16),
  delivered_at VARCHAR(16),
  grams INTEGER,
  status VARCHAR(12) NOT NULL,
  cents INTEGER
);
CREATE TABLE extra (
  code VARCHAR(10) PRIMARY KEY,
  cents INTEGER NOT NULL
);
CREATE TABLE job_extra (
  job_id INTEGER NOT NULL,
  extra VARCHAR(10) NOT NULL REFERENCES extra (code),
  PRIMARY KEY (job_id, extra)
);
CREATE TABLE tariff (
  max_grams INTEGER NOT NULL,
  since VARCHAR(10) NOT NULL,
  cents INTEGER NOT NULL,
  PRIMARY KEY (max_grams, since)
);
CREATE TABLE shift (
  id INTEGER PRIMARY KEY,
  rider_id INTEGER NOT NULL REFERENCES rider (id),
  "day" VARCHAR(10) NOT NULL,
  "start" VARCHAR(5) NOT NULL,
  "end" VARCHAR(5)
);
CREATE TABLE apology (
  job_id INTEGER PRIMARY KEY,
  minutes INTEGER NOT NULL
);
"""

# Twelve weeks; on these days nobody rode, for weather or holidays.
_FIRST_DAY, _DAYS = "2024-01-08", 84
_IDLE = frozenset({"2024-02-11", "2024-02-12", "2024-02-29", "2024-03-10", "2024-03-29"})

_RIDERS: tuple[Row, ...] = (
    (1, "Oona Väisänen", None, "2015-04-01", None),
    (2, "Tariq al-Masri", 1, "2016-09-15", None),
    (3, "Bea O'Hara", 1, "2017-05-02", None),
    (4, "Nuno Gonçalves", 2, "2019-03-11", None),
    (5, "Mei-Lin Chou", 2, "2019-03-11", "2024-02-10"),
    (6, "Šárka Dvořáková", 4, "2021-06-01", None),
    (7, "Piet de Vries", 4, "2021-06-14", ""),
    (8, "Ines Körner", 3, "2022-02-01", None),
    (9, "Ines Körner", 8, "2023-01-09", None),
    (10, "Jomo Wekesa", 8, "2023-04-03", "2024-12-31"),
    (11, "Ayşe Yıldız", 3, "2023-08-21", None),
    (12, "Félix Roy", 11, "2024-01-02", "2024-01-31"),
    (13, "Halvard Lie", 9, "2024-03-25", None),
)

_ZONES = (
    ("HB", "Harbour"), ("OT", "Old Town"), ("UN", "University"), ("ST", "Station"),
    ("GR", "Green Belt"), ("HO", "Hospital"), ("IN", "Industrial Park"), ("WE", "Westend"),
    ("AI", "Airfield"), ("IS", "Swan Island"),
)  # fmt: skip

# Mostly written down in one direction only, though every way is ridden in both.
_WAYS: tuple[Row, ...] = (
    ("HB", "OT", 9), ("OT", "HB", 9), ("OT", "ST", 6), ("ST", "UN", 8), ("OT", "UN", 17),
    ("UN", "GR", 12), ("HO", "UN", 5), ("ST", "HO", 15), ("GR", "WE", 7), ("WE", "ST", 16),
    ("ST", "WE", 16), ("IN", "HB", 14), ("IN", "GR", 41),
)  # fmt: skip

_CUSTOMERS = (
    "Café Zoë", "Praxis Dr. Lohse", "Lumen Dental Lab", "Kanzlei Weiß & Partner",
    "Bloom's Flowers", "Print Factory", "café Zoë ", "Atelier Ñandú", "City Archive",
    "Lumen  Dental Lab", "Sushi 一番", "BLOOM'S FLOWERS", "Notary Ekström", "Radio Nord",
    "Optik Klar", "print factory", "Pharmacy at the Station", "Radio Nord", "Tailor Mbeki",
    " Lumen Dental Lab", "Bookshop Parnass", "Hatters' Guild", "Theatre in the Yard",
    "City archive",
)  # fmt: skip

_TARIFFS: tuple[Row, ...] = (
    (1000, "2023-01-01", 640), (5000, "2023-01-01", 880), (20000, "2023-01-01", 1290),
    (1000, "2024-02-01", 690), (5000, "2024-02-01", 930), (20000, "2024-02-15", 1390),
    (5000, "2024-03-18", 960), (1000, "2024-07-01", 750),
)  # fmt: skip
_EXTRAS: tuple[Row, ...] = (
    ("express", 450), ("fragile", 150), ("insured", 200), ("cold", 300), ("signature", 0),
)  # fmt: skip


def sql() -> str:
    jobs = _jobs()
    return script(
        _SCHEMA,
        {
            "rider": _RIDERS,
            "zone": _ZONES,
            "way": _WAYS,
            "customer": _customers(),
            "job": jobs,
            "extra": _EXTRAS,
            "job_extra": _job_extras(len(jobs)),
            "tariff": _TARIFFS,
            "shift": _shifts(),
        },
    )


def _customers() -> list[Row]:
    dice = Dice(21)
    rows: list[Row] = []
    for number, name in enumerate(_CUSTOMERS, 1):
        digits = f"{dice.between(20, 79)}0{dice.below(100):02}"
        phone = dice.pick((f"0555 {digits}", f"0555/{digits}", f"+49 555 {digits}", "", None))
        zone = dice.pick(_ZONES[:8])[0]
        rows.append((number, name, None if number % 8 == 6 else zone, phone))
    return rows


def _working_days() -> Iterator[str]:
    for number in range(_DAYS):
        if (day := later(_FIRST_DAY, number)) not in _IDLE:
            yield day


def _riding(dice: Dice, day: str) -> int:
    while True:
        row = dice.pick(_RIDERS)
        number, _, _, hired, left_on = row
        assert isinstance(number, int)
        if str(hired) <= day and (not left_on or day <= str(left_on)):
            return number


def _jobs() -> list[Row]:
    dice = Dice(22)
    rows: list[Row] = []
    for day in _working_days():
        for moment in sorted(
            dice.between(7 * 60, 22 * 60 + 50) for _ in range(dice.between(9, 17))
        ):
            rows.append((len(rows) + 1, *_job(dice, day, moment)))
    return rows


def _job(dice: Dice, day: str, moment: int) -> Row:
    # The lower of two throws: some customers order far more often than others.
    customers = len(_CUSTOMERS) - (2 if day > "2024-02-15" else 0)
    customer = 1 + min(dice.below(customers), dice.below(customers))
    start, end = dice.pick(_ZONES)[0], dice.pick(_ZONES)[0]
    grams = dice.pick((None, 1000, 5000, 300, 800, 2500, 4200, dice.between(50, 19_000)))
    picked = moment + dice.between(3, 55)
    ridden = dice.between(6, 70) + (dice.between(60, 110) if dice.chance(6) else 0)
    throw = dice.below(100)
    if throw < 5:  # never began
        status = dice.pick(("cancelled", "canceled", "Cancelled "))
        return (customer, None, start, end, _at(day, moment), None, None, grams, status, None)
    rider = _riding(dice, day)
    if throw < 8:  # picked up, but lost
        gone = (_at(day, picked), None, grams, "lost", 0)
        return (customer, rider, start, end, _at(day, moment), *gone)
    # A wrist watch that was half a day slow.
    delivered = picked + ridden - (720 if throw == 8 else 0)
    status = dice.pick(("delivered",) * 6 + ("Delivered", "DELIVERED", "delivered "))
    cents = None if day > "2024-03-20" or throw > 95 else _charged(day, grams)
    times = (_at(day, moment), _at(day, picked), _at(day, delivered))
    return (customer, rider, start, end, *times, grams, status, cents)


def _charged(day: str, grams: int | None) -> int:
    limit = 1000 if (grams or 1000) <= 1000 else 5000 if (grams or 0) <= 5000 else 20000
    prices = [(str(s), int(str(c))) for g, s, c in _TARIFFS if g == limit and str(s) <= day]
    return max(prices)[1]


def _at(day: str, moment: int) -> str:
    day, moment = later(day, moment // 1440), moment % 1440
    return f"{day} {moment // 60:02}:{moment % 60:02}"


def _job_extras(jobs: int) -> list[Row]:
    """Also for eight jobs that were deleted since."""
    dice = Dice(23)
    return [
        (job, code)
        for job in range(1, jobs + 9)
        for code, percent in (
            ("express", 22), ("fragile", 25), ("insured", 30), ("cold", 6), ("signature", 12),
        )
        if dice.chance(percent)
    ]  # fmt: skip


def _shifts() -> list[Row]:
    """Early, late and night; nights end on the next day, and some ends were never written down."""
    dice = Dice(24)
    hours = (("06:30", "14:30"), ("07:00", "13:00"), ("14:00", "22:15"), ("21:30", "02:00"))
    rows: list[Row] = []
    for day in _working_days():
        for number, _, _, hired, left_on in _RIDERS:
            if str(hired) > day or (left_on and day > str(left_on)) or not dice.chance(55):
                continue
            start, end = dice.pick((*hours, hours[0], hours[2]))
            if dice.chance(8):
                end = ""
            rows.append((len(rows) + 1, number, day, start, end or dice.pick((None, ""))))
            if start == "07:00" and dice.chance(30):
                rows.append((len(rows) + 1, number, day, "16:00", "19:30"))
    return rows
