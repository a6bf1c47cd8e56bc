"""A bakery's books: what it makes of what, buys, bakes and sells, and a ledger by double entry."""

from __future__ import annotations

from datetime import date

from intercode.tasks.bundled.dice import Dice
from intercode.tasks.bundled.script import Row, later, script

_SCHEMA = """
CREATE TABLE item (
  id INTEGER PRIMARY KEY,
  name VARCHAR(40) NOT NULL,
  kind VARCHAR(12) NOT NULL,
  allergens VARCHAR(60)
);
CREATE TABLE part (
  item_id INTEGER NOT NULL REFERENCES item (id),
  part_id INTEGER NOT NULL REFERENCES item (id),
  grams INTEGER NOT NULL,
  PRIMARY KEY (item_id, part_id)
);
CREATE TABLE price (
  item_id INTEGER NOT NULL REFERENCES item (id),
  since VARCHAR(10) NOT NULL,
  cents INTEGER NOT NULL,
  PRIMARY KEY (item_id, since)
);
CREATE TABLE sale (
  id INTEGER PRIMARY KEY,
  "day" VARCHAR(10) NOT NULL,
  item_id INTEGER NOT NULL REFERENCES item (id),
  baked INTEGER NOT NULL,
  sold INTEGER
);
CREATE TABLE supplier (
  id INTEGER PRIMARY KEY,
  name VARCHAR(40) NOT NULL,
  note VARCHAR(60)
);
CREATE TABLE purchase (
  id INTEGER PRIMARY KEY,
  supplier_id INTEGER,
  item_id INTEGER NOT NULL REFERENCES item (id),
  "date" VARCHAR(10) NOT NULL,
  kilos INTEGER NOT NULL,
  amount VARCHAR(14)
);
CREATE TABLE account (
  code VARCHAR(4) PRIMARY KEY,
  name VARCHAR(30) NOT NULL,
  parent VARCHAR(4) REFERENCES account (code)
);
CREATE TABLE posting (
  id INTEGER PRIMARY KEY,
  entry INTEGER NOT NULL,
  booked VARCHAR(10) NOT NULL,
  account VARCHAR(4) NOT NULL,
  debit INTEGER NOT NULL,
  credit INTEGER NOT NULL
);
CREATE TABLE stock (
  item_id INTEGER PRIMARY KEY,
  kilos INTEGER NOT NULL
);
"""

# Each dough weighs what its parts weigh together; water is not bought.
_ITEMS: tuple[Row, ...] = (
    (1, "Wheat flour", "ingredient", "gluten"), (2, "Rye flour", "ingredient", "Gluten"),
    (3, "Butter", "ingredient", "milk"), (4, "Milk", "ingredient", " milk "),
    (5, "Eggs", "ingredient", "egg"), (6, "Sugar", "ingredient", None),
    (7, "Hazelnuts", "ingredient", "nuts"), (8, "Almond paste", "ingredient", "nuts; egg"),
    (9, "Yeast", "ingredient", ""), (10, "Salt", "ingredient", None),
    (11, "Sesame", "ingredient", "sesame"), (12, "Dark chocolate", "ingredient", "milk;soy; Nuts"),
    (13, "Poppy seed", "ingredient", None), (14, "Sourdough", "dough", None),
    (15, "Sweet yeast dough", "dough", None), (16, "Puff pastry", "dough", None),
    (17, "Nut filling", "dough", None), (18, "Baker's loaf", "sold", None),
    (19, "Müslibrötchen", "sold", None), (20, "Nusskranz", "sold", None),
    (21, "Croissant", "sold", None), (22, "Pain au chocolat", "sold", None),
    (23, "Simit", "sold", None), (24, "Mohnschnecke", "sold", None),
    (25, "Meringue", "sold", None), (26, "Gift voucher", "sold", None),
    (27, "Semla", "sold", None), (28, "Flour (tipo 00)", "ingredient", "GLUTEN"),
)  # fmt: skip

_PARTS: tuple[Row, ...] = (
    (14, 2, 400), (14, 1, 300), (14, 10, 12), (15, 1, 500), (15, 4, 240), (15, 3, 80), (15, 6, 80),
    (15, 9, 20), (15, 5, 80), (16, 1, 400), (16, 3, 380), (16, 10, 8), (16, 9, 12), (17, 7, 300),
    (17, 6, 100), (17, 8, 100), (18, 14, 890), (19, 14, 70), (19, 7, 14), (20, 15, 400),
    (20, 17, 200), (20, 6, 30), (21, 16, 60), (22, 16, 60), (22, 12, 18), (23, 15, 110),
    (23, 11, 12), (24, 15, 75), (24, 13, 25), (25, 5, 35), (25, 6, 60), (27, 15, 90), (27, 8, 30),
)  # fmt: skip

_PRICES: tuple[Row, ...] = (
    (18, "2022-01-01", 420), (18, "2024-02-01", 450), (18, "2024-08-01", 480),
    (19, "2023-06-01", 130), (20, "2022-01-01", 890), (20, "2024-03-15", 940),
    (21, "2022-01-01", 165), (21, "2024-01-15", 180), (21, "2024-05-01", 190),
    (22, "2022-01-01", 210), (22, "2024-05-01", 230), (23, "2023-11-01", 155),
    (24, "2022-01-01", 240), (24, "2024-04-01", 255), (25, "2022-01-01", 195),
    (26, "2022-01-01", 2000), (27, "2023-01-01", 320),
)  # fmt: skip

_SUPPLIERS: tuple[Row, ...] = (
    (1, "Moulin d'Aubier", "dates: day/month/year"), (2, "Nordmilch eG", None),
    (3, "Prairie Mills Inc.", "American: writes month/day/year"), (4, "NORDMILCH EG", ""),
    (5, "Nüsse & Kerne", "dates: day/month/year"), (6, "Zucker Braun", None),
    (7, "Rösterei Höchst", "nothing bought yet"),
)  # fmt: skip

_ACCOUNTS: tuple[Row, ...] = (
    ("1", "Assets", None), ("10", "Cash", "1"), ("11", "Bank", "1"), ("12", "Stock", "1"),
    ("120", "Flour", "12"), ("121", "Other ingredients", "12"), ("2", "Debts", None),
    ("20", "Suppliers", "2"), ("21", "Loan for the oven", "2"), ("4", "Income", None),
    ("40", "Counter", "4"), ("41", "Cafés & hotels", "4"), ("410", "Café Zoë", "41"),
    ("411", 'Hotel "Krone"', "41"), ("5", "Costs", None), ("50", "Wages", "5"),
    ("51", "Energy", "5"), ("52", "Rent", "5"), ("9", "Suspense", None),
)  # fmt: skip

_FIRST_DAY, _DAYS = "2024-01-02", 181
_HOLIDAYS = frozenset({"2024-03-29", "2024-04-01", "2024-05-01", "2024-05-09", "2024-05-20"})
_SEMLA_SEASON = ("2024-01-06", "2024-02-13")
_USUAL = {18: 46, 19: 60, 20: 6, 21: 80, 22: 34, 23: 25, 24: 22, 25: 10, 27: 18}


def sql() -> str:
    return script(
        _SCHEMA,
        {
            "item": _ITEMS,
            "part": _PARTS,
            "price": _PRICES,
            "sale": _sales(),
            "supplier": _SUPPLIERS,
            "purchase": _purchases(),
            "account": _ACCOUNTS,
            "posting": _postings(),
        },
    )


def _sales() -> list[Row]:
    """Closed on Sundays and holidays; some counts were forgotten, and some sheets typed twice."""
    dice = Dice(41)
    sheets: list[Row] = []
    for number in range(_DAYS):
        day = later(_FIRST_DAY, number)
        weekday = date.fromisoformat(day).weekday()
        if weekday == 6 or day in _HOLIDAYS or "2024-02-19" <= day <= "2024-02-24":
            continue
        sheet: list[Row] = []
        for item, usual in _USUAL.items():
            if item == 27 and not _SEMLA_SEASON[0] <= day <= _SEMLA_SEASON[1]:
                continue
            if item in (20, 25) and weekday in (0, 1):
                continue
            baked = (
                usual + dice.between(-usual // 5, usual // 5) + (usual // 3 if weekday == 5 else 0)
            )
            sold: int | None = max(
                0, baked - min(dice.below(baked // 2 + 1), dice.below(baked // 2 + 1))
            )
            if dice.chance(30):
                sold = baked
            if dice.chance(4):
                sold = dice.pick((None, None, 0))
            sheet.append((day, item, baked, sold))
        sheets += sheet
        if number % 43 == 12:
            # The second time, with what had been forgotten, or with another count.
            sheets += [(*row[:3], row[3] if dice.chance(60) else row[2]) for row in sheet[:6]]
        if dice.chance(14):
            sheets.append((day, 26, dice.between(1, 3), None))
    return [(number, *row) for number, row in enumerate(sheets, 1)]


def _purchases() -> list[Row]:
    dice = Dice(42)
    goods = {
        1: ((1, 95), (2, 110)), 2: ((3, 890), (4, 105)), 3: ((1, 88), (28, 140)), 4: ((3, 870),),
        5: ((7, 1150), (8, 990), (13, 760)), 6: ((6, 98), (12, 1240), (10, 45)),
    }  # fmt: skip
    rows: list[Row] = []
    for number in range(150):
        supplier = dice.pick((1, 1, 2, 2, 3, 3, 4, 5, 5, 6, 6))
        item, cents = dice.pick(goods[supplier])
        kilos = dice.pick((5, 10, 10, 20, 25, 50, 100))
        day = later(_FIRST_DAY, number * 178 // 150)
        amount = _money(dice, kilos * (cents + dice.between(-9, 9)))
        # 12 was a supplier whose row is gone.
        owner = 12 if number % 29 == 17 else None if number % 31 == 9 else supplier
        rows.append((number + 1, owner, item, _date(supplier, day), kilos, amount))
    return rows


def _date(supplier: int, day: str) -> str:
    """Each supplier's invoices have its own way to write dates, and are typed as they are."""
    year, month, number = day.split("-")
    if supplier in (1, 5):
        return f"{number}/{month}/{year}"
    if supplier == 3:
        return f"{month}/{number}/{year}"
    return day


def _money(dice: Dice, cents: int) -> str | None:
    euros, rest = divmod(cents, 100)
    comma = f"{euros // 1000}.{euros % 1000:03},{rest:02}" if euros > 999 else f"{euros},{rest:02}"
    throw = dice.below(20)
    if throw < 9:
        return f"{euros}.{rest:02}"
    if throw < 15:
        return comma
    return f"EUR {comma}" if throw < 18 else f"{cents}c" if throw < 19 else dice.pick((None, ""))


def _postings() -> list[Row]:
    """Most entries have an equal debit and credit; the owner typed the others at night."""
    dice = Dice(43)
    rows: list[Row] = []
    for entry in range(1, 191):
        day = later(_FIRST_DAY, (entry - 1) * 180 // 190)
        cents = dice.between(900, 190_000)
        debit, credit = dice.pick(
            (("10", "40"), ("10", "40"), ("11", "41"), ("11", "410"), ("11", "411"), ("120", "20"),
             ("121", "20"), ("20", "11"), ("50", "11"), ("51", "11"), ("52", "11"), ("21", "11"))
        )  # fmt: skip
        lines: list[tuple[str, int, int]] = [(debit, cents, 0), (credit, 0, cents)]
        if entry % 27 == 6:  # two digits changed places
            swapped = dice.between(1, 8) * 9
            lines[1] = (credit, 0, cents - swapped)
        elif entry % 41 == 20:  # half of it was never typed
            lines = lines[:1] if entry % 2 else lines[1:]
        elif entry % 19 == 3:  # one side in two parts
            half = cents // 3
            lines = [(debit, half, 0), (debit, cents - half, 0), (credit, 0, cents)]
        elif entry in (66, 142):  # an account that the chart does not have
            lines[0] = ("77", cents, 0)
        rows += [(len(rows) + place, entry, day, *line) for place, line in enumerate(lines, 1)]
    return rows
