"""A database of one's own and a table of questions about it."""

from __future__ import annotations

import csv
import sqlite3
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intercode.errors import DatasetError
from intercode.tasks.labels import labelled
from intercode.tasks.model import DIALECTS, Database, Task
from intercode.tasks.sources.table import load
from intercode.tasks.sql_flags import sql_flags


def made(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    sqlite3.connect(path).execute("CREATE TABLE item (id)").connection.close()
    return path


def questions(folder: Path, *rows: tuple[str, ...]) -> Path:
    path = folder / "questions.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


def test_a_row_that_names_a_database_is_a_question_in_sql(tmp_path: Path) -> None:
    file = made(tmp_path / "shop.sqlite")
    path = questions(
        tmp_path,
        ("query", "gold", "database", "evidence"),
        ("How many?", "SELECT count(*) FROM item", "shop.sqlite", "an item is a row"),
        ("Which?", "SELECT id FROM item", "shop.sqlite", ""),
    )

    dataset = load(path)

    assert [task.env for task in dataset] == ["sql", "sql"]
    assert [task.database for task in dataset] == ["shop", "shop"]
    assert dataset.databases == {"shop": Database("shop", sqlite=file)}
    assert dataset[0].metadata["evidence"] == "an item is a row"
    assert "extra" not in dataset[0].metadata


def test_a_script_makes_the_database_in_its_dialect(tmp_path: Path) -> None:
    (tmp_path / "shop.sql").write_text("CREATE TABLE item (id int);")
    path = questions(
        tmp_path, ("query", "gold", "db", "dialect"), ("q", "SELECT 1", "shop.sql", "PostgreSQL")
    )

    database = load(path).databases["shop"]

    assert database.script == tmp_path / "shop.sql"
    assert (database.dialect, database.script_dialect) == ("postgres", "postgres")


def test_bash_and_sql_go_together_in_one_table(tmp_path: Path) -> None:
    made(tmp_path / "shop.db")
    path = questions(
        tmp_path, ("query", "gold", "db"), ("q", "SELECT 1", "shop.db"), ("q", "ls", "")
    )

    assert [(task.env, task.database) for task in load(path)] == [("sql", "shop"), ("bash", None)]


def test_files_of_one_name_and_dialects_of_one_file_are_kept_apart(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        made(tmp_path / folder / "shop.db")
    path = questions(
        tmp_path,
        ("query", "gold", "db", "dialect"),
        ("q", "SELECT 1", "a/shop.db", ""),
        ("q", "SELECT 1", "b/shop.db", ""),
        ("q", "SELECT 1", "a/shop.db", "mysql"),
        ("q", "SELECT 1", "a/shop.db", "sqlite"),
        ("q", "SELECT 1", "b/shop.db", "sqlite"),
    )

    dataset = load(path)
    used = [dataset.databases[task.database] for task in dataset]

    assert len(dataset.databases) == 3
    assert [(d.sqlite and d.sqlite.parent.name, d.dialect) for d in used] == [
        ("a", "sqlite"), ("b", "sqlite"), ("a", "mysql"), ("a", "sqlite"), ("b", "sqlite"),
    ]  # fmt: skip


names = st.text("abcdefghijklm \u00e9'\"-_0123456789", min_size=1).filter(
    lambda name: name == name.strip() and name.strip(".")
)


@given(st.lists(names, min_size=1, max_size=5, unique=True))
def test_every_row_gets_the_database_that_it_names(stems: list[str]) -> None:
    with TemporaryDirectory() as folder:
        for stem in stems:
            made(Path(folder, f"{stem}.sqlite"))
        path = questions(
            Path(folder),
            ("query", "gold", "db"),
            *(("q", "SELECT 1", f"{stem}.sqlite") for stem in stems * 2),
        )

        dataset = load(path)

        found = [dataset.databases[task.database].require().stem for task in dataset]
        assert found == stems * 2
        assert len(dataset.databases) == len(stems)


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        (("gone.sqlite", "", ""), r"db: there is no file 'gone\.sqlite' beside the table"),
        (("text.db", "", ""), r"db: .*text\.db is not a SQLite database[\s\S]*\.sql script"),
        (("empty.sqlite", "", ""), r"db: .*empty\.sqlite is empty"),
        (("pointer.sqlite", "", ""), "pointer of Git LFS"),
        (("shop.sqlite", "oracle", ""), r"dialect: 'oracle' is unknown[\s\S]*one of sqlite"),
        (("shop.sqlite", "", "bash"), "env is 'bash', but the row names a database"),
        (("", "", "sql"), "env is 'sql', but the row names no database"),
    ],
)
def test_what_is_wrong_is_said_with_its_row(
    tmp_path: Path, row: tuple[str, ...], complaint: str
) -> None:
    made(tmp_path / "shop.sqlite")
    (tmp_path / "text.db").write_text("id,name\n1,a\n")
    (tmp_path / "empty.sqlite").touch()
    (tmp_path / "pointer.sqlite").write_text("version https://git-lfs.github.com/spec/v1\n")
    good = ("q", "SELECT 1", "shop.sqlite", "", "")
    path = questions(
        tmp_path, ("query", "gold", "db", "dialect", "env"), good, ("q", "SELECT 1", *row)
    )

    with pytest.raises(DatasetError, match=complaint) as caught:
        load(path)

    assert "questions.csv, line 3" in str(caught.value)


@pytest.mark.parametrize(
    ("gold", "flags"),
    [
        ("SELECT NOW()", ("clock",)),
        ("select current_date - 1", ("clock",)),
        ("SELECT strftime('%Y', 'now') - year FROM t", ("clock",)),
        ("SELECT datetime( )", ("clock",)),
        ("SELECT * FROM t ORDER BY RANDOM() LIMIT 1", ("random",)),
        ("SELECT version(), rand()", ("host", "random")),
        ("SELECT @@hostname", ("host",)),
        ("SELECT 'now', \"now()\", `rand()` -- now()\n/* random() */ FROM t", ()),
        ("SELECT date(day), now, random FROM t WHERE name = 'it''s now()'", ()),
        ("SELECT date(day) FROM t WHERE unix_timestamp(day) > 3", ()),
        ("INSERT INTO version (id) VALUES (1)", ()),
        ("SELECT t.now() FROM t", ()),
        ("", ()),
    ],
)
def test_golds_in_sql_give_away_clock_chance_and_server(gold: str, flags: tuple[str, ...]) -> None:
    assert sql_flags(gold) == flags
    assert labelled([Task("0", "sql", "q", gold)])[0].flags == flags


@given(st.text())
def test_any_text_can_be_read_for_flags(gold: str) -> None:
    assert set(sql_flags(gold)) <= {"clock", "host", "random"}


def test_dialects_are_those_of_the_engines() -> None:
    from intercode.engines import base

    assert DIALECTS == base.DIALECTS
