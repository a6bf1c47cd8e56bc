"""BIRD in its four sets, with its databases and without."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from intercode.errors import DatasetError, UsageError
from intercode.tasks import registry
from intercode.tasks.sources import bird

QUESTION = {
    "question_id": 7, "db_id": "shop", "question": "How many?", "evidence": "all of them",
    "SQL": "SELECT 1", "difficulty": "moderate",
}  # fmt: skip


def written(path: Path, *rows: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(rows))
    return path.parent


def with_database(folder: Path, name: str = "shop") -> Path:
    path = folder / "dev_databases" / name / f"{name}.sqlite"
    path.parent.mkdir(parents=True)
    sqlite3.connect(path).execute("CREATE TABLE item (id)").connection.close()
    return path


def test_the_hint_stays_apart_from_the_instruction(tmp_path: Path) -> None:
    plain = {**QUESTION, "evidence": ""}
    dataset = bird.load_dev(written(tmp_path / "bird" / "dev.json", QUESTION, plain))

    task = dataset["0"]
    assert (task.env, task.instruction, task.gold) == ("sql", "How many?", "SELECT 1")
    assert task.metadata["evidence"] == "all of them"
    assert task.metadata["hardness"] == "moderate"
    assert task.metadata["question_id"] == "7"
    assert "evidence" not in dataset["1"].metadata


@pytest.mark.parametrize(("file", "key"), [("dev.json", "SQL"), ("dev_jar.json", "sql")])
def test_both_spellings_of_the_gold_are_read(tmp_path: Path, file: str, key: str) -> None:
    row = {k: v for k, v in QUESTION.items() if k != "SQL"} | {key: "SELECT 2"}
    written(tmp_path / "bird" / file, row)

    assert registry.load("bird-dev", path=tmp_path)[0].gold == "SELECT 2"


def test_without_databases_the_tasks_are_there_and_play_says_what_is_missing(
    tmp_path: Path,
) -> None:
    dataset = bird.load_dev(written(tmp_path / "bird" / "dev.json", QUESTION))

    (database,) = dataset.databases.values()
    assert not database.present
    assert len(dataset.digest) == 16
    missing = tmp_path / "bird" / "dev_databases" / "shop" / "shop.sqlite"
    with pytest.raises(DatasetError) as caught:
        database.require()
    assert f"there is no file {missing}" in str(caught.value)
    assert "bird-bench.github.io" in str(caught.value)


def test_the_digest_changes_when_the_databases_arrive(tmp_path: Path) -> None:
    folder = written(tmp_path / "bird" / "dev.json", QUESTION)
    before = bird.load_dev(folder).digest

    with_database(folder)

    assert bird.load_dev(folder).digest != before


@pytest.mark.parametrize("home", ["bird", "bird/dev_20240627", "bird/mini_dev"])
def test_one_copy_of_the_databases_serves_all_sets(tmp_path: Path, home: str) -> None:
    written(tmp_path / "bird" / "dev.json", QUESTION)
    written(tmp_path / "bird" / "mini_dev" / "mini_dev_sqlite.json", QUESTION)
    written(tmp_path / "bird" / "ic_bird.json", {"db": "shop", "query": "q", "gold": "SELECT 1"})
    path = with_database(tmp_path / home)

    for name in ("bird", "bird-dev", "bird-mini"):
        assert registry.load(name, path=tmp_path).databases["shop"].require() == path


def test_intercodes_dump_is_used_where_it_is_all_there_is(tmp_path: Path) -> None:
    folder = written(
        tmp_path / "bird" / "ic_bird.json", {"db": "shop", "query": "q", "gold": "SELECT 1"}
    )
    (folder / "ic_bird_dbs.sql").write_text("CREATE DATABASE shop;")

    database = bird.load(folder).databases["shop"]

    assert database.require() == folder / "ic_bird_dbs.sql"
    assert (database.dialect, database.script_dialect, database.section) == (
        "sqlite", "mysql", "shop",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("part", "dialect"), [("sqlite", "sqlite"), ("mysql", "mysql"), ("postgresql", "postgres")]
)
def test_mini_dev_speaks_three_dialects(tmp_path: Path, part: str, dialect: str) -> None:
    folder = written(tmp_path / "bird" / "mini_dev" / f"mini_dev_{part}.json", QUESTION)
    with_database(folder)

    dataset = registry.load(f"bird-mini:{part}", path=tmp_path)

    assert [task.id for task in dataset] == [f"{part}/0"]
    assert dataset.databases["shop"].dialect == dialect
    assert dataset.databases["shop"].sqlite is not None


def test_a_dialects_own_dump_comes_before_the_sqlite_files(tmp_path: Path) -> None:
    folder = written(tmp_path / "bird" / "MINIDEV" / "mini_dev_mysql.json", QUESTION)
    with_database(folder)
    dump = folder.parent / "MINIDEV_mysql" / "BIRD_dev.sql"
    dump.parent.mkdir()
    dump.write_text("CREATE TABLE item (id int);")

    database = registry.load("bird-mini:mysql", path=tmp_path).databases["shop"]

    assert (database.script, database.script_dialect) == (dump, "mysql")


def test_the_name_alone_means_sqlite(tmp_path: Path) -> None:
    written(tmp_path / "bird" / "mini_dev" / "mini_dev_sqlite.json", QUESTION)

    assert registry.load("bird-mini", path=tmp_path).name == "bird-mini:sqlite"
    with pytest.raises(UsageError, match="no part 'oracle'"):
        registry.load("bird-mini:oracle", path=tmp_path)
    with pytest.raises(DatasetError, match=r"there is no mini_dev_mysql\.json"):
        registry.load("bird-mini:mysql", path=tmp_path)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"SQL": ""}, "SQL is empty"),
        ({"SQL": None}, "SQL is empty"),
        ({"question": 3}, "question is int, not text"),
        ({"db_id": "../shop"}, "db_id: '../shop' cannot be the name of a database"),
        ({"evidence": ["a"]}, "evidence is list, not text"),
        ({"difficulty": {}}, "difficulty is dict, not text"),
    ],
)
def test_a_damaged_row_is_named(tmp_path: Path, changes: dict[str, Any], complaint: str) -> None:
    with pytest.raises(DatasetError, match=rf"dev\.json, task 1: {complaint}"):
        bird.load_dev(written(tmp_path / "bird" / "dev.json", QUESTION, {**QUESTION, **changes}))


def test_a_gold_under_neither_spelling_is_missed(tmp_path: Path) -> None:
    row = {k: v for k, v in QUESTION.items() if k != "SQL"}

    with pytest.raises(DatasetError, match="task 0: no field 'SQL'"):
        bird.load_dev(written(tmp_path / "bird" / "dev.json", row))


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "tasks", "databases", "levels", "clock"),
    [
        ("bird", 338, 3, (200, 88, 50), 0),
        ("bird-dev", 1534, 11, (925, 464, 145), 17),
        ("bird-mini:sqlite", 500, 11, (148, 250, 102), 11),
        ("bird-mini:mysql", 500, 11, (148, 250, 102), 11),
        ("bird-mini:postgresql", 500, 11, (148, 250, 102), 11),
    ],
)
def test_the_published_sets_are_whole(
    data: Path, name: str, tasks: int, databases: int, levels: tuple[int, ...], clock: int
) -> None:
    dataset = registry.load(name, path=data)
    hardness = Counter(task.metadata["hardness"] for task in dataset)

    assert (len(dataset), len(dataset.databases)) == (tasks, databases)
    assert (hardness["simple"], hardness["moderate"], hardness["challenging"]) == levels
    assert sum("clock" in task.flags for task in dataset) == clock
    assert sum(task.sound for task in dataset) == tasks - clock
