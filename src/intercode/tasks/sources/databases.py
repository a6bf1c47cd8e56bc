"""What the loaders of SQL datasets share: where a task's database lies, and what is known of it.

Loaders only name files; nothing here looks into one. A database whose file is not here is named all
the same, so that a dataset can be listed and read, and says at play what is missing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from intercode.tasks.model import Database, Task
from intercode.tasks.sources.rows import Row

Schema = Mapping[str, Sequence[str]]
"""Tables with the names of their columns."""

_NOT_IN_A_NAME = re.compile(r'[/\\:*?"<>|\x00-\x1f]|^\.')


def database_name(row: Row, field: str) -> str:
    """The name of a task's database, fit to be that of a file too."""
    name = row.text(field)
    if _NOT_IN_A_NAME.search(name):
        raise row.error(f"{field}: {name!r} cannot be the name of a database")
    return name


def first_file(*candidates: Path) -> Path:
    """The first that is there; else the first, which is where the file belongs."""
    return next((path for path in candidates if path.is_file()), candidates[0])


def sqlite_file(name: str, *folders: Path) -> Path:
    """``NAME/NAME.sqlite`` in the first folder that has it, as Spider and BIRD lay them out."""
    return first_file(*(folder / name / f"{name}.sqlite" for folder in folders))


def databases_of(tasks: Iterable[Task], database: Callable[[str], Database]) -> dict[str, Database]:
    """``database(name)`` for every database that the tasks name, by name."""
    names = {task.database for task in tasks if task.database is not None}
    return {name: database(name) for name in sorted(names)}


def schema(row: Row, field: str) -> Schema | None:
    """An optional field with a list of columns for each table."""
    value = row.values.get(field)
    if value is None:
        return None
    if not isinstance(value, dict) or not all(
        isinstance(columns, list) and all(isinstance(column, str) for column in columns)
        for columns in value.values()
    ):
        raise row.error(
            f"{field} is not a list of columns for each table",
            remedy=f'write "{field}": {{"TABLE": ["COLUMN", …], …}} or leave it out',
        )
    return value


def sql_task(
    task_id: str, instruction: str, gold: str, database: str, metadata: Mapping[str, object]
) -> Task:
    """A task whose metadata leaves out what its row does not say."""
    known = {name: value for name, value in metadata.items() if value not in (None, "")}
    return Task(
        task_id, "sql", instruction, gold, database=database,
        metadata={**known, "database": database},
    )  # fmt: skip
