"""The paper's Python environment: its answers to probes, to golds and wrong functions, and a
recorded run, against Python-v1.

Left out, by name, are probes that show how the original lets one episode spoil the next: of those,
the same actions are asserted to find nothing here. Where it ends with an exception (†) there is an
ordinary answer instead.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from intercode.agents.trajectories import read_recording
from intercode.envs.python_v1 import PythonV1
from intercode.envs.runtime import Runtime
from intercode.runs.replay import replay
from intercode.sandboxes.bubblewrap.backend import Bubblewrap
from intercode.tasks.model import Dataset
from intercode.tasks.registry import load

pytestmark = [pytest.mark.data, pytest.mark.bubblewrap]

BETWEEN_EPISODES = {"module_leak_next": "3.14", "file_leak_next": "False"}
"""What the last action of each finds in an episode of its own, or what that must start with."""


@pytest.fixture(scope="module")
def dataset(data: Path) -> Dataset:
    return load("mbpp:intercode", path=data)


@pytest.fixture(scope="module")
def runtime() -> Iterator[Runtime]:
    backend = Bubblewrap()
    failed = [check for check in backend.check() if not check.ok]
    if failed:
        pytest.skip(f"needs bubblewrap: {failed[0].detail}")
    with Runtime(backend) as shared:
        yield shared


@pytest.fixture(scope="module")
def env(runtime: Runtime, dataset: Dataset) -> Iterator[PythonV1]:
    made = PythonV1(dataset, runtime=runtime)
    yield made
    made.close()


def lines(name: str) -> list[dict[str, Any]]:
    path = Path(os.environ.get("INTERCODE_DATA", ""), "oracle", name)
    if not path.is_file():
        return []
    text = gzip.decompress(path.read_bytes()) if name.endswith(".gz") else path.read_bytes()
    return [json.loads(line) for line in text.splitlines()]


def probes() -> list[Any]:
    found = lines("probes_python.jsonl")
    if not found:
        return [pytest.param(None, marks=pytest.mark.skip("needs INTERCODE_DATA"))]
    return [pytest.param(probe, id=probe["name"]) for probe in found]


def same_text(original: str, ours: str) -> bool:
    """Up to addresses, and to how a newer Python words what is wrong with a program."""
    if "(<string>, line" in original:
        return original[:10] == ours[:10] and "(<string>, line" in ours
    ours, original = (re.sub(r"0x[0-9a-f]+", "0x", text) for text in (ours, original))
    return ours == original


@pytest.mark.parametrize("probe", probes())
def test_a_probe_is_answered_as_by_the_original(env: PythonV1, probe: dict[str, Any]) -> None:
    env.reset(options={"task": probe["inputs"].get("idx", 1)})
    for action, expected, reward, *more in probe["original"]:
        if action.startswith("submit"):
            # † An exception, for a bare one.
            assert env.score(action).reward == reward
            continue
        observation, _, _, _, info = env.step(action)
        if expected.startswith("EXC"):
            assert observation.startswith("Error executing action: ")
        elif probe["name"] not in BETWEEN_EPISODES:
            assert same_text(expected, observation), (action, expected, observation)
            assert info["action_executed"] is more[0]
    if probe["name"] in BETWEEN_EPISODES:
        assert observation.startswith(f"{{'output': '{BETWEEN_EPISODES[probe['name']]}")


@pytest.mark.parametrize("kind", ["gold", "noop"])
def test_golds_and_wrong_functions_are_rewarded_as_by_the_original(
    env: PythonV1, dataset: Dataset, kind: str
) -> None:
    """974 episodes each. Where the original ends with an exception there is no reward."""
    wrong, solved = [], 0
    for case in lines("python.jsonl.gz"):
        if case["kind"] != kind:
            continue
        env.reset(options={"task": case["idx"]})
        action = case["gold"] if kind == "gold" else "def wrong_fn(*a, **k): return None"
        observation = env.step(action)[0]
        reward = env.score(f"submit {case.get('fn', 'none')}").reward
        solved += reward == 1.0
        if reward != case.get("reward", 0.0) or observation != case.get("observation", observation):
            wrong.append((dataset[case["idx"]].id, reward, observation))
    assert wrong == []
    assert solved == (961 if kind == "gold" else 0)


def test_the_recorded_run_is_met_in_every_turn_and_its_leaks_are_named(
    runtime: Runtime, dataset: Dataset, data: Path, tmp_path: Path
) -> None:
    name = "results/python/gpt-3.5/ic_python_multiturn_gpt-3.5_7_turns.json"
    with tarfile.open(data / "results" / "results_given.tar.xz") as archive:
        archive.extract(name, tmp_path, filter="data")
    recording = read_recording(tmp_path / name)
    made: list[PythonV1] = []

    def make_env() -> PythonV1:
        made.append(PythonV1(dataset, runtime=runtime))
        return made[-1]

    report = replay(recording, dataset, make_env)
    for env in made:
        env.close()
    facts = report.to_json()
    assert (facts["turns"], facts["turns_agree"], facts["failed"]) == (430, 430, 0)
    assert len(facts["leaked_turns"]) == 9
    assert facts["success_replayed"] == pytest.approx(69 / 117)
    assert facts["success_without_leaks"] == pytest.approx(60 / 117)


def test_the_originals_own_replay_is_met(env: PythonV1, data: Path, tmp_path: Path) -> None:
    """60 tasks, 241 turns, of which the original's rewards are known for a second time."""
    name = "results/python/gpt-3.5/ic_python_multiturn_gpt-3.5_7_turns.json"
    with tarfile.open(data / "results" / "results_given.tar.xz") as archive:
        archive.extract(name, tmp_path, filter="data")
    recorded = {one.task_index: one for one in read_recording(tmp_path / name).episodes}
    turns = 0
    for case in lines("replay_python_gpt-3.5.jsonl.gz"):
        env.reset(options={"task": case["task"]})
        for turn, expected in zip(recorded[case["task"]].turns, case["turns"], strict=True):
            env.step(turn.action)
            function = re.match(r"def (\w+)\(", turn.action)
            reward = env.score(f"submit {function[1]}").reward if function else 0.0
            assert reward == pytest.approx(expected["reward"])
            turns += 1
    assert turns == 241
