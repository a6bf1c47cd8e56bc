"""MBPP: short functions, each tested by a few assertions.

Three files are read unchanged, carriage returns of the golds included: upstream's 974 tasks
(``mbpp:upstream``), the same as InterCode poses them (``mbpp:intercode``: the challenge tests of 11
tasks count as well), and the 427 that upstream looked over by hand (``mbpp-sanitized``). Ids are
``Mbpp/`` and upstream's number, so that one problem has one name in all of them and in MBPP+.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from intercode.errors import DatasetError
from intercode.tasks.labels import labelled
from intercode.tasks.model import Dataset, Task
from intercode.tasks.sources.python_tests import TestSpec
from intercode.tasks.sources.rows import Row, read_rows

PARTS = ("upstream", "intercode")
LICENCE = "CC BY 4.0"
SOURCE = "https://github.com/google-research/google-research/tree/master/mbpp"


def load(folder: Path, parts: Iterable[str] = ("upstream",)) -> Dataset:
    """The 974 tasks, in one of the two readings: they are the same tasks, so not in both.

    :raises DatasetError: more than one part is asked for, or a file is damaged.
    """
    parts = tuple(parts)
    if len(parts) != 1:
        raise DatasetError(
            "mbpp: its parts are the same tasks, and cannot be joined",
            remedy="load mbpp:upstream or mbpp:intercode",
        )
    theirs = parts[0] == "intercode"
    file = folder / ("ic_mbpp.json" if theirs else "mbpp.jsonl")
    rows = enumerate(read_rows(file))
    tasks = [_intercode(row, index) if theirs else _upstream(row, index) for index, row in rows]
    return Dataset(
        name="mbpp:intercode" if theirs else "mbpp",
        tasks=labelled(tasks, "mbpp"),
        description="MBPP: short functions, each tested by three assertions.",
        source=SOURCE,
        licence=LICENCE,
    )


def load_sanitized(folder: Path) -> Dataset:
    """The 427 tasks whose text and tests upstream corrected by hand."""
    rows = enumerate(read_rows(folder / "sanitized-mbpp.json"))
    return Dataset(
        name="mbpp-sanitized",
        tasks=labelled([_sanitized(row, index) for index, row in rows], "mbpp-sanitized"),
        description="MBPP, the part that was looked over by hand.",
        source=SOURCE,
        licence=LICENCE,
    )


def _upstream(row: Row, index: int) -> Task:
    setup = "\n".join(row.texts("test_setup_code"))
    task = _task(row, index, "text", "code", setup, row.texts("test_list"))
    challenge = row.texts("challenge_test_list")
    return _with(task, challenge_tests=challenge) if challenge else task


def _intercode(row: Row, index: int) -> Task:
    setup = "\n".join(row.texts("test_setup_code"))
    return _task(row, index, "query", "gold", setup, row.texts("tests"))


def _sanitized(row: Row, index: int) -> Task:
    setup = "\n".join(row.texts("test_imports"))
    return _task(row, index, "prompt", "code", setup, row.texts("test_list"))


def _task(
    row: Row, index: int, instruction: str, gold: str, setup: str, tests: tuple[str, ...]
) -> Task:
    number, code = row.word("task_id"), row.text(gold)
    if number is None or not number.isdigit():
        raise row.error("task_id is not a number", remedy="fetch the file again")
    if not tests:
        raise row.error("there are no tests", remedy="fetch the file again")
    try:
        with warnings.catch_warnings():  # of escapes in their strings
            warnings.simplefilter("ignore")
            name = entry_point(code, tests)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise row.error(f"gold or tests are not Python: {error}") from None
    task = Task(
        id=f"Mbpp/{number}",
        env="python",
        instruction=row.text(instruction),
        gold=code,
        reward=TestSpec("asserts", entry_point=name, setup=setup, tests=tests).to_mapping(),
        metadata={"source": row.file.name, "index": index},
    )
    return task if v1_name(code) == name else _with(task, notes=("v1_wrong_function",))


def v1_name(gold: str) -> str | None:
    """The function that the original scores: the first that its own search finds in the gold."""
    found = re.search(r"def (\w+)\(", gold)
    return found[1] if found else None


def entry_point(gold: str, tests: Iterable[str]) -> str | None:
    """The function that all of the tests call, and the gold defines; the last of several.

    :raises SyntaxError: one of the texts is not Python.
    """
    called = set.intersection(*({*_called(test)} for test in tests))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    defined = [node.name for node in ast.parse(gold).body if isinstance(node, kinds)]
    return next((name for name in reversed(defined) if name in called), None)


def _called(test: str) -> Iterable[str]:
    for node in ast.walk(ast.parse(test.strip())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id


def _with(task: Task, **metadata: object) -> Task:
    return replace(task, metadata={**task.metadata, **metadata})
