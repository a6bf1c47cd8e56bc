"""The SQL reward of -v2, worked by hand and by properties."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intercode.rewards.sql_v2 import (
    DISAGREEING,
    Results,
    Rules,
    score,
    state,
    suite,
)

ORDERED = Rules(ordered=True)
PERMUTED = Rules(columns="permuted")

VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.floats(-3, 3),
    st.decimals(-3, 3, places=3),
    st.text("ab1", max_size=2),
    st.binary(max_size=1),
    st.dates(),
)
ROWS = st.integers(1, 3).flatmap(lambda width: st.lists(st.tuples(*[VALUES] * width), max_size=6))


def one(value: Any) -> list[tuple[Any]]:
    return [(value,)]


def same(a: Any, b: Any) -> bool:
    """As values of two results of one row."""
    forth, back = score(one(a), one(b)), score(one(b), one(a))
    assert forth.success == back.success
    return forth.success


def column(*values: Any) -> list[tuple[Any]]:
    return [(value,) for value in values]


# Values


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (1, 1.0),
        (1, Decimal("1.00")),
        (1.5, Decimal("1.50")),
        (True, 1),
        (0.1 + 0.2, 0.3),
        (0.1 + 0.2 - 0.3, 0),
        (2.9999999999999996, 3),
        (510.333333, 1531 / 3),
        (Decimal("0.3333"), Decimal("0.33333")),
        (None, None),
        (math.nan, math.nan),
        (math.inf, Decimal("Infinity")),
        (date(2020, 1, 31), "2020-01-31"),
        (datetime(2020, 1, 31, 10, 20), "2020-01-31 10:20:00"),
        (timedelta(hours=-30), "-30:00:00"),
        (b"a", bytearray(b"a")),
        (["a", 1], ("a", 1.0)),
    ],
)
def test_equal_values_of_different_types(a: Any, b: Any) -> None:
    assert same(a, b)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (1, "1"),
        (0, None),
        ("", None),
        ("a", b"a"),
        ("a", "A"),
        ("a", "a "),
        (1.5, 1.52),
        (0.3333, 0.3334),
        (Decimal("0.3333"), Decimal("0.3334")),
        (1_000_000_001, 1_000_000_002),
        (1_234_567.25, 1_234_567.26),
        (10**18, 10**18 + 1),
        (1e-7, 2e-7),
        (True, "true"),
        (math.nan, None),
        (math.inf, -math.inf),
        (date(2020, 1, 1), datetime(2020, 1, 1)),
    ],
)
def test_values_that_differ(a: Any, b: Any) -> None:
    assert not same(a, b)


def test_dense_data_is_not_taken_for_rounding() -> None:
    dense = [1 + step * 1e-7 for step in range(1000)]
    assert score(column(*dense), column(*dense)).success
    moved = [dense[0], *dense[:-1]]
    assert not score(column(*moved), column(*dense)).success
    noisy = [value * (1 + 1e-15) for value in dense]
    assert score(column(*noisy), column(*dense)).success


HOSTILE = [Decimal("1e999999999"), Decimal("sNaN"), 10**5000, {"a": {1}}]


@pytest.mark.parametrize("hostile", HOSTILE, ids=["huge", "signalling", "long", "nested"])
def test_values_beyond_reason_are_values(hostile: Any) -> None:
    assert same(hostile, hostile)
    assert not same(hostile, 1)
    assert not same(hostile, 1.5)


# Rows


def test_rows_may_come_in_any_order_where_the_gold_has_none() -> None:
    assert score(column(2, 1), column(1, 2)).success


def test_duplicates_are_counted() -> None:
    result = score(column(1, 1, 2), column(1, 2, 2))
    assert result.components["iou"] == 2 / 4
    assert result.reward == DISAGREEING / 2


def test_an_error_or_no_result_is_nothing() -> None:
    assert score(None, column(1)).reward == 0
    assert score(column(1), None).reward == 0
    assert score(None, None).reward == 0


def test_a_wrong_result_says_why() -> None:
    why = score(column("a", "b", "x"), column("a", "b", "c", "d")).details["why"]
    assert why == "2 rows missing, e.g. ('c',); 1 row too many, e.g. ('x',)"


def test_another_number_of_columns_is_nothing() -> None:
    result = score([(1, 2)], [(1,)])
    assert result.reward == 0
    assert result.details["why"] == "2 columns instead of 1"


# Order


def test_order_counts_where_the_gold_has_one() -> None:
    result = score(column(1, 3, 2), column(1, 2, 3), ORDERED)
    assert result.reward == DISAGREEING
    assert result.components == {"iou": 1.0, "order": 0.0}
    assert "first in row 2" in result.details["why"]


def test_ties_are_free() -> None:
    gold = [("a", 1), ("b", 1), ("c", 2)]
    agent = [("b", 1), ("a", 1), ("c", 2)]
    assert score(agent, gold, Rules(ordered=True, keys=(1,))).success
    assert not score(agent, gold, ORDERED).success
    assert not score(agent[::-1], gold, Rules(ordered=True, keys=(1,))).success


def test_keys_may_be_hidden_in_the_golds_last_columns() -> None:
    gold = [("a", 1), ("b", 1), ("c", 2)]
    rules = Rules(ordered=True, keys=(1,), hidden=1)
    assert score(column("b", "a", "c"), gold, rules).success
    assert not score(column("a", "c", "b"), gold, rules).success


def test_the_same_key_again_after_another_is_no_tie() -> None:
    gold = [("a", 1), ("b", 2), ("c", 1)]
    agent = [("c", 1), ("b", 2), ("a", 1)]
    assert not score(agent, gold, Rules(ordered=True, keys=(1,))).success


# Columns


def test_columns_count_in_their_order_unless_that_is_given_up() -> None:
    agent, gold = [(1, "a"), (2, "b")], [("a", 1), ("b", 2)]
    assert not score(agent, gold).success
    assert score(agent, gold, PERMUTED).success


def test_columns_are_permuted_in_all_rows_alike() -> None:
    assert not score([(1, 2), (1, 2)], [(1, 2), (2, 1)], PERMUTED).success


def test_no_column_stands_for_two() -> None:
    assert not score([(0, 1), (1, 0)], [(0, 0), (1, 1)], PERMUTED).success


def test_of_several_permutations_the_one_in_the_golds_order_counts() -> None:
    rules = Rules(ordered=True, columns="permuted")
    assert score([(2, 1), (1, 2)], [(1, 2), (2, 1)], rules).success


def test_ties_and_permuted_columns_together() -> None:
    gold = [("a", 1), ("b", 1), ("c", 2)]
    agent = [(1, "b"), (1, "a"), (2, "c")]
    rules = Rules(ordered=True, keys=(1,), columns="permuted")
    assert score(agent, gold, rules).success
    assert score(agent[::-1], gold, rules).components == {"iou": 1.0, "order": 0.0}


def test_partial_credit_looks_for_the_nearest_columns() -> None:
    result = score([(1, "a"), (2, "x")], [("a", 1), ("b", 2)], PERMUTED)
    assert result.components["iou"] == 1 / 3


@given(st.data())
def test_any_permutation_is_found(data: st.DataObject) -> None:
    width = data.draw(st.integers(1, 6))
    cell = st.integers(0, 2)
    gold = data.draw(st.lists(st.tuples(*[cell] * width), min_size=1, max_size=8))
    order = data.draw(st.permutations(range(width)))
    agent = data.draw(st.permutations([tuple(row[i] for i in order) for row in gold]))
    assert score(agent, gold, PERMUTED).success


def test_a_hundred_columns_are_no_matter() -> None:
    draw = random.Random(0)
    gold = [tuple(draw.randrange(3) for _ in range(100)) for _ in range(200)]
    order = draw.sample(range(100), 100)
    agent = [tuple(row[i] for i in order) for row in gold]
    assert score(agent, gold, PERMUTED).success


def test_results_made_to_be_hard_take_bounded_time() -> None:
    # Every column has the same values, and no permutation makes the rows equal.
    size = 24
    gold = [tuple(int(i == j) for j in range(size)) for i in range(size)]
    gold += [tuple(1 - value for value in row) for row in gold]
    agent = [list(row) for row in gold]
    agent[0], agent[-1] = agent[0][1:] + agent[0][:1], agent[-1][::-1]
    agent[1][0], agent[1][1], agent[2][0], agent[2][1] = 1, 0, 0, 1
    draw = random.Random(1)
    hard = [[draw.randrange(2) for _ in range(30)] for _ in range(15)]
    hard += [[1 - value for value in row] for row in hard]
    other = [[draw.randrange(2) for _ in range(30)] for _ in range(15)]
    other += [[1 - value for value in row] for row in other]
    started = time.process_time()
    score(agent, gold, PERMUTED)
    assert not score(other, hard, PERMUTED).success
    assert time.process_time() - started < 20


# What holds of all results


@given(ROWS, st.randoms())
def test_a_result_is_right_in_any_order(rows: list[Any], draw: Any) -> None:
    assert score(draw.sample(rows, len(rows)), rows).success


@given(ROWS, ROWS, st.booleans(), st.sampled_from(["ordered", "permuted"]))
def test_only_equal_results_are_worth_one(
    agent: list[Any], gold: list[Any], ordered: bool, columns: Any
) -> None:
    result = score(agent, gold, Rules(ordered=ordered, columns=columns))
    assert 0 <= result.reward <= DISAGREEING or result.success
    assert result.success != bool(result.details)
    if result.success:
        assert len(agent) == len(gold)


@given(ROWS, ROWS)
def test_who_is_the_gold_does_not_matter(agent: list[Any], gold: list[Any]) -> None:
    assert score(agent, gold).reward == score(gold, agent).reward


@given(st.lists(st.floats(-1e6, 1e6), max_size=30), st.randoms())
def test_rounding_noise_is_never_refused(values: list[float], draw: Any) -> None:
    noisy = [value * (1 + draw.choice((-1, 0, 1)) * 2**-52) for value in values]
    assert score(column(*noisy), column(*values)).success


# Several databases


def test_right_everywhere_is_one() -> None:
    result = suite(
        Results(column(1), column(1)), [Results(column(2, 3), column(3, 2)), Results([], [])]
    )
    assert result.success
    assert result.components["suite"] == 1


def test_right_by_luck_is_not_success() -> None:
    others = [Results(column(1), column(2)), Results(column(1), column(1))]
    result = suite(Results(column(1), column(1)), others)
    assert 0 < result.reward < 1
    assert result.components["suite"] == 0.5
    assert result.details["why"].startswith("right on this data, but not on 1 of 2 databases")
    assert "(2,)" in result.details["why"]


def test_an_empty_answer_to_an_empty_gold_is_no_evidence() -> None:
    pristine = Results([], [])
    assert suite(pristine, []).success
    assert suite(pristine, [Results([], column(1)), Results([], [])]).reward == 0


def test_a_wrong_result_stays_wrong_however_often_it_is_right_elsewhere() -> None:
    result = suite(Results(column(1), column(2)), [Results(column(3), column(3))] * 5)
    assert 0 < result.reward < 1


def test_a_database_on_which_the_gold_fails_says_nothing() -> None:
    assert suite(Results(column(1), column(1)), [Results(None, None)]).success
    assert suite(Results(column(1), column(1)), [Results(column(1), None)]).success


def test_a_query_cannot_choose_where_it_is_looked_at_by_failing_elsewhere() -> None:
    assert not suite(Results(column(1), column(1)), [Results(None, column(1))]).success


def test_a_failed_query_is_nothing_on_any_data() -> None:
    assert suite(Results(None, column(1)), [Results(column(1), column(1))]).reward == 0


@given(ROWS, ROWS, ROWS, ROWS)
def test_several_databases_are_worth_one_only_if_each_is(
    a: list[Any], b: list[Any], c: list[Any], d: list[Any]
) -> None:
    result = suite(Results(a, b), [Results(c, d)])
    assert result.success == (score(a, b).success and score(c, d).success)
    assert result.success or 0 <= result.reward <= DISAGREEING


# State


@dataclass(frozen=True)
class Table:
    columns: tuple[str, ...]
    rows: Sequence[tuple[Any, ...]]


def table(*rows: tuple[Any, ...]) -> Table:
    return Table(("id", "name"), rows)


PRISTINE = {"t": table((1, "a"), (2, "b"), (3, "c"))}


def test_the_same_tables_in_any_order_are_right() -> None:
    agent = {"t": table((2, "b"), (1, "z"), (3, "c"))}
    gold = {"t": table((1, "z"), (2, "b"), (3, "c"))}
    assert state(agent, gold, PRISTINE).success


def test_nothing_changed_where_something_should_be_is_nothing() -> None:
    assert state({}, {"t": table((1, "a"))}, PRISTINE).reward == 0


def test_credit_is_by_what_was_changed_not_by_what_was_there() -> None:
    # Two rows to be deleted, one was.
    result = state({"t": table((1, "a"), (2, "b"))}, {"t": table((1, "a"))}, PRISTINE)
    assert result.components["iou"] == 1 / 2
    assert result.details["why"] == "1 change not made, e.g. a row taken out of t"


def test_damage_elsewhere_counts() -> None:
    gold = {"t": table((1, "a"))}
    agent = {**gold, "u": None}
    pristine = {**PRISTINE, "u": table((9, "u"))}
    result = state(agent, gold, pristine)
    assert 0 < result.reward < 1
    assert "u" in result.details["why"]


def test_a_new_table_needs_its_columns() -> None:
    gold = {"n": Table(("a", "b"), [(1, 2)])}
    assert state({"n": Table(("A", "b"), [(1, 2)])}, gold, PRISTINE).success
    assert not state({"n": Table(("a", "c"), [(1, 2)])}, gold, PRISTINE).success


def test_a_dropped_table_is_not_an_emptied_one() -> None:
    assert state({"t": None}, {"t": None}, PRISTINE).success
    result = state({"t": table()}, {"t": None}, PRISTINE)
    assert 0 < result.reward < 1


def test_changes_on_neither_side_are_equal() -> None:
    assert state({}, {}, {}).success


@given(*[st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1)), max_size=5)] * 3)
def test_only_equal_states_are_worth_one(before: Any, agent: Any, gold: Any) -> None:
    result = state({"t": table(*agent)}, {"t": table(*gold)}, {"t": table(*before)})
    assert result.success == (sorted(agent) == sorted(gold))
    assert result.success or 0 <= result.reward <= DISAGREEING


# Size


def test_a_hundred_thousand_rows_take_seconds_at_most() -> None:
    draw = random.Random(0)
    gold = [(i, f"name {i}", draw.random(), Decimal(i) / 8, None) for i in range(100_000)]
    agent = [(d, a, b * (1 + 1e-15), n, c) for a, n, b, c, d in draw.sample(gold, len(gold))]
    started = time.process_time()
    assert score(agent, gold, PERMUTED).success
    assert time.process_time() - started < 20


# Ties that a LIMIT cuts off

TIES = Rules(ordered=True, keys=(1,), hidden=1)


@pytest.mark.parametrize(
    ("agent", "right"),
    [
        ([("a",), ("b",)], True),
        ([("a",), ("c",)], True),
        ([("a",), ("d",)], True),
        ([("c",), ("a",)], False),
        ([("b",), ("c",)], False),
        ([("a",), ("x",)], False),
        ([("a",)], False),
        ([("a",), ("b",), ("c",)], False),
        ([("a",), ("a",)], False),
    ],
)
def test_which_of_the_tied_rows_are_cut_off_is_left_open(
    agent: list[tuple[str]], right: bool
) -> None:
    """``SELECT name ... ORDER BY n DESC LIMIT 2``, where b, c and d have the same n."""
    gold, tied = [("a", 3), ("b", 2)], [("c", 2), ("d", 2)]
    assert score(agent, gold, TIES, tied).success == right
    assert suite(Results(agent, gold, tied), [Results(agent, gold, tied)], TIES).success == right


def test_of_several_tied_rows_at_the_end_each_counts_once() -> None:
    gold, tied = [("a", 2), ("b", 2)], [("b", 2), ("c", 2)]
    assert score([("b",), ("b",)], gold, TIES, tied).success
    assert score([("c",), ("a",)], gold, TIES, tied).success
    assert not score([("c",), ("c",)], gold, TIES, tied).success


@given(st.lists(st.integers(0, 3), max_size=8), st.integers(0, 8), st.randoms())
def test_any_choice_of_ties_that_sorting_may_make_is_right(
    keys: list[int], limit: int, shuffler: random.Random
) -> None:
    rows = sorted(enumerate(keys), key=lambda row: row[1])
    other = sorted(shuffler.sample(rows, len(rows)), key=lambda row: row[1])
    gold = rows[:limit]
    tied = [row for row in rows[limit:] if gold and row[1] == gold[-1][1]]
    agent = [(name,) for name, _ in other[:limit]]
    assert score(agent, gold, TIES, tied).success
