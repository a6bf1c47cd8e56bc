"""SWE-bench: issues of real repositories, with the tests that came with their fixes.

Rows come as the authors publish them (JSON, JSON lines, parquet), or as InterCode poses them
(``ic_swe_bench.json``, which has no golds). The lists of tests are text inside of text in most
editions, in JSON's or in Python's spelling; both are read. The repositories are not part of it:
`intercode.envs.swe_places` says where they are looked for.
"""

from __future__ import annotations

import ast
import importlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from intercode.errors import DatasetError
from intercode.tasks.model import Dataset, Task
from intercode.tasks.sources.rows import Row, read_rows
from intercode.tasks.sources.swe_spec import Harness, SweSpec, instruction, patch_action

_HARNESSES: Mapping[str, Harness] = {"django/django": "django", "sympy/sympy": "sympy"}
"""Those that do not use pytest."""


def load_lite(folder: Path) -> Dataset:
    return _load(_first(folder, "swe_bench_lite_test.jsonl", "swe_bench_lite.parquet"), "-lite")


def load_verified(folder: Path) -> Dataset:
    names = ("swe_bench_verified.parquet", "swe_bench_verified_subset_columns.jsonl")
    return _load(_first(folder, *names), "-verified")


def load(place: Path) -> Dataset:
    """``place`` is a file of rows, or a folder with all of them, or with InterCode's."""
    if place.is_dir():
        names = ("swe_bench_test.parquet", "ic_swe_bench.json", "ic_swe_bench_lite.json")
        place = _first(place, *names)
    return _load(place, f":{place}")


def _first(folder: Path, *names: str) -> Path:
    return next((folder / name for name in names if (folder / name).is_file()), folder / names[0])


def _load(path: Path, name: str) -> Dataset:
    return Dataset(
        name=f"swe-bench{name}",
        tasks=tuple(_task(row) for row in _distinct(_rows(path))),
        description="SWE-bench: issues of Python repositories, to be resolved by changing them.",
        source="https://github.com/swe-bench/SWE-bench",
        licence="MIT; the repositories have their own",
    )


def _rows(path: Path) -> list[Row]:
    if path.suffix.lower() != ".parquet":
        return read_rows(path)
    try:
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise DatasetError(
            f"{path} is a parquet file, and pyarrow is not installed, which reads them",
            remedy="pip install pyarrow, or name the same rows as JSON lines",
        ) from None
    try:
        rows = parquet.read_table(path).to_pylist()
    except Exception as error:  # pyarrow has its own, and passes those of the system on
        raise DatasetError(f"{path} cannot be read as parquet: {error}") from error
    if not rows:
        raise DatasetError(f"{path}: no rows in it")
    return [Row(path, f"row {number}", values) for number, values in enumerate(rows)]


def _distinct(rows: list[Row]) -> Iterator[Row]:
    """A published excerpt has a row twice. Two different rows of one name are to be refused."""
    seen: list[dict[str, Any]] = []
    names = Counter(str(row.values.get("instance_id")) for row in rows)
    for row in rows:
        twice = names[str(row.values.get("instance_id"))] > 1
        if not twice or row.values not in seen:
            yield row
        if twice:
            seen.append(row.values)


def _task(row: Row) -> Task:
    ours = "task_id" in row.values and "instance_id" not in row.values
    tests = _tests(row)
    name = row.text("task_id" if ours else "instance_id")
    repo, patch = row.text("repo"), row.word("patch") and row.text("patch")
    spec = SweSpec(
        test_patch=tests.text("test_patch") if tests.values.get("test_patch") else "",
        fail_to_pass=_names(tests, "FAIL_TO_PASS"),
        pass_to_pass=_names(tests, "PASS_TO_PASS"),
        patch=patch or "",
        harness=_HARNESSES.get(repo, "pytest"),
        repo=repo,
        base_commit=row.text("base_commit"),
        instance=name,
    )
    lacks = {"no_gold": not patch, "no_tests": not (spec.test_patch and spec.fail_to_pass)}
    facts = {key: row.word(key) for key in ("version", "created_at")}
    return Task(
        id=name,
        env="swe",
        instruction=instruction(row.text("query" if ours else "problem_statement")),
        gold=patch_action(patch) if patch else "",
        reward=spec.to_mapping(),
        metadata={
            "source": row.file.name,
            "repo": repo,
            **{key: value for key, value in facts.items() if value},
            "flags": tuple(flag for flag, lacking in lacks.items() if lacking),
        },
    )


def _tests(row: Row) -> Row:
    """Where the tests stand: in InterCode's rows they are a field of their own."""
    inside = row.values.get("tests")
    if inside is None:
        return row
    if isinstance(inside, str):
        inside = _read(row, "tests", inside)
    if not isinstance(inside, dict):
        raise row.error("tests is not an object", remedy="write it as upstream does")
    return Row(row.file, row.where, {"test_patch": inside.get("patch"), **inside})


def _names(row: Row, field: str) -> tuple[str, ...]:
    value = row.values.get(field)
    if value is None or value == "":
        return ()
    if isinstance(value, str):
        value = _read(row, field, value)
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise row.error(f"{field} is no list of names", remedy='write ["path::test", …]')
    return tuple(dict.fromkeys(value))


def _read(row: Row, field: str, text: str) -> Any:
    for read in (json.loads, ast.literal_eval):
        try:
            return read(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    raise row.error(f"{field} is neither a list nor one that is written as text")
