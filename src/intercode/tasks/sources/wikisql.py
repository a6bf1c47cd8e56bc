"""WikiSQL as InterCode made it: 196 questions, each over one of the tables of one MySQL database.

Its golds were put together without quotes, and most of them do not run; those that do were found by
running them, see `intercode.tasks.labels`.
"""

from __future__ import annotations

from pathlib import Path

from intercode.tasks.labels import labelled
from intercode.tasks.model import Database, Dataset
from intercode.tasks.sources.databases import database_name, databases_of, sql_task
from intercode.tasks.sources.rows import read_rows


def load(folder: Path) -> Dataset:
    """Ids are positions in ``ic_wikisql_dev.json``."""
    file, dump = folder / "ic_wikisql_dev.json", folder / "ic_wikisql_dev.sql"
    tasks = [
        sql_task(
            str(index),
            row.text("query"),
            row.text("gold"),
            database_name(row, "db"),
            {"source": file.name, "index": index},
        )
        for index, row in enumerate(read_rows(file))
    ]
    return Dataset(
        name="wikisql",
        tasks=labelled(tasks, "wikisql"),
        databases=databases_of(
            tasks,
            lambda name: Database(
                name, dialect="mysql", script=dump, script_dialect="mysql", section=name,
                remedy="intercode data fetch wikisql",
            ),
        ),
        description="InterCode's WikiSQL: questions over the tables of one MySQL database.",
        source="https://github.com/princeton-nlp/intercode",
        licence="BSD-3-Clause",
    )  # fmt: skip
