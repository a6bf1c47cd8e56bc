"""The bundled SQL suite keeps its promises: every gold, alternative and mistake is really run."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from functools import cache
from importlib.resources import files
from pathlib import Path
from random import Random
from typing import Any

import pytest

from intercode.errors import UsageError
from intercode.rewards.sql_order import is_ordered
from intercode.tasks.bundled import bakery, courier, library, stars
from intercode.tasks.labels import labelled
from intercode.tasks.model import Task
from intercode.tasks.registry import BUNDLED_PARTS
from intercode.tasks.sources import bundled

_TASKS = bundled.load("sql").tasks
_BY_ID = {task.id: task for task in _TASKS}
_SCRIPTS = {module.__name__.rpartition(".")[2]: module.sql for module in (
    library, courier, stars, bakery,
)}  # fmt: skip
_STEPS = 2000
"""Of a hundred thousand instructions each, after which a statement is taken to run for ever."""

_Result = list[str] | Counter[str] | dict[str, tuple[list[str], Counter[str]]]


@cache
def _pristine(name: str) -> bytes:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(_SCRIPTS[name]())
        return connection.serialize()


def _open(image: bytes) -> closing[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:")
    connection.deserialize(image)
    steps = iter(range(_STEPS))
    connection.set_progress_handler(lambda: next(steps, None) is None, 100_000)
    return closing(connection)


def _thinned(name: str, seed: int) -> bytes:
    """A copy without a third of its rows, and without what then refers to nothing."""
    draw = Random(f"{name} {seed}")
    with _open(_pristine(name)) as connection:
        tables = _tables(connection)
        for table in tables:
            for (row,) in connection.execute(f'SELECT rowid FROM "{table}"').fetchall():
                if draw.random() < 0.35:
                    connection.execute(f'DELETE FROM "{table}" WHERE rowid = ?', (row,))
        while dangling := connection.execute("PRAGMA foreign_key_check").fetchall():
            for table, row, *_ in dangling:
                connection.execute(f'DELETE FROM "{table}" WHERE rowid = ?', (row,))
        connection.commit()
        return connection.serialize()


def _tables(connection: sqlite3.Connection) -> list[str]:
    listed = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1")
    return [name for (name,) in listed]


def _state(connection: sqlite3.Connection) -> dict[str, tuple[list[str], Counter[str]]]:
    found = {}
    for table in _tables(connection):
        cursor = connection.execute(f'SELECT * FROM "{table}"')
        found[table] = ([column[0] for column in cursor.description], Counter(map(repr, cursor)))
    return found


def _outcome(task: Task, sql: str, image: bytes) -> _Result:
    """Rows, in order where the gold sorts them; or what all tables hold afterwards."""
    with _open(image) as connection:
        if task.metadata["kind"] == "state":
            connection.executescript(sql)
            return _state(connection)
        connection.execute("PRAGMA query_only = ON")
        rows = [repr(row) for row in connection.execute(sql)]
        return rows if is_ordered(task.gold, "sqlite") else Counter(rows)


@cache
def _golden(task_id: str) -> _Result:
    task = _BY_ID[task_id]
    return _outcome(task, task.gold, _pristine(task.database))


def _of_kind(kind: str) -> list[Task]:
    return [task for task in _TASKS if task.metadata["kind"] == kind]


def _rows_of(name: str) -> list[Mapping[str, Any]]:
    text = files("intercode.tasks.bundled").joinpath(f"{name}.toml").read_text("utf-8")
    return tomllib.loads(text)["task"]


def _mistakes() -> Iterator[tuple[str, int, str]]:
    for name in _SCRIPTS:
        for row in _rows_of(name):
            for number, sql in enumerate(row.get("wrong", ()), 1):
                yield row["id"], number, sql


_MISTAKES = list(_mistakes())
_by_id = pytest.mark.parametrize("task", _TASKS, ids=lambda task: task.id)


# -- the suite as a whole --------------------------------------------------------------------------


def test_at_least_ten_tasks_on_each_of_four_databases() -> None:
    counted = Counter(task.database for task in _TASKS)
    assert set(counted) == set(_SCRIPTS) == {"library", "courier", "stars", "bakery"}
    assert min(counted.values()) >= 10
    assert len(_TASKS) >= 44


def test_ids_differ_from_one_another_and_from_the_bash_tasks() -> None:
    ids = [task.id for task in (*_TASKS, *bundled.load("bash").tasks)]
    assert len(set(ids)) == len(ids)


def test_suite_is_balanced() -> None:
    hardness = Counter(task.metadata["hardness"] for task in _TASKS)
    assert set(hardness) == {"easy", "medium", "hard", "extra"}
    assert min(hardness.values()) >= 8
    assert {task.metadata["kind"] for task in _TASKS} == {"answer", "state"}
    assert 0.2 <= len(_of_kind("state")) / len(_TASKS) <= 0.35
    assert sum("ambiguous" in task.metadata["tags"] for task in _TASKS) >= 5


def test_no_flags_because_every_task_is_sound() -> None:
    assert [task.id for task in labelled(_TASKS) if not task.sound] == []


def test_no_two_tasks_have_the_same_answer() -> None:
    outcomes: list[_Result] = [_golden(task.id) for task in _TASKS]
    same = [
        (one.id, two.id)
        for place, one in enumerate(_TASKS)
        for other, two in enumerate(_TASKS[:place])
        if outcomes[place] == outcomes[other]
    ]
    assert same == []


def test_every_table_is_needed_by_some_task() -> None:
    for name in _SCRIPTS:
        golds = " ".join(task.gold for task in _TASKS if task.database == name)
        with _open(_pristine(name)) as connection:
            unused = [t for t in _tables(connection) if not re.search(rf"\b{t}\b", golds)]
        assert unused == [], name


def test_every_database_has_an_empty_table_and_thousands_of_rows_at_most() -> None:
    for name in _SCRIPTS:
        with _open(_pristine(name)) as connection:
            sizes = {table: rows.total() for table, (_, rows) in _state(connection).items()}
        assert list(sizes.values()).count(0) == 1, name
        assert 500 < sum(sizes.values()) < 5000, name


def test_the_plain_name_means_all_parts() -> None:
    whole = bundled.load()
    parts = [bundled.load(part) for part in BUNDLED_PARTS]
    assert list(whole) == [task for part in parts for task in part]
    assert set(whole.file_systems) == {task.file_system for task in whole} - {None}
    assert set(whole.databases) == {task.database for task in whole} - {None}
    assert whole.of_kind("sql").tasks == bundled.load("sql").tasks
    assert {task.env for task in bundled.load("sql")} == {"sql"}


def test_unknown_part_is_named() -> None:
    with pytest.raises(UsageError, match="'cobol'"):
        bundled.load("cobol")


# -- the databases ---------------------------------------------------------------------------------


def test_loading_makes_no_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTERCODE_CACHE", str(tmp_path / "cache"))
    dataset = bundled.load("sql")
    assert not (tmp_path / "cache").exists()
    script = dataset.databases["stars"].script
    assert script is not None
    assert list((tmp_path / "cache" / "databases").iterdir()) == [script]
    assert script.read_text("utf-8") == stars.sql()


def test_digest_is_the_same_wherever_the_cache_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digests = set()
    for folder in ("one", "two"):
        monkeypatch.setenv("INTERCODE_CACHE", str(tmp_path / folder))
        digests.add(bundled.load("sql").digest)
    assert len(digests) == 1


def test_scripts_do_not_depend_on_the_order_of_hashes() -> None:
    program = (
        "import sys; from intercode.tasks.bundled import bakery, courier, library, stars;"
        "sys.stdout.buffer.write('\\0'.join(m.sql() for m in (library, courier, stars, bakery))"
        ".encode())"
    )
    made = {
        subprocess.run(
            [sys.executable, "-c", program], env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True, check=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert made == {"\0".join(make() for make in _SCRIPTS.values()).encode()}


@pytest.mark.parametrize("name", _SCRIPTS)
def test_engines_read_from_the_script_what_sqlite_does(name: str) -> None:
    from intercode.engines.read import from_script

    content = from_script(_SCRIPTS[name](), "sqlite", name=name)
    with _open(_pristine(name)) as connection:
        assert {
            table.name: ([column.name for column in table.columns], Counter(map(repr, table.rows)))
            for table in content.tables
        } == _state(connection)


@pytest.mark.parametrize("name", _SCRIPTS)
def test_what_the_schema_declares_holds(name: str) -> None:
    """Orphans stand only where no reference is declared, so that stricter engines take the data;
    and values are of their columns' declared kinds."""
    with _open(_pristine(name)) as connection:
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        for table in _tables(connection):
            for _, column, declared, *_ in connection.execute(f"PRAGMA table_info('{table}')"):
                found = {
                    kind
                    for (kind,) in connection.execute(
                        f'SELECT DISTINCT typeof("{column}") FROM "{table}"'
                    )
                } - {"null"}
                kind = {"INTEGER": "integer", "REAL": "real"}.get(declared, "text")
                assert found <= {kind}, (table, column)
                if length := re.fullmatch(r"VARCHAR\((\d+)\)", declared):
                    (longest,) = connection.execute(
                        f'SELECT MAX(LENGTH("{column}")) FROM "{table}"'
                    ).fetchone()
                    assert (longest or 0) <= int(length[1]), (table, column)


# -- every task ------------------------------------------------------------------------------------


@_by_id
def test_gold_cannot_be_guessed(task: Task) -> None:
    outcome = _golden(task.id)
    with _open(_pristine(task.database)) as connection:
        before = _state(connection)
    if task.metadata["kind"] == "state":
        assert outcome != before
        return
    counted = Counter(outcome)
    assert 2 <= counted.total() <= 60
    assert counted not in [rows for _, rows in before.values()]


@_by_id
def test_instruction_says_whether_order_counts(task: Task) -> None:
    if task.metadata["kind"] == "state":
        return
    ordered = is_ordered(task.gold, "sqlite")
    assert ordered == ("order" in task.metadata["tags"])
    assert ordered != task.instruction.endswith("Any order.")
    assert all(is_ordered(other, "sqlite") == ordered for other in task.alternatives)


@_by_id
def test_instruction_says_which_columns_are_wanted(task: Task) -> None:
    if task.metadata["kind"] == "answer":
        assert re.search(r"\bColumns?: ", task.instruction)


@_by_id
def test_alternatives_agree(task: Task) -> None:
    assert task.alternatives
    for other in task.alternatives:
        assert other != task.gold
        assert _outcome(task, other, _pristine(task.database)) == _golden(task.id)


@_by_id
def test_alternatives_agree_on_other_data(task: Task) -> None:
    for seed in range(3):
        image = _thinned(task.database, seed)
        wanted = _outcome(task, task.gold, image)
        for other in task.alternatives:
            assert _outcome(task, other, image) == wanted, seed


@_by_id
def test_only_tasks_that_make_tables_may_do_so(task: Task) -> None:
    makes = "CREATE TABLE" in task.gold
    assert task.limits == ({"policy": "ddl"} if makes else {})


@pytest.mark.parametrize(
    ("task_id", "sql"),
    [pytest.param(task_id, sql, id=f"{task_id}-{n}") for task_id, n, sql in _MISTAKES],
)
def test_tempting_mistakes_give_something_else(task_id: str, sql: str) -> None:
    task = _BY_ID[task_id]
    assert _outcome(task, sql, _pristine(task.database)) != _golden(task_id)


def test_every_task_has_a_mistake_to_be_made() -> None:
    assert {task_id for task_id, _, _ in _MISTAKES} == {task.id for task in _TASKS}
