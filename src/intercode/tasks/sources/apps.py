"""APPS: contest problems, solved by programs that read and print, or by functions.

A part is a folder of upstream's, ``train`` or ``test``, with one folder per problem; or the list in
which InterCode poses them (``apps:intercode``). The tests of a problem are read when they are first
asked for, since some are many megabytes. Of the published solutions the first is the gold.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from intercode.errors import DatasetError
from intercode.tasks.labels import labelled
from intercode.tasks.model import Dataset, Task
from intercode.tasks.sources.python_tests import CallCase, StdinCase, TestSpec
from intercode.tasks.sources.rows import Row, read_rows, read_text

PARTS = ("train", "test", "intercode")
ALTERNATIVES = 3
"""How many further solutions are kept: upstream has up to hundreds for one problem."""

LIBRARY = """\
import bisect, collections, copy, functools, heapq, itertools, math, operator, random, re, string
from bisect import *
from collections import *
from functools import *
from heapq import *
from itertools import *
from math import ceil, comb, factorial, floor, gcd, inf, isqrt, log, log2, log10, pi, sqrt
from typing import *
"""
"""What the sites that the problems come from import for a solver."""


def load(folder: Path, parts: Iterable[str] = ("test",)) -> Dataset:
    parts = tuple(parts)
    tasks = [task for part in parts for task in _part(folder, part)]
    return Dataset(
        name="apps" if parts == ("test",) else f"apps:{','.join(parts)}",
        tasks=labelled(tasks, "apps"),
        description="APPS: contest problems with programs or functions as answers.",
        source="https://github.com/hendrycks/apps",
        licence="MIT",
    )


def _part(folder: Path, part: str) -> list[Task]:
    if part == "intercode":
        return [_of_row(row, n) for n, row in enumerate(read_rows(folder / "ic_apps.json"))]
    problems = sorted(path.parent for path in (folder / part).glob("*/question.txt"))
    if not problems:
        raise DatasetError(
            f"{folder / part}: no folders with a question.txt in them",
            remedy="unpack upstream's archive there",
        )
    return [_of_folder(problem, part, index) for index, problem in enumerate(problems)]


def _of_folder(problem: Path, part: str, index: int) -> Task:
    golds = _solutions(problem / "solutions.json")
    starter, tests = problem / "starter_code.py", problem / "input_output.json"
    code = read_text(starter) if starter.is_file() and starter.stat().st_size else ""
    labels = _object(problem / "metadata.json")
    row = Row(tests, "the tests", {})
    return _task(
        f"{part}/{problem.name}",
        instruction=_question(read_text(problem / "question.txt"), code),
        golds=golds,
        reward=_Tests(lambda: _spec(row, _object(tests), in_class=_in_class(code, *golds[:1]))),
        has_tests=tests.is_file() and tests.stat().st_size > len("{}"),
        metadata={"source": part, "index": index, **_told(labels)},
    )


def _of_row(row: Row, index: int) -> Task:
    tests, labels, golds = row.values.get("input_output"), row.values.get("meta"), row.texts("gold")
    return _task(
        f"intercode/{index}",
        instruction=row.text("query"),
        golds=golds,
        reward=_Tests(lambda: _spec(row, tests, in_class=_in_class(*golds[:1]))),
        has_tests=bool(tests),
        metadata={
            "source": row.file.name,
            "index": index,
            **_told(labels if isinstance(labels, Mapping) else {}),
        },
    )


def _task(
    name: str,
    *,
    instruction: str,
    golds: tuple[str, ...],
    reward: Mapping[str, Any],
    has_tests: bool,
    metadata: Mapping[str, Any],
) -> Task:
    lacks = {"no_gold": not golds, "no_tests": not has_tests}
    return Task(
        id=name,
        env="python",
        instruction=instruction,
        gold=golds[0] if golds else "",
        alternatives=golds[1 : 1 + ALTERNATIVES],
        reward=reward if has_tests else {},
        metadata={**metadata, "flags": tuple(flag for flag, lacking in lacks.items() if lacking)},
    )


def _question(text: str, starter: str) -> str:
    return f"{text.rstrip()}\n\nStart from:\n{starter.rstrip()}\n" if starter.strip() else text


def _in_class(*programs: str) -> bool:
    """Whether the function that is called is a method, as one of the sites wants it."""
    return any("class Solution" in program for program in programs)


def _told(labels: Mapping[str, Any]) -> dict[str, str]:
    found = {"hardness": labels.get("difficulty"), "url": labels.get("url")}
    return {key: value for key, value in found.items() if isinstance(value, str) and value}


class _Tests(Mapping[str, Any]):
    """A task's reward, read when it is first looked at."""

    def __init__(self, read: Callable[[], TestSpec]) -> None:
        self._read = read

    @cached_property
    def _mapping(self) -> dict[str, Any]:
        return self._read().to_mapping()

    def __getitem__(self, key: str) -> Any:
        return self._mapping[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._mapping)

    def __len__(self) -> int:
        return len(self._mapping)


def _spec(row: Row, tests: Any, *, in_class: bool) -> TestSpec:
    """Upstream's inputs and outputs, as cases."""
    if not isinstance(tests, Mapping):
        raise row.error("the tests are not an object", remedy="unpack the archive again")
    given, expected = tests.get("inputs"), tests.get("outputs")
    if not isinstance(given, list) or not isinstance(expected, list) or len(given) != len(expected):
        raise row.error("inputs and outputs are not two lists of one length")
    pairs = list(zip(given, expected, strict=True))
    name = tests.get("fn_name")
    if name is None:
        cases = [StdinCase(_text(row, a), _text(row, b)) for a, b in pairs]
        return TestSpec("stdin", cases=tuple(cases))
    if not isinstance(name, str) or not all(isinstance(args, list) for args in given):
        raise row.error("fn_name or the arguments of a call are damaged")
    return TestSpec(
        "call",
        entry_point=name,
        given=LIBRARY,
        cases=tuple(CallCase(tuple(args), result) for args, result in pairs),
        class_name="Solution" if in_class else None,
        unwraps=True,
    )


def _text(row: Row, value: Any) -> str:
    """Text, or a list of lines."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(line, str) for line in value):
        return "\n".join(value)
    raise row.error("an input or output is neither text nor lines")


def _solutions(path: Path) -> tuple[str, ...]:
    """Upstream's solutions; problems of the test part may have none."""
    if not path.is_file() or not path.stat().st_size:
        return ()
    found = _json(path)
    if not isinstance(found, list):
        raise DatasetError(f"{path}: not a list of solutions", remedy="unpack the archive again")
    return tuple(text for text in found if isinstance(text, str) and text.strip())


def _object(path: Path) -> Mapping[str, Any]:
    found = _json(path) if path.is_file() and path.stat().st_size else {}
    if not isinstance(found, Mapping):
        raise DatasetError(f"{path}: not an object", remedy="unpack the archive again")
    return found


def _json(path: Path) -> Any:
    try:
        return json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise DatasetError(f"{path}: not readable JSON: {error}") from None
