"""InterCode-ALFA: 300 reworked Bash tasks, each with two golds and a difficulty.

Upstream's images keep the script that built them at ``/``, and some golds read it. It is put there
where it was fetched; without it those tasks carry the flag ``missing_path``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from intercode.tasks.labels import labelled
from intercode.tasks.model import Dataset, FileSystem, Task
from intercode.tasks.sources.nl2bash import file_system, script_text
from intercode.tasks.sources.rows import read_rows

PARTS = ("fs_1", "fs_2", "fs_3", "fs_4", "fs_5")
HARDNESS = {"0": "easy", "1": "medium", "2": "hard"}


def load(folder: Path, parts: Iterable[str] = PARTS) -> Dataset:
    parts = tuple(parts)
    tasks: list[Task] = []
    systems: dict[str, FileSystem] = {}
    for part in parts:
        script = f"setup_nl2b_{part}.sh"
        system = file_system(folder, f"nl2bash_{part}", script=script)
        recipe = script_text(folder, script)
        if recipe is not None:
            system = replace(system, setup=(*system.setup, _writing(f"/{script}", recipe)))
        systems[system.name] = system
        lacking = None if recipe is not None else script
        tasks += _tasks(folder / f"nl2bash_{part}.json", system, part, lacking)
    return Dataset(
        name="alfa" if parts == PARTS else f"alfa:{','.join(parts)}",
        tasks=labelled(tasks, "alfa"),
        file_systems=systems,
        description="InterCode-ALFA: reworked Bash tasks with two golds each.",
        source="https://github.com/westenfelder/InterCode-ALFA",
        licence="MIT",
    )


def _tasks(path: Path, system: FileSystem, part: str, lacking: str | None) -> list[Task]:
    tasks = []
    for index, row in enumerate(read_rows(path)):
        gold = row.gold()
        metadata = {"source": path.name, "index": index, "file_system": system.name}
        if difficulty := row.word("difficulty"):
            metadata["hardness"] = HARDNESS.get(difficulty, difficulty)
        if lacking and lacking in gold:
            metadata["flags"] = ("missing_path",)
        tasks.append(
            Task(
                id=f"{part}/{index}",
                env="bash",
                instruction=row.text("query"),
                gold=gold,
                alternatives=row.texts("gold2"),
                file_system=system.name,
                metadata=metadata,
            )
        )
    return tasks


def _writing(path: str, text: str) -> str:
    """A command that writes ``text`` to ``path``, whatever is in it."""
    delimiter = "END"
    while re.search(rf"^{delimiter}$", text, re.MULTILINE):
        delimiter += "_"
    body = text.removesuffix("\n")
    return f"cat > {path} <<'{delimiter}'\n{body}\n{delimiter}\nchmod 755 {path}"
