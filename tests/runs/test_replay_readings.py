"""Recordings whose rewards can be read in several ways: which is found, and where it changes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intercode.agents.recording import Recording
from intercode.agents.trajectories import read_recording
from intercode.rewards.score import Score
from intercode.runs.replay import Range, replay
from intercode.tasks.model import Dataset, Task

READINGS = {"half": lambda score: score.reward / 2, "whole": lambda score: score.reward}


class Constant:
    """Every action is worth 1."""

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[str, dict[str, Any]]:
        return "", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        return "", 0.0, False, False, {}

    def score(self) -> Score:
        return Score(1.0)

    def close(self) -> None:
        pass


def recording_of(folder: Path, rewards: list[float]) -> tuple[Recording, Dataset]:
    """One episode of two turns for each reward."""
    tasks = {
        str(n): {
            "query": f"task {n}",
            "turn_history": {
                "actions": ["x", "x"], "observations": ["", ""], "rewards": [reward, reward],
                "valid_action": [True, True],
            },
            "summary": {"max_reward": reward},
        }
        for n, reward in enumerate(rewards)
    }  # fmt: skip
    path = folder / "ic_sql.json"
    path.write_text(json.dumps(tasks))
    dataset = Dataset("d", tuple(Task(str(n), "sql", f"task {n}", "") for n in range(len(rewards))))
    return read_recording(path), dataset


def ranges(folder: Path, rewards: list[float]) -> tuple[Range, ...]:
    return replay(*recording_of(folder, rewards), Constant, readings=READINGS).ranges


def test_one_reading_for_all(tmp_path: Path) -> None:
    assert ranges(tmp_path, [0.5] * 12) == (Range("half", 0, 11, 0, 12),)
    assert ranges(tmp_path, [1.0] * 12) == (Range("whole", 0, 11, 0, 12),)


def test_the_reading_changes_in_the_course_of_a_recording(tmp_path: Path) -> None:
    found = replay(*recording_of(tmp_path, [0.5] * 7 + [1.0] * 8), Constant, readings=READINGS)
    assert found.ranges == (Range("half", 0, 6, 0, 7), Range("whole", 7, 14, 7, 15))
    assert found.agreement == 1.0
    assert found.to_json()["variants"] == [
        {"variant": "half", "first": 0, "last": 6}, {"variant": "whole", "first": 7, "last": 14},
    ]  # fmt: skip


def test_it_changes_in_the_order_of_tasks_not_of_the_file(tmp_path: Path) -> None:
    recording, dataset = recording_of(tmp_path, [0.5] * 7 + [1.0] * 8)
    shuffled = replace(recording, episodes=recording.episodes[::2] + recording.episodes[1::2])
    found = replay(shuffled, dataset, Constant, readings=READINGS)
    assert found.agreement == 1.0
    assert [episode.task for episode in found.episodes][:3] == ["0", "2", "4"]


def test_a_few_turns_make_no_second_reading(tmp_path: Path) -> None:
    assert ranges(tmp_path, [0.5] * 20 + [1.0] * 4) == (Range("half", 0, 23, 0, 24),)


def test_without_readings_nothing_is_said_of_them(tmp_path: Path) -> None:
    report = replay(*recording_of(tmp_path, [1.0]), Constant)
    assert report.ranges == ()
    assert "variants" not in report.to_json()


@given(st.lists(st.sampled_from([0.5, 1.0, 0.3]), max_size=40))
def test_the_choice_is_never_worse_than_one_reading(
    tmp_path_factory: pytest.TempPathFactory, rewards: list[float]
) -> None:
    folder = tmp_path_factory.mktemp("r")
    recording, dataset = recording_of(folder, rewards)
    chosen = replay(recording, dataset, Constant, readings=READINGS)
    for name, reading in READINGS.items():
        alone = replay(recording, dataset, Constant, readings={name: reading})
        assert chosen.agreement >= alone.agreement - (9 / chosen.turns if chosen.turns else 0)
    assert sum(one.stop - one.start for one in chosen.ranges) == len(rewards)
