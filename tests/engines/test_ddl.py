"""CREATE TABLE in every dialect, from every other."""

import sqlite3
from datetime import date, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intercode.engines.base import DIALECTS
from intercode.engines.content import Column, ForeignKey, Table
from intercode.engines.ddl import add_foreign_keys, column_types, create_table, quote
from intercode.engines.declare import parse

TYPED = Table(
    'Ty`p"ed',
    (
        Column("id", "int unsigned", nullable=False),
        Column("Name", "varchar(20)"),
        Column("price", "decimal(19,4)"),
        Column("kind", "enum('a','b')"),
        Column("made", "datetime"),
        Column("span", "time"),
        Column("raw", "longblob"),
        Column("flag", "tinyint(1)"),
    ),
    ((1, "x", Decimal("1.5"), "a", datetime(2020, 1, 1), timedelta(hours=1), b"", 1),),
    ("id",),
    (ForeignKey(("Name",), "other", ("Key",)),),
)


def test_the_same_dialect_keeps_its_own_words() -> None:
    table = Table("t", (Column("a", "int"),), ddl="CREATE TABLE t (a int) -- mine")
    assert create_table(table, "mysql", "mysql") == "CREATE TABLE t (a int) -- mine"
    assert create_table(table, "mysql", "duckdb") == 'CREATE TABLE "t" (\n  "a" INTEGER\n)'


def test_types_are_those_of_the_target() -> None:
    assert column_types(TYPED, "mysql", "postgres") == (
        "bigint", "varchar(20)", "numeric(19,4)", "text", "timestamp", "interval", "bytea",
        "integer",
    )  # fmt: skip
    assert column_types(TYPED, "mysql", "duckdb")[2:4] == ("DECIMAL(19,4)", "VARCHAR")
    assert column_types(TYPED, "mysql", "sqlite")[:3] == (
        "INTEGER",
        "VARCHAR(20)",
        "DECIMAL(19, 4)",
    )


@pytest.mark.parametrize("target", DIALECTS)
def test_names_and_keys_are_kept(target: str) -> None:
    made = create_table(TYPED, "mysql", target)
    read = parse(made, target)
    assert read.name == TYPED.name
    assert [column.name for column in read.columns] == [column.name for column in TYPED.columns]
    assert read.primary_key == ("id",)
    assert read.foreign_keys == TYPED.foreign_keys
    assert (
        parse(create_table(TYPED, "mysql", target, foreign_keys=False), target).foreign_keys == ()
    )


def test_foreign_keys_can_follow() -> None:
    (added,) = add_foreign_keys(TYPED, "postgres")
    assert added.endswith('ADD FOREIGN KEY ("Name") REFERENCES "other" ("Key")')


@pytest.mark.parametrize(
    ("declared", "values", "expected"),
    [
        ("INTEGER", (1, None), "int"),
        ("INTEGER", (2**40,), "bigint"),
        ("INTEGER", (1.5,), "double"),
        ("INTEGER", ("dirty", 1), "text"),
        ("", (1, 2), "int"),
        ("DATE", ("2020-01-01", None), "date"),
        ("DATE", ("2020-01-01 10:00:00",), "datetime"),
        ("DATE", ("long ago",), "text"),
        ("DATETIME", ("2020-01-01 10:00:00.5",), "datetime(6)"),
        ("VARCHAR(3)", ("longer than that",), "text"),
        ("TEXT", (b"\x00",), "longblob"),
        ("REAL", (1, 2.5), "double"),
    ],
)
def test_a_type_is_wide_enough_for_what_sqlite_holds(declared, values, expected) -> None:
    table = Table("t", (Column("a", declared),), tuple((value,) for value in values))
    assert column_types(table, "sqlite", "mysql") == (expected,)


def test_a_key_that_the_rows_break_is_left_out() -> None:
    table = Table("t", (Column("a", "TEXT"),), ((None,), ("x",)), ("a",))
    assert "PRIMARY KEY" not in create_table(table, "sqlite", "mysql")
    kept = Table("t", (Column("a", "TEXT"),), (("x",),), ("a",))
    assert "`a` varchar(255) NOT NULL" in create_table(kept, "sqlite", "mysql")


def test_mysqls_text_compares_without_case_on_sqlite() -> None:
    connection = sqlite3.connect(":memory:")
    table = Table("t", (Column("a", "varchar(9)"), Column("d", "date")), ((None, date.min),))
    connection.execute(create_table(table, "mysql", "sqlite"))
    connection.execute("INSERT INTO t VALUES ('Ann', NULL)")
    assert connection.execute("SELECT count(*) FROM t WHERE a = 'ANN'").fetchone() == (1,)
    connection.close()


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1))
def test_any_name_can_be_quoted(name: str) -> None:
    connection = sqlite3.connect(":memory:")
    quoted = quote(name, "sqlite")
    assert connection.execute(f"SELECT 1 AS {quoted}").description[0][0] == name
    connection.close()
