"""Copies of a database with other data."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from intercode.engines.base import DIALECTS
from intercode.engines.content import Column, Content, ForeignKey, Table
from intercode.engines.literals import Literal, literals
from intercode.engines.perturb import MOST_ROWS, perturbed
from intercode.engines.read import from_sqlite
from intercode.rewards.sql_order import order_of
from intercode.rewards.sql_v2 import Results, Rules, suite

NAMES = ("Ann", "Bo", "Cy", "Di", "Ed", "Flo")


def shop() -> Content:
    makers = Table(
        "maker",
        (Column("id", "INTEGER", False), Column("name", "VARCHAR(5)"), Column("open", "INTEGER")),
        tuple((index, name, index % 2) for index, name in enumerate(NAMES, 1)),
        ("id",),
    )
    goods = Table(
        "good",
        (
            Column("id", "INTEGER", False),
            Column("maker", "INTEGER"),
            Column("Price", "DECIMAL(5,2)"),
            Column("since", "DATE"),
            Column("note", "TEXT"),
            Column("likes", "INTEGER"),
        ),
        tuple(
            (i, i % 6 + 1, Decimal(i) / 4, date(2020, 1, i), None if i % 3 else "n", i % 28 + 1)
            for i in range(1, 29)
        ),
        ("id",),
        (
            ForeignKey(("maker",), "MAKER", ("id",)),
            # To itself.
            ForeignKey(("likes",), "good", ("id",)),
        ),
    )
    pairs = Table(
        "sold",
        (Column("maker", "INTEGER"), Column("good", "INTEGER"), Column("day", "TEXT")),
        tuple((i % 6 + 1, i, f"2021-02-{i:02}") for i in range(1, 20)),
        ("maker", "good"),
        (ForeignKey(("maker",), "maker", ()), ForeignKey(("good",), "good", ("id",))),
    )
    empty = Table(
        "visitor",
        (
            Column("id", "INTEGER", False),
            Column("name", "TEXT"),
            Column("born", "DATE"),
            Column("maker", "INTEGER"),
        ),
        (),
        ("id",),
        (ForeignKey(("maker",), "maker", ("id",)),),
    )
    # Children come before their parents.
    return Content("shop", "mysql", (pairs, goods, empty, makers))


def column(content: Content, table: str, name: str) -> list[Any]:
    found = next(one for one in content.tables if one.name == table)
    index = [one.name for one in found.columns].index(name)
    return [row[index] for row in found.rows]


COPIES = [perturbed(shop(), seed) for seed in range(25)]


def test_a_copy_depends_on_the_seed_alone() -> None:
    assert perturbed(shop(), 1) == perturbed(shop(), 1)
    assert len({copy.digest for copy in COPIES}) == len(COPIES)


def test_a_copy_is_known_across_processes() -> None:
    # A change here changes what every recorded score was made with.
    assert perturbed(shop(), 0).digest == "c85f0bffa1e3e1ad"


@pytest.mark.parametrize("copy", COPIES[:5])
def test_the_schema_stays(copy: Content) -> None:
    for old, new in zip(shop().tables, copy.tables, strict=True):
        assert (old.name, old.columns, old.primary_key) == (new.name, new.columns, new.primary_key)
        assert all(len(row) == len(new.columns) for row in new.rows)


@pytest.mark.parametrize("copy", COPIES)
def test_keys_stay_unique_and_references_lead_somewhere(copy: Content) -> None:
    for table, key in (("maker", ["id"]), ("good", ["id"]), ("sold", ["maker", "good"])):
        values = list(zip(*(column(copy, table, name) for name in key), strict=True))
        assert len(values) == len(set(values)) > 0
        assert not any(None in value for value in values)
    makers, goods = set(column(copy, "maker", "id")), set(column(copy, "good", "id"))
    assert set(column(copy, "good", "maker")) <= makers
    assert set(column(copy, "visitor", "maker")) <= makers
    assert set(column(copy, "sold", "maker")) <= makers
    assert set(column(copy, "sold", "good")) <= goods
    assert set(column(copy, "good", "likes")) <= goods


@pytest.mark.parametrize("copy", COPIES)
def test_what_the_data_lets_one_believe_holds(copy: Content) -> None:
    assert None not in column(copy, "good", "Price")
    assert set(column(copy, "maker", "open")) <= {0, 1}
    assert all(len(name) <= 5 for name in column(copy, "maker", "name"))
    assert all(0 <= price < 1000 for price in column(copy, "good", "Price"))
    for price in column(copy, "good", "Price"):
        assert isinstance(price, Decimal)
        assert price == round(price, 2)
    assert all(isinstance(day, date) for day in column(copy, "good", "since"))
    assert all(isinstance(day, date) for day in column(copy, "visitor", "born"))
    assert all(date.fromisoformat(day) for day in column(copy, "sold", "day"))


def test_rows_are_dropped_changed_doubled_and_new() -> None:
    old = next(table for table in shop().tables if table.name == "good").rows
    new = next(table for table in COPIES[0].tables if table.name == "good").rows
    kept = set(old) & set(new)
    assert 0 < len(kept) < len(old) < len(new)
    prices = Counter(column(COPIES[0], "good", "Price"))
    assert max(prices.values()) > 1
    seen = {price for copy in COPIES for price in column(copy, "good", "Price")}
    assert seen - set(column(shop(), "good", "Price"))


def test_empty_tables_get_rows() -> None:
    assert all(len(column(copy, "visitor", "id")) >= 20 for copy in COPIES)


def test_groups_differ_in_size() -> None:
    sizes = Counter(column(COPIES[0], "good", "maker"))
    assert max(sizes.values()) >= 2 * min(sizes.values())


def test_what_is_looked_for_is_there_and_so_are_near_misses() -> None:
    keep = {Literal("name", "Zoo"), Literal("price", 7)}
    copies = [perturbed(shop(), seed, keep) for seed in range(5)]
    for copy in copies:
        assert "Zoo" in column(copy, "maker", "name")
        assert 7 in column(copy, "good", "Price")
    near = {price for copy in copies for price in column(copy, "good", "Price")}
    assert {6, 8} <= near
    names = {name for copy in copies for name in column(copy, "maker", "name")}
    assert any(name != "Zoo" and "Zoo" in name for name in names)


def test_no_two_texts_differ_in_case_alone() -> None:
    for copy in COPIES:
        names = set(column(copy, "maker", "name"))
        assert len({name.casefold() for name in names}) == len(names)


def test_what_is_said_to_be_unique_stays_so() -> None:
    content = shop()
    maker = content.tables[3]
    ddl = "CREATE TABLE maker (id INTEGER PRIMARY KEY, name VARCHAR(5) UNIQUE, open INTEGER)"
    unique = Content("shop", "mysql", (Table(**{**vars(maker), "ddl": ddl}),))
    for seed in range(10):
        names = column(perturbed(unique, seed), "maker", "name")
        assert len(names) == len(set(names))


def test_large_tables_are_cut() -> None:
    rows = tuple((index, index % 7) for index in range(20_000))
    columns = (Column("id", "INTEGER"), Column("n", "INTEGER"))
    copy = perturbed(Content("big", "sqlite", (Table("t", columns, rows, ("id",)),)), 0)
    assert MOST_ROWS / 2 <= len(copy.tables[0].rows) <= MOST_ROWS


CELL = st.none() | st.integers(-5, 300) | st.sampled_from(["a", "B", "2020-01-01", "", "1.5"])


@settings(max_examples=60)
@given(
    st.lists(st.tuples(CELL, CELL, st.binary(max_size=2)), max_size=12),
    st.sampled_from(["INTEGER", "TINYINT", "CHAR(1)", "DATE", "", "ENUM('a')", "REAL"]),
    st.integers(0, 3),
)
def test_any_content_has_copies(rows: list[Any], declared: str, seed: int) -> None:
    numbered = tuple((index, *row) for index, row in enumerate(rows))
    columns = (
        Column("id", "INTEGER", False),
        Column("a", declared),
        Column("b", "TEXT"),
        Column("c", "BLOB"),
    )
    loop = ForeignKey(("a",), "u", ("id",))
    back = ForeignKey(("b",), "t", ("id",))
    nowhere = ForeignKey(("b",), "missing", ())
    content = Content(
        "any",
        "sqlite",
        (
            Table("t", columns, numbered, ("id",), (loop, nowhere)),
            Table("u", columns, numbered[:3], ("id",), (back,)),
        ),
    )
    copy = perturbed(content, seed, literals("SELECT 1 FROM t WHERE a = 5 AND b > 'x'", "sqlite"))
    for table in copy.tables:
        ids = [row[0] for row in table.rows]
        assert len(ids) == len(set(ids)) > 0


def test_an_empty_column_of_an_enumeration_gets_its_values() -> None:
    columns = (Column("id", "INTEGER"), Column("e", "enum('x','y''z')"))
    copy = perturbed(Content("e", "mysql", (Table("t", columns, (), ("id",)),)), 0)
    assert set(column(copy, "t", "e")) == {"x", "y'z"}


# Literals


def test_literals_know_their_columns() -> None:
    sql = """SELECT count(*), 'x' FROM t AS T1 WHERE T1.Name LIKE '%Ha%' AND age BETWEEN 3 AND -4.5
        OR `Country` IN ('USA', "UK") AND NOT x <> 0x10 GROUP BY 1 HAVING count(*) > 2
        ORDER BY 1 LIMIT 99"""
    assert literals(sql, "mysql") == {
        Literal(None, "x"),
        Literal("name", "Ha"),
        Literal("age", 3),
        Literal("age", -4.5),
        Literal("country", "USA"),
        Literal("country", "UK"),
        Literal(None, 2),
    }


def test_a_query_expects_repeats_where_it_groups_or_takes_each_once() -> None:
    sql = """SELECT T1.a, count(DISTINCT `T2`.`The Place`) FROM t AS T1 GROUP BY T1.a, "B" HAVING
        max(c) = 3 UNION SELECT DISTINCT d, e FROM (SELECT f FROM t GROUP BY f) WHERE g = 4"""
    repeated = {found.column for found in literals(sql, "mysql") if found.value is None}
    assert repeated == {"a", "the place", "d", "e", "f"}
    assert {Literal("g", 4), Literal("c", 3)} <= literals(sql, "mysql")
    both = literals("SELECT a FROM t WHERE b = 1 INTERSECT SELECT a FROM t WHERE b = 2", "sqlite")
    assert Literal("a", None) in both


def test_double_quotes_may_be_text_in_sqlite() -> None:
    assert literals('SELECT "a" FROM t WHERE c = "USA"', "sqlite") == {Literal("c", "USA")}


@given(st.text("selctwhr='\"`()%-0.x1AND "), st.sampled_from(DIALECTS))
def test_any_text_has_literals(sql: str, dialect: str) -> None:
    literals(sql, dialect)


# Telling right from wrong


def database(content: Content) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
    for table in content.tables:
        connection.execute(table.ddl or "")
        marks = ",".join("?" * len(table.columns))
        connection.executemany(f'INSERT INTO "{table.name}" VALUES ({marks})', table.rows)
    return connection


def rows(connection: sqlite3.Connection, sql: str) -> list[Any] | None:
    try:
        return connection.execute(sql).fetchall()
    except sqlite3.Error:
        return None


def judged(content: Content, gold: str, agent: str, copies: int) -> bool:
    order = order_of(gold, "sqlite")
    rules = Rules(order is not None, order.keys if order else None, order.hidden if order else 0)
    keep = literals(gold, "sqlite") | literals(agent, "sqlite")
    results = []
    for copy in (content, *(perturbed(content, seed, keep) for seed in range(copies))):
        connection = database(copy)
        wanted = rows(connection, order.sql if order else gold)
        assert wanted is not None
        tied: list[Any] = []
        if order is not None and order.limit is not None and order.keys is not None:
            wanted, rest = wanted[: order.limit], wanted[order.limit :]
            tied = [row for row in rest if all(row[key] == wanted[-1][key] for key in order.keys)]
        results.append(Results(rows(connection, agent), wanted, tied))
        connection.close()
    assert suite(results[0], [], rules).success, "they agree on the database itself"
    return suite(results[0], results[1:], rules).success


WRONG = [
    ("wta_1", "SELECT count(*) FROM matches WHERE YEAR = 2013", "SELECT 0"),
    ("wta_1", "SELECT first_name FROM players ORDER BY birth_date", "SELECT 1 WHERE 0"),
    ("concert_singer", "SELECT count(*) FROM singer", "SELECT 6"),
    ("concert_singer", "SELECT count(*) FROM singer", "SELECT count(*) FROM concert"),
    (
        "concert_singer",
        "SELECT name FROM singer WHERE age > 40",
        "SELECT name FROM singer WHERE age >= 41 AND age <> 42",
    ),
    (
        "pets_1",
        "SELECT weight FROM pets ORDER BY pet_age LIMIT 1",
        "SELECT min(weight) FROM pets",
    ),
    (
        "world_1",
        "SELECT name FROM country WHERE IndepYear > 1990 AND population > 1000000",
        "SELECT name FROM country WHERE IndepYear >= 1991 AND population > 1000001",
    ),
]
RIGHT = [
    (
        "concert_singer",
        "SELECT name, count(*) FROM concert JOIN stadium USING (stadium_id) GROUP BY stadium_id",
        """SELECT name, (SELECT count(*) FROM concert c WHERE c.stadium_id = s.stadium_id) n
        FROM stadium s WHERE n > 0""",
    ),
    (
        "world_1",
        "SELECT name FROM country WHERE continent = 'Asia' AND population > 100000000",
        "SELECT name FROM country WHERE NOT (population <= 1e8 OR continent <> 'Asia')",
    ),
    (
        "wta_1",
        "SELECT country_code, count(*) FROM players GROUP BY country_code",
        "SELECT DISTINCT country_code, count(*) OVER (PARTITION BY country_code) FROM players",
    ),
]


@pytest.fixture(scope="module")
def spider(data: Path) -> Any:
    folder = data / "spider" / "sqlite_intercode"
    return lambda name: from_sqlite(folder / name / f"{name}.sqlite")


@pytest.mark.data
@pytest.mark.parametrize(("name", "gold", "agent"), WRONG)
def test_right_by_luck_is_found_out(spider: Any, name: str, gold: str, agent: str) -> None:
    assert not judged(spider(name), gold, agent, copies=5)


@pytest.mark.data
@pytest.mark.parametrize(("name", "gold", "agent"), RIGHT)
def test_another_way_of_saying_it_is_never_refused(
    spider: Any, name: str, gold: str, agent: str
) -> None:
    assert judged(spider(name), gold, agent, copies=20)


@pytest.mark.data
def test_golds_of_spider_mostly_say_something_on_copies(data: Path, spider: Any) -> None:
    tasks = json.loads((data / "spider" / "ic_spider_dev.json").read_text())[::9]
    told = silent = 0
    for task in tasks:
        copy = perturbed(spider(task["db"]), 0, literals(task["gold"], "sqlite"))
        connection = database(copy)
        result = rows(connection, task["gold"])
        connection.close()
        assert result is not None, task["gold"]
        if result in ([], [(0,)], [(None,)]):
            silent += 1
        else:
            told += 1
    assert told / (told + silent) > 0.93
