"""The paper's SQL reward, worked by hand and against all recorded cases."""

from __future__ import annotations

import datetime
import gzip
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intercode.rewards import sql_v1
from intercode.rewards.sql_v1 import Variant, round_hundredths, score, score_texts

ROWS = st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["a", "b", None])), max_size=8)


def of(agent: list[Any] | None, gold: list[Any] | None, variant: Variant = "tau") -> float:
    def rows(values: list[Any] | None) -> list[tuple[Any, ...]] | None:
        return None if values is None else [(value,) for value in values]

    return score(rows(agent), rows(gold), variant=variant).reward


# Rows in common


def test_the_same_rows_in_the_same_order_are_solved() -> None:
    assert score([(1, "a"), (2, "b")], [(1, "a"), (2, "b")]).success


def test_no_result_scores_nothing_even_if_the_gold_has_none() -> None:
    assert of(None, [1]) == of([1], None) == of(None, None) == of(None, []) == 0


def test_two_empty_results_are_solved() -> None:
    assert score([], []).success


def test_an_empty_result_against_rows_scores_nothing() -> None:
    assert of([], [1]) == of([1], []) == 0


def test_one_common_row_has_no_order_and_gives_the_unrounded_share() -> None:
    assert of([1, 2], [1, 3]) == 1 / 3


def test_duplicates_count() -> None:
    assert of([1, 1], [1]) == 0.5


def test_rows_are_compared_by_their_text() -> None:
    assert of([1], [1.0]) == 0
    assert of([Decimal("1.50")], [Decimal("1.5")]) == 0
    assert of([Decimal("1.50")], [Decimal("1.50")]) == 1


def test_a_list_is_compared_as_a_tuple_is() -> None:
    assert sql_v1.texts([[1, "a"]]) == ["(1, 'a')"]  # type: ignore[list-item]


# Order


def test_a_reversed_order_scores_minus_one() -> None:
    assert of([1, 2, 3], [3, 2, 1]) == -1


def test_the_variants_weigh_order_differently() -> None:
    # Two of four rows in common, exchanged: iou 2/4, τ -1.
    agent, gold = [1, 2, 9], [2, 1, 8]
    assert of(agent, gold, "tau") == -0.5
    assert of(agent, gold, "iou") == 0.5
    assert of(agent, gold, "tau01") == 0


def test_only_rows_that_both_have_are_in_the_order() -> None:
    result = score([(7,), (1,), (8,), (2,)], [(1,), (2,)])
    assert result.components == {"iou": 0.5, "tau": 1.0}


def test_of_a_row_too_many_the_first_ones_stand_for_it() -> None:
    # What is left of the agent's side is 2, 1, not 1, 2.
    assert score([(2,), (1,), (2,)], [(1,), (2,)]).components["tau"] == -1


def test_only_equal_rows_have_no_order() -> None:
    assert "tau" not in score([(1,), (1,)], [(1,), (1,)]).components


def test_tau_rounds_and_iou_does_not() -> None:
    assert of([1, 2, 3], [1, 2], "tau") == 0.67
    assert of([1, 2, 3], [1, 2], "iou") == 2 / 3


@given(st.floats(-1, 1) | st.integers(-2000, 2000).map(lambda n: n / 2000))
def test_rounding_is_numpys(value: float) -> None:
    numpy = pytest.importorskip("numpy")
    assert round_hundredths(value) == float(round(numpy.float64(value), 2))


def test_rounding_is_not_pythons() -> None:
    assert round_hundredths(0.015) == 0.02 != round(0.015, 2)


# What holds of all


@given(ROWS, ROWS)
def test_rewards_are_in_range(agent: list[Any], gold: list[Any]) -> None:
    assert -1 <= score(agent, gold, variant="tau").reward <= 1
    assert 0 <= score(agent, gold, variant="iou").reward <= 1
    assert 0 <= score(agent, gold, variant="tau01").reward <= 1


@given(ROWS)
def test_a_result_is_equal_to_itself_in_every_variant(rows: list[Any]) -> None:
    for variant in sql_v1.VARIANTS:
        assert score(rows, list(rows), variant=variant).reward == pytest.approx(1, abs=1e-12)
    assert score(rows, list(rows)).success


@given(ROWS, ROWS, st.randoms())
def test_order_is_nothing_to_iou(agent: list[Any], gold: list[Any], draw: Any) -> None:
    shuffled = draw.sample(agent, len(agent))
    assert score(agent, gold, variant="iou").reward == score(shuffled, gold, variant="iou").reward


# Recorded cases

PUBLISHED: dict[str, Variant] = {
    "sql/gpt-3.5/ic_sql_plan_solve.json": "tau",
    # No case of these two tells "tau" from "iou"; "tau01" is ruled out.
    "sql/gpt-3.5/ic_sql_plan_solve_refine_3_turns.json": "tau",
    "sql/human/ic_sql_multiturn_human_10_turns.json": "tau",
}
"""The variant that each file was made with, found by agreement."""


def cases(data: Path, name: str, number: int) -> list[dict[str, Any]]:
    with gzip.open(data / "reward_goldens" / f"{name}.jsonl.gz", "rt") as lines:
        found = [json.loads(line) for line in lines]
    assert len(found) == number
    return found


def published_rows(observation: Any) -> list[tuple[Any, ...]] | None:
    """Recorded as rows, or as their text, or as an error."""
    if isinstance(observation, str):
        if not observation.startswith("["):
            return None
        names = {"Decimal": Decimal, "datetime": datetime, "__builtins__": {}}
        observation = eval(observation, names)
    return None if observation is None else [tuple(row) for row in observation]


@pytest.mark.data
def test_every_published_case(data: Path) -> None:
    for case in cases(data, "sql_reward_cases", 1092):
        agent, gold = published_rows(case["agent_obs"]), published_rows(case["eval_obs"])
        if case["corrupt_gold"]:
            gold = []
        reward = score(agent, gold, variant=PUBLISHED[case["source"]]).reward
        assert reward == case["reward"], case


@pytest.mark.data
def test_every_case_of_the_original(data: Path) -> None:
    for case in cases(data, "sql_original_cases", 3741):
        assert score_texts(case["agent_rows"], case["eval_rows"]).reward == case["reward"], case


@pytest.mark.data
def test_the_same_rows_were_published_under_iou(data: Path) -> None:
    # GPT-4's run. Its own server's rows differ from the original's replay in three turns.
    differing = [
        (case["task"], case["turn"])
        for case in cases(data, "sql_original_cases", 3741)
        if score_texts(case["agent_rows"], case["eval_rows"], variant="iou").reward
        != case["published_reward"]
    ]
    assert len(differing) == 3
