"""The reward of a repair."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intercode.errors import UsageError
from intercode.rewards.swe import nothing, score

tests = st.dictionaries(st.text(max_size=3), st.booleans(), max_size=6)
some_tests = st.dictionaries(st.text(max_size=3), st.booleans(), min_size=1, max_size=6)


@given(some_tests, tests)
def test_one_means_that_all_pass_and_nothing_else_does(
    f2p: dict[str, bool], p2p: dict[str, bool]
) -> None:
    found = score(f2p, p2p)
    assert found.success is (all(f2p.values()) and all(p2p.values()))
    assert found.success or 0 <= found.reward < 1


@given(some_tests, tests)
def test_a_part_is_worth_something_where_something_is_repaired_and_something_kept(
    f2p: dict[str, bool], p2p: dict[str, bool]
) -> None:
    some = any(f2p.values()) and (not p2p or any(p2p.values()))
    assert (score(f2p, p2p).reward > 0) is some


def test_the_rule() -> None:
    found = score({"a": True, "b": False}, {"c": True, "d": True, "e": True, "f": False})
    assert found.reward == 0.5 * (1 / 2) * (3 / 4)
    assert found.components == {"fail_to_pass": 0.5, "pass_to_pass": 0.75, "resolved": 0.0}
    assert found.details == {"still_failing": ["b"], "broken": ["f"]}


def test_a_whole_repair_that_breaks_something_is_worth_less_than_half() -> None:
    assert 0 < score({"a": True}, {"b": True, "c": False}).reward < 0.5


def test_nothing_repaired_or_nothing_kept_is_nothing() -> None:
    assert score({"a": False}, {"b": True}).reward == 0
    assert score({"a": True}, {"b": False}).reward == 0
    assert nothing("why").reward == 0


def test_without_a_test_there_is_no_reward() -> None:
    with pytest.raises(UsageError, match="FAIL_TO_PASS"):
        score({}, {"a": True})
