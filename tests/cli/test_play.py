"""``intercode play``: what a person types and sees, here through a pipe."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from fake_envs import Workshop, install

from intercode.cli.main import main


@pytest.fixture
def workshop(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Workshop:
    return install(monkeypatch, tmp_path)


@pytest.fixture
def played(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> object:
    def play(typed: str, *words: str) -> str:
        monkeypatch.setattr("sys.stdin", io.StringIO(typed))
        assert main(["play", "six", *words]) == 0
        assert all(env.closed for env in workshop.envs)
        return capsys.readouterr().out

    return play


def test_an_episode(played) -> None:  # type: ignore[no-untyped-def]
    assert played("look\nfail\ng0\nsubmit\n:gold\n") == (
        "task t/0 (1 of 6; :help for help)\n"
        "do [0]\n"
        "ran look\n"
        "ran fail\n"
        "[exit code 3]\n"
        "ran g0\n"
        "reward 1.00 (base 0.50, answer 0.50): solved\n"
        "g0\n"
    )


def test_the_gold_is_hidden_until_the_episode_is_over(played) -> None:  # type: ignore[no-untyped-def]
    out = played(":gold\nskip\n:gold\n")
    assert out.endswith("not before you submit or skip\nreward 0.00\ng0\n")


def test_the_score_can_be_asked_for_on_the_way(played) -> None:  # type: ignore[no-untyped-def]
    out = played("x\n:score\ng0\n:score\n")
    assert (
        "reward 0.50 (base 0.50, answer 0.00)\nran g0\nreward 1.00 (base 0.50, answer 0.50): solved"
        in out
    )


def test_a_task_is_chosen_by_id_or_position(played) -> None:  # type: ignore[no-untyped-def]
    assert "do [4]" in played("", "--task", "t/4")
    assert "do [2]" in played("", "--task", "2")


def test_an_action_may_take_several_lines(played) -> None:  # type: ignore[no-untyped-def]
    out = played("a \\\nb\n<<<\nc\nd\n>>>\n")
    assert out.endswith("ran a \\\nb\nran c\nd\n")


def test_nothing_is_executed_once_it_is_over(played) -> None:  # type: ignore[no-untyped-def]
    out = played("submit\ng0\n:score\n")
    assert "ran g0" not in out
    assert "the episode is over" in out


def test_again_and_next_begin_anew(played) -> None:  # type: ignore[no-untyped-def]
    out = played("submit\n:again\n:next\ng1\nsubmit\n", "--task", "0")
    assert out.count("do [0]") == 2
    assert "do [1]" in out
    assert "solved" in out
    assert "that was the last task" in played(":next\n", "--task", "5")


@pytest.mark.parametrize("end", ["", ":quit\nsubmit\n", "half \\\n"])
def test_leaving_is_clean(played, end: str) -> None:  # type: ignore[no-untyped-def]
    assert "reward" not in played(f"look\n{end}")


def test_help_and_unknown_commands(played) -> None:  # type: ignore[no-untyped-def]
    out = played(":help\n:hlep\n: > file\n\n")
    assert ":score" in out
    assert "there is no command :hlep" in out
    assert out.endswith("ran : > file\n")


def test_what_is_printed_cannot_command_the_terminal(played) -> None:  # type: ignore[no-untyped-def]
    assert "\x1b" not in played("\x1b[2J\n")


def test_a_wrong_task_is_refused_before_anything_starts(
    workshop: Workshop, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["play", "six", "--task", "t/9"]) == 2
    assert "no task 't/9'" in capsys.readouterr().err
    assert workshop.asked == []
