"""``intercode data check``, as a user meets it: what it says, and how it ends."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from intercode.cli.main import main
from intercode.envs.soundness import Measurement, TaskCheck, judge
from intercode.tasks.model import Dataset, FileSystem, Task

GOOD = Measurement(output="42\n", exit_code=0, at_once=1.0, later=1.0, twin=1.0, noop=0.0)
SEEN = {
    "a/0": GOOD,
    "a/1": replace(GOOD, at_once=0.25, later=0.5, twin=0.5, repeats=False),
    "a/2": GOOD,
    "b/0": replace(GOOD, noop=1.0, output=""),
    "b/1": replace(GOOD, exit_code=1, output="cat: [bold]: No such file or directory\n"),
}
FLAGS = {"a/1": ("clock",), "a/2": ("host",)}


def load(name: str) -> Dataset:
    ids = [key for key in SEEN if name != "fine" or key == "a/0"]
    tasks = tuple(
        Task(key, "bash", "Do.", "cat x", file_system=key[0],
             metadata={"flags": FLAGS.get(key, ())})
        for key in ids
    )  # fmt: skip
    return Dataset(name, tasks, {key: FileSystem(key) for key in ("a", "b")})


@pytest.fixture(autouse=True)
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Datasets without files and measurements without sandboxes; what the engine is asked for."""
    calls: list[dict[str, Any]] = []

    def check_dataset(
        dataset: Dataset, env_id: str, *, progress: Callable[[int, int], None], **more: Any
    ) -> list[TaskCheck]:
        calls.append({"env": env_id, "tasks": [task.id for task in dataset], **more})
        for number in range(len(dataset)):
            progress(number + 1, len(dataset))
        return [TaskCheck(t, judge(t, SEEN[t.id]), SEEN[t.id], 0.5) for t in dataset]

    monkeypatch.setattr("intercode.tasks.registry.load", load)
    monkeypatch.setattr("intercode.envs.check.check_dataset", check_dataset)
    monkeypatch.setenv("COLUMNS", "80")
    return calls


def check(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    assert main(["data", "check", *words]) == code
    return capsys.readouterr().out


def test_the_tables_say_how_many_are_sound_and_why_the_others_are_not(
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = check(capsys, "mixed")
    lines = [line.split() for line in out.splitlines()]
    assert ["a", "3", "1", "clock", "1,", "host", "1,", "unstable", "1"] in lines
    assert any(line[:3] == ["all", "5", "1"] for line in lines)
    assert "2 with a reason that no label accounts for, 1 with a label unseen here" in out
    assert max(map(len, out.splitlines())) <= 80


def test_unsound_tasks_are_listed_with_what_was_measured(
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = " ".join(check(capsys, "mixed").split())
    assert "a/1 clock unstable gold 0.25; later 0.50; twin 0.50" in out
    assert "a/2 (host)" in out
    assert "b/0 +empty_answer nothing 1.00" in out
    assert "+failing_gold" in out
    assert "cat: [bold]: No such file" in out
    assert "a/0" not in out


def test_json_is_one_object_with_every_task(capsys: pytest.CaptureFixture[str]) -> None:
    body = json.loads(check(capsys, "mixed", "--json"))
    assert (body["dataset"], body["tasks"], body["sound"]) == ("mixed", 5, 1)
    assert body["places"]["b"]["new"] == {
        "empty_answer": 1, "failing_gold": 1, "missing_path": 1,
    }  # fmt: skip
    assert body["unseen"] == {"host": 1}
    tasks = {entry["id"]: entry for entry in body["task_list"]}
    assert tasks["a/1"]["gold_reward"] == 0.25
    assert tasks["a/1"]["found"] == ["unstable"]
    assert tasks["a/1"]["labelled"] == ["clock"]
    assert tasks["b/0"]["noop_reward"] == 1.0


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["mixed"], 0),
        (["mixed", "--strict"], 1),
        (["mixed", "--strict", "--tasks", "a/0", "a/1", "a/2"], 0),
        (["bundled", "--strict", "--tasks", "a/0", "a/1"], 1),
        (["bundled"], 0),
        (["fine", "--strict"], 0),
    ],
)
def test_strict_fails_on_what_no_label_tells_and_on_anything_of_ours(
    capsys: pytest.CaptureFixture[str], words: list[str], code: int
) -> None:
    check(capsys, *words, code=code)


def test_a_sound_dataset_gets_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert [line.split() for line in check(capsys, "fine").splitlines()[1:]] == [["a", "1", "1"]]


def test_what_is_asked_for_reaches_the_engine(
    capsys: pytest.CaptureFixture[str], asked: list[dict[str, Any]]
) -> None:
    check(capsys, "mixed", "--env", "Bash-v1", "--sandbox", "docker", "--base", "host", "-j", "3",
          "--limit", "2")  # fmt: skip
    assert asked == [
        {
            "env": "Bash-v1",
            "tasks": ["a/0", "a/1"],
            "sandbox": "docker",
            "base": "host",
            "jobs": 3,
            "engine": None,
        }
    ]


def test_progress_goes_to_the_other_stream(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("intercode.cli.check.PLAIN_EVERY_S", 0.0)
    assert main(["data", "check", "mixed", "--json"]) == 0
    captured = capsys.readouterr()
    assert "2 of 5 done · 0 s left" in captured.err
    json.loads(captured.out)


def test_help_has_examples_and_keeps_to_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    out = check(capsys, "--help")
    assert "examples:\n  intercode data check" in out
    assert max(map(len, out.splitlines())) <= 80
