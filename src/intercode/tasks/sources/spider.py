"""Spider: 1,034 questions over 20 databases, as InterCode poses them and as Spider publishes them.

InterCode's golds are MySQL, its databases one MySQL dump, whose rows are not all of Spider's: what
was measured there does not hold here, and the other way round. Spider's own are SQLite.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from intercode.errors import DatasetError
from intercode.tasks.labels import labelled
from intercode.tasks.model import Database, Dataset, Task
from intercode.tasks.sources.databases import (
    Schema,
    database_name,
    databases_of,
    schema,
    sql_task,
    sqlite_file,
)
from intercode.tasks.sources.rows import Row, read_rows
from intercode.tasks.sources.spider_hardness import hardness

LICENCE = "CC BY-SA 4.0"


def load(folder: Path) -> Dataset:
    """InterCode's selection: ids are positions in ``ic_spider_dev.json``."""
    file, dump = folder / "ic_spider_dev.json", folder / "ic_spider_dbs.sql"
    tasks = [_intercode_task(row, index) for index, row in enumerate(read_rows(file))]
    return Dataset(
        name="spider",
        tasks=labelled(tasks, "spider"),
        databases=databases_of(
            tasks,
            lambda name: Database(
                name, dialect="mysql", script=dump, script_dialect="mysql", section=name,
                remedy="intercode data fetch spider",
            ),
        ),
        description="InterCode's Spider: questions over 20 MySQL databases.",
        source="https://github.com/princeton-nlp/intercode",
        licence=LICENCE,
    )  # fmt: skip


def _intercode_task(row: Row, index: int) -> Task:
    name = database_name(row, "db")
    metadata = {
        "source": row.file.name,
        "index": index,
        "hardness": row.word("hardness"),
        "schema": schema(row, "db_tables"),
    }
    return sql_task(str(index), row.text("query"), row.text("gold"), name, metadata)


@dataclass(frozen=True)
class Split:
    """Where Spider keeps one of its splits."""

    tasks: str
    tables: str = "tables.json"
    databases: str = "database"


SPLITS = {
    "dev": Split("dev.json"),
    "train_spider": Split("train_spider.json"),
    "train_others": Split("train_others.json"),
    "test": Split("test.json", "test_tables.json", "test_database"),
}


def load_upstream(folder: Path, parts: Iterable[str] = ("dev",)) -> Dataset:
    """Spider as it is published: ids name the split and the position in its file."""
    parts = tuple(parts)
    tasks: list[Task] = []
    databases: dict[str, Database] = {}
    for part in parts:
        split = SPLITS[part]
        schemas = _schemas(folder / split.tables)
        rows = read_rows(folder / split.tasks)
        found = [_upstream_task(row, part, index, schemas) for index, row in enumerate(rows)]
        places = (folder / split.databases, folder.parent / "sqlite_spider")
        databases |= databases_of(found, partial(_sqlite, places=places))
        tasks += found
    return Dataset(
        name="spider-upstream" if parts == ("dev",) else f"spider-upstream:{','.join(parts)}",
        tasks=labelled(tasks, "spider-upstream"),
        databases=databases,
        description="Spider as it is published, over SQLite databases.",
        source="https://yale-lily.github.io/spider",
        licence=LICENCE,
    )


def _sqlite(name: str, places: Iterable[Path]) -> Database:
    return Database(
        name,
        sqlite=sqlite_file(name, *places),
        remedy="unpack Spider's own archive (https://yale-lily.github.io/spider), then "
        "intercode data fetch spider-upstream --from FOLDER",
    )


def _upstream_task(row: Row, part: str, index: int, schemas: dict[str, Schema]) -> Task:
    name = database_name(row, "db_id")
    metadata = {
        "source": row.file.name,
        "index": index,
        "hardness": row.word("hardness") or _hardness(row),
        "schema": schemas.get(name),
    }
    return sql_task(f"{part}/{index}", row.text("question"), row.text("query"), name, metadata)


def _hardness(row: Row) -> str | None:
    parsed = row.values.get("sql")
    if parsed is None:
        return None
    try:
        return hardness(parsed)
    except ValueError as error:
        raise row.error(f"sql is {error}", remedy="leave the field out, or fetch again") from None


def _schemas(path: Path) -> dict[str, Schema]:
    """What ``tables.json`` says of each database; nothing where there is no such file."""
    if not path.is_file():
        return {}
    return {database_name(row, "db_id"): _columns(row) for row in read_rows(path)}


def _columns(row: Row) -> Schema:
    try:
        columns: dict[str, list[str]] = {str(n): [] for n in row.values["table_names_original"]}
        tables = list(columns.values())
        for table, column in row.values["column_names_original"]:
            if table >= 0:
                tables[table].append(str(column))
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise DatasetError(
            f"{row.file}, {row.where}: the tables and columns cannot be read ({error!r})",
            remedy="fetch it again",
        ) from None
    return columns
