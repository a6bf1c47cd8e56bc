"""Figures are of what has a reward; the rest is counted by cause and nowhere else."""

from __future__ import annotations

import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from intercode.reports.stats import wilson
from intercode.reports.summary import group, groups, summarise
from intercode.reports.table import add_row, console, failures, new_table, summary_table
from intercode.runs.record import EpisodeRecord, TurnRecord


def record(
    name: str = "t", reward: float | None = 1.0, executed: str = "", **more: Any
) -> EpisodeRecord:
    """``executed`` has a letter for each turn: y valid, n not, - for the one that ended it."""
    words = {"y": True, "n": False, "-": None}
    turns = tuple(TurnRecord("a", "o", executed=words[letter]) for letter in executed)
    return EpisodeRecord(name, "x", reward=reward, turns=turns, **more)


def drawn(records: list[EpisodeRecord], width: int = 80) -> str:
    stream = io.StringIO()
    screen = console(stream)
    screen.width = min(width, screen.width)
    screen.print(summary_table(summarise(records), groups(records)))
    return stream.getvalue()


def test_figures_of_a_few_episodes() -> None:
    records = [
        record("a", 1.0, "yy-"),
        record("b", 0.5, "n-"),
        record("c", 0.0, "yyyn-"),
        record("d", None, "y", cause="sandbox"),
        record("e", None, cause="sandbox"),
        record("f", None, cause="model"),
    ]
    found = summarise(records)
    assert (found.tasks, found.scored, found.solved) == (6, 3, 1)
    assert found.success_rate == pytest.approx(1 / 3)
    assert found.success_interval == wilson(1, 3)
    assert found.mean_reward == pytest.approx(0.5)
    assert found.reward_error == pytest.approx(0.288675, abs=1e-6)
    assert found.mean_turns == pytest.approx(7 / 3)
    assert found.error_rate == pytest.approx(2 / 7)
    assert found.failed == {"sandbox": 2, "model": 1}


def test_only_a_reward_of_exactly_one_is_a_success() -> None:
    assert summarise([record(reward=0.99), record(reward=1.0)]).solved == 1


def test_nothing_says_nothing() -> None:
    found = summarise([])
    assert (found.tasks, found.success_rate, found.mean_reward, found.mean_turns) == (
        0, None, None, None,
    )  # fmt: skip
    assert (found.success_interval, found.error_rate) == ((0.0, 1.0), None)


def test_what_ends_an_episode_is_neither_a_turn_nor_an_error() -> None:
    found = summarise([record(executed="-")])
    assert (found.mean_turns, found.error_rate) == (0.0, None)


def test_groups_follow_a_label() -> None:
    records = [
        record("a", 1.0, labels={"file_system": "fs_2"}),
        record("b", 0.0, labels={"file_system": "fs_1"}),
        record("c", 0.0, labels={}),
    ]
    found = group(records, "file_system")
    assert [(g.name, g.tasks, g.solved) for g in found] == [("fs_1", 1, 0), ("fs_2", 1, 1)]


def test_an_episode_counts_in_each_of_its_tags() -> None:
    records = [record(labels={"tags": ["x", "y"]}), record(labels={"tags": ["y"]})]
    assert [(g.name, g.tasks) for g in group(records, "tags")] == [("x", 1), ("y", 2)]


def test_a_key_that_tells_nothing_apart_is_left_out() -> None:
    records = [record(labels={"file_system": "fs", "hardness": h}) for h in ("easy", "hard")]
    assert list(groups(records)) == ["hardness"]
    assert list(groups(records, fewest=1)) == ["file_system", "hardness"]


rewards = st.none() | st.floats(0, 1)
labels = st.fixed_dictionaries({}, optional={"hardness": st.text(), "tags": st.lists(st.text())})


@given(st.lists(st.builds(lambda r, s: record(reward=r, labels=s), rewards, labels)))
def test_figures_add_up(records: list[EpisodeRecord]) -> None:
    found = summarise(records)
    assert found.scored + sum(found.failed.values()) == found.tasks == len(records)
    assert found.solved <= found.scored
    by_hardness = group(records, "hardness")
    assert sum(g.tasks for g in by_hardness) == sum("hardness" in r.labels for r in records)


@given(st.lists(st.builds(lambda r, s: record(reward=r, labels=s), rewards, labels), max_size=4))
def test_any_table_fits_into_80_columns(records: list[EpisodeRecord]) -> None:
    assert all(cell_len(line) <= 80 for line in drawn(records).splitlines())


def test_big_figures_fit_into_80_columns() -> None:
    many = [
        record(str(n), None if n % 100 == 0 else 0.67, "yn" * 5, cause="sandbox",
               labels={"file_system": f"nl2bash_fs_{n % 4}", "hardness": "hard" * (n % 2) * 9})
        for n in range(1200)
    ]  # fmt: skip
    text = drawn(many)
    assert "nl2bash_fs_3" in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_where_there_is_no_terminal_a_table_is_plain_text() -> None:
    assert "\x1b" not in drawn([record("a"), record("b", None, cause="model")])


def test_what_a_cell_holds_is_neither_markup_nor_a_command_to_the_terminal() -> None:
    stream = io.StringIO()
    table = new_table("x")
    add_row(table, "[bold]a[/bold] :smile: \x1b[31m")
    console(stream).print(table)
    assert "[bold]a[/bold] :smile: �[31m" in stream.getvalue()


def test_failures_are_said_by_cause() -> None:
    assert failures(summarise([record()])) == ""
    failed = [record(reward=None, cause=cause) for cause in ("model", "sandbox", "sandbox")]
    assert failures(summarise(failed)) == "3 failed: 2 sandbox, 1 model"
