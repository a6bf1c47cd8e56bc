"""SWE-bench's rows, in every form in which they come."""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from intercode.errors import DatasetError, TaskError
from intercode.tasks.model import Task
from intercode.tasks.registry import load
from intercode.tasks.sources import swe_bench
from intercode.tasks.sources.swe_spec import patch_action, spec_of, writing_action

PATCH = "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n"
ROW = {
    "instance_id": "owner__name-12", "repo": "owner/name", "base_commit": "a" * 40,
    "patch": PATCH, "test_patch": PATCH.replace("x.py", "test_x.py"),
    "problem_statement": "It is broken.\r\n", "hints_text": "look there", "version": "1.2",
    "FAIL_TO_PASS": '["test_x.py::test_a"]', "PASS_TO_PASS": "[]",
}  # fmt: skip


def rows(folder: Path, *values: dict[str, Any], name: str = "rows.jsonl") -> str:
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in values))
    return f"swe-bench:{path}"


def only(folder: Path, **changes: Any) -> Task:
    (task,) = load(rows(folder, {**ROW, **changes}))
    return task


def test_a_row_becomes_a_task(tmp_path: Path) -> None:
    task = only(tmp_path)
    spec = spec_of(task)
    assert (task.id, task.env, task.file_system) == ("owner__name-12", "swe", None)
    assert task.instruction.endswith("\n\nIt is broken.\n")
    assert "look there" not in task.instruction
    assert (spec.patch, spec.test_patch) == (ROW["patch"], ROW["test_patch"])
    assert (spec.fail_to_pass, spec.pass_to_pass) == (("test_x.py::test_a",), ())
    assert (spec.repo, spec.base_commit, spec.instance) == ("owner/name", "a" * 40, task.id)
    assert task.metadata == {
        "source": "rows.jsonl", "repo": "owner/name", "version": "1.2", "flags": (),
    }  # fmt: skip


@pytest.mark.parametrize(
    "written",
    [["t.py::a", "t.py::b"], '["t.py::a", "t.py::b"]', "['t.py::a', \"t.py::b\"]",
     ["t.py::a", "t.py::b", "t.py::a"]],
)  # fmt: skip
def test_lists_of_tests_in_every_spelling(tmp_path: Path, written: Any) -> None:
    task = only(tmp_path, FAIL_TO_PASS=written)
    assert spec_of(task).fail_to_pass == ("t.py::a", "t.py::b")


@pytest.mark.parametrize(
    ("repo", "harness"),
    [("django/django", "django"), ("sympy/sympy", "sympy"), ("psf/requests", "pytest")],
)
def test_the_repository_decides_how_its_tests_are_run(
    tmp_path: Path, repo: str, harness: str
) -> None:
    assert spec_of(only(tmp_path, repo=repo)).harness == harness


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"FAIL_TO_PASS": "[1]"}, "FAIL_TO_PASS is no list of names"),
        ({"FAIL_TO_PASS": "test_a"}, "FAIL_TO_PASS is neither a list nor"),
        ({"PASS_TO_PASS": {"a": 1}}, "PASS_TO_PASS is no list of names"),
        ({"repo": ""}, "repo is empty"),
        ({"problem_statement": None}, "problem_statement is empty"),
        ({"tests": 3}, "tests is not an object"),
    ],
)
def test_damage_is_told_with_its_place(tmp_path: Path, changes: Any, why: str) -> None:
    with pytest.raises(DatasetError, match=f"rows.jsonl, line 1: {why}"):
        only(tmp_path, **changes)


def test_a_row_that_is_there_twice_is_taken_once(tmp_path: Path) -> None:
    other = {**ROW, "instance_id": "owner__name-13"}
    assert [task.id for task in load(rows(tmp_path, ROW, other, ROW))] == [
        "owner__name-12", "owner__name-13",
    ]  # fmt: skip
    with pytest.raises(DatasetError, match="two tasks have the id"):
        load(rows(tmp_path, ROW, {**ROW, "base_commit": "b" * 40}))


def test_intercodes_rows_have_their_tests_apart_and_no_gold(tmp_path: Path) -> None:
    row = {
        "query": "It is broken.", "task_id": "owner__name-12", "repo": "owner/name",
        "base_commit": "a" * 40, "version": "1.2",
        "tests": {"patch": ROW["test_patch"], "FAIL_TO_PASS": '["t.py::a"]', "PASS_TO_PASS": "[]"},
    }  # fmt: skip
    (task,) = load(rows(tmp_path, row))
    assert spec_of(task).test_patch == ROW["test_patch"]
    assert (task.gold, task.flags) == ("", ("no_gold",))


def test_rows_without_tests_are_listed_and_cannot_be_scored(tmp_path: Path) -> None:
    task = only(tmp_path, test_patch=None, FAIL_TO_PASS=None)
    assert task.flags == ("no_tests",)
    with pytest.raises(TaskError, match="no hidden tests"):
        spec_of(task)


def test_parquet_needs_pyarrow_and_says_so(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    (tmp_path / "rows.parquet").write_bytes(b"PAR1")
    with pytest.raises(DatasetError, match="pip install pyarrow"):
        swe_bench.load(tmp_path / "rows.parquet")


def test_parquet_gives_the_same_tasks(tmp_path: Path, monkeypatch: Any) -> None:
    def read_table(path: Path) -> Any:
        if path.read_bytes() != b"PAR1":
            raise ValueError("not parquet")
        return types.SimpleNamespace(to_pylist=lambda: [dict(ROW)])

    parquet = types.SimpleNamespace(read_table=read_table)
    monkeypatch.setitem(sys.modules, "pyarrow", types.SimpleNamespace(parquet=parquet))
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", parquet)
    path = tmp_path / "rows.parquet"
    path.write_bytes(b"PAR1")
    (task,) = load(f"swe-bench:{path}")
    assert task.content_hash == only(tmp_path).content_hash
    path.write_bytes(b"else")
    with pytest.raises(DatasetError, match="cannot be read as parquet: not parquet"):
        load("swe-bench", path=path)


def test_actions_hold_whatever_a_patch_holds() -> None:
    action = patch_action("PATCH\n'$x' `y`\n")
    assert action.splitlines()[0].endswith("<<'PATCH_'")
    assert action.splitlines()[1:] == ["PATCH", "'$x' `y`", "PATCH_"]
    assert writing_action({"a": "END\n"}, "/r").splitlines() == [
        "cd /r", "cat > a <<'END_'", "END", "END_",
    ]  # fmt: skip


@pytest.mark.data
def test_the_published_rows(data: Path) -> None:
    folder = data / "swe_bench"
    if not folder.is_dir():
        pytest.skip("no test: there is no SWE-bench in this data")
    lite, ours = swe_bench.load_lite(folder), swe_bench.load(folder / "ic_swe_bench_lite.json")
    assert len(lite) == len(ours) == 300
    for task, same in zip(lite, ours, strict=True):
        spec = spec_of(task)
        assert (task.id, task.instruction) == (same.id, same.instruction)
        assert spec.fail_to_pass == spec_of(same).fail_to_pass
        assert spec.patch in task.gold + "\n"
        assert task.flags == ()
    assert len(swe_bench.load_verified(folder)) == 500
