"""Bash-v1 against the original's own answers: probes, golds, no-ops, and its re-run of real agents.

Needs upstream's data, and a root file system like the original's images (INTERCODE_TEST_ROOTFS).
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from intercode.agents.recording import RecordedTurn
from intercode.envs.bash_v1 import BashV1
from intercode.envs.runtime import Runtime
from intercode.runs.causes import Comparison, cause_of
from intercode.sandboxes.bubblewrap.backend import Bubblewrap
from intercode.tasks.labels import static_flags
from intercode.tasks.model import Dataset, Task
from intercode.tasks.registry import load

pytestmark = [pytest.mark.data, pytest.mark.bubblewrap]

VOLATILE = {"clock", "host", "network", "random", "unstable"}
REPLAYS = {
    "gpt-3.5_fs1": "fs_1", "gpt-3.5_fs3": "fs_3", "gpt-3.5_fs4": "fs_4",
    "gpt-4_fs1": "fs_1", "gpt-4_fs2": "fs_2",
}  # fmt: skip


class Turn(NamedTuple):
    task: Task
    number: int
    action: str
    original: float
    ours: float
    same_output: bool
    cause: str


@pytest.fixture(scope="module")
def dataset(data: Path) -> Dataset:
    return load("nl2bash", path=data)


@pytest.fixture(scope="module")
def runtime() -> Iterator[Runtime]:
    rootfs = os.environ.get("INTERCODE_TEST_ROOTFS")
    if not rootfs:
        pytest.skip("needs a root file system like the original's: set INTERCODE_TEST_ROOTFS")
    with Runtime(Bubblewrap(), base=f"tar:{rootfs}", warm=2) as shared:
        yield shared


def rows(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt") as file:
        yield from map(json.loads, file)


def play(runtime: Runtime, dataset: Dataset, task: Task, turns: list[dict[str, Any]]) -> list[Turn]:
    env = BashV1(dataset, runtime=runtime)
    env.reset(options={"task": task})
    played: list[Turn] = []
    actions: list[str] = []
    for number, turn in enumerate(turns):
        actions.append(turn["action"])
        ended = turn["action"].startswith("submit")
        observation = turn["observation"] if ended else env.step(turn["action"])[0]
        theirs = turn["observation"] if isinstance(turn["observation"], str) else ""
        ours = env.score().reward
        recorded = RecordedTurn(turn["action"], theirs, turn["reward"])
        comparison = Comparison(task, tuple(actions), recorded, observation, ours)
        agree = abs(ours - turn["reward"]) < 1e-9
        played.append(
            Turn(
                task, number, turn["action"], turn["reward"], ours, observation == theirs,
                "" if agree else cause_of(comparison),
            )
        )  # fmt: skip
    env.close()
    return played


def play_all(
    runtime: Runtime, dataset: Dataset, episodes: list[tuple[Task, list[dict[str, Any]]]]
) -> list[Turn]:
    with ThreadPoolExecutor(2) as threads:
        found = threads.map(lambda one: play(runtime, dataset, *one), episodes)
        return [turn for turns in found for turn in turns]


def stable(turns: list[Turn]) -> list[Turn]:
    """Those of tasks that depend on no clock, host, network or chance; nor on what the original
    lets one episode leave to the next (a gold that writes where it never cleans)."""
    return [
        turn
        for turn in turns
        if not VOLATILE & {*turn.task.flags, *static_flags(turn.task.gold, turn.task.instruction)}
        and turn.cause != "places never reset"
    ]


def judge(turns: list[Turn], least: float) -> None:
    chosen = stable(turns)
    wrong = [turn for turn in chosen if turn.cause]
    unexplained = [turn for turn in turns if turn.cause == "unexplained"]
    listing = "\n".join(
        f"{t.task.id}[{t.number}] {t.original} → {t.ours} {t.cause}: {t.action[:80]!r}"
        for t in wrong
    )
    assert not unexplained, listing
    assert 1 - len(wrong) / len(chosen) >= least, listing


@pytest.mark.parametrize("kind", ["gold", "noop"])
def test_golds_and_no_ops_score_as_in_the_original(
    runtime: Runtime, dataset: Dataset, data: Path, kind: str
) -> None:
    episodes = []
    for number in (1, 2, 3, 4):
        for row in rows(data / f"oracle/bash_fs{number}.jsonl.gz"):
            if row["kind"] == kind:
                task = dataset[f"fs_{number}/{row['idx']}"]
                action = row["gold"] if kind == "gold" else "echo hello"
                episodes.append((task, [{**row, "action": action}]))
    assert len(episodes) == 200
    judge(play_all(runtime, dataset, episodes), 0.99)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_real_agents_turns_score_as_in_the_originals_re_run(
    runtime: Runtime, dataset: Dataset, data: Path
) -> None:
    episodes = [
        (dataset[f"{part}/{row['task']}"], row["turns"])
        for name, part in REPLAYS.items()
        for row in rows(data / f"oracle/replay_bash_{name}.jsonl.gz")
    ]
    turns = play_all(runtime, dataset, episodes)
    assert len(turns) == 1632
    judge(turns, 0.99)
