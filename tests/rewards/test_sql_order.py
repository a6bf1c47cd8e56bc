"""What order a query's rows have."""

from __future__ import annotations

import json
import sqlite3
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intercode.engines.base import DIALECTS
from intercode.rewards.sql_order import Order, is_ordered, order_of

ORDERED = [
    "SELECT a FROM t ORDER BY a",
    "select a from t order\n by a limit 3;",
    "SELECT a FROM t UNION SELECT b FROM u ORDER BY 1",
    "WITH c AS (SELECT 1 AS x) SELECT x FROM c ORDER BY x",
    "(SELECT a FROM t ORDER BY a)",
    "SELECT f(a) FROM t WHERE a IN (SELECT 1) ORDER BY b",
    "SELECT 1; SELECT a FROM t ORDER BY a",
    "SELECT a FROM t -- )\nORDER BY a",
]
UNORDERED = [
    "SELECT a FROM t",
    "SELECT a FROM t WHERE b > (SELECT b FROM u ORDER BY c LIMIT 1)",
    "SELECT a, ROW_NUMBER() OVER (ORDER BY b) FROM t",
    "(SELECT a FROM t ORDER BY a LIMIT 1) UNION ALL (SELECT a FROM t ORDER BY b LIMIT 1)",
    "SELECT 'x ORDER BY y' FROM t",
    "SELECT a FROM t -- ORDER BY a",
    "SELECT a FROM t /* ORDER BY a */",
    "SELECT a FROM t ORDER BY a; SELECT a FROM t",
    "SELECT GROUP_CONCAT(a ORDER BY a) FROM t",
    "",
    "(",
]


@pytest.mark.parametrize("sql", ORDERED)
def test_an_order_at_the_top_counts(sql: str) -> None:
    assert is_ordered(sql, "mysql")


@pytest.mark.parametrize("sql", UNORDERED)
def test_an_order_inside_does_not(sql: str) -> None:
    assert not is_ordered(sql, "mysql")
    assert order_of(sql, "mysql") is None


@given(st.text("()ORDER BY';-/*\"`\\selectfrom1, \n"), st.sampled_from(DIALECTS))
def test_any_text_has_an_answer(sql: str, dialect: str) -> None:
    assert (order_of(sql, dialect) is not None) == is_ordered(sql, dialect)


# Keys

KEYS = {
    "SELECT a, b FROM t ORDER BY b": (1,),
    "SELECT a, b FROM t ORDER BY b DESC, a": (1, 0),
    "SELECT a, b FROM t ORDER BY 2, 1": (1, 0),
    "SELECT t.a, t.b FROM t ORDER BY t.b": (1,),
    "SELECT a, COUNT(*) AS n FROM t GROUP BY a ORDER BY n": (1,),
    "SELECT a, COUNT(*) FROM t GROUP BY a ORDER BY count(*) DESC": (1,),
    "SELECT a AS b, b AS c FROM t ORDER BY b": (0,),
    "SELECT a FROM t UNION SELECT b FROM u ORDER BY a": (0,),
    "(SELECT a, b FROM t ORDER BY B)": (1,),
}


@pytest.mark.parametrize("sql", KEYS)
def test_keys_that_are_shown_are_found(sql: str) -> None:
    pytest.importorskip("sqlglot")
    assert order_of(sql, "mysql") == Order(sql, KEYS[sql])


def test_keys_that_are_not_shown_are_shown_by_a_wider_query() -> None:
    pytest.importorskip("sqlglot")
    order = order_of("SELECT a, c FROM t ORDER BY b DESC, a LIMIT 5", "sqlite")
    wider = "SELECT a, c, b FROM t ORDER BY b DESC, a"
    assert order == Order(wider, (2, 0), hidden=1, limit=5)


def test_of_all_columns_the_keys_are_counted_from_the_end() -> None:
    pytest.importorskip("sqlglot")
    order = order_of("SELECT * FROM t ORDER BY b, a", "sqlite")
    assert order == Order("SELECT *, b, a FROM t ORDER BY b, a", (-2, -1), hidden=2)


@pytest.mark.parametrize("end", ["LIMIT 2 OFFSET 1", "LIMIT 1, 2", "LIMIT 1 + 1"])
def test_rows_from_the_middle_are_taken_as_they_come(end: str) -> None:
    pytest.importorskip("sqlglot")
    sql = f"SELECT a FROM t ORDER BY a {end}"
    assert order_of(sql, "mysql") == Order(sql, (0,))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM t ORDER BY 1",
        "SELECT DISTINCT a FROM t ORDER BY b",
        "SELECT a FROM t UNION SELECT b FROM u ORDER BY a + 1",
        "SELECT a FROM WHERE ORDER BY",
    ],
)
def test_keys_that_cannot_be_told_are_not_guessed(sql: str) -> None:
    assert order_of(sql, "mysql") == Order(sql, None)


def test_without_sqlglot_the_order_is_known_and_its_keys_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    sql = "SELECT a FROM t ORDER BY a"
    assert order_of(sql, "mysql") == Order(sql, None)


@pytest.mark.data
def test_wider_golds_of_spider_give_the_golds_own_rows(data: Path) -> None:
    pytest.importorskip("sqlglot")
    tasks = json.loads((data / "spider" / "ic_spider_dev.json").read_text())
    ordered = hidden = known = 0
    for task in tasks:
        order = order_of(task["gold"], "sqlite")
        if order is None:
            continue
        ordered += 1
        known += order.keys is not None
        if not order.hidden and order.limit is None:
            continue
        hidden += bool(order.hidden)
        file = data / "spider" / "sqlite_intercode" / task["db"] / f"{task['db']}.sqlite"
        with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as connection:
            connection.text_factory = bytes
            wider = connection.execute(order.sql).fetchall()
            gold = connection.execute(task["gold"]).fetchall()
        connection.close()
        shown = [row[: len(row) - order.hidden] for row in wider[: order.limit]]
        assert len(shown) == len(gold)
        for row, golden in zip(wider, gold, strict=False):
            last = [wider[len(gold) - 1][key] for key in order.keys or ()]
            tied = [row[key] for key in order.keys or ()] == last
            assert row[: len(row) - order.hidden] == golden or tied, order.sql
    assert (ordered, known, hidden) == (231, 229, 191)
