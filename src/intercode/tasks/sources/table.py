"""A table of one's own as a dataset: ``.json``, ``.jsonl``, ``.csv`` or ``.tsv``.

Two columns are needed, ``query`` and ``gold``. What else is understood: ``id``, ``env``,
``file_system`` (or ``tar``; a path relative to the table), ``setup``, ``gold2``, ``hardness`` and
``tags``; other columns are kept in the task's metadata as ``extra``. Whatever is wrong with a table
is said with the file, the row, the field and what would mend it, so the rest of the library never
meets it.
"""

from __future__ import annotations

import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from intercode.errors import DatasetError
from intercode.tasks.labels import labelled
from intercode.tasks.model import Dataset, FileSystem, Task
from intercode.tasks.sources.rows import SUFFIXES, Row, read_rows

__all__ = ["SUFFIXES", "load"]

_COLUMNS = frozenset(
    ["query", "gold", "id", "env", "file_system", "tar", "setup", "gold2", "hardness", "tags"]
)


def load(path: Path, name: str | None = None) -> Dataset:
    """
    :raises DatasetError: the file is missing or damaged, or a row is not of the expected form.
    """
    rows = read_rows(path)
    file_systems: dict[str, FileSystem] = {}
    tasks = []
    for index, row in enumerate(rows):
        file_system = _file_system(row, path.parent)
        if file_system:
            file_systems[file_system.name] = file_system
        tasks.append(_task(row, index, path, file_system))
    _refuse_duplicates(tasks, rows)
    return Dataset(
        name=name or path.stem,
        tasks=labelled(tasks),
        file_systems=file_systems,
        description=f"Tasks read from {path.name}.",
        source=str(path),
    )


def _task(row: Row, index: int, path: Path, file_system: FileSystem | None) -> Task:
    metadata: dict[str, Any] = {"source": path.name, "index": index}
    if file_system:
        metadata["file_system"] = file_system.name
    if hardness := row.word("hardness"):
        metadata["hardness"] = hardness
    if tags := row.words("tags"):
        metadata["tags"] = tags
    if extra := {k: v for k, v in row.values.items() if k not in _COLUMNS and v not in (None, "")}:
        metadata["extra"] = extra
    return Task(
        id=row.word("id") or str(index),
        env=row.word("env") or "bash",
        instruction=row.text("query"),
        gold=row.gold(),
        alternatives=row.texts("gold2"),
        file_system=file_system.name if file_system else None,
        setup=row.texts("setup"),
        metadata=metadata,
    )


def _file_system(row: Row, folder: Path) -> FileSystem | None:
    """The archive that a row names; its path as written is the file system's name."""
    column = "tar" if row.word("tar") else "file_system"
    written = row.word(column)
    if not written:
        return None
    archive = folder / written
    if not archive.is_file():
        raise row.error(f"{column}: there is no file {written!r} beside the table")
    try:
        readable = tarfile.is_tarfile(archive)
    except OSError as error:
        raise row.error(f"{column}: {written!r} cannot be read: {error.strerror}") from error
    if not readable:
        raise row.error(
            f"{column}: {written!r} is not a tar archive",
            remedy=f"tar -cf {written} -C FOLDER .",
        )
    return FileSystem(written, tar=archive)


def _refuse_duplicates(tasks: Sequence[Task], rows: Sequence[Row]) -> None:
    first: dict[str, Row] = {}
    for task, row in zip(tasks, rows, strict=True):
        if task.id in first:
            raise DatasetError(
                f"{row.file}, {row.where}: id {task.id!r} is taken by {first[task.id].where}",
                remedy="give every row an id of its own, or leave the column out",
            )
        first[task.id] = row
