"""Recorded trajectories of every shape are read, with patience and without guessing."""

from __future__ import annotations

import contextlib
import json
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intercode.agents.trajectories import Recording, read_recording
from intercode.errors import DatasetError
from intercode.runs.record import EpisodeRecord, TurnRecord
from intercode.runs.store import RunStore
from intercode.tasks.model import Task

DATA = os.environ.get("INTERCODE_DATA")


def read(tmp_path: Path, body: Any, name: str = "recorded.json") -> Recording:
    path = tmp_path / name
    path.write_text(json.dumps(body))
    return read_recording(path)


def episode(**history: Any) -> dict[str, Any]:
    return {"environment": "ic_bash", "task_id": 0, "query": "count", "turn_history": history}


def one(tmp_path: Path, body: dict[str, Any]) -> Any:
    return read(tmp_path, {"0": body}).episodes[0]


# Shapes


def test_multi_turn(tmp_path: Path) -> None:
    body = episode(
        actions=["ls", "pwd"], observations=["a\n", "/\n"], rewards=[0.5, 1], valid_action=[True, 0]
    ) | {
        "summary": {"max_reward": 1.0, "turns_taken": 2, "turns_max": 10},
        "dataset": "./data/nl2bash/nl2bash_fs_1.json",
        "hardness": "easy",
    }
    recording = read(tmp_path, {"0": body})
    found = recording.episodes[0]
    assert (recording.kind, recording.environment) == ("multi-turn", "bash")
    assert [(t.action, t.observation, t.reward, t.valid) for t in found.turns] == [
        ("ls", "a\n", 0.5, True),
        ("pwd", "/\n", 1.0, False),
    ]
    assert (found.max_reward, found.solved, found.turns_max) == (1.0, True, 10)
    assert (found.source, found.hardness) == ("nl2bash_fs_1.json", "easy")


def test_react_keeps_thoughts(tmp_path: Path) -> None:
    recording = read(tmp_path, {"0": episode(actions=["ls"], thoughts=["look first"])})
    assert recording.kind == "react"
    assert recording.episodes[0].turns[0].thought == "look first"


def test_plan_and_solve_is_unwrapped_and_may_have_fewer_steps_than_actions(tmp_path: Path) -> None:
    logs = {"7": episode(actions=["a", "b"], steps=["first a"]) | {"task_id": 7}}
    recording = read(tmp_path, {"meta": {"env": "bash", "refine": True}, "logs": logs})
    assert (recording.kind, recording.meta["refine"]) == ("plan-solve", True)
    assert [t.thought for t in recording.episodes[0].turns] == ["first a", None]
    assert recording.episodes[0].task_index == 7


def test_people(tmp_path: Path) -> None:
    body = {
        "environment": "ic_sql", "query_idx": 809, "query": "q", "gold": "SELECT 1", "reward": 1.0,
        "trajectory": [{"action": "show tables;", "observation": "('city',)"}],
    }  # fmt: skip
    recording = read(tmp_path, {"809": body})
    found = recording.episodes[0]
    assert (recording.kind, recording.environment) == ("human", "sql")
    assert (found.task_index, found.gold, found.solved, found.turns_taken) == (
        809, "SELECT 1", True, 1,
    )  # fmt: skip


def test_python_has_no_word_on_validity(tmp_path: Path) -> None:
    body = episode(actions=["x"], observations=[{"output": "1", "error": ""}], valid_action=[None])
    turn = one(tmp_path, body | {"environment": "ic_python"}).turns[0]
    assert (turn.valid, turn.observation) == (None, "{'output': '1', 'error': ''}")


def test_the_environment_is_guessed_from_the_path(tmp_path: Path) -> None:
    body = episode(actions=["x"])
    del body["environment"]
    assert read(tmp_path, {"0": body}, "ic_ctf_gpt-4.json").environment == "ctf"
    assert read(tmp_path, {"0": body}, "other.json").environment is None


def test_a_run_of_our_own(tmp_path: Path) -> None:
    with RunStore.create(tmp_path / "run", {"env": "Bash-v2"}) as store:
        turns = (TurnRecord("ls", "a", executed=True), TurnRecord("submit", ""))
        store.append(EpisodeRecord("fs_1/3", "x", instruction="q", turns=turns, reward=1.0))
    recording = read_recording(tmp_path / "run")
    found = recording.find(Task(id="fs_1/3", env="bash", instruction="other", gold="g"))
    assert (recording.kind, recording.environment, recording.solved) == ("run", "bash", 1)
    assert found is not None
    assert [t.action for t in found.turns] == ["ls", "submit"]


# Patience


@pytest.mark.parametrize("history", [None, {}, {"actions": None, "rewards": None}])
def test_an_episode_without_turns_is_one_that_earned_nothing(
    tmp_path: Path, history: dict[str, Any] | None
) -> None:
    found = one(tmp_path, {"task_id": 3, "query": "q", "turn_history": history})
    assert (found.turns, found.max_reward, found.solved) == ((), 0.0, False)


def test_missing_words_of_a_turn_are_none(tmp_path: Path) -> None:
    found = one(tmp_path, episode(actions=["a", None], observations=["x"], rewards=[None]))
    assert [(t.action, t.observation, t.reward, t.valid) for t in found.turns] == [
        ("a", "x", None, None),
        ("", "", None, None),
    ]


@pytest.mark.parametrize("written", ["1.0", " 1 ", 1, True])
def test_a_reward_may_be_written_in_several_ways(tmp_path: Path, written: Any) -> None:
    assert one(tmp_path, episode(actions=["a"], rewards=[written])).solved


def test_a_reward_beyond_the_last_action_counts_where_nothing_else_is_said(tmp_path: Path) -> None:
    assert one(tmp_path, episode(actions=[], rewards=[0.4])).max_reward == 0.4


def test_what_the_recording_says_of_itself_goes_first(tmp_path: Path) -> None:
    body = episode(actions=["a"], rewards=[0.2]) | {"summary": {"max_reward": "0.9"}}
    assert one(tmp_path, body).max_reward == 0.9


# Refusal


@pytest.mark.parametrize(
    ("body", "place", "field"),
    [
        (episode(actions="ls"), "task 0, turn_history", "actions"),
        (episode(actions=[{"a": 1}]), "task 0, turn_history", r"actions\[0\]"),
        (episode(actions=["a"], rewards=["much"]), "task 0, turn_history", r"rewards\[0\]"),
        (episode(actions=["a"], rewards=[1e999]), "task 0, turn_history", r"rewards\[0\]"),
        (episode(actions=["a"], valid_action=["y"]), "task 0, turn_history", r"valid_action\[0\]"),
        (episode() | {"summary": []}, "task 0, summary", ""),
        (episode() | {"summary": {"turns_taken": 1.5}}, "task 0, summary", "turns_taken"),
        (episode() | {"query": 3}, "task 0", "query"),
        ({"trajectory": [["ls", "a"]]}, r"task 0, trajectory\[0\]", ""),
        (None, "task 0", ""),
    ],
)
def test_what_cannot_be_understood_is_named(
    tmp_path: Path, body: Any, place: str, field: str
) -> None:
    with pytest.raises(DatasetError, match=rf"recorded\.json, {place}.*{field}"):
        read(tmp_path, {"0": body})


def test_a_task_without_a_number_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="task first: task_id"):
        read(tmp_path, {"first": {"query": "q"}})


@pytest.mark.parametrize("text", ["", "{", "3", '"x"', '{"meta": 1, "logs": {}}', "[" * 10**5])
def test_what_is_no_recording_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "recorded.json"
    path.write_text(text)
    with pytest.raises(DatasetError, match=r"recorded\.json"):
        read_recording(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="there is no file"):
        read_recording(tmp_path / "gone.json")


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)
names = st.sampled_from(
    ["task_id", "query", "turn_history", "summary", "trajectory", "reward", "info", "dataset",
     "actions", "observations", "rewards", "valid_action", "thoughts", "steps", "max_reward",
     "turns_taken", "action", "observation"]
)  # fmt: skip
damaged = st.dictionaries(names, st.dictionaries(names, anything) | anything, max_size=6)


@given(st.dictionaries(st.sampled_from(["0", "1", "x"]), damaged))
def test_any_file_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, body: Any) -> None:
    with contextlib.suppress(DatasetError):
        recording = read(tmp_path_factory.getbasetemp(), body, "any.json")
        assert len(recording.episodes) == len(body)


# Finding a task's episode


def test_of_several_with_one_instruction_the_place_decides(tmp_path: Path) -> None:
    path = "data/nl2bash_fs_1.json"
    body = {
        str(n): episode(actions=[f"a{n}"]) | {"task_id": n, "dataset": path} for n in range(3)
    }  # fmt: skip
    recording = read(tmp_path, body)
    metadata = {"source": "nl2bash_fs_1.json", "index": 1}
    task = Task(id="fs_1/1", env="bash", instruction="count", gold="g", metadata=metadata)
    found = recording.find(task)
    assert found is not None
    assert found.turns[0].action == "a1"


def test_a_task_that_was_not_recorded_is_not_found(tmp_path: Path) -> None:
    recording = read(tmp_path, {"0": episode(actions=["a"])})
    assert recording.find(Task(id="0", env="bash", instruction="another", gold="g")) is None


# Upstream's


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not DATA:
        pytest.skip("needs upstream's data: INTERCODE_DATA is not set")
    folder = tmp_path_factory.mktemp("published")
    with tarfile.open(Path(DATA) / "results" / "results_given.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder / "results"


@pytest.mark.data
def test_published_figures_are_found_again(published: Path) -> None:
    lines = (Path(str(DATA)) / "results" / "summary_given.jsonl").read_text().splitlines()
    for expected in map(json.loads, lines):
        recording = read_recording(published / expected["file"])
        assert recording.success_rate is not None
        assert recording.mean_max_reward is not None
        turns = recording.mean_turns
        assert {
            "file": expected["file"],
            "tasks": len(recording.episodes),
            "has_meta": bool(recording.meta),
            "solved": recording.solved,
            "success_rate": round(recording.success_rate, 6),
            "mean_max_reward": round(recording.mean_max_reward, 6),
            "mean_turns": None if turns is None else round(turns, 4),
        } == expected


@pytest.mark.data
def test_published_files_are_taken_for_what_they_are(published: Path) -> None:
    words = {"react": "react", "plan_solve": "plan-solve", "human": "human"}
    for path in sorted(published.rglob("*.json")):
        recording = read_recording(path)
        kind = next((kind for word, kind in words.items() if word in path.name), "multi-turn")
        assert recording.kind == kind, path
        assert recording.environment == path.relative_to(published).parts[0]


@pytest.mark.data
def test_published_episodes_are_found_by_their_tasks(published: Path) -> None:
    from intercode.tasks.registry import load

    path = published / "bash" / "gpt-4" / "ic_bash_multiturn_gpt-4_10_turns_fs_2.json"
    recording = read_recording(path)
    tasks = load("nl2bash:fs_2", path=Path(str(DATA)))
    found = [recording.find(task) for task in tasks]
    assert [episode and episode.task_index for episode in found] == list(range(len(tasks)))
