"""What a task is: frozen, serialisable data, apart from anything that runs it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from intercode.errors import DatasetError, UsageError


@dataclass(frozen=True)
class FileSystem:
    """The files a task starts from, laid over the base image.

    ``tar`` is unpacked at ``/`` (owners as in the archive, which is root for all bundled and
    upstream ones); then each command of ``setup`` is run once, as root, without a network. ``env``
    are variables that every process finds.
    """

    name: str
    tar: Path | None = None
    setup: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()

    @property
    def digest(self) -> str:
        """Of the content, not of the path: two copies of one archive are one file system."""
        body = self.tar.read_bytes() if self.tar else b""
        return digest_of([hashlib.sha256(body).hexdigest(), list(self.setup), list(self.env)])


@dataclass(frozen=True)
class Database:
    """The data that a SQL task asks about.

    It comes from a SQLite file (``sqlite``), or from a script of CREATE TABLE and INSERT statements
    (``script``, a dump for instance) written in ``script_dialect``; where the script makes several
    databases, ``section`` is the one that is meant. ``dialect`` is what the tasks' golds are
    written in, and what an agent is told to write.
    """

    name: str
    dialect: str = "sqlite"
    sqlite: Path | None = None
    script: Path | None = None
    script_dialect: str = "sqlite"
    section: str | None = None

    @property
    def digest(self) -> str:
        """Of the content, not of the path."""
        file = self.sqlite or self.script
        body = hashlib.sha256(file.read_bytes()).hexdigest() if file else ""
        return digest_of([self.name, self.dialect, body, self.section])


@dataclass(frozen=True)
class Task:
    """One thing to do.

    ``gold`` is an action that does it; it never enters the agent's sandbox. ``alternatives`` are
    further golds, where the dataset has them. ``file_system`` names an entry of the dataset's
    ``file_systems`` (None: the bare base image), ``database`` one of its ``databases``.
    ``metadata`` holds what reports group by (``hardness``, ``tags``, ``source``, …) and ``flags``:
    known reasons to distrust the task.
    """

    id: str
    env: str
    instruction: str
    gold: str
    alternatives: tuple[str, ...] = ()
    file_system: str | None = None
    database: str | None = None
    setup: tuple[str, ...] = ()
    assets: Mapping[str, str] = field(default_factory=dict)
    reward: Mapping[str, Any] = field(default_factory=dict)
    limits: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def flags(self) -> tuple[str, ...]:
        """Why this task's score may mean little: ``clock``, ``host``, ``network``, …"""
        return tuple(self.metadata.get("flags", ()))

    @property
    def sound(self) -> bool:
        return not self.flags

    @property
    def content_hash(self) -> str:
        """16 hexadecimal digits over everything that decides observations and rewards."""
        parts = [
            self.env, self.instruction, self.gold, list(self.alternatives), self.file_system,
            list(self.setup), dict(self.assets), dict(self.reward), dict(self.limits),
        ]  # fmt: skip
        return digest_of(parts if self.database is None else [*parts, self.database])

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id, "env": self.env, "instruction": self.instruction, "gold": self.gold,
            "alternatives": list(self.alternatives), "file_system": self.file_system,
            "database": self.database, "setup": list(self.setup), "assets": dict(self.assets),
            "reward": dict(self.reward), "limits": dict(self.limits),
            "metadata": dict(self.metadata),
        }  # fmt: skip


@dataclass(frozen=True)
class Dataset(Sequence[Task]):
    """Tasks in their published order, with the file systems they start from."""

    name: str
    tasks: tuple[Task, ...]
    file_systems: Mapping[str, FileSystem] = field(default_factory=dict)
    databases: Mapping[str, Database] = field(default_factory=dict)
    description: str = ""
    source: str = ""
    licence: str = ""

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for task in self.tasks:
            if task.id in seen:
                raise DatasetError(f"dataset {self.name!r}: two tasks have the id {task.id!r}")
            seen.add(task.id)
            if task.file_system is not None and task.file_system not in self.file_systems:
                raise DatasetError(
                    f"dataset {self.name!r}, task {task.id!r}: unknown file system "
                    f"{task.file_system!r}"
                )
            if task.database is not None and task.database not in self.databases:
                raise DatasetError(
                    f"dataset {self.name!r}, task {task.id!r}: unknown database {task.database!r}"
                )

    def __len__(self) -> int:
        return len(self.tasks)

    def __iter__(self) -> Iterator[Task]:
        return iter(self.tasks)

    def __getitem__(self, key: Any) -> Any:
        """A task by its position or its id; a slice gives a tuple of tasks."""
        if not isinstance(key, str):
            return self.tasks[key]
        for task in self.tasks:
            if task.id == key:
                return task
        raise UsageError(
            f"dataset {self.name!r} has no task {key!r}",
            remedy=f"intercode data info {self.name} --tasks",
        )

    @property
    def digest(self) -> str:
        return digest_of(
            [[t.id, t.content_hash] for t in self.tasks]
            + sorted([n, f.digest] for n, f in self.file_systems.items())
            + sorted([n, d.digest] for n, d in self.databases.items())
        )

    def select(
        self,
        ids: Sequence[str] | None = None,
        *,
        limit: int | None = None,
        sound_only: bool = False,
    ) -> Dataset:
        """The same dataset with fewer tasks; ``ids`` are ids or positions (``"3"``, ``"0-9"``).

        :raises UsageError: an id that is not there.
        """
        tasks = self.tasks if ids is None else tuple(self._named(ids))
        if sound_only:
            tasks = tuple(t for t in tasks if t.sound)
        return replace(self, tasks=tasks[:limit])

    def _named(self, ids: Sequence[str]) -> Iterator[Task]:
        by_id = {t.id: t for t in self.tasks}
        for name in ids:
            if name in by_id:
                yield by_id[name]
                continue
            first, dash, last = name.partition("-")
            if first.isdigit() and (last.isdigit() or not dash):
                low, high = int(first), int(last or first)
                if low <= high < len(self.tasks):
                    yield from self.tasks[low : high + 1]
                    continue
            raise UsageError(
                f"dataset {self.name!r} has no task {name!r}",
                remedy=f"ids are listed by: intercode data info {self.name} --tasks",
            )


def digest_of(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]
