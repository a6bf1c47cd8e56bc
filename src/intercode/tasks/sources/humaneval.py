"""HumanEval: 164 functions to be written from a signature and a docstring.

The instruction is upstream's prompt. Whatever stands in it before the function that is asked for,
imports and helpers, is given to solver and tests alike.
"""

from __future__ import annotations

import re
from pathlib import Path

from intercode.errors import DatasetError
from intercode.tasks.labels import labelled
from intercode.tasks.model import Dataset, Task
from intercode.tasks.sources.python_tests import TestSpec
from intercode.tasks.sources.rows import Row, read_rows

NAMES = ("HumanEval.jsonl", "HumanEval.jsonl.gz")


def load(folder: Path) -> Dataset:
    rows = enumerate(read_rows(published(folder, NAMES)))
    return Dataset(
        name="humaneval",
        tasks=labelled([_task(row, index) for index, row in rows], "humaneval"),
        description="HumanEval: functions to be written from signature and docstring.",
        source="https://github.com/openai/human-eval",
        licence="MIT",
    )


def _task(row: Row, index: int) -> Task:
    prompt, name = row.text("prompt"), row.text("entry_point")
    spec = TestSpec(
        "check", entry_point=name, given=before(prompt, name), tests=(row.text("test"),)
    )
    return Task(
        id=row.text("task_id"),
        env="python",
        instruction=prompt,
        gold=prompt + row.text("canonical_solution"),
        reward=spec.to_mapping(),
        metadata={"source": row.file.name, "index": index},
    )


def published(folder: Path, names: tuple[str, ...]) -> Path:
    """The file, by the first of its names that is there.

    :raises DatasetError: none is.
    """
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise DatasetError(
        f"there is no {' or '.join(names)} in {folder}",
        remedy="fetch the dataset again; intercode data list says how",
    )


def before(prompt: str, name: str) -> str:
    """The text of a prompt before the function ``name``, which is its last definition."""
    starts = [found.start() for found in re.finditer(rf"^def {re.escape(name)}\b", prompt, re.M)]
    return prompt[: starts[-1]].strip("\n") if starts else ""
