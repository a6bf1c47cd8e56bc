"""Statements from one dialect into another."""

import sqlite3
import sys

import pytest

from intercode.engines.translate import SyntaxFault, translate
from intercode.errors import EngineUnavailable, UsageError

pytest.importorskip("sqlglot", reason="needs sqlglot: pip install 'intercode[sql]'")

NEAR = (
    "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server"
    " version for the right syntax to use near "
)


def test_the_same_dialect_is_left_as_it_is() -> None:
    assert translate("sElEcT  1 ;-- odd", "mysql", "mysql") == "sElEcT  1 ;-- odd"


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("SELECT YEAR('2020-03-04') + MONTH('2020-03-04')", 2023),
        ("SELECT EXTRACT(DAY FROM '2020-03-04')", 4),
        ("SELECT LEFT('abcdef', 2)", "ab"),
        ("SELECT RIGHT('abcdef', 2)", "ef"),
        ("SELECT IF(1 > 2, 'x', \"y\")", "y"),
        ("SELECT CONCAT('a', `b`) FROM (SELECT 'c' AS `b`) AS t", "ac"),
        ("SELECT CAST('1.5' AS DECIMAL(10, 2))", 1.5),
        (
            "SELECT a FROM (SELECT 1 AS a UNION SELECT 2 UNION SELECT 3) AS t ORDER BY 1 LIMIT 1,1",
            2,
        ),
    ],
)
def test_mysql_runs_on_sqlite(sql: str, value: object) -> None:
    connection = sqlite3.connect(":memory:")
    assert connection.execute(translate(sql, "mysql", "sqlite")).fetchone() == (value,)
    connection.close()


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("SELECT TIMESTAMPDIFF(YEAR, '2000-06-15', '2020-06-14')", 19),
        ("SELECT -7 DIV 2", -3),
        ("SELECT 'ABC' LIKE 'a%'", True),
        ("SELECT DATE_FORMAT('2020-03-04', '%Y-%m')", "2020-03"),
    ],
)
def test_mysql_runs_on_duckdb(sql: str, value: object) -> None:
    duckdb = pytest.importorskip("duckdb", reason="needs duckdb: pip install 'intercode[sql]'")
    connection = duckdb.connect()
    assert connection.execute(translate(sql, "mysql", "duckdb")).fetchone() == (value,)
    connection.close()


def test_postgres_counts_whole_years_too() -> None:
    written = translate("SELECT TIMESTAMPDIFF(YEAR, a, b) FROM t", "mysql", "postgres")
    assert "AGE(CAST(b AS TIMESTAMP), CAST(a AS TIMESTAMP))" in written


def test_names_are_spelled_as_the_engine_has_them() -> None:
    written = translate("SELECT NAME, t.other FROM t", "mysql", "postgres", ("Name", "T"))
    assert written == 'SELECT "Name", "T".other FROM "T"'


@pytest.mark.parametrize(
    ("dialect", "words"),
    [
        ("mysql", NEAR + "'WHERE x' at line 2"),
        ("sqlite", 'near "WHERE": syntax error'),
        ("postgres", 'syntax error at or near "WHERE"'),
        ("duckdb", 'Parser Error: syntax error at or near "WHERE"'),
    ],
)
def test_an_error_is_in_the_words_of_its_dialect(dialect: str, words: str) -> None:
    target = "mysql" if dialect == "sqlite" else "sqlite"
    with pytest.raises(SyntaxFault) as fault:
        translate("SELECT 1\nFROM WHERE x", dialect, target)
    assert str(fault.value) == words


@pytest.mark.parametrize("sql", ["", "SELECT 'open", "SELECT 1; SELECT 2", "(" * 5000, "SELECT )"])
def test_whatever_cannot_be_parsed_is_a_syntax_fault(sql: str) -> None:
    with pytest.raises(SyntaxFault):
        translate(sql, "mysql", "sqlite")


def test_an_unknown_dialect_is_named() -> None:
    with pytest.raises(UsageError, match="oracle"):
        translate("SELECT 1", "oracle", "mysql")


def test_a_missing_sqlglot_says_what_to_install(monkeypatch) -> None:
    from intercode.engines import translate as module

    module._sqlglot.cache_clear()
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    with pytest.raises(EngineUnavailable, match=r"intercode\[sql\]"):
        translate("SELECT 12345", "mysql", "sqlite")
    module._sqlglot.cache_clear()
