"""DS-1000: questions about data science libraries, each with a place to insert the answer.

A submission is text, put into the program that the question shows; upstream's test programs do
that. None of them runs without libraries: which, is in the metadata, and the flag
``needs_libraries`` says so. Some load a library's example data from the network, every time.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from intercode.tasks.labels import labelled
from intercode.tasks.model import Dataset, Task
from intercode.tasks.sources.humaneval import published
from intercode.tasks.sources.python_tests import TestSpec
from intercode.tasks.sources.rows import Row, read_rows

NAMES = ("ds1000.jsonl", "ds1000.jsonl.gz")

_IMPORT = re.compile(r"^[ \t]*(?:import|from)[ \t]+([\w., \t]+)", re.MULTILINE)
_LOADING = re.compile(r"\b(load_dataset|fetch_\w+)\(")
_PACKAGES = {
    "sklearn": "scikit-learn",
    "PIL": "pillow",
    "yaml": "pyyaml",
    "mpl_toolkits": "matplotlib",
}


def load(folder: Path) -> Dataset:
    rows = enumerate(read_rows(published(folder, NAMES)))
    return Dataset(
        name="ds1000",
        tasks=labelled([_task(row, index) for index, row in rows], "ds1000"),
        description="DS-1000: questions about seven data science libraries.",
        source="https://github.com/xlang-ai/DS-1000",
        licence="CC BY-SA 4.0",
    )


def _task(row: Row, index: int) -> Task:
    gold, program = row.text("reference_code"), row.text("code_context")
    labels = _labels(row)
    libraries = needed(program, gold)
    downloads = any(_LOADING.search(text) for text in (program, gold))
    flags = {"needs_libraries": libraries, "network": downloads}
    return Task(
        id=str(labels.get("problem_id", index)),
        env="python",
        instruction=row.text("prompt"),
        gold=gold,
        reward=TestSpec("source", tests=(program,)).to_mapping(),
        metadata={
            "source": row.file.name,
            "index": index,
            "libraries": libraries,
            "flags": tuple(flag for flag, holds in flags.items() if holds),
            **{key: labels[key] for key in ("library", "perturbation_type") if key in labels},
        },
    )


def _labels(row: Row) -> Mapping[str, Any]:
    labels = row.values.get("metadata", {})
    if not isinstance(labels, Mapping):
        raise row.error("metadata is not an object", remedy="fetch the file again")
    return labels


def needed(*programs: str) -> tuple[str, ...]:
    """The packages, by the names they are installed by, that programs import, strings in them
    included: there are programs within programs here."""
    found = set()
    for program in programs:
        for names in _IMPORT.findall(program):
            for name in names.split(" import ")[0].split(","):
                module = name.split(" as ")[0].strip().partition(".")[0]
                if module and module not in sys.stdlib_module_names:
                    found.add(_PACKAGES.get(module, module))
    return tuple(sorted(found))
