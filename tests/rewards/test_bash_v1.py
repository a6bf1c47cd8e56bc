"""The paper's Bash reward, worked by hand and against all recorded cases."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intercode.rewards import bash_v1
from intercode.rewards.bash_v1 import Outcome, StatusError
from intercode.rewards.score import Score

DATA = os.environ.get("INTERCODE_DATA")


def cases(name: str) -> list[dict[str, Any]]:
    if not DATA:
        pytest.skip("needs upstream's data: INTERCODE_DATA is not set")
    with gzip.open(Path(DATA) / "reward_goldens" / f"{name}.jsonl.gz", "rt") as lines:
        return [json.loads(line) for line in lines]


def outcome(status: str = "", observation: str | None = "", **hashes: str) -> Outcome:
    return Outcome(status, observation, hashes)


# Parsing


def test_status_is_read_as_pairs() -> None:
    text = " M testbed/hello.php\n?? newd/\n"
    assert bash_v1.parse_status(text) == [("testbed/hello.php", "M"), ("newd/", "??")]


def test_no_changes_are_no_entries() -> None:
    assert bash_v1.parse_status("") == []


def test_two_paths_with_a_space_are_read_askew() -> None:
    text = '?? "testbed/a b.txt"\n?? "testbed/c d.txt"\n'
    assert bash_v1.parse_status(text) == [
        ('"testbed/a', "??"),
        ("??", 'b.txt"'),
        ('d.txt"', '"testbed/c'),
    ]


def test_one_path_with_a_space_cannot_be_read() -> None:
    with pytest.raises(StatusError):
        bash_v1.parse_status('?? "testbed/a b.txt"\n')


@given(st.text())
def test_any_text_is_parsed_or_refused(text: str) -> None:
    words = text.split()
    try:
        entries = bash_v1.parse_status(text)
    except StatusError:
        assert len(words) % 2 == 1
    else:
        assert [word for path, status in entries for word in (status, path)] == words


# Checksums


def test_paths_with_a_dot_are_checked_with_md5sum() -> None:
    assert bash_v1.checksum_argv("newf.txt") == ["md5sum", "newf.txt"]
    assert bash_v1.checksum_argv("a.d/") == ["md5sum", "a.d/"]


def test_paths_without_a_dot_are_checked_with_md5deep() -> None:
    assert bash_v1.checksum_argv("newd/") == ["md5deep", "-r", "newd/"]


def test_quotes_around_a_path_are_taken_away() -> None:
    assert bash_v1.checksum_argv('"Icon\\r"') == ["md5deep", "-r", "Icon\\r"]


def test_half_a_quoted_path_has_no_checksum() -> None:
    with pytest.raises(StatusError):
        bash_v1.checksum_argv('"testbed/a')


def test_only_new_entries_of_both_sides_are_hashed() -> None:
    agent = "?? both\nA  added.txt\n M modified.txt\n D gone.txt\n?? only_agent\n"
    gold = "?? both\nA  added.txt\n M modified.txt\n D gone.txt\n?? only_gold\n"
    assert bash_v1.paths_to_hash(agent, gold) == ["added.txt", "both"]


# Parts


@pytest.mark.parametrize(("differences", "part"), [(0, 0.33), (1, 0.05), (2, 0.0), (1000, 0.0)])
def test_file_diff_falls_fast(differences: int, part: float) -> None:
    assert bash_v1.file_diff(differences) == part


@pytest.mark.parametrize(
    ("correct", "common", "part"), [(0, 0, 0.33), (0, 3, 0.0), (1, 3, 0.11), (1, 2, 0.17)]
)
def test_file_changes_is_the_share_of_equal_files(correct: int, common: int, part: float) -> None:
    assert bash_v1.file_changes(correct, common) == part


@pytest.mark.parametrize(
    ("agent", "gold", "part"),
    [
        ("", "", 0.33),
        ("7\n", "5\n", 0.0),
        ("7 files found\n", "5 files found\n", 0.33),
        ("beta alpha", "alpha beta", 0.33),
        ("1.5", "2.7", 0.0),
        ("1.5", "1.5", 0.33),
        ("words here", None, 0.0),
        ("", None, 0.0),
        (None, None, 0.33),
    ],
)
def test_answers_without_words_must_be_equal(
    agent: str | None, gold: str | None, part: float
) -> None:
    assert bash_v1.answer_similarity(bash_v1.similarity(agent, gold)) == part


@pytest.mark.parametrize("alike", [0.9999999999999998, 1.0, 1.0000000000000002])
def test_rounding_noise_around_one_still_succeeds(alike: float) -> None:
    assert bash_v1.total(0.33, 0.33, bash_v1.answer_similarity(alike)) == 1.0


# The whole


def test_the_same_is_a_success() -> None:
    done = outcome("?? f.txt\n", "done\n", **{"f.txt": "d41d  f.txt\n"})
    score = bash_v1.score(done, done)
    assert score.success
    assert score.components == {"file_diff": 0.33, "file_changes": 0.33, "answer_similarity": 0.33}
    assert score.details["diff_same"] == {"files": [("f.txt", "??")], "correct": 1, "total": 1}


def test_another_content_loses_file_changes() -> None:
    agent = outcome("?? newf.txt\n", "", **{"newf.txt": "1  newf.txt\n"})
    gold = outcome("?? newf.txt\n", "", **{"newf.txt": "2  newf.txt\n"})
    assert bash_v1.score(agent, gold).reward == 0.67


def test_equal_error_texts_count_as_equal_content() -> None:
    missing = 'exec: "md5deep": executable file not found in $PATH\r\n'
    side = outcome("?? newf\n", "", newf=missing)
    assert bash_v1.score(side, side).reward == 1.0


def test_modified_files_are_not_compared() -> None:
    side = outcome(" M testbed/hello.php\n")
    assert bash_v1.score(side, side).details["diff_same"] is None


def test_differences_are_named_in_order() -> None:
    score = bash_v1.score(outcome("?? e2\n?? e1\n"), outcome("?? g\n D e1\n"))
    assert score.details["diff_extra"] == [("e1", "??"), ("e2", "??")]
    assert score.details["diff_miss"] == [("e1", "D"), ("g", "??")]
    assert score.reward == 0.67


def test_two_new_files_with_spaces_score_as_in_the_paper() -> None:
    agent = outcome('?? "testbed/a b.txt"\n?? "testbed/c d.txt"\n', "")
    score = bash_v1.score(agent, outcome("", "some words"))
    assert score.components == {"file_diff": 0.0, "file_changes": 0.33, "answer_similarity": 0.0}
    assert score.reward == 0.34


@given(st.text(), st.text(), st.text() | st.none(), st.text() | st.none())
def test_whatever_can_be_parsed_can_be_scored(
    agent: str, gold: str, seen: str | None, wanted: str | None
) -> None:
    try:
        hashes = dict.fromkeys(bash_v1.paths_to_hash(agent, gold), "same")
    except StatusError:
        return
    score = bash_v1.score(Outcome(agent, seen, hashes), Outcome(gold, wanted, hashes))
    assert 0.01 <= score.reward <= 1.0


# Recorded cases


@pytest.mark.data
def test_scores_computed_by_the_original_are_reproduced() -> None:
    rows = cases("bash_original_cases")
    assert len(rows) == 2009
    wrong = [row for row in rows if original_mismatch(row)]
    assert wrong == []


def original_mismatch(row: dict[str, Any]) -> bool:
    hashed = {path for path, _, _ in row["hashes"]}
    if set(bash_v1.paths_to_hash(row["status_agent"], row["status_eval"])) != hashed:
        return True
    score = bash_v1.score(
        Outcome(row["status_agent"], row["agent_obs"], {p: mine for p, mine, _ in row["hashes"]}),
        Outcome(row["status_eval"], row["eval_obs"], {p: gold for p, _, gold in row["hashes"]}),
    )
    return bool({**score.components, "reward": score.reward} != row["expect"])


@pytest.mark.data
def test_scores_published_with_the_paper_are_reproduced() -> None:
    rows = cases("bash_reward_cases")
    assert len(rows) == 460
    for row in rows:
        score = bash_v1.score(*published_outcomes(row))
        assert score.components == row["reward_parts"], row
        assert as_set(score.details["diff_miss"]) == as_set(row["diff_miss"]), row
        assert as_set(score.details["diff_extra"]) == as_set(row["diff_extra"]), row
        assert counts(score.details["diff_same"]) == counts(row["diff_same"]), row
        assert score.details["answer_similarity"] == row["answer_similarity"], row


def published_outcomes(row: dict[str, Any]) -> tuple[Outcome, Outcome]:
    """Outcomes that must lead to the published differences; their status texts were not kept."""
    same = row["diff_same"] or {"files": [], "correct": 0}
    files = same["files"]
    wanted = {path: "gold" for path, _ in files}
    found = {path: "gold" if i < same["correct"] else "other" for i, (path, _) in enumerate(files)}
    return (
        Outcome("".join(lines(files, row["diff_extra"])), row["agent_obs"], found),
        Outcome("".join(lines(files, row["diff_miss"])), row["eval_obs"], wanted),
    )


def lines(*groups: list[list[str]]) -> Iterator[str]:
    for group in groups:
        for path, status in group:
            yield f"{status} {path}\n"


def as_set(entries: list[Any]) -> set[tuple[str, str]]:
    return {(path, status) for path, status in entries}


def counts(same: dict[str, Any] | None) -> Any:
    return same and (as_set(same["files"]), same["correct"], same["total"])


# Variants


@pytest.mark.parametrize(
    ("agent", "gold", "cut"),
    [
        ("hello\n", "the world says hello\n", 1.0),  # only its end is compared
        ("one two", "two one", 1.0),
        ("hello there\n", "hello\n", None),  # a shorter one is whole
        ("", "hello\n", None),  # and so is any where there is nothing to measure by
        (None, "hello\n", None),
        ("7\n", "117\n", 1.0),
    ],
)
def test_some_published_rewards_compare_the_end_of_the_golds_output(
    agent: str | None, gold: str, cut: float | None
) -> None:
    score = bash_v1.score(outcome("", agent), outcome("", gold))
    assert bash_v1.in_variant(score, "whole") == score.reward
    wanted = score.reward if cut is None else bash_v1.total(0.33, 0.33, 0.33 * cut)
    assert bash_v1.in_variant(score, "cut") == wanted


def test_a_status_that_cannot_be_read_scores_the_same_in_every_variant() -> None:
    assert bash_v1.in_variant(Score(0.0, details={"error": "odd"}), "cut") == 0.0


@pytest.mark.data
def test_what_was_recorded_of_golds_is_the_end_of_what_they_print() -> None:
    """The evidence: several runs' outputs of one gold, of which some are the end of another."""
    path = Path(DATA or "", "nl2bash/gold_outputs_published.jsonl")
    if not path.is_file():
        pytest.skip("needs upstream's data: INTERCODE_DATA is not set")
    ends = 0
    for line in path.read_text("utf-8").splitlines():
        outputs = {one["output"] for one in json.loads(line)["eval_obs"] if one["output"]}
        ends += any(a != b and b.endswith(a) for a in outputs for b in outputs)
    assert ends >= 30
