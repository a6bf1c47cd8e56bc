"""Kendall's τ-b, worked by hand and against SciPy."""

from __future__ import annotations

import itertools
import math
import random
import time
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intercode.rewards.kendall import inversions, tau_b

FEW = st.integers(0, 4)
PAIRS = st.lists(st.tuples(FEW, FEW), max_size=60) | st.lists(
    st.tuples(st.integers(), st.integers()), max_size=60
)


def scipy_tau(first: list[int] | list[str], second: list[int] | list[str]) -> float | None:
    stats = pytest.importorskip("scipy.stats")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Of samples too small for a p-value.
        tau = float(stats.kendalltau(first, second, nan_policy="omit")[0])
    return None if math.isnan(tau) else tau


def test_same_order_is_one_and_reversed_order_minus_one() -> None:
    assert tau_b("abc", "abc") == 1
    assert tau_b("abc", "cba") == -1


def test_one_exchange_of_neighbours_among_three_leaves_a_third() -> None:
    # Two pairs agree, one does not.
    assert tau_b([1, 2, 3], [1, 3, 2]) == pytest.approx(1 / 3)


def test_ties_count_for_neither_side() -> None:
    # Pairs: (1,2) tied in the first, (1,3) and (2,3) agree: 2 / √(3 - 1) / √(3 - 0).
    assert tau_b([1, 1, 2], [1, 2, 3]) == pytest.approx(2 / math.sqrt(2) / math.sqrt(3))


@pytest.mark.parametrize("values", [[], [1], [1, 1], [1, 1, 1]])
def test_undefined_without_two_different_values(values: list[int]) -> None:
    assert tau_b(values, list(range(len(values)))) is None
    assert tau_b(list(range(len(values))), values) is None


def test_lists_of_different_length_are_an_error() -> None:
    with pytest.raises(ValueError, match="3 and 2"):
        tau_b([1, 2, 3], [1, 2])


@given(PAIRS)
def test_is_scipys_number_to_the_last_bit(pairs: list[tuple[int, int]]) -> None:
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    small = [value % 1000 for value in first], [value % 1000 for value in second]
    assert tau_b(*small) == scipy_tau(*small)


@given(st.lists(st.text(st.characters(exclude_characters="\0"), max_size=4), max_size=30))
def test_texts_are_ordered_as_scipy_orders_them(words: list[str]) -> None:
    other = sorted(words, key=lambda word: word[::-1])
    assert tau_b(words, other) == scipy_tau(words, other)


@given(PAIRS)
def test_neither_list_comes_first(pairs: list[tuple[int, int]]) -> None:
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    tau, other = tau_b(first, second), tau_b(second, first)
    assert tau == pytest.approx(other) if tau is not None else other is None


@given(st.lists(FEW, max_size=200))
def test_inversions_are_the_pairs_with_the_greater_first(values: list[int]) -> None:
    assert inversions(values) == sum(a > b for a, b in itertools.combinations(values, 2))


@pytest.mark.parametrize("distinct", [100_000, 300])
def test_a_hundred_thousand_rows_take_no_time_worth_naming(distinct: int) -> None:
    draw = random.Random(0)
    first = [f"({draw.randrange(distinct)}, 'name')" for _ in range(100_000)]
    second = draw.sample(first, len(first))
    started = time.process_time()
    tau = tau_b(first, second)
    assert time.process_time() - started < 5
    assert tau == scipy_tau(first, second)
