"""Recorded actions executed again: real sandboxes, hand-made recordings."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from intercode.agents.trajectories import read_recording
from intercode.envs.registration import environment_factory
from intercode.errors import DatasetError, SandboxError
from intercode.runs.replay import replay
from intercode.tasks.model import Dataset, FileSystem, Task

pytestmark = pytest.mark.bubblewrap

FILES = FileSystem("box", setup=("mkdir /box; echo one two > /box/a.txt",))
DATASET = Dataset(
    "handmade",
    (
        Task("t/0", "bash", "print it", "cat /box/a.txt", file_system="box", metadata={"index": 0}),
        Task("t/1", "bash", "make it", "touch /box/b", file_system="box", metadata={"index": 1}),
    ),
    {"box": FILES},
)


@pytest.fixture(scope="module")
def make_env() -> Iterator[Callable[[], Any]]:
    with environment_factory("Bash-v1", DATASET, sandbox="bubblewrap", base="host") as make:
        yield make


def recorded(path: Path, **tasks: Any) -> Any:
    path.write_text(json.dumps({key.removeprefix("t"): value for key, value in tasks.items()}))
    return read_recording(path)


def episode(query: str, actions: list[str], rewards: list[float], **more: Any) -> dict[str, Any]:
    history = {
        "actions": actions, "rewards": rewards, "observations": [""] * len(actions),
        "valid_action": [True] * len(actions), **more,
    }  # fmt: skip
    summary = {"max_reward": max(rewards), "turns_taken": len(actions), "turns_max": 10}
    return {"query": query, "environment": "bash", "turn_history": history, "summary": summary}


def test_rewards_of_a_true_recording_agree_turn_by_turn(tmp_path: Path, make_env: Any) -> None:
    recording = recorded(
        tmp_path / "ic_bash.json",
        t0=episode("print it", ["ls /box", "cat /box/a.txt"], [0.67, 1.0]),
        t1=episode("make it", ["touch /box/b"], [1.0]),
    )
    report = replay(recording, DATASET, make_env, jobs=2).to_json()
    assert (report["tasks"], report["turns"], report["turns_agree"]) == (2, 3, 3)
    assert (report["success_published"], report["success_replayed"]) == (1.0, 1.0)
    assert report["disagreements"] == []


def test_a_wrong_reward_is_listed_with_its_cause(tmp_path: Path, make_env: Any) -> None:
    recording = recorded(
        tmp_path / "ic_bash.json",
        t0=episode("print it", ["hostname", "cat /box/a.txt"], [1.0, 1.0]),
    )
    report = replay(recording, DATASET, make_env).to_json()
    found = report["disagreements"]
    assert [(one["task"], one["turn"], one["published"], one["cause"]) for one in found] == [
        ("t/0", 0, 1.0, "host")
    ]
    assert report["agreement"] == 0.5


def test_react_actions_are_unwrapped_and_scored_at_the_end(tmp_path: Path, make_env: Any) -> None:
    actions = ["execute[cat /box/a.txt]", "ls", "submit"]
    said = [
        "one two\n",
        "Error executing query: Your last `execute` action did not contain bash code",
        "",
    ]
    recording = recorded(
        tmp_path / "ic_bash_react.json",
        t0=episode("print it", actions, [0, 0, 1.0], thoughts=["", "", ""], observations=said),
    )
    report = replay(recording, DATASET, make_env)
    assert report.agreement == 1.0
    assert report.to_json()["observations_agree"] == 3


def test_a_recording_of_another_dataset_is_refused_by_name(tmp_path: Path, make_env: Any) -> None:
    recording = recorded(tmp_path / "ic_bash.json", t7=episode("unknown", ["ls"], [1.0]))
    with pytest.raises(DatasetError, match="task 7"):
        replay(recording, DATASET, make_env)


def test_a_failure_of_ours_is_no_reward(tmp_path: Path) -> None:
    class Broken:
        def reset(self, **_: Any) -> tuple[str, dict[str, Any]]:
            return "", {}

        def step(self, action: str) -> Any:
            raise SandboxError("gone")

    recording = recorded(tmp_path / "ic_bash.json", t0=episode("print it", ["ls"], [0.5]))
    report = replay(recording, DATASET, Broken)  # type: ignore[arg-type]
    assert report.to_json()["failed"] == 1
    assert report.disagreements[0].replayed is None
    assert report.disagreements[0].cause == "failed: sandbox"
