"""A table of one's own as a dataset: ``.json``, ``.jsonl``, ``.csv`` or ``.tsv``.

Two columns are needed, ``query`` and ``gold``. What else is understood: ``id``, ``env``,
``setup``, ``gold2``, ``hardness``, ``tags`` and ``evidence`` (a hint); for Bash ``file_system`` (or
``tar``), and for SQL ``database`` (or ``db``), a SQLite file or a ``.sql`` script, with its
``dialect``. Files are named by their paths relative to the table. Other columns are kept in the
task's metadata as ``extra``. Whatever is wrong with a table is said with the file, the row, the
field and what would mend it, so the rest of the library never meets it.
"""

from __future__ import annotations

import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from intercode.errors import DatasetError
from intercode.tasks.labels import labelled
from intercode.tasks.model import DIALECTS, Database, Dataset, FileSystem, Task
from intercode.tasks.sources.rows import SUFFIXES, Row, read_rows

__all__ = ["SUFFIXES", "load"]

_COLUMNS = frozenset(
    [
        "query", "gold", "id", "env", "file_system", "tar", "database", "db", "dialect", "setup",
        "gold2", "hardness", "tags", "evidence",
    ]
)  # fmt: skip
_ALIASES = {"postgresql": "postgres", "mariadb": "mysql", "sqlite3": "sqlite"}


def load(path: Path, name: str | None = None) -> Dataset:
    """
    :raises DatasetError: the file is missing or damaged, or a row is not of the expected form.
    """
    rows = read_rows(path)
    file_systems: dict[str, FileSystem] = {}
    databases: dict[str, Database] = {}
    tasks = []
    for index, row in enumerate(rows):
        file_system = _file_system(row, path.parent)
        if file_system:
            file_systems[file_system.name] = file_system
        database = _database(row, path.parent, databases)
        if database:
            databases[database.name] = database
        tasks.append(_task(row, index, path, file_system, database))
    _refuse_duplicates(tasks, rows)
    return Dataset(
        name=name or path.stem,
        tasks=labelled(tasks),
        file_systems=file_systems,
        databases=databases,
        description=f"Tasks read from {path.name}.",
        source=str(path),
    )


def _task(
    row: Row, index: int, path: Path, file_system: FileSystem | None, database: Database | None
) -> Task:
    env = row.word("env") or ("sql" if database else "bash")
    if database and env != "sql":
        raise row.error(f"env is {env!r}, but the row names a database", remedy="leave env out")
    if env == "sql" and not database:
        raise row.error("env is 'sql', but the row names no database", remedy="add 'database'")
    metadata: dict[str, Any] = {"source": path.name, "index": index}
    if file_system:
        metadata["file_system"] = file_system.name
    if database:
        metadata["database"] = database.name
    for field in ("hardness", "evidence"):
        if value := row.word(field):
            metadata[field] = value
    if tags := row.words("tags"):
        metadata["tags"] = tags
    if extra := {k: v for k, v in row.values.items() if k not in _COLUMNS and v not in (None, "")}:
        metadata["extra"] = extra
    return Task(
        id=row.word("id") or str(index),
        env=env,
        instruction=row.text("query"),
        gold=row.gold(),
        alternatives=row.texts("gold2"),
        file_system=file_system.name if file_system else None,
        database=database.name if database else None,
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


def _database(row: Row, folder: Path, earlier: dict[str, Database]) -> Database | None:
    """The database that a row names. It is called as its file is; where another file is called so
    already, or the same one was named with another dialect, the path and dialect tell them apart.
    """
    column = "database" if row.word("database") else "db"
    written = row.word(column)
    if not written:
        return None
    dialect = _dialect(row)
    path = folder / written
    if not path.is_file():
        raise row.error(f"{column}: there is no file {written!r} beside the table")
    for name in (path.stem, f"{written}@{dialect}"):
        if path.suffix.lower() == ".sql":
            database = Database(name, dialect, script=path, script_dialect=dialect)
        else:
            database = Database(name, dialect, sqlite=path)
        if earlier.get(name, database) == database:
            break
    if database.name not in earlier:
        try:
            database.require()
        except DatasetError as error:
            problem = f"{column}: {error.args[0]}"
            raise row.error(problem, remedy="name a SQLite file or a .sql script") from None
    return database


def _dialect(row: Row) -> str:
    written = (row.word("dialect") or "sqlite").lower()
    dialect = _ALIASES.get(written, written)
    if dialect not in DIALECTS:
        raise row.error(f"dialect: {written!r} is unknown", remedy=f"one of {', '.join(DIALECTS)}")
    return dialect


def _refuse_duplicates(tasks: Sequence[Task], rows: Sequence[Row]) -> None:
    first: dict[str, Row] = {}
    for task, row in zip(tasks, rows, strict=True):
        if task.id in first:
            raise DatasetError(
                f"{row.file}, {row.where}: id {task.id!r} is taken by {first[task.id].where}",
                remedy="give every row an id of its own, or leave the column out",
            )
        first[task.id] = row
