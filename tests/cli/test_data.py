"""``intercode data``, as a user meets it."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

import pytest

from intercode.cli import data
from intercode.errors import UsageError

UPSTREAM = os.environ.get("INTERCODE_DATA")


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("INTERCODE_DATA", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = tmp_path / "mine.json"
    rows = [
        {"query": "When is it? [bold]:smile:", "gold": "date", "hardness": "easy"},
        {"query": "Say \x1b[31m" + "much " * 40, "gold": "echo much", "hardness": "easy"},
    ]
    path.write_text(json.dumps(rows))
    return str(path)


def run(*words: str) -> int:
    parser = argparse.ArgumentParser(prog="intercode")
    data.add_parser(parser.add_subparsers())
    args = parser.parse_args(["data", *words])
    code: int = args.handler(args)
    return code


def said(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().out


def said_json(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(said(capsys))


def test_the_list_names_every_dataset_and_how_to_get_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("list") == 0

    out = said(capsys)
    assert "bundled" in out
    assert "12,607" in out
    assert "not present: intercode data fetch alfa" in out
    assert all(len(line) <= 80 for line in out.splitlines())


def test_the_list_as_json_has_the_same_datasets(capsys: pytest.CaptureFixture[str]) -> None:
    run("list", "--json")

    listed = {entry["name"]: entry for entry in said_json(capsys)}
    assert {"bundled", "nl2bash", "nl2bash-test", "nl2bash-corpus", "alfa"} <= set(listed)
    assert listed["nl2bash"]["tasks"] == 200
    assert listed["nl2bash"]["present"] is False


def test_info_sums_a_dataset_up(capsys: pytest.CaptureFixture[str], table: str) -> None:
    assert run("info", table) == 0

    out = said(capsys)
    assert "2, of which 1 carry no flag" in out
    assert "easy" in out
    assert "clock" in out
    assert "When is it" not in out
    assert all(len(line) <= 80 for line in out.splitlines())


def test_info_lists_tasks_as_they_are_written(
    capsys: pytest.CaptureFixture[str], table: str
) -> None:
    run("info", table, "--tasks")

    out = said(capsys)
    assert "When is it? [bold]:smile:" in out
    assert "much much…" in out
    assert "\x1b" not in out
    assert all(len(line) <= 80 for line in out.splitlines())


def test_info_as_json_counts_and_lists(capsys: pytest.CaptureFixture[str], table: str) -> None:
    run("info", table, "--tasks", "--json")

    summary = said_json(capsys)
    assert (summary["tasks"], summary["sound"]) == (2, 1)
    assert summary["hardness"] == {"easy": 2}
    assert summary["flags"] == {"clock": 1}
    assert [task["flags"] for task in summary["task_list"]] == [["clock"], []]


def test_info_says_which_databases_are_here(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "shop.sql").write_text("CREATE TABLE item (id int);")
    path = tmp_path / "mine.csv"
    path.write_text("query,gold,db,dialect\nq,SELECT 1,shop.sql,mysql\nq,SELECT 2,shop.sql,mysql\n")

    run("info", str(path))
    out = said(capsys)
    assert "shop" in out
    assert "mysql, shop.sql" in out

    run("info", str(path), "--json")
    assert said_json(capsys)["databases"] == {
        "shop": {
            "tasks": 2, "dialect": "mysql", "file": str(tmp_path / "shop.sql"), "present": True,
        }
    }  # fmt: skip


def test_info_says_what_is_not_here_without_naming_every_one(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [
        {"question": "q", "db_id": name, "SQL": "SELECT 1", "difficulty": "simple"}
        for name in ("shop", "zoo")
    ]
    (tmp_path / "bird").mkdir()
    (tmp_path / "bird" / "dev.json").write_text(json.dumps(rows))
    monkeypatch.setenv("INTERCODE_DATA", str(tmp_path))

    run("info", "bird-dev")

    out = said(capsys)
    assert "(2 not here)" in out
    assert "zoo" not in out
    assert all(len(line) <= 80 for line in out.splitlines())


def test_info_on_an_unknown_name_is_an_error_for_the_user() -> None:
    with pytest.raises(UsageError, match="did you mean alfa"):
        run("info", "alfaa")


def test_fetching_nothing_known_is_an_error_for_the_user() -> None:
    with pytest.raises(UsageError, match="nothing to fetch"):
        run("fetch", "bundled")


@pytest.mark.parametrize("words", [["--help"], ["list", "--help"], ["info", "-h"], ["fetch", "-h"]])
def test_every_help_has_examples(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    with pytest.raises(SystemExit):
        run(*words)

    out = said(capsys)
    assert "examples:\n  intercode data" in out
    assert all(len(line) <= 80 for line in out.splitlines())


@pytest.mark.data
@pytest.mark.parametrize(
    "name",
    [
        "nl2bash", "nl2bash-corpus", "alfa", "spider", "spider-upstream", "bird", "bird-dev",
        "bird-mini", "wikisql", "spider2-lite",
    ],
)  # fmt: skip
def test_what_is_copied_from_a_folder_can_be_loaded(
    capsys: pytest.CaptureFixture[str], name: str
) -> None:
    if not UPSTREAM:
        pytest.skip("INTERCODE_DATA is not set")

    assert run("fetch", name, "--from", UPSTREAM, "--json") == 0
    assert all(Path(file).is_file() for file in said_json(capsys)["files"])
    assert run("info", name) == 0
