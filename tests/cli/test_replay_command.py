"""``intercode replay``: reads any recording, compares, and answers in JSON or in words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from intercode.cli.main import main
from intercode.tasks.registry import load

pytestmark = pytest.mark.bubblewrap


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """As upstream wraps its Plan & Solve runs: its ``meta`` names an environment of its own."""
    task = load("bundled")["shop-01"]
    history = {
        "actions": ["ls /shop", task.gold], "rewards": [0.5, 1.0],
        "observations": ["", ""], "valid_action": [True, True],
    }  # fmt: skip
    summary = {"max_reward": 1.0, "turns_taken": 2}
    body = {"query": task.instruction, "turn_history": history, "summary": summary}
    path = tmp_path / "ic_bash_plan_solve.json"
    path.write_text(json.dumps({"meta": {"env": "bash"}, "logs": {"0": body}}))
    return path


def test_json_has_all_that_is_promised(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(recording), "--dataset", "bundled", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    wanted = {"tasks", "turns", "turns_agree", "agreement", "success_published",
              "success_replayed", "disagreements"}  # fmt: skip
    assert wanted <= set(said)
    assert (said["tasks"], said["turns"], said["turns_agree"]) == (1, 2, 1)
    assert set(said["disagreements"][0]) >= {"task", "turn", "published", "replayed", "cause"}


def test_words_fit_80_columns(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(recording), "--dataset", "bundled"]) == 0
    said = capsys.readouterr().out
    assert "1 tasks, 2 turns: 1 agree" in said
    assert all(len(line) <= 80 for line in said.splitlines())


def test_a_run_of_ours_is_replayed_in_its_own_environment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    wanted = ["bundled", "--agent", "gold", "--limit", "2", "--out", str(run)]
    assert main(["eval", *wanted]) == 0
    capsys.readouterr()
    assert main(["replay", str(run), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["agreement"] == 1.0


def test_what_is_no_recording_is_refused(tmp_path: Path) -> None:
    assert main(["replay", str(tmp_path / "none.json")]) == 2
