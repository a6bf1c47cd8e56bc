"""The suite that comes with InterCode: Bash tasks over three invented file systems."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from importlib.resources import files
from typing import Any

from intercode.tasks.bundled import archive, project, shop
from intercode.tasks.model import Dataset, FileSystem, Task
from intercode.tasks.tree import Entry, materialise

_SYSTEMS: Mapping[str, Callable[[], list[Entry]]] = {
    "shop": shop.entries,
    "project": project.entries,
    "archive": archive.entries,
}


def load() -> Dataset:
    """All tasks; no file system is made before somebody looks into ``file_systems``."""
    return Dataset(
        name="bundled",
        tasks=tuple(task for name in _SYSTEMS for task in _tasks(name)),
        file_systems=_FileSystems(),
        description="Bash tasks over a shop's server, a source tree and a family's archive.",
        source="InterCode",
        licence="MIT",
    )


class _FileSystems(Mapping[str, FileSystem]):
    """The file systems by name; each archive is made when it is first asked for."""

    def __init__(self) -> None:
        self._made: dict[str, FileSystem] = {}

    def __getitem__(self, name: str) -> FileSystem:
        if name not in self._made:
            self._made[name] = materialise(name, _SYSTEMS[name]())
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_SYSTEMS)

    def __len__(self) -> int:
        return len(_SYSTEMS)

    def __contains__(self, name: object) -> bool:
        return name in _SYSTEMS


def _tasks(file_system: str) -> list[Task]:
    text = files("intercode.tasks.bundled").joinpath(f"{file_system}.toml").read_text("utf-8")
    return [_task(row, file_system) for row in tomllib.loads(text)["task"]]


def _task(row: Mapping[str, Any], file_system: str) -> Task:
    return Task(
        id=row["id"],
        env="bash",
        instruction=" ".join(row["instruction"].split()),
        gold=row["gold"].strip(),
        alternatives=tuple(other.strip() for other in row.get("alternatives", ())),
        file_system=file_system,
        metadata={
            "source": "bundled",
            "file_system": file_system,
            "hardness": row["hardness"],
            "kind": row["kind"],
            "tags": row["tags"],
        },
    )
