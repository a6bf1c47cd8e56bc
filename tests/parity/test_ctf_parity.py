"""CTF-v1 against the original's answers to all tasks, and against the published runs."""

from __future__ import annotations

import gzip
import json
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from intercode.agents.trajectories import read_recording
from intercode.cli.main import main
from intercode.envs.ctf_v1 import CtfV1
from intercode.envs.runtime import Runtime
from intercode.rewards import ctf
from intercode.runs.replay import replay
from intercode.sandboxes.bubblewrap.backend import Bubblewrap
from intercode.tasks.model import Dataset
from intercode.tasks.registry import load

pytestmark = pytest.mark.data

FAILING_SETUPS = {1, 14, 65, 66, 70}
"""Tasks whose set-up ended the original with an exception: a fetch, or a folder that is absent."""

VARIANTS = {
    "rew_upper": "submit {upper}",
    "rew_space": "submit {flag} trailing",
    "rew_nl": "submit {flag}\n",
    "rew_2sp": "submit  {flag}",
    "rew_bare": "submit",
}
"""Submissions that the original was tried with, beside the flag as it is."""


@pytest.fixture(scope="module")
def dataset(data: Path) -> Dataset:
    return load("ctf", path=data)


@pytest.fixture(scope="module")
def runtime() -> Iterator[Runtime]:
    backend = Bubblewrap()
    failed = [check for check in backend.check() if not check.ok]
    if failed:
        pytest.skip(f"needs bubblewrap: {failed[0].detail}")
    with Runtime(backend, base="host") as shared:
        yield shared


def answers(kind: str) -> list[Any]:
    path = Path(os.environ.get("INTERCODE_DATA", ""), "oracle/ctf.jsonl.gz")
    if not path.is_file():
        return [pytest.param(None, marks=pytest.mark.skip("needs INTERCODE_DATA"))]
    found = (json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines())
    return [pytest.param(one, id=str(one["idx"])) for one in found if one["kind"] == kind]


def test_the_original_failed_on_these_tasks_alone() -> None:
    failed = {param.values[0]["idx"] for param in answers("gold") if "exception" in param.values[0]}
    assert failed == FAILING_SETUPS


@pytest.mark.parametrize("answer", answers("gold"))
def test_every_way_to_submit_the_flag_is_worth_what_it_was(
    dataset: Dataset, answer: dict[str, Any]
) -> None:
    gold = dataset[str(answer["idx"])].gold
    if "exception" in answer:
        assert answer["idx"] in FAILING_SETUPS
        assert ctf.v1(f"submit {gold}", gold).reward == 1.0
        return
    assert answer["gold"] == gold
    assert ctf.v1(f"submit {gold}", gold).reward == answer["reward"] == 1
    for name, form in VARIANTS.items():
        reward = ctf.v1(form.format(flag=gold, upper=gold.upper()), gold).reward
        # † An exception there.
        assert reward == (0 if isinstance(answer[name], str) else answer[name]), name


@pytest.mark.bubblewrap
@pytest.mark.parametrize("answer", answers("noop"))
def test_a_task_starts_where_and_with_what_it_did(
    dataset: Dataset, runtime: Runtime, answer: dict[str, Any]
) -> None:
    if "exception" in answer:
        pytest.skip("no test: the original's set-up failed")
    env = CtfV1(dataset, runtime=runtime)
    env.reset(options={"task": str(answer["idx"])})
    assert env.step("pwd")[0] == answer["workdir"] + "\n"
    assert listed(env.step("ls -la")[0]) == listed(answer["ls"])
    assert env.step(f"submit {answer['info']['agent_obs']}")[1] == answer["reward"] == 0
    env.close()


def listed(text: str) -> list[tuple[str, str, str]]:
    """(mode, size, name) of the files that ``ls -la`` shows."""
    rows = (line.split(None, 8) for line in text.splitlines()[1:])
    return [(row[0], row[4], row[8]) for row in rows if not row[0].startswith("d")]


@pytest.mark.bubblewrap
@pytest.mark.parametrize(
    ("name", "tasks", "turns", "flags"),
    [("ic_ctf_multiturn_gpt-4_10_turns", 93, 634, 55), ("ic_ctf_gpt-4_25_turns", 4, 35, 3)],
)
def test_every_verdict_of_a_published_run_is_given_again(
    data: Path, dataset: Dataset, runtime: Runtime, tmp_path: Path,
    name: str, tasks: int, turns: int, flags: int,
) -> None:  # fmt: skip
    recording = read_recording(published(data, name, tmp_path))
    submitted = [
        turn for e in recording.episodes for turn in e.turns if turn.action.startswith("submit")
    ]
    assert len(submitted) == flags
    report = replay(
        recording,
        dataset,
        lambda: CtfV1(dataset, runtime=runtime),
        jobs=len(os.sched_getaffinity(0)),
    ).to_json()
    assert (report["tasks"], report["turns"], report["failed"]) == (tasks, turns, 0)
    assert report["disagreements"] == []
    assert report["success_replayed"] == report["success_published"]


@pytest.mark.bubblewrap
def test_the_command_line_knows_what_was_recorded(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTERCODE_DATA", str(data))
    path = published(data, "ic_ctf_gpt-4_25_turns", tmp_path)
    assert main(["replay", str(path), "--sandbox", "bubblewrap", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["agreement"] == 1.0


def published(data: Path, name: str, folder: Path) -> Path:
    with tarfile.open(data / "results/results_given.tar.xz") as tar:
        tar.extract(f"results/ctf/{name}.json", folder, filter="data")
    return folder / "results/ctf" / f"{name}.json"
