"""What ``Task`` and ``Dataset`` promise to everything built on them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from intercode.errors import DatasetError, UsageError
from intercode.tasks.model import Database, Dataset, FileSystem, Task

TASK = Task(id="a", env="bash", instruction="Say hello.", gold="echo hello")


def dataset(*ids: str) -> Dataset:
    return Dataset("toy", tuple(replace(TASK, id=i) for i in ids))


def test_a_task_is_found_by_position_and_by_id() -> None:
    toy = dataset("x", "y")

    assert toy[1] is toy["y"]
    assert [task.id for task in toy] == ["x", "y"]


def test_an_unknown_id_is_an_error_that_names_it_and_the_remedy() -> None:
    with pytest.raises(UsageError, match=r"no task 'z'[\s\S]*intercode data info toy"):
        dataset("x")["z"]


def test_two_tasks_cannot_share_an_id() -> None:
    with pytest.raises(DatasetError, match="two tasks have the id 'x'"):
        dataset("x", "x")


def test_a_task_cannot_start_from_a_file_system_that_is_not_there() -> None:
    with pytest.raises(DatasetError, match="unknown file system 'gone'"):
        Dataset("toy", (replace(TASK, file_system="gone"),))


@pytest.mark.parametrize(
    ("asked", "given"),
    [(["x"], ["x"]), (["2"], ["z"]), (["0-1"], ["x", "y"]), (["z", "x"], ["z", "x"])],
)
def test_selecting_takes_ids_positions_and_ranges_in_the_order_asked(
    asked: list[str], given: list[str]
) -> None:
    assert [task.id for task in dataset("x", "y", "z").select(asked)] == given


@pytest.mark.parametrize("asked", ["q", "3", "1-3", "2-", "-1"])
def test_selecting_what_is_not_there_is_an_error(asked: str) -> None:
    with pytest.raises(UsageError, match="has no task"):
        dataset("x", "y", "z").select([asked])


def test_selecting_sound_tasks_leaves_out_those_with_flags() -> None:
    flagged = replace(TASK, id="b", metadata={"flags": ("clock",)})
    toy = Dataset("toy", (TASK, flagged))

    assert [task.id for task in toy.select(sound_only=True)] == ["a"]
    assert len(toy.select(limit=1)) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"gold": "echo bye"}, {"instruction": "?"}, {"setup": ("true",)}, {"env": "sql"},
        {"alternatives": ("printf hello",)}, {"reward": {"weight": 2}}, {"limits": {"turns": 3}},
    ],
)  # fmt: skip
def test_the_content_hash_changes_with_whatever_decides_the_score(
    change: dict[str, object],
) -> None:
    assert replace(TASK, **change).content_hash != TASK.content_hash  # type: ignore[arg-type]


def test_the_content_hash_does_not_change_with_what_only_describes_the_task() -> None:
    assert replace(TASK, id="b", metadata={"flags": ["x"]}).content_hash == TASK.content_hash


def test_copies_of_an_archive_are_the_same_file_system(tmp_path: Path) -> None:
    one, two, other = tmp_path / "1.tar", tmp_path / "2.tar", tmp_path / "3.tar"
    one.write_bytes(b"same")
    two.write_bytes(b"same")
    other.write_bytes(b"different")

    assert FileSystem("a", tar=one).digest == FileSystem("b", tar=two).digest
    assert FileSystem("a", tar=one).digest != FileSystem("a", tar=other).digest
    assert FileSystem("a", tar=one).digest != FileSystem("a", tar=one, setup=("true",)).digest


def test_a_dataset_is_frozen() -> None:
    with pytest.raises(AttributeError):
        dataset("x").name = "other"  # type: ignore[misc]


def test_copies_of_a_database_are_the_same_whatever_their_paths(tmp_path: Path) -> None:
    one, two, other = tmp_path / "1.sqlite", tmp_path / "2.sqlite", tmp_path / "3.sqlite"
    one.write_bytes(b"same")
    two.write_bytes(b"same")
    other.write_bytes(b"different")

    digest = Database("a", sqlite=one).digest
    assert Database("a", sqlite=two, remedy="copy it").digest == digest
    assert Database("a", sqlite=other).digest != digest
    assert Database("a", sqlite=one, dialect="mysql").digest != digest
    assert Database("a", script=one, section="b").digest != digest


def test_a_database_that_is_not_here_has_a_digest_and_says_where_it_belongs(
    tmp_path: Path,
) -> None:
    absent = Database("a", sqlite=tmp_path / "a.sqlite", remedy="fetch it")
    toy = Dataset("toy", (replace(TASK, database="a"),), databases={"a": absent})

    assert not absent.present
    assert len(toy.digest) == 16
    with pytest.raises(DatasetError, match=r"no file .*a\.sqlite[\s\S]*fetch it"):
        absent.require()


def test_a_database_without_a_file_is_nowhere() -> None:
    nowhere = Database("a", dialect="bigquery")

    assert not nowhere.present
    with pytest.raises(DatasetError, match="'a' has no file: its tasks are for bigquery"):
        nowhere.require()


def test_a_script_is_required_as_it_is_and_a_sqlite_file_by_its_head(tmp_path: Path) -> None:
    file = tmp_path / "a.sql"
    file.write_text("CREATE TABLE t (a int);")

    assert Database("a", script=file).require() == file
    with pytest.raises(DatasetError, match=r"a\.sql is not a SQLite database"):
        Database("a", sqlite=file).require()
    file.write_bytes(b"SQLite format 3\0" + bytes(84))
    assert Database("a", sqlite=file).require() == file


def test_a_task_cannot_ask_a_database_that_is_not_named() -> None:
    with pytest.raises(DatasetError, match="unknown database 'gone'"):
        Dataset("toy", (replace(TASK, database="gone"),))
