"""What a task is: frozen, serialisable data, apart from anything that runs it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from io import BufferedReader
from pathlib import Path
from typing import Any

from intercode.errors import DatasetError, UsageError


@dataclass(frozen=True)
class FileSystem:
    """The files a task starts from, laid over the base image.

    ``tar`` is unpacked at ``/`` (owners as in the archive, which is root for all bundled and
    upstream ones); then each command of ``setup`` is run once, as root, without a network. ``env``
    are variables that every process finds, ``cwd`` is where an agent starts.
    """

    name: str
    tar: Path | None = None
    setup: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    cwd: str = "/"

    @property
    def digest(self) -> str:
        """Of the content, not of the path: two copies of one archive are one file system."""
        body = self.tar.read_bytes() if self.tar else b""
        parts = [hashlib.sha256(body).hexdigest(), list(self.setup), list(self.env)]
        return digest_of(parts if self.cwd == "/" else [*parts, self.cwd])


DIALECTS = ("sqlite", "mysql", "postgres", "duckdb")
"""Dialects of SQL that there are engines for."""


@dataclass(frozen=True)
class Database:
    """The data that a SQL task asks about.

    It comes from a SQLite file (``sqlite``), or from a script of CREATE TABLE and INSERT statements
    (``script``, a dump for instance) written in ``script_dialect``; where the script makes several
    databases, ``section`` is the one that is meant. ``dialect`` is what the tasks' golds are
    written in, and what an agent is told to write.

    A published dataset may be here without its databases: then the path is where the file belongs,
    and ``remedy`` how to get it. Without a path, the database is nowhere that InterCode can reach.
    """

    name: str
    dialect: str = "sqlite"
    sqlite: Path | None = None
    script: Path | None = None
    script_dialect: str = "sqlite"
    section: str | None = None
    remedy: str | None = None

    @property
    def file(self) -> Path | None:
        return self.sqlite or self.script

    @property
    def present(self) -> bool:
        return self.file is not None and self.file.is_file()

    def require(self) -> Path:
        """The file that holds the data, looked at no further than its first bytes.

        :raises DatasetError: it is not here, or is plainly something else.
        """
        if self.file is None:
            raise DatasetError(
                f"database {self.name!r} has no file: its tasks are for {self.dialect}",
                remedy=self.remedy,
            )
        if not self.present:
            raise DatasetError(
                f"database {self.name!r} is not here: there is no file {self.file}",
                remedy=self.remedy,
            )
        with _opened(self.file) as file:
            head = file.read(len(_LFS_HEAD))
        if head == _LFS_HEAD:
            raise DatasetError(
                f"{self.file} is a pointer of Git LFS, not the file itself",
                remedy="git lfs pull, in the repository it comes from",
            )
        if not head or (self.sqlite and not head.startswith(_SQLITE_HEAD)):
            is_what = "is not a SQLite database" if head else "is empty"
            raise DatasetError(f"{self.file} {is_what}", remedy=self.remedy or "copy it again")
        return self.file

    @property
    def digest(self) -> str:
        """Of the content, not of the path; that of a database that is not here has no content."""
        body = ""
        if self.file is not None and self.present:
            with _opened(self.file) as file:
                body = hashlib.file_digest(file, "sha256").hexdigest()
        return digest_of([self.name, self.dialect, body, self.section])


@contextmanager
def _opened(path: Path) -> Iterator[BufferedReader]:
    try:
        with path.open("rb") as file:
            yield file
    except OSError as error:
        raise DatasetError(f"{path} cannot be read: {error.strerror}") from error


_SQLITE_HEAD = b"SQLite format 3\0"
_LFS_HEAD = b"version https://git-lfs.github.com/spec/"


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
    def place(self) -> str | None:
        """The file system or database that it starts from."""
        return self.file_system or self.database

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
    """Tasks in their published order, with the file systems and databases they start from.

    ``whole`` are the tasks of the dataset that this one was selected from: its own, if none.
    """

    name: str
    tasks: tuple[Task, ...]
    file_systems: Mapping[str, FileSystem] = field(default_factory=dict)
    databases: Mapping[str, Database] = field(default_factory=dict)
    description: str = ""
    source: str = ""
    licence: str = ""
    whole: tuple[Task, ...] = ()

    def __post_init__(self) -> None:
        if not self.whole:
            object.__setattr__(self, "whole", self.tasks)
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

    def of_kind(self, kind: str) -> Dataset:
        """The tasks whose ``env`` it is; the same object where that is all."""
        tasks = tuple(task for task in self.tasks if task.env == kind)
        return self if len(tasks) == len(self.tasks) else replace(self, tasks=tasks)

    def golds_on(self, database: str) -> tuple[str, ...]:
        """All golds on a database, those of tasks that were not selected too: what is made of them
        does not depend on which tasks are played."""
        return self._golds_on.get(database, ())

    @cached_property
    def _golds_on(self) -> Mapping[str, tuple[str, ...]]:
        found: dict[str, list[str]] = {}
        for task in self.whole:
            if task.database is not None:
                found.setdefault(task.database, []).extend((task.gold, *task.alternatives))
        return {name: tuple(golds) for name, golds in found.items()}

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
