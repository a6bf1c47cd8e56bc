"""The bundled puzzles as tasks. A task's gold is the flag; ``metadata["solution"]`` are the actions
that find it, for those who check tasks: like the gold they are no agent's to read."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from intercode.tasks.bundled.ctf import crypto, forensics, reversing, web
from intercode.tasks.bundled.ctf.puzzle import Puzzle
from intercode.tasks.lazy import Lazy
from intercode.tasks.model import Dataset, FileSystem, Task
from intercode.tasks.tree import materialise

PUZZLES = (*crypto.PUZZLES, *forensics.PUZZLES, *reversing.PUZZLES, *web.PUZZLES)


def load() -> Dataset:
    """All puzzles; the files of one are made when its file system is first asked for."""
    return Dataset(
        name="bundled:ctf",
        tasks=tuple(_task(puzzle) for puzzle in PUZZLES),
        file_systems=Lazy({puzzle.id: partial(_file_system, puzzle) for puzzle in PUZZLES}),
        description="Capture the Flag: ciphers, hidden things, programs to be read backwards, and "
        "servers on loopback.",
        source="InterCode",
        licence="MIT",
    )


def _task(puzzle: Puzzle) -> Task:
    return Task(
        id=puzzle.id,
        env="ctf",
        instruction=puzzle.instruction,
        gold=puzzle.flag,
        file_system=puzzle.id,
        metadata={
            "source": "bundled",
            "file_system": puzzle.id,
            "hardness": puzzle.hardness,
            "kind": puzzle.tags[0],
            "tags": list(puzzle.tags),
            "solution": puzzle.solution,
        },
    )


def _file_system(puzzle: Puzzle) -> FileSystem:
    return replace(materialise(puzzle.id, puzzle.entries()), cwd=puzzle.home)
