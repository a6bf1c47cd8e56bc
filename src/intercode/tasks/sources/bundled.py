"""The suite that comes with InterCode: Bash tasks over three invented file systems, SQL tasks over
four invented databases, and puzzles with a flag."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.resources import files
from typing import Any

from intercode.errors import UsageError
from intercode.tasks.bundled import archive, bakery, courier, library, project, shop, stars
from intercode.tasks.lazy import Chain, Lazy
from intercode.tasks.model import Database, Dataset, FileSystem, Task
from intercode.tasks.registry import BUNDLED_APART as APART
from intercode.tasks.registry import BUNDLED_PARTS as PARTS
from intercode.tasks.sources import bundled_code, bundled_ctf, bundled_python, bundled_swe
from intercode.tasks.tree import Entry, kept, materialise

_SYSTEMS: Mapping[str, Callable[[], list[Entry]]] = {
    "shop": shop.entries,
    "project": project.entries,
    "archive": archive.entries,
}
_DATABASES: Mapping[str, Callable[[], str]] = {
    "library": library.sql,
    "courier": courier.sql,
    "stars": stars.sql,
    "bakery": bakery.sql,
}


def load(part: str | None = None) -> Dataset:
    """The tasks of one part, or all. No file system and no database is made before somebody looks
    into ``file_systems`` or ``databases``.

    :raises UsageError: there is no such part.
    """
    if part not in (None, *PARTS, *APART):
        remedy = f"one of {', '.join(f'bundled:{name}' for name in (*PARTS, *APART))}"
        raise UsageError(f"dataset 'bundled' has no part {part!r}", remedy=remedy)
    parts = [_LOAD[name]() for name in ((part,) if part else PARTS)]
    return parts[0] if part else _joined(parts)


def _joined(parts: Sequence[Dataset]) -> Dataset:
    return Dataset(
        name="bundled",
        tasks=tuple(task for part in parts for task in part),
        file_systems=Chain([part.file_systems for part in parts]),
        databases=Chain([part.databases for part in parts]),
        description=" ".join(part.description for part in parts),
        source="InterCode",
        licence="MIT",
    )


def _bash() -> Dataset:
    return Dataset(
        name="bundled:bash",
        tasks=tuple(_bash_task(row, place) for place in _SYSTEMS for row in _rows(place)),
        file_systems=Lazy({place: partial(_file_system, place) for place in _SYSTEMS}),
        description="Bash tasks over a shop's server, a source tree and a family's archive.",
        source="InterCode",
        licence="MIT",
    )


def _sql() -> Dataset:
    return Dataset(
        name="bundled:sql",
        tasks=tuple(_sql_task(row, place) for place in _DATABASES for row in _rows(place)),
        databases=Lazy({place: partial(_database, place) for place in _DATABASES}),
        description="SQL tasks over the data of a library network, a courier firm, an astronomy "
        "club and a bakery.",
        source="InterCode",
        licence="MIT",
    )


_LOAD: Mapping[str, Callable[[], Dataset]] = {
    "bash": _bash,
    "sql": _sql,
    "python": bundled_python.load,
    "ctf": bundled_ctf.load,
    "swe": bundled_swe.load,
    "code": bundled_code.load,
}


def _file_system(name: str) -> FileSystem:
    return materialise(name, _SYSTEMS[name]())


def _database(name: str) -> Database:
    script = _DATABASES[name]().encode()
    return Database(name=name, script=kept(f"database {name!r}", "databases", "sql", script))


def _rows(place: str) -> list[Mapping[str, Any]]:
    text = files("intercode.tasks.bundled").joinpath(f"{place}.toml").read_text("utf-8")
    rows: list[Mapping[str, Any]] = tomllib.loads(text)["task"]
    return rows


def _bash_task(row: Mapping[str, Any], file_system: str) -> Task:
    return Task(
        env="bash", file_system=file_system, metadata=_metadata(row, file_system=file_system),
        **_wording(row),
    )  # fmt: skip


def _sql_task(row: Mapping[str, Any], database: str) -> Task:
    """``wrong`` stays behind: the tempting mistakes are for the tests."""
    return Task(
        env="sql", database=database, metadata=_metadata(row, database=database),
        limits=row.get("limits", {}), **_wording(row),
    )  # fmt: skip


def _wording(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": row["id"],
        "instruction": " ".join(row["instruction"].split()),
        "gold": row["gold"].strip(),
        "alternatives": tuple(other.strip() for other in row.get("alternatives", ())),
    }


def _metadata(row: Mapping[str, Any], **place: str) -> dict[str, Any]:
    known = {name: row[name] for name in ("hardness", "kind", "tags")}
    return {"source": "bundled", **place, **known}
