"""A run's folder survives whatever happens to the process that writes it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intercode.errors import RunError
from intercode.runs.folder import EPISODES_FILE, RUN_FILE, read_records, read_run
from intercode.runs.record import EpisodeRecord, TurnRecord
from intercode.runs.store import RunStore

CONFIG = {"dataset": "d", "dataset_digest": "0123", "env": "Bash-v2", "agent": "gold",
          "options": {"seed": 0, "max_turns": 10}}  # fmt: skip


def record(name: str, reward: float | None = 1.0, observation: str = "a\nb") -> EpisodeRecord:
    turns = (TurnRecord("ls", observation, executed=True),)
    return EpisodeRecord(name, "gold", turns=turns, reward=reward)


def test_what_was_written_is_read(tmp_path: Path) -> None:
    with RunStore.create(tmp_path / "run", CONFIG) as store:
        store.append(record("a"))
        store.append(record("b", None))
    run = read_run(tmp_path / "run")
    assert run.records == (record("a"), record("b", None))
    assert run.config == CONFIG
    assert set(run.about) >= {"created_at", "intercode"}


def test_the_last_record_of_a_task_counts(tmp_path: Path) -> None:
    with RunStore.create(tmp_path / "run", CONFIG) as store:
        for reward in (None, 0.5):
            store.append(record("a", reward))
        assert store.records == (record("a", 0.5),)
    assert read_run(tmp_path / "run").records == (record("a", 0.5),)


def test_a_run_cut_at_any_byte_is_read_and_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    written = [record(name, observation=f"é{name}") for name in "abc"]
    with RunStore.create(folder, CONFIG) as store:
        for each in written:
            store.append(each)
    path = folder / EPISODES_FILE
    whole = path.read_bytes()
    for cut in range(len(whole) + 1):
        path.write_bytes(whole[:cut])
        kept = written[: whole[:cut].count(b"\n")]
        assert read_records(folder) == kept
        with RunStore.resume(folder, CONFIG) as store:
            assert list(store.records) == kept
            store.append(record("new"))
        assert read_records(folder) == [*kept, record("new")]


@given(st.text(), st.text())
def test_any_text_survives(
    tmp_path_factory: pytest.TempPathFactory, action: str, observation: str
) -> None:
    folder = tmp_path_factory.mktemp("run")
    odd = EpisodeRecord("a", "x", turns=(TurnRecord(action, observation),), reward=0.1)
    with RunStore.create(folder, CONFIG) as store:
        store.append(odd)
    assert read_records(folder) == [odd]


def test_undecodable_bytes_survive(tmp_path: Path) -> None:
    with RunStore.create(tmp_path / "run", CONFIG) as store:
        store.append(record("a", observation="\udcff"))
    assert read_records(tmp_path / "run") == [record("a", observation="\udcff")]


WRITER = """
import sys
from pathlib import Path
from intercode.runs.record import EpisodeRecord
from intercode.runs.store import RunStore
with RunStore.create(Path(sys.argv[1]), {"agent": "x"}) as store:
    for n in range(10**6):
        store.append(EpisodeRecord(str(n), "x", instruction="i" * 5000, reward=1.0))
        print(n, flush=True)
"""


def test_a_killed_writer_loses_nothing_that_counted(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    command = [sys.executable, "-c", WRITER, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        for _ in range(20):
            counted = int(writer.stdout.readline())
        writer.send_signal(signal.SIGKILL)
        counted = max([counted, *map(int, writer.stdout.read().split())])
    with RunStore.resume(folder, {"agent": "x"}) as store:
        assert len(store.records) >= counted + 1


# Refusals


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"dataset_digest": "4567"}, "dataset_digest was \"0123\", and now is \"4567\""),
        ({"env": "Bash-v1"}, "env was"),
        ({"agent": "noop"}, "agent was"),
        ({"options": {"seed": 1, "max_turns": 10}}, r"options\.seed was 0, and now is 1"),
        ({"options": {"seed": 0}}, r"options\.max_turns was 10, and now is null"),
    ],
)  # fmt: skip
def test_a_run_is_not_resumed_with_another_configuration(
    tmp_path: Path, change: dict[str, object], field: str
) -> None:
    RunStore.create(tmp_path / "run", CONFIG).close()
    with pytest.raises(RunError, match=field):
        RunStore.resume(tmp_path / "run", CONFIG | change)


def test_values_that_json_does_not_tell_apart_are_the_same(tmp_path: Path) -> None:
    RunStore.create(tmp_path / "run", {"tasks": ("a", "b")}).close()
    RunStore.resume(tmp_path / "run", {"tasks": ["a", "b"]}).close()


def test_a_second_writer_is_refused(tmp_path: Path) -> None:
    with RunStore.create(tmp_path / "run", CONFIG) as store:
        store.append(record("a"))
        with pytest.raises(RunError, match="another process"):
            RunStore.resume(tmp_path / "run", CONFIG)
    RunStore.resume(tmp_path / "run", CONFIG).close()


def test_a_child_that_lives_on_does_not_keep_the_lock(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    store = RunStore.create(tmp_path / "run", CONFIG)
    store.append(record("a"))
    child = os.fork()
    if child == 0:
        os.read(reading, 1)
        os._exit(0)
    try:
        store.close()
        RunStore.resume(tmp_path / "run", CONFIG).close()
    finally:
        os.write(writing, b"x")
        os.waitpid(child, 0)
        os.close(reading)
        os.close(writing)


def test_a_new_run_does_not_touch_what_is_there(tmp_path: Path) -> None:
    RunStore.create(tmp_path / "run", CONFIG).close()
    with pytest.raises(RunError, match="a run in"):
        RunStore.create(tmp_path / "run", CONFIG)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").write_text("x")
    with pytest.raises(RunError, match="not empty"):
        RunStore.create(tmp_path / "other", CONFIG)
    with pytest.raises(RunError, match="not a folder"):
        RunStore.create(tmp_path / "other" / "thesis.tex", CONFIG)


def test_a_run_that_was_stopped_before_it_began_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / EPISODES_FILE).touch()
    (tmp_path / f".{RUN_FILE}.1234").write_text('{"form')
    RunStore.create(tmp_path, CONFIG).close()
    assert read_run(tmp_path).config == CONFIG


def test_a_folder_without_a_run_cannot_be_resumed(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="no run in"):
        RunStore.resume(tmp_path, CONFIG)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "line 2: not an episode"),
        ("3", "int, not an object"),
        ('{"task_id": "a"}', "no field 'agent'"),
        ('{"task_id": "a", "agent": "x", "turns": [{}], "reward": 1}', "turn 0 has no field"),
        ('{"task_id": "a", "agent": "x", "turns": [], "reward": "1"}', "reward is str"),
    ],
)
def test_damage_in_the_middle_is_named_with_its_line(
    tmp_path: Path, line: str, problem: str
) -> None:
    with RunStore.create(tmp_path / "run", CONFIG) as store:
        store.append(record("a"))
    with (tmp_path / "run" / EPISODES_FILE).open("a") as file:
        file.write(f"{line}\n{json.dumps(record('b').to_json())}\n")
    with pytest.raises(RunError, match=problem):
        read_run(tmp_path / "run")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"config": {}, "format": 99}'])
def test_a_damaged_head_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / RUN_FILE).write_text(text)
    with pytest.raises(RunError, match=r"run\.json"):
        read_run(tmp_path)


def test_what_a_newer_version_adds_is_passed_over(tmp_path: Path) -> None:
    body = record("a").to_json() | {"mood": "good"}
    assert EpisodeRecord.from_json(body) == record("a")


def test_a_failed_write_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with RunStore.create(tmp_path / "run", CONFIG) as store:
        store.append(record("a"))
        path = tmp_path / "run" / EPISODES_FILE
        before = path.read_bytes()
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", _no_room)
            with pytest.raises(RunError, match="No space left"):
                store.append(record("b"))
        assert path.read_bytes() == before
        store.append(record("c"))
    assert [r.task_id for r in read_records(tmp_path / "run")] == ["a", "c"]


def _no_room(descriptor: int) -> None:
    raise OSError(28, "No space left on device")


def test_a_run_with_nothing_in_it_can_be_discarded(tmp_path: Path) -> None:
    store = RunStore.create(tmp_path / "run", CONFIG)
    store.discard_if_empty()
    assert not (tmp_path / "run").exists()
    with RunStore.create(tmp_path / "run", CONFIG) as store:
        store.append(record("a"))
        store.discard_if_empty()
    assert len(read_records(tmp_path / "run")) == 1
