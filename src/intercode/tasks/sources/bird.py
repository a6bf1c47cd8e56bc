"""BIRD: questions over large databases as they are found, each with a hint (its *evidence*).

Four sets: InterCode's selection over three databases, the development set, and the mini-dev set
with golds in three dialects. Golds of the first two are SQLite's. The evidence stays apart from the
instruction, in the task's metadata: whether an agent is shown it is the environment's business.

BIRD's databases (1.4 GB) come from its own site, as ``dev_databases/DB/DB.sqlite``, and for the
other dialects of mini-dev as one dump each that holds all eleven. They are looked for beside the
tasks and in the folders that BIRD's archives unpack to.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from intercode.tasks.labels import labelled
from intercode.tasks.model import Database, Dataset, Task
from intercode.tasks.sources.databases import (
    database_name,
    databases_of,
    first_file,
    sql_task,
    sqlite_file,
)
from intercode.tasks.sources.rows import Row, read_rows

LICENCE = "CC BY-SA 4.0"
SITE = "https://bird-bench.github.io"

DEV_FILES = ("dev.json", "dev_jar.json")
DIALECTS = {"sqlite": "sqlite", "mysql": "mysql", "postgresql": "postgres"}
"""The dialects of mini-dev as its files call them, and as InterCode does."""

_REMEDY = f"unpack dev_databases of BIRD's archive ({SITE}) there"


def load(folder: Path) -> Dataset:
    """InterCode's selection: ids are positions in ``ic_bird.json``."""
    dump = folder / "ic_bird_dbs.sql"

    def database(name: str) -> Database:
        file = _sqlite(name, folder)
        if not file.is_file() and dump.is_file():
            return Database(name, script=dump, script_dialect="mysql", section=name)
        return Database(name, sqlite=file, remedy=f"{_REMEDY}, or put InterCode's {dump.name}")

    tasks = _tasks(folder / "ic_bird.json", "query", "db", ("gold",))
    return Dataset(
        name="bird",
        tasks=labelled(tasks, "bird"),
        databases=databases_of(tasks, database),
        description="InterCode's BIRD: questions with hints over three databases.",
        source="https://github.com/princeton-nlp/intercode",
        licence=LICENCE,
    )


def load_dev(folder: Path) -> Dataset:
    """The development set: ids are positions, which are BIRD's ``question_id`` too."""
    file = first_file(*(folder / name for name in DEV_FILES))
    tasks = _tasks(file, "question", "db_id", ("SQL", "sql"))
    return Dataset(
        name="bird-dev",
        tasks=labelled(tasks, "bird-dev"),
        databases=databases_of(
            tasks, lambda name: Database(name, sqlite=_sqlite(name, folder), remedy=_REMEDY)
        ),
        description="BIRD's development set: questions with hints over 11 databases.",
        source=SITE,
        licence=LICENCE,
    )


def load_mini(folder: Path, parts: Iterable[str] = ("sqlite",)) -> Dataset:
    """Mini-dev in one of `DIALECTS`: ids name the dialect and the position in its file."""
    (part,) = parts
    tasks = _tasks(
        folder / f"mini_dev_{part}.json", "question", "db_id", ("SQL", "sql"), prefix=f"{part}/"
    )
    return Dataset(
        name=f"bird-mini:{part}",
        tasks=labelled(tasks, "bird-mini"),
        databases=databases_of(tasks, lambda name: _mini(name, part, folder)),
        description="BIRD's mini-dev: 500 questions, with golds in three dialects.",
        source="https://github.com/bird-bench/mini_dev",
        licence=LICENCE,
    )


def _tasks(
    file: Path, question: str, database: str, golds: tuple[str, ...], *, prefix: str = ""
) -> list[Task]:
    return [
        sql_task(
            f"{prefix}{index}",
            row.text(question),
            row.text(next((field for field in golds if field in row.values), golds[0])),
            database_name(row, database),
            {
                "source": row.file.name,
                "index": index,
                "question_id": row.word("question_id"),
                "hardness": row.word("difficulty"),
                "evidence": _evidence(row),
            },
        )
        for index, row in enumerate(read_rows(file))
    ]


def _evidence(row: Row) -> str | None:
    value = row.values.get("evidence")
    return row.text("evidence") if value not in (None, "") else None


def _mini(name: str, part: str, folder: Path) -> Database:
    dialect = DIALECTS[part]
    file = _sqlite(name, folder)
    if dialect == "sqlite":
        return Database(name, sqlite=file, remedy=_REMEDY)
    inside = Path(f"MINIDEV_{part}", "BIRD_dev.sql")
    dump = first_file(folder / inside, folder.parent / inside)
    if dump.is_file():
        return Database(name, dialect=dialect, script=dump, script_dialect=dialect)
    return Database(name, dialect=dialect, sqlite=file, remedy=f"{_REMEDY}, or put {inside}")


def _sqlite(name: str, folder: Path) -> Path:
    """The development set's databases serve all; mini-dev unpacks the same beside its own tasks."""
    homes = (folder, folder.parent)
    inner = ("dev_databases", "dev/dev_databases", "dev_20240627/dev_databases",
             "mini_dev/dev_databases", "MINIDEV/dev_databases",
             "minidev/MINIDEV/dev_databases")  # fmt: skip
    return sqlite_file(name, *(home / path for home in homes for path in inner))
