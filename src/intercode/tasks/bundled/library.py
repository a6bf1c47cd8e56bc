"""A regional library network: branches in a tree, readers, works, copies and two years of loans."""

from __future__ import annotations

from intercode.tasks.bundled.dice import Dice
from intercode.tasks.bundled.script import Row, later, script

_SCHEMA = """
CREATE TABLE branch (
  id INTEGER PRIMARY KEY,
  name VARCHAR(60) NOT NULL,
  parent_id INTEGER REFERENCES branch (id),
  closed_on VARCHAR(10)
);
CREATE TABLE member (
  id INTEGER PRIMARY KEY,
  name VARCHAR(80) NOT NULL,
  email VARCHAR(80),
  "group" VARCHAR(20),
  home_branch INTEGER,
  joined VARCHAR(12),
  recruited_by INTEGER
);
CREATE TABLE author (
  id INTEGER PRIMARY KEY,
  name VARCHAR(80) NOT NULL,
  born INTEGER
);
CREATE TABLE work (
  id INTEGER PRIMARY KEY,
  title VARCHAR(120) NOT NULL,
  "year" INTEGER,
  language VARCHAR(10)
);
CREATE TABLE authorship (
  work_id INTEGER NOT NULL REFERENCES work (id),
  author_id INTEGER NOT NULL REFERENCES author (id),
  role VARCHAR(20) NOT NULL,
  PRIMARY KEY (work_id, author_id, role)
);
CREATE TABLE copy (
  id INTEGER PRIMARY KEY,
  work_id INTEGER NOT NULL REFERENCES work (id),
  branch_id INTEGER NOT NULL REFERENCES branch (id),
  price VARCHAR(12),
  "condition" VARCHAR(12)
);
CREATE TABLE loan (
  id INTEGER PRIMARY KEY,
  copy_id INTEGER,
  member_id INTEGER NOT NULL REFERENCES member (id),
  "from" VARCHAR(10) NOT NULL,
  due VARCHAR(10) NOT NULL,
  returned VARCHAR(10)
);
CREATE TABLE discard (
  copy_id INTEGER PRIMARY KEY,
  reason VARCHAR(20) NOT NULL,
  decided_on VARCHAR(10) NOT NULL
);
"""

_TODAY = "2024-06-30"

_BRANCHES: tuple[Row, ...] = (
    (1, "Nordtal Library Network", None, None),
    (2, "Region East", 1, None),
    (3, "Region West", 1, None),
    (4, "Region Islands", 1, None),
    (5, "Region South", 1, None),
    (6, "Aldersund Main Library", 2, None),
    (7, "Bökmåla", 2, None),
    (8, "Aldersund Harbour", 6, "2024-02-29"),
    (9, "Aldersund Harbour Reading Room", 8, "2023-05-31"),
    (10, "Grünwiel Main Library", 3, None),
    (11, "St. Mary's", 10, None),
    (12, "Grünwiel Station", 10, "2022-11-30"),
    (13, "Lågø", 4, "2024-12-31"),
    (14, "Bookmobile 1", 6, None),
    (15, "Bookmobile 2", 10, None),
)

# Each word of a pair is used with each of the other: two given names of one family, and so on.
_GIVEN = (
    "Ástríður", "Bram", "Célia", "Dov", "Eilidh", "Fatıma", "Göran", "Hòa", "Ivo", "Jørgen",
    "Kaja", "Łucja",
)  # fmt: skip
_FAMILY = ("Ahlström", "O'Dowd", "Nguyễn", "Van der Berg", "Çelik", "Bianchi")

_AUTHORS = (
    ("Ottilie Brandvold", 1931), ("Ciarán O'Malley", 1958), ("Ngozi Adeyemi", 1977),
    ("Þórdís Hallsdóttir", None), ("Matteo Ferri", 1944), ("Ottilie Brandvold", 1985),
    ("Yūko Tanabe", 1969), ("Hans-Jürgen Kolb", None), ("Amélie d'Aubigné", 1902),
    ("Stanisław Wrona", 1921), ("Lena Søndergaard", 1990), ("Dwi Hartono", 1963),
)  # fmt: skip

_TITLES = (
    ("The Salt Road", 1987, "en"), ("Winterhafen", 1994, "de"),
    ("A Field Guide to Fog", 2011, "en"), ("La Maison d'à côté", 1938, "fr"),
    ("Der letzte Fährmann", 1972, "DE"), ("Letters to a Lighthouse", 2003, "en "),
    ("Vinterljus", 1999, "sv"), ('The So-Called "Short" Walk', 2015, "en"),
    ("Il ponte di Ferri", 1976, "it"), ("Atlas of Small Rivers", None, "EN"),
    ("Brot und Salz", 2001, "de"), ("The Salt Road", 2012, None),
    ("Mosses, Lichens & Me", 2018, "en"), ("Snow on the Line", 1964, ""),
    ("Les Heures creuses", 1951, "fr"), ("灯台への手紙", 2006, "ja"),
    ("Karta över tystnaden", 2010, "sv"), ("The Beekeeper's Ledger", 1998, "en"),
    ("Nachtzug nach Lågø", 2008, "de"), ("Zegarmistrz", 1961, "pl"),
    ("A Short History of Buttons", 2019, "en"), ("Fjord", 1992, None), ("Tangan", 2014, "id"),
    ("The Year Without Post", 2020, "En"), ("Kleine Geschichte der Knöpfe", 2021, "de"),
    ("Ferry Tales", 2007, "en"), ("Øyene", 1983, " "), ("The Archivist", 1979, "en"),
    ("The Archivist Returns", 1982, "en"), ("Poems, Mostly", 1955, "en"),
    ("Steinsuppe", 2016, "de"), ("L'Été des hirondelles", 1967, "FR"),
    ("Half an Island", 2013, "en"), ("Rost", 2022, "de"), ("The Piano Tuner's Map", 2009, "en"),
    ("Syv dager", 1996, "nb"), ("Unter Eulen", 2005, " de"), ("Weather for Beginners", 2017, "en"),
    ("O barco", 1990, "pt"), ("Quiet Please", 2023, "en"),
)  # fmt: skip

# Works that nobody has borrowed, and two of which there is no copy.
_UNREAD = frozenset({14, 23, 30, 39})
_WITHOUT_COPY = frozenset({16, 36})


def sql() -> str:
    copies = _copies()
    return script(
        _SCHEMA,
        {
            "branch": _BRANCHES,
            "member": _members(),
            "author": [(n, *author) for n, author in enumerate(_AUTHORS, 1)],
            "work": [(n, *title) for n, title in enumerate(_TITLES, 1)],
            "authorship": _authorships(),
            "copy": copies,
            "loan": _loans(copies),
        },
    )


def _members() -> list[Row]:
    dice = Dice(11)
    members: list[Row] = []
    for number in range(1, 73):
        given = _GIVEN[(number - 1) % len(_GIVEN)]
        family = _FAMILY[(number - 1) // len(_GIVEN)]
        name = f"{given} {family}" if number % 17 else f" {given}  {family} "
        group = dice.pick(
            ("adult", "adult", "adult", "Adult", "child", "child ", "senior", "SENIOR")
        )
        members.append(
            (
                number,
                name,
                _email(dice, number),
                None if number % 19 == 3 else "" if number % 23 == 4 else group,
                # 41 and 57 are branches of a neighbour network that this one never had.
                None if number % 13 == 5 else 41 if number in (9, 33, 70) else 57
                if number == 48 else dice.pick((6, 6, 7, 8, 10, 10, 11, 13, 14, 15)),
                _joined(dice, number),
                _recruiter(dice, number),
            )
        )  # fmt: skip
    return members


def _email(dice: Dice, number: int) -> str | None:
    """Families share addresses, and write them each in their own way."""
    if number % 7 == 2:
        return None
    if number % 11 == 8:
        return dice.pick(("", " ", "none"))
    box = number if number % 5 else number % 30 + 1
    address = f"reader{box:02}@example.org"
    return dice.pick((address, address, address, f" {address}", address.upper(), f"{address} "))


def _joined(dice: Dice, number: int) -> str | None:
    if number % 24 == 10:
        return None
    year = dice.pick((2017, 2017, 2018, 2018, 2018, 2019, 2021, 2021, 2022, 2022, 2022, 2024))
    month, day = dice.between(1, 6), dice.between(1, 28)
    return dice.pick(
        (
            f"{year}-{month:02}-{day:02}",
            f"{day:02}.{month:02}.{year}",
            f"{year}/{month:02}/{day:02}",
        )
    )


def _recruiter(dice: Dice, number: int) -> int | None:
    """Mostly somebody earlier; 5, 17 and 29 recruited one another in a ring."""
    ring = {5: 29, 17: 5, 29: 17}
    if number in ring:
        return ring[number]
    if number % 12 == 5:
        return dice.pick((5, 17))
    return None if number == 1 or dice.chance(45) else dice.between(1, number - 1)


def _authorships() -> list[Row]:
    dice = Dice(12)
    rows: list[Row] = []
    for work in range(1, len(_TITLES) + 1):
        if work in (14, 27):  # anonymous
            continue
        first = 1 + (work * 5 + dice.below(3)) % len(_AUTHORS)
        rows.append((work, first, "author"))
        if work % 4 == 0:
            rows.append((work, 1 + (first + dice.between(0, 9)) % len(_AUTHORS), "translator"))
        if work % 9 == 1:
            rows.append((work, 1 + (first + 3) % len(_AUTHORS), "author"))
        if work in (9, 22):
            rows.append((work, first, "illustrator"))
    return rows


def _copies() -> list[Row]:
    dice = Dice(13)
    conditions = ("good", "good", "good", "Good", "worn", "worn", "WORN ", "new", None)
    rows: list[Row] = []
    for work in range(1, len(_TITLES) + 1):
        if work in _WITHOUT_COPY:
            continue
        for _ in range(1 + dice.below(5)):
            cents = dice.between(90, 540) * 5
            branch = dice.pick((6, 6, 6, 7, 8, 9, 10, 10, 11, 12, 13, 14, 15))
            rows.append((len(rows) + 1, work, branch, _price(dice, cents), dice.pick(conditions)))
    return rows


def _price(dice: Dice, cents: int) -> str | None:
    """One price as many librarians have written it; always in whole cents."""
    plain = f"{cents // 100}.{cents % 100:02}"
    comma = plain.replace(".", ",")
    return dice.pick(
        (
            plain,
            plain,
            plain,
            comma,
            comma,
            f"€ {plain}",
            f"{comma} €",
            str(cents // 100),
            "gift",
            None,
        )
    )


def _loans(copies: list[Row]) -> list[Row]:
    """Each copy goes from reader to reader; then what the scanners made of it."""
    dice = Dice(14)
    loans: list[tuple[int | None, int, str, str, str | None]] = []
    for copy, work, *_ in copies:
        assert isinstance(copy, int)
        if work in _UNREAD:
            continue
        day = later("2022-01-03", dice.below(240))
        last = "2023-09-30" if copy % 6 == 0 else _TODAY
        while day < last:
            member = 1 + min(dice.below(66), dice.below(66))
            due = later(day, 28)
            back: str | None = later(day, dice.between(2, 40))
            if back is None or back > _TODAY:
                back = dice.pick((None, None, ""))
            elif dice.chance(2):
                back = None  # lost: nobody borrows this copy again
            loans.append((copy, member, day, due, back))
            if not back:
                break
            day = later(back, dice.between(0, 110))
    # Copies that were thrown away together with their record, and one loan without any copy.
    loans += [(900 + n, 3 + n, f"2023-0{n}-1{n}", f"2023-0{n + 1}-0{n}", None) for n in range(1, 7)]
    loans += [(None, 21, "2023-10-05", "2023-11-02", "2023-10-20")]
    loans += [
        (copy, 40 + copy, "2023-12-20", "2024-01-17", "2024-01-08") for copy in (2, 7, 11, 25)
    ]
    # Two readers of one copy on one day: not two scans of one loan.
    loans += [(31, member, "2022-11-14", "2022-12-12", f"2022-11-2{member}") for member in (3, 8)]
    loans.sort(key=lambda loan: (loan[2], loan[0] or 0, loan[1]))
    # Scanned twice: the second row often never learns that the copy came back.
    for copy_id, member, day, due, back in loans[20:560:17]:
        loans.append((copy_id, member, day, due, dice.pick((back, back, None))))
    return [(number, *loan) for number, loan in enumerate(loans, 1)]
