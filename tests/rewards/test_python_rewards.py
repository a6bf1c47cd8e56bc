"""Both rewards for Python: shares of tests, and what the paper's counts as the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intercode.rewards import python_v1, python_v2
from intercode.rewards.score import Score

FINE = {"output": "", "error": ""}
FAILED = {"error": "Error: "}


def test_a_test_passes_if_it_comes_out_as_for_the_gold_even_as_the_same_error() -> None:
    score = python_v1.score(["a", "b", "c"], [FINE, FAILED, FINE], [FINE, FAILED, FAILED],
                            function="f")  # fmt: skip
    assert score.reward == pytest.approx(2 / 3)
    assert score.details["failed"] == ["c"]


def test_what_a_test_prints_counts_too() -> None:
    printed = {"output": "1", "error": ""}
    assert python_v1.score(["a"], [printed], [FINE], function="f").reward == 0.0


def test_two_tests_of_the_same_words_are_one() -> None:
    score = python_v1.score(["a", "a", "b"], [FINE, FINE, FAILED], [FINE, FINE, FINE], function="f")
    assert score.reward == 0.5


def test_a_reward_by_the_gold_that_was_left_behind_is_named_and_is_nothing_without_it() -> None:
    score = python_v1.score(["a"], [FINE], [FINE], function="f", leaked=True)
    assert (score.reward, score.details["leaked"]) == (1.0, True)
    assert python_v1.without_leak(score) == 0.0
    assert python_v1.without_leak(Score(0.5, details={"leaked": False})) == 0.5


@pytest.mark.parametrize(
    ("action", "name"),
    [
        ("submit f", "f"),
        ("submit f g", "f"),
        ("submit", None),
        ("submit  f", ""),
        ("submitf x", "x"),
    ],
)
def test_the_second_word_is_submitted(action: str, name: str | None) -> None:
    assert python_v1.submitted(action) == name


@given(st.lists(st.sampled_from([True, False, None]), max_size=8))
def test_only_all_tests_passed_are_a_success(verdicts: list[bool | None]) -> None:
    score = python_v2.score(verdicts)
    judged = [verdict for verdict in verdicts if verdict is not None]
    assert score.success is (bool(judged) and all(judged))
    assert 0.0 <= score.reward <= 1.0
    if judged:
        assert score.reward == pytest.approx(sum(judged) / len(judged))


def test_inputs_that_are_no_tests_do_not_count() -> None:
    assert python_v2.score([True, None, False]).reward == 0.5
    assert python_v2.score([None]).reward == 0.0


def test_failed_tests_are_named_by_position_and_stay_hidden() -> None:
    assert python_v2.score([True, False, False]).details["failed"] == [1, 2]
