"""MBPP+ and HumanEval+: the same functions as MBPP's and HumanEval's, tried on many more inputs.

Results are compared with those of a reference solution. Two layouts are read: the one EvalPlus
releases, a row with everything for each task; and HumanEval+ as it was before that, in two files
that lean on HumanEval's own. The types that JSON has lost are recovered from the assertions that
come with the tasks, see `intercode.tasks.sources.json_values`.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from intercode.tasks.labels import labelled
from intercode.tasks.model import Dataset, Task
from intercode.tasks.sources.humaneval import NAMES as HUMANEVAL
from intercode.tasks.sources.humaneval import before, published
from intercode.tasks.sources.json_values import Shape, expression, merged, seen, shaped
from intercode.tasks.sources.python_tests import TestSpec
from intercode.tasks.sources.rows import Row, read_rows

MBPP_NAMES = ("MbppPlus.jsonl", "MbppPlus.jsonl.gz")
HUMANEVAL_NAMES = ("HumanEvalPlus.jsonl", "HumanEvalPlus.jsonl.gz")
_EARLY_INPUTS = "HumanEvalPlusInputs.jsonl"

SAME_MEMBERS = """\
def agree(expected, result, arguments):
    return isinstance(result, (list, tuple, set, frozenset)) and set(result) == set(expected)
"""
_IN_ANY_ORDER = {
    "similar_elements", "find_char_long", "common_in_nested_lists", "extract_singly", "larg_nnum",
    "intersection_array", "find_dissimilar", "Diff",
}  # fmt: skip
"""Functions of MBPP+ whose results are sets in disguise: upstream, too, lets any order pass."""

SAME_TRUTH = """\
def agree(expected, result, arguments):
    return bool(expected) == bool(result)
"""
_AS_YES_OR_NO = {"check_str", "text_match_three", "text_starta_endb"}
"""Functions of MBPP+ that may answer with a match of a pattern, or None."""

A_ROOT = """\
def agree(expected, result, arguments):
    return abs(sum(factor * result**power for power, factor in enumerate(arguments[0]))) <= 1e-4
"""
"""HumanEval/32 asks for any root of a polynomial."""


def load_mbpp(folder: Path) -> Dataset:
    rows = enumerate(read_rows(published(folder, MBPP_NAMES)))
    return Dataset(
        name="mbpp-plus",
        tasks=labelled([_released(row, index, gives=False) for index, row in rows], "mbpp-plus"),
        description="MBPP+: MBPP's functions on many more inputs.",
        source="https://github.com/evalplus/evalplus",
        licence="Apache-2.0",
    )


def load_humaneval(folder: Path) -> Dataset:
    """``folder`` is the one of the tasks, or the one above it."""
    here = folder / "humanevalplus" if (folder / "humanevalplus").is_dir() else folder
    rows = read_rows(published(here, HUMANEVAL_NAMES))
    if "task_id" in rows[0].values:
        tasks = [_released(row, index, gives=True) for index, row in enumerate(rows)]
    else:
        tasks = _early(rows, here)
    return Dataset(
        name="humaneval-plus",
        tasks=labelled(tasks, "humaneval-plus"),
        description="HumanEval+: HumanEval's functions on many more inputs.",
        source="https://github.com/evalplus/evalplus",
        licence="Apache-2.0",
    )


def _released(row: Row, index: int, *, gives: bool) -> Task:
    """``gives``: the prompt is a program that the solution continues."""
    prompt, solution = row.text("prompt"), row.text("canonical_solution")
    return _task(
        row,
        index,
        name=row.text("task_id"),
        prompt=prompt,
        gold=prompt + solution if gives else solution,
        reference=prompt + solution if gives else solution,
        entry_point=row.text("entry_point"),
        plus=_inputs(row, "plus_input"),
        gives=gives,
    )


def _early(rows: list[Row], folder: Path) -> list[Task]:
    """Rows in HumanEval's order, without prompts; the further inputs are in a file of their own."""
    prompts = read_rows(published(folder.parent / "humaneval", HUMANEVAL))
    plus = {row.word("task_id"): row for row in read_rows(folder / _EARLY_INPUTS)}
    if len(prompts) != len(rows):
        raise rows[0].error(f"{len(rows)} tasks here, {len(prompts)} in HumanEval")
    tasks = []
    for index, (row, theirs) in enumerate(zip(rows, prompts, strict=True)):
        more = plus.get(f"HumanEval_{index}")
        prompt = theirs.text("prompt")
        tasks.append(
            _task(
                row,
                index,
                name=theirs.text("task_id"),
                prompt=prompt,
                gold=prompt + row.text("reference"),
                reference=prompt + _contract(row) + row.text("reference"),
                entry_point=theirs.text("entry_point"),
                plus=_inputs(more, "inputs") if more else [],
                gives=True,
            )
        )
    return tasks


def _task(
    row: Row,
    index: int,
    *,
    name: str,
    prompt: str,
    gold: str,
    reference: str,
    entry_point: str,
    plus: list[list[Any]],
    gives: bool,
) -> Task:
    base = _inputs(row, "base_input")
    shapes = _shapes(base, row.values.get("assertion"), entry_point)
    metadata: dict[str, Any] = {"source": row.file.name, "index": index}
    if not plus:
        metadata["notes"] = ("no_plus_inputs",)
    spec = TestSpec(
        "inputs",
        entry_point=entry_point,
        given=before(prompt, entry_point) if gives else "",
        base=tuple(expression(_arguments(args, shapes)) for args in base),
        plus=tuple(expression(_arguments(args, shapes)) for args in plus),
        reference=reference,
        agree=_agreement(name, entry_point),
        atol=_tolerance(row),
    )
    return Task(
        id=name,
        env="python",
        instruction=prompt,
        gold=gold,
        reward=spec.to_mapping(),
        metadata=metadata,
    )


def _contract(row: Row) -> str:
    """Assertions about the arguments, indented as in a function's body: invalid inputs raise."""
    return "".join(row.texts("contract"))


def _agreement(name: str, entry_point: str) -> str:
    if name.startswith("Mbpp/"):
        if entry_point in _AS_YES_OR_NO:
            return SAME_TRUTH
        return SAME_MEMBERS if entry_point in _IN_ANY_ORDER else ""
    return A_ROOT if name == "HumanEval/32" else ""


def _tolerance(row: Row) -> float:
    value = row.values.get("atol", 0)
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
        raise row.error("atol is not a number of 0 or more", remedy="fetch the file again")
    return float(value)


def _inputs(row: Row, field: str) -> list[list[Any]]:
    """Lists of arguments; upstream writes ``{}`` for none."""
    value = row.values.get(field) or []
    if not isinstance(value, list) or not all(isinstance(args, list) for args in value):
        raise row.error(f"{field} is not a list of lists", remedy="fetch the file again")
    return value


def _arguments(values: list[Any], shapes: Mapping[int, Shape]) -> list[Any]:
    return [shaped(value, shapes.get(place)) for place, value in enumerate(values)]


def _shapes(base: list[list[Any]], assertion: Any, name: str) -> dict[int, Shape]:
    """The shape of each argument, as the assertions that repeat the base inputs write it."""
    calls = _calls(assertion, name) if isinstance(assertion, str) else []
    if len(calls) != len(base):
        return {}
    found: dict[int, list[Shape]] = {}
    for values, meant in zip(base, calls, strict=True):
        for place, (value, literal) in enumerate(zip(values, meant, strict=False)):
            found.setdefault(place, []).append(seen(value, literal))
    return {place: whole for place, shapes in found.items() if (whole := merged(shapes))}


def _calls(program: str, name: str) -> list[list[Any]]:
    """The arguments of every call of ``name``, in order; none if any is not a literal."""
    try:
        nodes = [
            node
            for statement in ast.parse(program).body
            for node in ast.walk(statement)
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == name
        ]
        return [[ast.literal_eval(argument) for argument in node.args] for node in nodes]
    except (SyntaxError, ValueError, RecursionError):
        return []
