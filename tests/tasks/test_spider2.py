"""Spider 2-lite: what runs here, what does not, and what right answers look like."""

from __future__ import annotations

import io
import json
import sqlite3
import tarfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from intercode.errors import DatasetError
from intercode.tasks import registry
from intercode.tasks.sources import spider2

LOCAL = {"instance_id": "local001", "db": "shop", "question": "q", "external_knowledge": None}
GOLDS = {
    "gold/sql/local001.sql": "SELECT 1",
    "gold/exec_result/local001_a.csv": "n\n1\n",
    "gold/exec_result/local001_b.csv": "n,m\n1,2\n",
    "gold/exec_result/local0011.csv": "n\n9\n",
}


def published(
    folder: Path, *rows: Any, golds: dict[str, str] | None = None, check: Any = None
) -> Path:
    lines = "\n".join(json.dumps(row) for row in rows or [LOCAL])
    (folder / "spider2-lite.jsonl").write_text(lines)
    if check is not None:
        (folder / "spider2lite_eval.jsonl").write_text(json.dumps(check))
    with tarfile.open(folder / "gold_local.tar.gz", "w:gz") as archive:
        for name, text in (GOLDS if golds is None else golds).items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return folder


def test_right_results_and_the_columns_to_compare_are_the_tasks_reward(tmp_path: Path) -> None:
    check = {"instance_id": "local001", "condition_cols": [[0], [0, 1]], "ignore_order": True}

    task = spider2.load(published(tmp_path, check=check))["local001"]

    assert task.gold == "SELECT 1"
    assert task.reward == {
        "result_csv": ("n\n1\n", "n,m\n1,2\n"),
        "condition_cols": ((0,), (0, 1)),
        "ignore_order": True,
    }
    assert task.sound
    json.dumps(task.to_json())


@pytest.mark.parametrize(
    ("given", "meant"),
    [([], ((), ())), ([1], ((1,), (1,))), ([[0], []], ((0,), ())), (None, ((), ()))],
)
def test_columns_are_given_once_or_for_each_result(tmp_path: Path, given: Any, meant: Any) -> None:
    check = {"instance_id": "local001", "condition_cols": given}

    task = spider2.load(published(tmp_path, check=check))["local001"]

    assert task.reward["condition_cols"] == meant


@pytest.mark.parametrize("given", ["0", [[0]], [-1], [["a"], []], [[0], [0], [0]], [True]])
def test_columns_that_fit_no_result_are_refused(tmp_path: Path, given: Any) -> None:
    check = {"instance_id": "local001", "condition_cols": given}

    with pytest.raises(DatasetError, match=r"eval\.jsonl, line 1: condition_cols does not fit 2"):
        spider2.load(published(tmp_path, check=check))


def test_a_task_with_a_result_alone_has_no_gold(tmp_path: Path) -> None:
    golds = {name: text for name, text in GOLDS.items() if name.endswith(".csv")}

    task = spider2.load(published(tmp_path, golds=golds))["local001"]

    assert task.gold == ""
    assert (task.flags, task.metadata["notes"]) == ((), ("result_only",))


def test_a_task_with_neither_is_flagged(tmp_path: Path) -> None:
    task = spider2.load(published(tmp_path, golds={}))["local001"]

    assert task.flags == ("no_gold",)
    assert task.reward == {}


def test_what_needs_a_service_is_listed_and_cannot_be_played(tmp_path: Path) -> None:
    rows = [{**LOCAL, "instance_id": name} for name in ("bq1", "ga2", "sf3", "sf_bq4", "local001")]

    dataset = spider2.load(published(tmp_path, *rows))

    needs = [tuple(flag for flag in task.flags if flag != "no_gold") for task in dataset]
    assert needs == [("needs_bigquery",)] * 2 + [("needs_snowflake",)] * 2 + [()]
    assert len(dataset.databases) == 3  # one name in three places is three databases
    with pytest.raises(DatasetError, match=r"has no file[\s\S]*BigQuery"):
        dataset.databases[dataset["bq1"].database].require()
    assert len(dataset.digest) == 16


def test_upstreams_own_folders_are_read(tmp_path: Path) -> None:
    home = tmp_path / "spider2-lite"
    for name, text in {
        "spider2-lite.jsonl": json.dumps({**LOCAL, "external_knowledge": "terms.md"}),
        "evaluation_suite/gold/sql/local001.sql": "SELECT 1\n",
        "evaluation_suite/gold/exec_result/local001.csv": "n\n1\n",
        "evaluation_suite/gold/spider2lite_eval.jsonl": json.dumps(
            {"instance_id": "local001", "condition_cols": [0], "ignore_order": False}
        ),
        "resource/documents/terms.md": "A dozen is 12.",
    }.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)
    database = home / "resource" / "databases" / "spider2-localdb" / "shop.sqlite"
    database.parent.mkdir(parents=True)
    sqlite3.connect(database).execute("CREATE TABLE t (a)").connection.close()

    dataset = registry.load("spider2-lite", path=tmp_path)

    assert dataset[0].gold == "SELECT 1"
    assert dataset[0].reward["ignore_order"] is False
    assert dataset[0].metadata["evidence"] == "A dozen is 12."
    assert dataset.databases["shop"].require() == database


def test_without_its_database_a_task_says_where_it_belongs(tmp_path: Path) -> None:
    database = spider2.load(published(tmp_path)).databases["shop"]

    with pytest.raises(DatasetError, match=r"spider2-localdb/shop\.sqlite[\s\S]*local_sqlite\.zip"):
        database.require()


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"instance_id": "duck1"}, "does not say which engine"),
        ({"db": "a/b"}, "cannot be the name of a database"),
        ({"question": None}, "question is empty"),
        ({"external_knowledge": "../../../etc/passwd"}, "external_knowledge: .* cannot be"),
    ],
)
def test_a_damaged_row_is_named(tmp_path: Path, changes: dict[str, Any], complaint: str) -> None:
    with pytest.raises(DatasetError, match=rf"spider2-lite\.jsonl, line 1: .*{complaint}|line 1: "
                       rf"{complaint}"):  # fmt: skip
        spider2.load(published(tmp_path, {**LOCAL, **changes}))


@pytest.mark.parametrize("kept", [0, 30, 100])
def test_a_damaged_archive_is_named(tmp_path: Path, kept: int) -> None:
    archive = published(tmp_path) / "gold_local.tar.gz"
    archive.write_bytes(archive.read_bytes()[:kept])

    with pytest.raises(DatasetError, match=r"gold_local\.tar\.gz cannot be read as an archive"):
        spider2.load(tmp_path)


@pytest.mark.data
def test_the_published_set_is_whole(data: Path) -> None:
    dataset = registry.load("spider2-lite", path=data)
    flags = Counter(flag for task in dataset for flag in task.flags)
    results = [task.reward["result_csv"] for task in dataset if task.reward]

    assert len(dataset) == 547
    assert flags == {"needs_snowflake": 207, "needs_bigquery": 205, "no_gold": 412}
    assert sum(bool(task.gold) for task in dataset) == 24
    assert (len(results), sum(map(len, results))) == (135, 328)
    assert sum(task.sound for task in dataset) == 135
