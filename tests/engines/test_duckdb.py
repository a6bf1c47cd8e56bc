"""DuckDB, beyond what every engine promises (test_engine_conformance)."""

from __future__ import annotations

import hashlib
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from intercode.engines import conformance
from intercode.engines.base import Policy, QueryLimits, QueryResult
from intercode.engines.content import Column, Content, ForeignKey, Table
from intercode.engines.duckdb import DuckDB
from intercode.engines.duckdb.session import DuckSession
from intercode.errors import EngineError, EngineUnavailable

CONTENT = replace(conformance.CONTENT, name="shop", extra={})


@pytest.fixture(scope="module")
def engine() -> Iterator[DuckDB]:
    try:
        made = DuckDB()
    except EngineUnavailable as error:
        pytest.skip(f"needs DuckDB: {error}")
    yield made
    made.close()


@pytest.fixture
def session(engine: DuckDB) -> Iterator[DuckSession]:
    opened = engine.open(CONTENT, policy="ddl")
    yield opened
    opened.close()


def run(session: DuckSession, sql: str, **limits: float) -> QueryResult:
    return session.execute(sql, QueryLimits(**limits))[-1]  # type: ignore[arg-type]


def rows(session: DuckSession, sql: str) -> tuple[tuple[object, ...], ...]:
    result = run(session, sql)
    assert result.ok, f"{sql}: {result.error}"
    assert result.rows is not None
    return result.rows


def worker(session: DuckSession) -> int:
    rows(session, "SELECT 1")
    assert session._process is not None
    return session._process._process.pid


def files(engine: DuckDB) -> dict[str, str]:
    assert engine._folder is not None
    folder = Path(engine._folder.name)
    return {f.name: hashlib.sha256(f.read_bytes()).hexdigest() for f in folder.iterdir()}


# What is DuckDB's own


def test_its_own_ways_of_asking_work(session: DuckSession) -> None:
    assert rows(session, "FROM digits LIMIT 1") == ((0,),)
    assert len(rows(session, "SHOW TABLES")) == 4
    assert [row[0] for row in rows(session, "DESCRIBE people")] == ["id", "name", "age"]
    assert len(rows(session, "SUMMARIZE people")) == 3
    assert [row[1] for row in rows(session, "PRAGMA table_info('people')")][:2] == ["id", "name"]
    assert rows(session, "EXPLAIN SELECT 1")
    assert len(rows(session, "PIVOT people ON age USING count(*) GROUP BY name")) == 5
    assert rows(session, "SELECT current_database()") == (("shop",),)
    assert rows(session, "SELECT [1, 2], {'a': date '2020-01-01'}") == (
        ([1, 2], {"a": date(2020, 1, 1)}),
    )


def test_moments_with_a_zone_are_in_utc(session: DuckSession) -> None:
    sql = "SELECT timestamptz '2020-01-01 02:00:00+02'"
    assert rows(session, sql) == ((datetime(2020, 1, 1, tzinfo=UTC),),)
    assert rows(session, "SELECT now() > timestamptz '2020-01-01'") == ((True,),)
    assert rows(session, "SELECT now()")


def test_only_this_database_is_there(session: DuckSession) -> None:
    for before in ("SELECT 1", "CREATE TABLE fresh (a int)"):
        run(session, before)
        listed = {row[0] for row in rows(session, "SELECT database_name FROM duckdb_databases()")}
        assert listed == {"shop", "memory", "system", "temp"}
        tables = rows(session, "SELECT table_name FROM information_schema.tables")
        assert len(tables) == len(set(tables))


def test_a_sequence_may_be_used_by_what_only_reads(session: DuckSession) -> None:
    run(session, "CREATE SEQUENCE s")
    snapshot = session.snapshot()
    assert rows(session, "SELECT nextval('s')") == ((1,),)
    assert rows(session, "SELECT nextval('s')") == ((2,),)
    session.restore(snapshot)
    assert rows(session, "SELECT nextval('s')") == ((1,),)


def test_a_failure_in_a_transaction_is_rolled_back(session: DuckSession) -> None:
    results = session.execute(
        "BEGIN; DELETE FROM people; INSERT INTO digits VALUES (11), ('no number')"
    )
    assert not results[-1].ok
    assert session.changed() == {}
    assert rows(session, "SELECT count(*) FROM people") == ((5,),)


def test_a_transaction_counts_while_it_is_open(session: DuckSession) -> None:
    session.execute("BEGIN; DELETE FROM people")
    assert sorted(session.changed()) == ["people"]
    run(session, "ROLLBACK")
    assert session.changed() == {}


def test_another_schema_and_other_columns_are_changes(session: DuckSession) -> None:
    session.execute(
        "CREATE SCHEMA s; CREATE TABLE s.t AS SELECT 1 AS a; ALTER TABLE notes ADD b int"
    )
    changed = session.changed()
    assert sorted(changed) == ["notes", "s.t"]
    assert changed["s.t"] is not None
    assert changed["s.t"].rows == ((1,),)
    assert "s.t" in session.schema()


def test_rows_returned_by_a_write_are_its_result(session: DuckSession) -> None:
    assert rows(session, "DELETE FROM people WHERE id < 3 RETURNING id") == ((1,), (2,))


def test_statements_in_mysqls_words(engine: DuckDB) -> None:
    mysql = engine.open(CONTENT, dialect="mysql")
    sql = "SELECT `name`, IFNULL(age, -1) FROM people WHERE name LIKE 'a%' LIMIT 0, 5"
    assert rows(mysql, sql) == (("Ann", 31),)
    result = run(mysql, "SELECT FROM WHERE")
    assert result.error is not None
    assert result.error.startswith("You have an error in your SQL syntax")
    mysql.close()


def test_content_that_breaks_its_foreign_keys_is_held(engine: DuckDB) -> None:
    parent = Table("p", (Column("id", "int"),), ((1,),), ("id",))
    child = Table("c", (Column("p", "int"),), ((7,),), (), (ForeignKey(("p",), "p", ("id",)),))
    opened = engine.open(Content("broken", "mysql", (child, parent)))
    assert rows(opened, "SELECT p FROM c") == ((7,),)
    opened.close()


def test_content_that_cannot_be_held_is_an_error(engine: DuckDB) -> None:
    twice = Table("t", (Column("id", "int"),), ((1,), (1,)), ("id",))
    with pytest.raises(EngineError, match="twice: DuckDB cannot hold it"):
        engine.open(Content("twice", "mysql", (twice,)))


def test_text_that_is_no_unicode_is_held(engine: DuckDB) -> None:
    odd = Table("t", (Column("a", "text"),), (("caf\udce9",),))
    opened = engine.open(Content("odd", "sqlite", (odd,)))
    assert rows(opened, "SELECT a FROM t") == (("caf\ufffd",),)
    opened.close()


# What is hostile

FORBIDDEN = [
    "ATTACH '/tmp/x.duckdb'", "ATTACH ':memory:' AS other", "DETACH shop", "USE memory",
    "COPY people TO '/tmp/intercode-x.csv'", "COPY people FROM '/etc/passwd'",
    "COPY (SELECT 1) TO '/dev/stdout'", "COPY FROM DATABASE shop TO memory",
    "EXPORT DATABASE '/tmp/intercode-x'", "IMPORT DATABASE '/tmp'",
    "INSTALL httpfs", "LOAD httpfs", "LOAD '/tmp/x.so'", "UPDATE EXTENSIONS",
    "SET memory_limit = '100GB'", "SET threads = 64", "RESET memory_limit",
    "SET enable_external_access = true", "SET GLOBAL temp_directory = '/tmp'",
    "PRAGMA memory_limit = '100GB'", "PRAGMA enable_profiling", "SET search_path = 'memory.main'",
    "SET profiling_output = '/tmp/intercode-x'", "PRAGMA profiling_output = '/tmp/intercode-x'",
    "CREATE SECRET s (TYPE s3)", "CREATE OR REPLACE PERSISTENT SECRET s (TYPE s3)",
    "DROP SECRET s", "PREPARE p AS DELETE FROM people", "EXECUTE p", "CHECKPOINT",
    "FORCE CHECKPOINT", "CALL enable_logging()", "CALL force_checkpoint()",
    "EXPLAIN ANALYZE COPY people TO '/tmp/intercode-x.csv'",
    "EXPLAIN (FORMAT json) COPY people TO '/tmp/intercode-x.csv'",
]  # fmt: skip
FAILING = [
    "EXPLAIN ATTACH '/tmp/x.duckdb'",
    "SELECT * FROM read_csv('/etc/passwd')", "SELECT * FROM '/etc/passwd'",
    "SELECT * FROM '/etc/hosts.csv'", "SELECT content FROM read_text('/proc/self/environ')",
    "SELECT * FROM read_blob('/proc/self/mem')", "SELECT * FROM glob('/**')",
    "SELECT * FROM read_csv('https://example.org/x.csv')", "SELECT * FROM sniff_csv('/etc/passwd')",
    "CREATE TABLE x AS SELECT * FROM read_text('/etc/passwd')",
    "SELECT * FROM read_json('/etc/passwd')", "SELECT * FROM read_parquet('/etc/passwd')",
    "SELECT * FROM query('DELETE FROM people')", "SELECT * FROM enable_logging()",
    "SELECT getenv('HOME')", "SELECT * FROM sqlite_scan('/tmp/x.db', 't')",
    "SELECT * FROM worker", "SELECT * FROM sys", "INSERT INTO people SELECT * FROM worker",
    "SELECT " + "(" * 5000 + "1" + ")" * 5000,
    "SELECT 1" + " + 1" * 20_000 + " FROM nowhere",
]  # fmt: skip


@pytest.mark.parametrize("sql", FORBIDDEN)
def test_what_reaches_out_is_refused(session: DuckSession, sql: str) -> None:
    result = run(session, sql)
    assert result.refused, result
    assert session.changed() == {}
    assert not list(Path("/tmp").glob("intercode-x*"))


@pytest.mark.parametrize("sql", FAILING, ids=lambda sql: sql[:50])
def test_what_reaches_out_while_reading_fails(session: DuckSession, sql: str) -> None:
    result = run(session, sql)
    assert not result.ok
    assert "passwd" not in str(result.rows)
    assert rows(session, "SELECT count(*) FROM people") == ((5,),)


@pytest.mark.parametrize(
    ("policy", "sql"),
    [
        ("read-only", "EXPLAIN ANALYZE DELETE FROM people"),
        ("read-only", "WITH x AS (SELECT 1) INSERT INTO digits SELECT * FROM x"),
        ("read-only", "TRUNCATE people"),
        ("read-only", "CREATE TEMP TABLE t (a int)"),
        ("write", "CREATE VIEW v AS SELECT 1"),
        ("write", "CREATE MACRO m(a) AS a"),
        ("write", "COMMENT ON TABLE people IS 'x'"),
        ("write", "ALTER TABLE people ADD b int"),
        ("write", "/* CREATE TEMP */ CREATE TABLE t (a int)"),
    ],
)
def test_a_policy_sees_through_disguises(engine: DuckDB, policy: Policy, sql: str) -> None:
    opened = engine.open(CONTENT, policy=policy)
    assert run(opened, sql).refused
    assert opened.changed() == {}
    opened.close()


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT levenshtein(repeat('a', 100000), repeat('b', 100000))",
        "SELECT len(list_sort(range(15000000)))",
        "SELECT max(repeat(i::text, 1000)) FROM range(100000000) t(i)",
    ],
)
def test_what_does_not_heed_an_interruption_is_stopped(session: DuckSession, sql: str) -> None:
    run(session, "DELETE FROM people WHERE id = 1")
    began = time.monotonic()
    result = run(session, sql, timeout_s=0.3, memory_mib=2048)
    assert time.monotonic() - began < 8
    assert result.timed_out or "Out of Memory" in str(result.error), result
    # What the session did before is still done.
    assert rows(session, "SELECT count(*) FROM people") == ((4,),)
    assert sorted(session.changed()) == ["people"]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT length(repeat('x', 2000000000))",
        "SELECT len(range(300000000))",
        "SELECT string_agg(repeat('a', 1000)) FROM range(10000000)",
        "CREATE TABLE big AS SELECT repeat('a', 1000) || i FROM range(10000000) t(i)",
    ],
)
def test_memory_is_limited(session: DuckSession, sql: str) -> None:
    result = run(session, sql, memory_mib=200, timeout_s=20)
    assert "Out of Memory" in str(result.error), result
    assert rows(session, "SELECT count(*) FROM people") == ((5,),)


def test_what_a_session_leaves_outside_its_database_is_gone(engine: DuckDB) -> None:
    for statement in (
        "CREATE TABLE memory.main.left_behind AS SELECT 1 AS a",
        "CREATE TEMP TABLE left_behind AS SELECT 1 AS a",
        "CREATE TEMP VIEW left_behind AS SELECT 1 AS a",
        "CREATE TEMP MACRO left_behind() AS TABLE SELECT 1",
        "SET VARIABLE left_behind = 1",
        "BEGIN; CREATE TABLE left_behind AS SELECT 1 AS a",
    ):
        first = engine.open(CONTENT, policy="ddl")
        assert run(first, statement).ok, statement
        first.close()
        second = engine.open(CONTENT, policy="ddl")
        for where in ("left_behind", "memory.main.left_behind", "left_behind()"):
            assert not run(second, f"SELECT * FROM {where}").ok, statement
        assert rows(second, "SELECT getvariable('left_behind')") == ((None,),)
        second.close()


def test_coming_back_finds_nothing_outside_the_database_either(session: DuckSession) -> None:
    pristine = session.snapshot()
    run(session, "CREATE TABLE memory.main.x AS SELECT 1 AS a")
    one = session.snapshot()
    session.restore(pristine)
    assert not run(session, "SELECT * FROM memory.main.x").ok
    session.restore(one)
    assert rows(session, "SELECT * FROM memory.main.x") == ((1,),)


# Processes and files


def test_a_process_killed_from_outside_is_an_error_of_the_engine(engine: DuckDB) -> None:
    first = engine.open(CONTENT)
    os.kill(worker(first), signal.SIGKILL)
    with pytest.raises(EngineError):
        run(first, "SELECT 1")
    with pytest.raises(EngineError):
        run(first, "SELECT 1")
    first.close()
    second = engine.open(CONTENT)
    assert rows(second, "SELECT count(*) FROM people") == ((5,),)
    second.close()


def test_processes_are_used_again(engine: DuckDB) -> None:
    seen = set()
    for index in range(10):
        opened = engine.open(CONTENT, policy="ddl")
        run(opened, "DELETE FROM people" if index % 2 else "SELECT 1")
        seen.add(worker(opened))
        opened.close()
    assert len(seen) == 1


def test_many_episodes_leave_the_files_as_they_were_and_nothing_else() -> None:
    made = DuckDB()
    made.open(CONTENT).close()
    before = files(made)
    pids = set()
    for _ in range(30):
        opened = made.open(CONTENT, policy="ddl")
        opened.execute("DELETE FROM people; DROP TABLE digits; CREATE TABLE fresh (a int)")
        pids.add(worker(opened))
        opened.close()
    assert files(made) == before
    assert made.live() == 0
    folder = Path(made._folder.name) if made._folder else Path("/nowhere")
    made.close()
    assert not folder.exists()
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)
    with pytest.raises(EngineError):
        made.open(CONTENT)


def test_several_contents_share_the_processes(engine: DuckDB) -> None:
    for round_ in range(2):
        for number in range(6):
            table = Table("t", (Column("a", "int"),), ((number,),))
            opened = engine.open(Content(f"c{number}", "mysql", (table,)))
            assert rows(opened, "SELECT a FROM t") == ((number,),), round_
            opened.close()
