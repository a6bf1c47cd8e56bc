"""``intercode runs``: finding runs again and looking into them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fake_envs import install

from intercode.cli.main import main


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Path:
    """A finished run in which one episode failed."""
    install(monkeypatch, tmp_path)
    main(["eval", "broken", "--agent", "gold", "--out", "runs/mine"])
    capsys.readouterr()
    return Path("runs/mine")


def test_runs_are_listed(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs", "list"]) == 0
    out = capsys.readouterr().out
    assert "runs/mine" in out
    assert "broken · gold · Bash-v2" in out
    assert "6/6" in out
    assert max(map(len, out.splitlines())) <= 80


def test_a_damaged_run_is_listed_with_what_is_wrong(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (run / "episodes.jsonl").write_text("{}\n")
    assert main(["runs", "list", "--json"]) == 0
    (line,) = json.loads(capsys.readouterr().out)
    assert "line 1: not an episode" in line["problem"]
    assert main(["runs", "list"]) == 0


def test_a_run_is_shown(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs", "show", str(run)]) == 0
    out = capsys.readouterr().out
    assert "6 of 6 tasks done" in out
    assert "1 failed: 1 sandbox" in out
    assert "do [4]" in out
    assert main(["runs", "show", str(run), "--json"]) == 0
    body = json.loads(capsys.readouterr().out)
    assert (body["solved"], len(body["episodes"])) == (5, 6)


def test_an_episode_is_shown_turn_by_turn(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs", "show", str(run), "--task", "t/1"]) == 0
    out = capsys.readouterr().out
    assert "do [1]\n\n> g1\nran g1\n> submit\n\nreward 1.00 (base 0.50, answer 0.50)" in out
    assert main(["runs", "show", str(run), "--task", "t/2"]) == 0
    assert "failed: sandbox: the sandbox broke" in capsys.readouterr().out
    assert main(["runs", "show", str(run), "--task", "t/1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["reward"] == 1.0


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["list", "gone"], "there is no folder gone"),
        (["show", "gone"], "there is no run in gone"),
        (["show", "runs/mine", "--task", "t/9"], "no episode of task 't/9'"),
    ],
)
def test_what_is_not_there_is_named(
    run: Path, capsys: pytest.CaptureFixture[str], words: list[str], problem: str
) -> None:
    assert main(["runs", *words]) == 2
    assert problem in capsys.readouterr().err
