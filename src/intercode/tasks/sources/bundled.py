"""The suite that comes with InterCode: Bash tasks over three invented file systems, and SQL tasks
over four invented databases."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib.resources import files
from typing import Any, TypeVar

from intercode.errors import UsageError
from intercode.tasks.bundled import archive, bakery, courier, library, project, shop, stars
from intercode.tasks.model import Database, Dataset, FileSystem, Task
from intercode.tasks.tree import Entry, kept, materialise

PARTS = ("bash", "sql")

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

_T = TypeVar("_T")


def load(part: str | None = None) -> Dataset:
    """The tasks of one part; without one those of ``bash``. No file system and no database is made
    before somebody looks into ``file_systems`` or ``databases``.

    :raises UsageError: there is no such part.
    """
    if part not in (None, *PARTS):
        remedy = f"one of {', '.join(f'bundled:{name}' for name in PARTS)}"
        raise UsageError(f"dataset 'bundled' has no part {part!r}", remedy=remedy)
    return _sql() if part == "sql" else _bash("bundled:bash" if part else "bundled")


def _bash(name: str) -> Dataset:
    return Dataset(
        name=name,
        tasks=tuple(_bash_task(row, place) for place in _SYSTEMS for row in _rows(place)),
        file_systems=_Lazy({place: partial(_file_system, place) for place in _SYSTEMS}),
        description="Bash tasks over a shop's server, a source tree and a family's archive.",
        source="InterCode",
        licence="MIT",
    )


def _sql() -> Dataset:
    return Dataset(
        name="bundled:sql",
        tasks=tuple(_sql_task(row, place) for place in _DATABASES for row in _rows(place)),
        databases=_Lazy({place: partial(_database, place) for place in _DATABASES}),
        description="SQL tasks over the data of a library network, a courier firm, an astronomy "
        "club and a bakery.",
        source="InterCode",
        licence="MIT",
    )


class _Lazy(Mapping[str, _T]):
    """What the makers make, by name; each thing is made when it is first asked for."""

    def __init__(self, makers: Mapping[str, Callable[[], _T]]) -> None:
        self._makers = makers
        self._made: dict[str, _T] = {}

    def __getitem__(self, name: str) -> _T:
        if name not in self._made:
            self._made[name] = self._makers[name]()
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)

    def __contains__(self, name: object) -> bool:
        return name in self._makers


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
