"""WikiSQL as InterCode made it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from intercode.errors import DatasetError
from intercode.tasks import registry
from intercode.tasks.sources import wikisql

ROW = {"db": "dev", "query": "Who?", "gold": "SELECT Player FROM t"}


def test_all_questions_ask_one_section_of_the_dump(tmp_path: Path) -> None:
    (tmp_path / "ic_wikisql_dev.json").write_text(json.dumps([ROW]))
    (tmp_path / "ic_wikisql_dev.sql").write_text("CREATE DATABASE dev;")

    dataset = wikisql.load(tmp_path)

    database = dataset.databases["dev"]
    assert (dataset[0].env, dataset[0].database) == ("sql", "dev")
    assert (database.dialect, database.section) == ("mysql", "dev")
    assert database.require() == tmp_path / "ic_wikisql_dev.sql"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{}", "the top is an object"),
        ("[]", "no tasks in it"),
        (json.dumps([{**ROW, "gold": ""}]), "task 0: gold is empty"),
        (json.dumps([{**ROW, "db": "/dev/null"}]), "cannot be the name of a database"),
    ],
)
def test_a_damaged_file_is_named(tmp_path: Path, text: str, complaint: str) -> None:
    (tmp_path / "ic_wikisql_dev.json").write_text(text)

    with pytest.raises(DatasetError, match=rf"ic_wikisql_dev\.json.*{complaint}"):
        wikisql.load(tmp_path)


@pytest.mark.data
def test_golds_that_do_not_run_are_flagged_with_the_reason(data: Path) -> None:
    dataset = registry.load("wikisql", path=data)
    flags = Counter(flag for task in dataset for flag in task.flags)

    assert len(dataset) == 196
    assert flags == {"failing_gold": 174, "unquoted_gold": 176, "empty_answer": 6}
    assert sum(task.sound for task in dataset) == 16
    assert all("unquoted_gold" in task.flags for task in dataset if "failing_gold" in task.flags)
