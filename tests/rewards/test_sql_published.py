"""Results published without a query."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from intercode.rewards.sql_published import score

CSV = "name,total,share\nAnn,3,0.333\nBo,5,0.5\n"


def reward(rows: Any, text: str = CSV, columns: tuple[int, ...] = (), **more: Any) -> float:
    published = {"result_csv": [text], "condition_cols": [columns], **more}
    return score(rows, published).reward


@pytest.mark.parametrize(
    "rows",
    [
        [("Ann", 3, 0.333), ("Bo", 5, 0.5)],
        [("Bo", 5, Decimal("0.50")), ("Ann", 3, 0.3333333)],
        [(1, 0.333, "Ann", 3), (2, 0.5, "Bo", 5)],
    ],
)
def test_the_columns_are_there(rows: Any) -> None:
    assert reward(rows) == 1.0


def test_rows_stay_whole() -> None:
    assert reward([("Bo", 3, 0.333), ("Ann", 5, 0.5)]) == pytest.approx(0.9)


def test_only_some_columns_may_count() -> None:
    assert reward([("Ann",), ("Bo",)], columns=(0,)) == 1.0
    assert reward([("Ann",), ("Bo",)]) == pytest.approx(0.3)


def test_order_counts_where_it_is_asked_for() -> None:
    backwards = [("Bo", 5, 0.5), ("Ann", 3, 0.333)]
    assert reward(backwards, ignore_order=False) < 1
    assert reward(backwards[::-1], ignore_order=False) == 1.0


def test_any_published_result_is_right() -> None:
    published = {"result_csv": [CSV, "n\n7\n"], "condition_cols": [(), ()]}
    assert score([(7,)], published).success


def test_nothing_is_worth_nothing() -> None:
    assert reward(None) == 0.0
    assert reward([]) == 0.0
    assert reward([("x", "y", "z")]) == 0.0


def test_null_is_an_empty_cell() -> None:
    assert reward([("Ann", None)], "a,b\nAnn,\n") == 1.0


def test_many_equal_columns_are_no_trap() -> None:
    header = ",".join(f"c{n}" for n in range(12))
    text = f"{header}\n{','.join(['1'] * 12)}\n{','.join(['2'] * 12)}\n"
    assert reward([(1,) * 12, (2,) * 12], text) == 1.0
