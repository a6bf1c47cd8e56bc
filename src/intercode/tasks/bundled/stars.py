"""An amateur astronomy club: what its members saw, where, through which instrument, and when."""

from __future__ import annotations

from intercode.tasks.bundled.dice import Dice
from intercode.tasks.bundled.script import Row, later, script

_SCHEMA = """
CREATE TABLE observer (
  id INTEGER PRIMARY KEY,
  name VARCHAR(60) NOT NULL,
  mentor_id INTEGER REFERENCES observer (id)
);
CREATE TABLE site (
  id INTEGER PRIMARY KEY,
  name VARCHAR(60) NOT NULL,
  metres INTEGER,
  "desc" VARCHAR(80)
);
CREATE TABLE instrument (
  id INTEGER PRIMARY KEY,
  name VARCHAR(60) NOT NULL,
  owner_id INTEGER,
  aperture VARCHAR(12)
);
CREATE TABLE object (
  id INTEGER PRIMARY KEY,
  name VARCHAR(60) NOT NULL,
  kind VARCHAR(30),
  constellation VARCHAR(3),
  magnitude REAL
);
CREATE TABLE alias (
  id INTEGER PRIMARY KEY,
  object_id INTEGER NOT NULL REFERENCES object (id),
  label VARCHAR(20) NOT NULL
);
CREATE TABLE night (
  "day" VARCHAR(10) PRIMARY KEY,
  clouds INTEGER,
  moon INTEGER NOT NULL
);
CREATE TABLE log (
  id INTEGER PRIMARY KEY,
  observer_id INTEGER NOT NULL REFERENCES observer (id),
  site_id INTEGER REFERENCES site (id),
  instrument_id INTEGER REFERENCES instrument (id),
  label VARCHAR(20) NOT NULL,
  seen_at VARCHAR(16) NOT NULL,
  seeing INTEGER,
  estimate VARCHAR(8)
);
CREATE TABLE companion (
  log_id INTEGER NOT NULL REFERENCES log (id),
  observer_id INTEGER NOT NULL REFERENCES observer (id),
  PRIMARY KEY (log_id, observer_id)
);
CREATE TABLE award (
  observer_id INTEGER NOT NULL REFERENCES observer (id),
  name VARCHAR(30) NOT NULL,
  given_for VARCHAR(16) NOT NULL
);
"""

_FIRST_NIGHT, _NIGHTS = "2023-01-01", 365
_NOT_RECORDED = frozenset(
    [*range(40, 43), 77, *range(130, 139), 201, 202, *range(290, 294), *range(345, 354)]
)
# Two series of nine clear nights; a longer one with a night in it at whose sky nobody looked; and
# one on both sides of nights that are not recorded.
_CLEAR = frozenset(
    [*range(60, 69), *range(300, 309), *range(219, 232), *range(123, 130), *range(139, 145)]
)

_OBSERVERS: tuple[Row, ...] = (
    (1, "Ewa Kowalczyk", None), (2, "Rashid Omar", None), (3, "Jürgen Sauer", 1),
    (4, "Siân Pugh", 1), (5, "Noé Laurent", 3), (6, "Màiri MacLeod", 3), (7, "Ana D'Souza", 2),
    (8, "Lê Minh", 7), (9, "Bo Öberg", 6), (10, "Bo Öberg", 6), (11, "Zsófia Nagy", 9),
    (12, "Kwame Boateng", None), (13, "Tove Ås", 12), (14, "Ilse Brandt", 4),
)  # fmt: skip

_SITES: tuple[Row, ...] = (
    (1, "Club Observatory", 212, "key at Ewa's"), (2, "Käsberg car park", 688, None),
    (3, "Rooftop, Mill Lane 3", 35, "bright!"), (4, "Dark Sky Meadow", 540, "no lamps, please"),
    (5, "Lake Orsø jetty", 8, ""), (6, "Old Quarry", None, "closed since 2023-08"),
)  # fmt: skip

# An owner of 21 has left the club and its records; no owner means that it is the club's.
_INSTRUMENTS: tuple[Row, ...] = (
    (1, "Big Dob", None, '12"'), (2, "Travel scope", 3, "80 mm"), (3, "Newton", 5, "200mm"),
    (4, "Refractor", None, "10 cm"), (5, "Binoculars 10x50", 7, "50 mm"), (6, "Maksutov", 4, '5"'),
    (7, "Grandfather's tube", 9, None), (8, "Solar scope", None, "60 mm"), (9, "Dob", 10, '8"'),
    (10, "Schmidt-Cassegrain", 21, "23.5 cm"), (11, "Binoculars 20x80", None, "80 mm"),
    (12, "Newton", 12, "15 cm"), (13, "Kit from the fair", 14, "?"),
)  # fmt: skip

# name, kind, constellation, magnitude, labels
_OBJECTS: tuple[tuple[str, str | None, str | None, float | None, tuple[str, ...]], ...] = (
    ("Andromeda Galaxy", "galaxy", "And", 3.4, ("M 31", "NGC 224", "M31")),
    ("Triangulum Galaxy", "galaxy", "Tri", 5.7, ("M 33", "NGC 598")),
    ("Whirlpool Galaxy", "galaxy", "CVn", 8.4, ("M 51", "NGC 5194")),
    ("Bode's Galaxy", "galaxy", "UMa", 6.9, ("M 81", "NGC 3031")),
    ("Cigar Galaxy", "Galaxy", "UMa", 8.4, ("M 82", "NGC 3034", "m 82")),
    ("Needle Galaxy", "galaxy", "Com", 9.6, ("NGC 4565",)),
    ("Great Cluster", "globular cluster", "Her", 5.8, ("M 13", "NGC 6205")),
    ("Pegasus Cluster", "globular cluster", "Peg", 6.2, ("M 15", "NGC 7078")),
    ("M 92", "globular  cluster", "Her", 6.3, ("M 92", "NGC 6341", "M  92")),
    ("Pleiades", "open cluster", "Tau", 1.6, ("M 45", "Mel 22")),
    ("Beehive", "open cluster", "Cnc", 3.7, ("M 44", "NGC 2632")),
    ("Wild Duck Cluster", "Open cluster", "Sct", 6.3, ("M 11", "NGC 6705")),
    ("Double Cluster", "open cluster", "Per", 3.7, ("NGC 869", "NGC 884")),
    ("Coathanger", "asterism", "Vul", 3.6, ("Cr 399",)),
    ("Orion Nebula", "nebula", "Ori", 4.0, ("M 42", "NGC 1976", "M42")),
    ("Lagoon Nebula", "nebula", "Sgr", 6.0, ("M 8", "NGC 6523")),
    ("Ring Nebula", "planetary nebula", "Lyr", 8.8, ("M 57", "NGC 6720", "M57", "m57")),
    ("Dumbbell Nebula", "planetary nebula", "Vul", 7.5, ("M 27", "NGC 6853")),
    ("Crab Nebula", "supernova remnant", "Tau", 8.4, ("M 1", "NGC 1952")),
    ("Veil Nebula", "supernova remnant ", "Cyg", 7.0, ("NGC 6960",)),
    ("Mira", "variable star", "Cet", None, ("omi Cet", "Mira")),
    ("R Leonis", "variable star", "Leo", None, ("R Leo",)),
    ("Albireo", "double star", "Cyg", 3.1, ("bet Cyg", "Albireo")),
    ("Mizar", "double star", "UMa", 2.2, ("zet UMa", "Mizar")),
    ("Jupiter", "planet", None, None, ("Jupiter",)), ("Saturn", "planet", None, None, ("Saturn",)),
    ("Mars", "planet", None, None, ("Mars",)), ("Venus", "Planet", None, None, ("Venus",)),
    ("Barnard's Loop", None, "Ori", None, ("Sh 2-276",)),
    ("Kemble's Cascade", "asterism", "Cam", 5.0, ("Kemble 1",)),
)  # fmt: skip

_UNKNOWN = ("M 102?", "comet", "NGC 6946", "ISS", "m 110", "NGC 6946")


def sql() -> str:
    logs = _logs()
    return script(
        _SCHEMA,
        {
            "observer": _OBSERVERS,
            "site": _SITES,
            "instrument": _INSTRUMENTS,
            "object": [(number, *entry[:4]) for number, entry in enumerate(_OBJECTS, 1)],
            "alias": _aliases(),
            "night": _nights(),
            "log": logs,
            "companion": _companions(logs),
        },
    )


def _aliases() -> list[Row]:
    """The first labels of all objects, then the second ones: ids say when a label was entered."""
    rows: list[Row] = []
    for place in range(4):
        for number, entry in enumerate(_OBJECTS, 1):
            if place < len(entry[4]):
                rows.append((len(rows) + 1, number, entry[4][place]))
    return rows


def _nights() -> list[Row]:
    """Weather that lasts, but never more than six clear nights where none are planted."""
    dice = Dice(31)
    rows: list[Row] = []
    weather, clear = 50, 0
    for number in range(_NIGHTS):
        weather = min(100, max(0, weather + dice.between(-45, 43)))
        if number in _NOT_RECORDED:
            continue
        clouds: int | None = weather // 5 * 5
        if number in _CLEAR:
            clouds = number % 6 * 5
        elif number - 1 in _CLEAR or number + 1 in _CLEAR or clear == 6:
            clouds = 70
        clear = clear + 1 if clouds is not None and clouds <= 25 else 0
        if number % 37 == 20 or number == 354:
            clouds = None
        elif number % 61 == 33 or number == 225:
            clouds = -1
        moon = abs((number * 200 // 59 + 55) % 200 - 100)
        rows.append((later(_FIRST_NIGHT, number), clouds, moon))
    return rows


def _logs() -> list[Row]:
    dice = Dice(32)
    rows: list[Row] = []
    for number in range(_NIGHTS):
        # Nobody observed in July and August; the club was at the sea.
        if 181 <= number < 243 or not dice.chance(70):
            continue
        for _ in range(dice.between(1, 4)):
            rows.append((len(rows) + 1, *_log(dice, number)))
    return rows


def _log(dice: Dice, number: int) -> Row:
    observer = 1 + min(dice.below(12), dice.below(12))
    entry = _OBJECTS[min(dice.below(len(_OBJECTS)), 4 + dice.below(len(_OBJECTS) - 4))]
    if dice.chance(12):
        entry = dice.pick((_OBJECTS[20], _OBJECTS[20], _OBJECTS[21]))
    label = dice.pick(_UNKNOWN) if dice.chance(4) else _written(dice, dice.pick(entry[4]))
    moment = dice.between(20 * 60, 28 * 60 + 30)
    day, clock = later(_FIRST_NIGHT, number + moment // 1440), moment % 1440
    seeing = dice.pick((None, 0, 1, 2, 3, 3, 4, 4, 5))
    estimate = None
    if entry[0] == "Mira" and dice.chance(85):
        tenths = 34 + abs((number * 5 // 9) % 120 - 60) + dice.between(-3, 3)
        text = f"{tenths // 10}.{tenths % 10}"
        estimate = dice.pick((text, text, text, f"{text}:", f"<{text}", ""))
    site = dice.pick((1, 1, 2, 2, 3, 3, 4, 4, 5, 6, None))
    instrument = dice.pick((None, *range(1, 14), 1, 1, 9))
    time = f"{clock // 60:02}:{clock % 60:02}"
    return (observer, site, instrument, label, _dated(dice, day, time), seeing, estimate)


def _written(dice: Dice, label: str) -> str:
    """M31, m 31, ` M 31`: the letters and digits are right, the rest is the observer's."""
    throw = dice.below(10)
    if throw < 4:
        return label
    if throw < 6:
        return label.replace(" ", "")
    if throw < 8:
        return label.lower()
    return f" {label}" if throw == 8 else label.upper() + " "


def _dated(dice: Dice, day: str, time: str) -> str:
    year, month, date = day.split("-")
    return dice.pick(
        (f"{day} {time}", f"{day} {time}", f"{date}.{month}.{year} {time}", f"{year}{month}{date}T"
         + time.replace(":", ""))
    )  # fmt: skip


def _companions(logs: list[Row]) -> list[Row]:
    dice = Dice(33)
    pairs = {
        (log[0], dice.between(1, 13))
        for log in logs
        for _ in range(dice.pick((0, 0, 1, 1, 2)))
    }  # fmt: skip
    by_id = {log[0]: log for log in logs}
    return sorted(
        ((log, other) for log, other in pairs if by_id[log][1] != other),
        key=lambda pair: (int(str(pair[0])), pair[1]),
    )
