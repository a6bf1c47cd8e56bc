"""Spider, as InterCode poses it and as it is published."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from intercode.errors import DatasetError
from intercode.tasks import registry
from intercode.tasks.sources import spider
from intercode.tasks.sources.spider_hardness import LEVELS, hardness

SELECT = [False, [[0, [0, [0, 1, False], None]]]]
PARSED: dict[str, Any] = {
    "select": SELECT, "from": {"table_units": [["table_unit", 0]], "conds": []}, "where": [],
    "groupBy": [], "having": [], "orderBy": [], "limit": None, "intersect": None, "union": None,
    "except": None,
}  # fmt: skip
ROW = {"db": "shop", "query": "How many?", "gold": "SELECT 1", "hardness": "easy"}
QUESTION = {"db_id": "shop", "question": "How many?", "query": "SELECT 1", "sql": PARSED}
TABLES = {
    "db_id": "shop",
    "table_names_original": ["Item", "sale"],
    "column_names_original": [[-1, "*"], [0, "Id"], [1, "item"], [1, "Sold On"]],
}


def condition(operator: int, value: Any = "x", *, negated: bool = False) -> list[Any]:
    return [negated, operator, [0, [0, 1, False], None], value, None]


def intercode(folder: Path, *rows: Any) -> Path:
    (folder / "ic_spider_dev.json").write_text(json.dumps(rows or [ROW]))
    return folder


def upstream(folder: Path, *questions: Any, tables: Any = (TABLES,), file: str = "dev") -> Path:
    (folder / f"{file}.json").write_text(json.dumps(questions or [QUESTION]))
    (folder / "tables.json").write_text(json.dumps(tables))
    return folder


def test_intercodes_tasks_ask_one_section_of_its_dump(tmp_path: Path) -> None:
    (tmp_path / "ic_spider_dbs.sql").write_text("CREATE DATABASE shop;")
    rows = [{**ROW, "db_tables": {"item": ["id", "name"]}}, {**ROW, "db": "zoo"}]

    dataset = spider.load(intercode(tmp_path, *rows))

    task, database = dataset["0"], dataset.databases["shop"]
    assert (task.env, task.instruction, task.gold) == ("sql", "How many?", "SELECT 1")
    assert task.metadata["schema"] == {"item": ["id", "name"]}
    assert task.metadata["hardness"] == "easy"
    assert (database.dialect, database.script_dialect) == ("mysql", "mysql")
    assert database.section == "shop"
    assert database.require() == tmp_path / "ic_spider_dbs.sql"
    assert dataset["1"].database == "zoo"


def test_without_its_dump_the_dataset_can_be_read_and_says_what_is_missing(tmp_path: Path) -> None:
    dataset = spider.load(intercode(tmp_path))

    assert len(dataset.digest) == 16
    with pytest.raises(DatasetError, match=r"ic_spider_dbs\.sql[\s\S]*data fetch spider"):
        dataset.databases["shop"].require()


def test_upstreams_layout_is_read(tmp_path: Path) -> None:
    home = tmp_path / "database" / "shop"
    home.mkdir(parents=True)
    sqlite3.connect(home / "shop.sqlite").execute("CREATE TABLE item (id)").connection.close()

    dataset = spider.load_upstream(upstream(tmp_path))

    task = dataset["dev/0"]
    assert dataset.databases["shop"].require() == home / "shop.sqlite"
    assert dataset.databases["shop"].dialect == "sqlite"
    assert task.metadata["schema"] == {"Item": ["Id"], "sale": ["item", "Sold On"]}
    assert task.metadata["hardness"] == "easy"


def test_train_splits_are_parts_of_their_own(tmp_path: Path) -> None:
    home = tmp_path / "spider_data"
    home.mkdir()
    upstream(home, file="train_others")
    (home / "dev.json").write_text(json.dumps([QUESTION]))

    train = registry.load("spider-upstream:train_others", path=tmp_path)

    assert [task.id for task in train] == ["train_others/0"]
    assert [task.id for task in registry.load("spider-upstream", path=tmp_path)] == ["dev/0"]
    with pytest.raises(DatasetError, match=r"there is no test\.json"):
        registry.load("spider-upstream:test", path=tmp_path)


@pytest.mark.parametrize(
    ("changes", "level"),
    [
        ({}, "easy"),
        ({"where": [condition(2)]}, "easy"),
        ({"where": [condition(2), "and", condition(2)]}, "medium"),
        ({"where": [condition(9)]}, "medium"),
        ({"where": [condition(2)], "limit": 1}, "medium"),
        ({"where": [condition(2, PARSED)]}, "hard"),
        ({"union": PARSED}, "hard"),
        ({"where": [condition(9), "or", condition(2)]}, "hard"),
        ({"where": [condition(9), "or", condition(9)]}, "extra"),
        ({"where": [condition(8, PARSED), "and", condition(2)]}, "extra"),
    ],
)
def test_hardness_counts_clauses_nested_queries_and_the_rest(
    changes: dict[str, Any], level: str
) -> None:
    assert hardness({**PARSED, **changes}) == level


@pytest.mark.parametrize("parsed", [None, [], {}, {**PARSED, "from": 1}, {**PARSED, "where": [1]}])
def test_what_is_no_parsed_query_has_no_hardness(parsed: Any) -> None:
    with pytest.raises(ValueError, match="not the parsed form"):
        hardness(parsed)


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ({"db": "shop", "query": "q"}, r"task 0: no field 'gold'"),
        ({**ROW, "db": "../../etc"}, "cannot be the name of a database"),
        ({**ROW, "db": ".."}, "cannot be the name of a database"),
        ({**ROW, "db": "a:b"}, "cannot be the name of a database"),
        ({**ROW, "db_tables": ["item"]}, "db_tables is not a list of columns for each table"),
        ({**ROW, "db_tables": {"item": [1]}}, "db_tables is not a list of columns"),
        ({**ROW, "gold": ["SELECT 1"]}, "gold is list, not text"),
    ],
)
def test_a_damaged_row_of_intercodes_is_named(tmp_path: Path, row: Any, complaint: str) -> None:
    with pytest.raises(DatasetError, match=complaint) as caught:
        spider.load(intercode(tmp_path, row))

    assert "ic_spider_dev.json, task 0" in str(caught.value)


def test_a_damaged_row_of_upstreams_is_named(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"dev\.json, task 0: sql is not the parsed form"):
        spider.load_upstream(upstream(tmp_path, {**QUESTION, "sql": {"select": 1}}))
    with pytest.raises(DatasetError, match=r"tables\.json, task 0: the tables and columns"):
        spider.load_upstream(upstream(tmp_path, tables=[{**TABLES, "column_names_original": [3]}]))
    with pytest.raises(DatasetError, match=r"dev\.json, line 1, column 2: not JSON"):
        upstream(tmp_path)
        (tmp_path / "dev.json").write_text("[")
        spider.load_upstream(tmp_path)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid", r"pointer of Git LFS[\s\S]*lfs pull"),
        (b"not a database, but text", "is not a SQLite database"),
        (b"", "is empty"),
    ],
)
def test_a_damaged_database_is_an_error_at_play_not_before(
    tmp_path: Path, content: bytes, complaint: str
) -> None:
    (tmp_path / "database" / "shop").mkdir(parents=True)
    (tmp_path / "database" / "shop" / "shop.sqlite").write_bytes(content)

    dataset = spider.load_upstream(upstream(tmp_path))

    assert dataset.databases["shop"].present
    with pytest.raises(DatasetError, match=complaint):
        dataset.databases["shop"].require()


@pytest.mark.data
def test_intercodes_spider_is_whole_and_its_doubtful_golds_are_known(data: Path) -> None:
    dataset = registry.load("spider", path=data)
    flags = Counter(flag for task in dataset for flag in task.flags)

    assert [task.id for task in dataset] == [str(n) for n in range(1034)]
    assert len(dataset.databases) == 20
    assert all(database.require() for database in dataset.databases.values())
    assert sum(n for flag, n in flags.items() if flag.startswith("mysql_")) == 19
    assert (flags["empty_answer"], flags["undetermined"]) == (80, 40)


@pytest.mark.data
def test_labels_of_empty_answers_agree_with_what_the_original_recorded(data: Path) -> None:
    dataset = registry.load("spider", path=data)
    lines = (data / "spider" / "gold_results_mysql_published.jsonl").read_text().splitlines()

    for record in map(json.loads, lines):
        flags = dataset[record["index"]].flags
        if record["corrupt_gold"] is None:  # one result was not kept
            continue
        assert record["corrupt_gold"] == any(flag.startswith("mysql_") for flag in flags)
        if not record["corrupt_gold"]:
            assert (record["eval_obs"] == "[]") == ("empty_answer" in flags)


@pytest.mark.data
def test_the_published_hardness_is_the_one_computed(data: Path) -> None:
    """Of all 1,034 questions, whose golds InterCode wrote with fewer spaces."""

    def asked(dataset: Any) -> Counter[tuple[str, ...]]:
        return Counter(
            (task.database, " ".join(task.instruction.split()), " ".join(task.gold.split()),
             task.metadata["hardness"])
            for task in dataset
        )  # fmt: skip

    ours, theirs = registry.load("spider-upstream", path=data), registry.load("spider", path=data)

    assert asked(ours) == asked(theirs)
    assert {task.metadata["hardness"] for task in ours} == set(LEVELS)


@pytest.mark.data
def test_upstreams_golds_flagged_as_empty_return_nothing(data: Path) -> None:
    """And no others do, but for ``wta_1``, of which copies without rows are about."""
    dataset = registry.load("spider-upstream", path=data)

    for task in dataset:
        file = dataset.databases[task.database].require()
        connection = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
        connection.text_factory = bytes
        empty = not connection.execute(task.gold).fetchall()
        connection.close()
        if task.database != "wta_1":
            assert empty == ("empty_answer" in task.flags), task.id
