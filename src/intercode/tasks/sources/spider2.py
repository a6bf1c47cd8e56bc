"""Spider 2-lite: 547 analysts' questions for SQLite, BigQuery and Snowflake.

What runs here are the 135 for SQLite (``local…``); the others are listed, and flagged with what
they need. Upstream publishes a query for some tasks and for most only results, any one of which is
right. They are the task's ``reward``::

    {
        "result_csv": (CSV, …),         # one text for each right result, with a header
        "condition_cols": ((0, 2), …),  # for each: the columns that must agree; (): all of them
        "ignore_order": True,           # whether rows may come in another order
    }

A task whose ``gold`` is empty has nothing else to be scored by. Golds are read from
``gold_local.tar.gz`` beside the tasks or from upstream's own folder, ``evaluation_suite/gold``.
"""

from __future__ import annotations

import re
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from intercode.errors import DatasetError
from intercode.tasks.labels import labelled
from intercode.tasks.model import Database, Dataset, Task
from intercode.tasks.sources.databases import (
    database_name,
    databases_of,
    first_file,
    sql_task,
)
from intercode.tasks.sources.rows import Row, read_rows, read_text

SOURCE = "https://github.com/xlang-ai/Spider2"

_ENGINES = {"local": "sqlite", "bq": "bigquery", "ga": "bigquery", "sf": "snowflake"}
_NEEDS = {"bigquery": "needs_bigquery", "snowflake": "needs_snowflake"}
_GOLD = re.compile(r"(?:^|/)(?:sql|exec_result)/([A-Za-z0-9_]+?)(?:_([a-z]))?\.(sql|csv)$")
_GOLD_MAX_BYTES = 64 << 20


def load(folder: Path) -> Dataset:
    """Ids are upstream's ``instance_id``."""
    golds, checks = _golds(folder), _checks(folder)
    tasks = [
        _task(row, index, folder, golds, checks)
        for index, row in enumerate(read_rows(folder / "spider2-lite.jsonl"))
    ]
    dialects = {task.database: str(task.metadata["dialect"]) for task in tasks}
    return Dataset(
        name="spider2-lite",
        tasks=labelled(tasks, "spider2-lite"),
        databases=databases_of(tasks, lambda name: _database(name, dialects[name], folder)),
        description="Spider 2-lite: analysts' questions for SQLite, BigQuery and Snowflake.",
        source=SOURCE,
        licence="MIT",
    )


def _task(
    row: Row,
    index: int,
    folder: Path,
    golds: Mapping[str, str],
    checks: Mapping[str, Row],
) -> Task:
    name = row.text("instance_id")
    dialect = next((e for prefix, e in _ENGINES.items() if name.startswith(prefix)), None)
    if dialect is None:
        raise row.error(
            f"instance_id: {name!r} does not say which engine it is for",
            remedy=f"it begins with one of {', '.join(_ENGINES)}",
        )
    # Databases of one name in two services are two databases.
    database = database_name(row, "db") + ("" if dialect == "sqlite" else f"@{dialect}")
    results = tuple(text for key, text in sorted(golds.items()) if _is_result_of(name, key))
    gold = golds.get(f"{name}.sql", "").strip()
    flags = [_NEEDS[dialect]] if dialect in _NEEDS else []
    knowledge = row.word("external_knowledge")
    metadata = {
        "source": row.file.name,
        "index": index,
        "dialect": dialect,
        "external_knowledge": knowledge,
        "evidence": _knowledge(row, folder) if knowledge else None,
        "flags": (*flags, *(() if gold or results else ("no_gold",))),
        "notes": ("result_only",) if results and not gold else (),
    }
    task = sql_task(name, row.text("question"), gold, database, metadata)
    return replace(task, reward=_reward(checks.get(name), results)) if results else task


def _database(name: str, dialect: str, folder: Path) -> Database:
    if dialect != "sqlite":
        service = {"bigquery": "Google's BigQuery", "snowflake": "Snowflake"}[dialect]
        return Database(name, dialect=dialect, remedy=f"--sound-only: it is in {service} only")
    home = folder / "resource" / "databases" / "spider2-localdb"
    file = f"{name}.sqlite"
    return Database(
        name,
        sqlite=first_file(home / file, folder / "spider2-localdb" / file),
        remedy=f"unpack upstream's local_sqlite.zip there; {SOURCE} says where it is",
    )


def _is_result_of(task: str, key: str) -> bool:
    match = _GOLD.search(f"exec_result/{key}")
    return match is not None and match[1] == task and match[3] == "csv"


def _reward(check: Row | None, results: tuple[str, ...]) -> dict[str, Any]:
    """The columns are given once for all results, or once for each."""
    return {
        "result_csv": results,
        "condition_cols": _columns(check, len(results)) if check else ((),) * len(results),
        "ignore_order": check.values.get("ignore_order") is True if check else True,
    }


def _columns(check: Row, results: int) -> tuple[tuple[int, ...], ...]:
    given = check.values.get("condition_cols") or []
    if isinstance(given, list):
        each = given if given and all(isinstance(g, list) for g in given) else [given] * results
        if len(each) == results and all(type(c) is int and c >= 0 for cols in each for c in cols):
            return tuple(tuple(cols) for cols in each)
    raise check.error(
        f"condition_cols does not fit {results} results",
        remedy="write a list of column numbers, or one such list for each result",
    )


def _checks(folder: Path) -> dict[str, Row]:
    name = "spider2lite_eval.jsonl"
    file = first_file(folder / name, folder / "evaluation_suite" / "gold" / name)
    rows = read_rows(file) if file.is_file() else []
    return {row.text("instance_id"): row for row in rows}


def _golds(folder: Path) -> dict[str, str]:
    """The text of every gold query and result, by its file's name."""
    archive = folder / "gold_local.tar.gz"
    if archive.is_file():
        return dict(_from_archive(archive))
    golds = {}
    for home in (folder / "gold", folder / "evaluation_suite" / "gold"):
        for path in (*sorted(home.glob("sql/*.sql")), *sorted(home.glob("exec_result/*.csv"))):
            golds[path.name] = read_text(path)
    return golds


def _from_archive(archive: Path) -> Iterator[tuple[str, str]]:
    try:
        with tarfile.open(archive) as tar:
            for member in tar:
                if not (member.isfile() and _GOLD.search(member.name)):
                    continue
                if member.size > _GOLD_MAX_BYTES:
                    raise DatasetError(f"{archive}: {member.name} has {member.size:,} bytes")
                file = tar.extractfile(member)
                assert file is not None  # it is a file
                yield Path(member.name).name, file.read().decode("utf-8-sig")
    except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
        raise DatasetError(
            f"{archive} cannot be read as an archive: {error}", remedy="fetch or copy it again"
        ) from error
    except UnicodeDecodeError as error:
        raise DatasetError(f"{archive}: a gold in it is not UTF-8") from error


def _knowledge(row: Row, folder: Path) -> str | None:
    """The document that explains the question's terms, where it is here."""
    path = folder / "resource" / "documents" / database_name(row, "external_knowledge")
    return read_text(path) if path.is_file() else None
