"""Against the published rewards we are at least as close as the original's own re-run of them.

Five recordings of real agents are replayed as they were made: in one pair of containers, in order.
Left out are the episodes whose turns take as long as the time limit (they go through all of
`/proc`); `intercode replay` plays them too.

Needs upstream's data, and a root file system like the original's images (INTERCODE_TEST_ROOTFS).
"""

from __future__ import annotations

import gzip
import json
import os
import tarfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pytest

from intercode.agents.recording import Recording
from intercode.agents.trajectories import read_recording
from intercode.envs.bash_v1_shared import BashV1Shared
from intercode.envs.runtime import Runtime
from intercode.rewards import bash_v1
from intercode.runs.replay import Disagreement, ReplayReport
from intercode.runs.replay import replay as replay_recording
from intercode.sandboxes.bubblewrap.backend import Bubblewrap
from intercode.tasks.model import Dataset
from intercode.tasks.registry import load

pytestmark = [pytest.mark.data, pytest.mark.bubblewrap]

SLOW = {"timeout"}
Where = tuple[str, int]

CHANCE = 3
"""Turns of a recording that may come out either way: time stamps, what `ps` shows, or the machine's
load, are words of an output, and may be the same in both containers or not."""

# Turns on which the original's re-run gives the published reward and we do not.
KNOWN: dict[str, dict[Where, str]] = {
    "gpt-4_fs1": {},
    "gpt-4_fs2": {},
    # It reads the machine's whole /sys, which a sandbox does not have.
    "gpt-3.5_fs1": {("fs_1/45", 9): "host"},
    "gpt-3.5_fs3": {},
    # `ps -axjf`: a container's commands lead sessions of their own, and so a number stands there.
    "gpt-3.5_fs4": {("fs_4/5", 5): "host"},
}
VARIANTS = dict.fromkeys(KNOWN, "whole") | {"gpt-3.5_fs1": "cut", "gpt-3.5_fs3": "cut"}


@dataclass(frozen=True)
class Replayed:
    recording: Recording
    report: ReplayReport
    original: dict[Where, bool]
    """For each turn, whether the original's re-run gives the published reward."""

    @property
    def worse(self) -> dict[Where, Disagreement]:
        found = {(one.task, one.turn): one for one in self.report.disagreements}
        return {where: one for where, one in found.items() if self.original[where]}


def quick(recording: Recording, part: str, dataset: Dataset) -> Recording:
    kept = (
        episode
        for episode in recording.episodes
        if not SLOW & set(dataset[f"{part}/{episode.task_index}"].flags)
    )
    return replace(recording, episodes=tuple(kept))


def original(data: Path, name: str, part: str, recording: Recording) -> dict[Where, bool]:
    tasks = {episode.task_index for episode in recording.episodes}
    with gzip.open(data / f"oracle/replay_bash_{name}.jsonl.gz", "rt") as lines:
        rows = [row for row in map(json.loads, lines) if row["task"] in tasks]
    return {
        (f"{part}/{row['task']}", number): abs(turn["reward"] - turn["published_reward"]) < 1e-9
        for row in rows
        for number, turn in enumerate(row["turns"])
    }


@pytest.fixture(scope="module")
def replayed(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Replayed]]:
    rootfs = os.environ.get("INTERCODE_TEST_ROOTFS")
    if not rootfs:
        pytest.skip("needs a root file system like the original's: set INTERCODE_TEST_ROOTFS")
    folder = tmp_path_factory.mktemp("published")
    with tarfile.open(data / "results/results_given.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    dataset = load("nl2bash", path=data)

    def play(name: str, runtime: Runtime) -> Replayed:
        model, _, number = name.partition("_fs")
        (path,) = folder.rglob(f"ic_bash_multiturn_{model}_10_turns_fs_{number}.json")
        recording = quick(read_recording(path), f"fs_{number}", dataset)
        env = BashV1Shared(dataset, runtime=runtime)
        readings = {v: partial(bash_v1.in_variant, variant=v) for v in bash_v1.VARIANTS}
        report = replay_recording(recording, dataset, lambda: env, readings=readings)
        env.close()
        return Replayed(recording, report, original(data, name, f"fs_{number}", recording))

    with (
        Runtime(Bubblewrap(), base=f"tar:{rootfs}", warm=0) as runtime,
        ThreadPoolExecutor(2) as threads,
    ):
        yield dict(zip(KNOWN, threads.map(lambda name: play(name, runtime), KNOWN), strict=True))


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", KNOWN)
def test_it_is_as_close_to_the_published_rewards_as_the_original(
    replayed: dict[str, Replayed], name: str
) -> None:
    one = replayed[name]
    assert one.report.turns == len(one.original)
    assert not any(episode.error for episode in one.report.episodes)
    worse = {where: turn.cause for where, turn in one.worse.items()}
    volatile = {where for where, cause in worse.items() if cause in ("clock", "host")}
    chance = volatile - KNOWN[name].keys()
    assert {where: cause for where, cause in worse.items() if where not in chance} == KNOWN[name]
    assert len(chance) <= CHANCE
    agree = one.report.turns - len(one.report.disagreements)
    assert agree >= sum(one.original.values()) - len(KNOWN[name]) - len(chance)


@pytest.mark.slow
@pytest.mark.parametrize("name", KNOWN)
def test_as_many_tasks_are_solved_as_were(replayed: dict[str, Replayed], name: str) -> None:
    episodes = replayed[name].report.episodes
    published = sum(episode.solved_published for episode in episodes)
    assert abs(sum(episode.solved_replayed for episode in episodes) - published) <= 2


@pytest.mark.slow
@pytest.mark.parametrize("name", KNOWN)
def test_each_disagreement_has_a_cause_and_each_recording_its_variant(
    replayed: dict[str, Replayed], name: str
) -> None:
    report = replayed[name].report
    assert "unexplained" not in {one.cause for one in report.disagreements}
    assert [one.variant for one in report.ranges] == [VARIANTS[name]]
