"""Shares and means come with an honest uncertainty."""

from __future__ import annotations

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intercode.reports.stats import mean, standard_error, wilson

trials = st.integers(1, 2000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
numbers = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=50)


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [
        (5, 10, 0.2366, 0.7634),
        (0, 10, 0.0, 0.2775),
        (10, 10, 0.7225, 1.0),
        (81, 263, 0.2553, 0.3662),
    ],
)
def test_wilson_gives_known_intervals(successes: int, n: int, low: float, high: float) -> None:
    assert wilson(successes, n) == pytest.approx((low, high), abs=5e-5)


@given(trials)
def test_an_interval_holds_its_share_and_stays_within_bounds(trial: tuple[int, int]) -> None:
    low, high = wilson(*trial)
    assert 0.0 <= low <= trial[0] / trial[1] <= high <= 1.0


@given(trials)
def test_failures_mirror_successes(trial: tuple[int, int]) -> None:
    successes, n = trial
    low, high = wilson(successes, n)
    assert wilson(n - successes, n) == pytest.approx((1 - high, 1 - low), abs=1e-12)


@given(trials)
def test_more_trials_narrow_the_interval(trial: tuple[int, int]) -> None:
    successes, n = trial
    few, many = wilson(successes, n), wilson(successes * 10, n * 10)
    assert many[1] - many[0] < few[1] - few[0]


def test_extreme_shares_reach_the_bounds_exactly() -> None:
    assert wilson(0, 7)[0] == 0.0
    assert wilson(7, 7)[1] == 1.0


def test_no_trials_say_nothing() -> None:
    assert wilson(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize(("successes", "n"), [(3, 2), (-1, 2), (0, -1)])
def test_impossible_counts_are_refused(successes: int, n: int) -> None:
    with pytest.raises(ValueError, match="trials"):
        wilson(successes, n)


@given(numbers)
def test_mean_and_its_error_are_those_of_the_textbook(values: list[float]) -> None:
    assert mean(values) == pytest.approx(statistics.fmean(values), abs=1e-9)
    expected = statistics.stdev(values) / math.sqrt(len(values))
    assert standard_error(values) == pytest.approx(expected, abs=1e-6)


def test_no_values_have_no_mean() -> None:
    with pytest.raises(ValueError, match="no values"):
        mean([])


@pytest.mark.parametrize("values", [[], [1.0]])
def test_fewer_than_two_values_have_no_error(values: list[float]) -> None:
    assert standard_error(values) is None
