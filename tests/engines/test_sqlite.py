"""The SQLite engine beyond what every engine promises."""

import gc
import hashlib
import sqlite3
import time
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from intercode.engines.base import QueryLimits
from intercode.engines.conformance import CONTENT
from intercode.engines.content import Column, Content, Table
from intercode.engines.read import from_script
from intercode.engines.sqlite import SQLite
from intercode.errors import EngineError, EngineUnavailable, UsageError


@pytest.fixture
def engine():
    engine = SQLite()
    yield engine
    assert engine.live() == 0
    engine.close()


def template_of(engine: SQLite, content: Content = CONTENT, dialect: str = "sqlite"):
    return engine._template(content, dialect)[0]


def digest(engine: SQLite, dialect: str = "sqlite") -> str:
    return hashlib.sha256(template_of(engine, dialect=dialect).image()).hexdigest()


NAMES = st.sampled_from(["people", "notes", "digits", "typed", "fresh", "t2", "v"])
STATEMENTS = st.one_of(
    st.builds("DELETE FROM {}".format, NAMES),
    st.builds("DROP TABLE IF EXISTS {}".format, NAMES),
    st.builds("CREATE TABLE {} (a int, b text)".format, NAMES),
    st.builds("CREATE TEMP TABLE {} (a int)".format, NAMES),
    st.builds("CREATE VIEW {} AS SELECT 1 AS a".format, NAMES),
    st.builds("CREATE INDEX i{0} ON {0} (1)".format, NAMES),
    st.builds("ALTER TABLE {} RENAME TO {}".format, NAMES, NAMES),
    st.builds("ALTER TABLE {} ADD COLUMN extra int".format, NAMES),
    st.builds("INSERT INTO {} DEFAULT VALUES".format, NAMES),
    st.builds("UPDATE {} SET d = 3, age = 4".format, NAMES),
    st.builds(
        "CREATE TRIGGER g AFTER INSERT ON {} BEGIN DELETE FROM {}; END".format, NAMES, NAMES
    ),
    st.sampled_from(
        [
            "BEGIN", "BEGIN EXCLUSIVE", "COMMIT", "ROLLBACK", "SAVEPOINT a", "RELEASE a",
            "ROLLBACK TO a", "VACUUM", "REINDEX", "ANALYZE", "PRAGMA user_version = 7",
            "UPDATE sqlite_master SET sql = ''", "PRAGMA writable_schema = 1",
            "PRAGMA journal_mode = DELETE", "PRAGMA page_size = 512", "DELETE FROM sqlite_master",
            "ATTACH ':memory:' AS o", "SELECT * FROM people",
            "INSERT INTO people SELECT id + 100, name, age FROM people", "PRAGMA query_only = 1",
            "PRAGMA foreign_keys = 1", "PRAGMA case_sensitive_like = 1",
            "PRAGMA recursive_triggers",
        ]
    ),
)  # fmt: skip


@settings(max_examples=150)
@given(
    st.lists(STATEMENTS, max_size=8),
    st.sampled_from(["ddl", "write", "read-only"]),
    st.sampled_from(["sqlite", "mysql"]),
)
def test_whatever_a_session_does_the_next_does_not_see(statements, policy, dialect) -> None:
    engine = ENGINE
    before = digest(engine, dialect)
    session = engine.open(CONTENT, policy=policy, dialect=dialect)
    beside = engine.open(CONTENT, dialect=dialect)
    try:
        for statement in statements:
            session.execute(statement)
        session.changed()
        assert beside.execute("SELECT count(*), sum(age) FROM people")[0].rows == FRESH[dialect]
    finally:
        session.close()
        beside.close()
    later = engine.open(CONTENT, policy="ddl", dialect=dialect)
    try:
        for table, rows in (("people", 5), ("notes", 0), ("digits", 10), ("typed", 4)):
            assert later.execute(f"SELECT count(*) FROM {table}")[0].rows == ((rows,),)
        assert set(later.schema()) == {"people", "notes", "digits", "typed"}
        assert dict(later.changed()) == {}
    finally:
        later.close()
    assert digest(engine, dialect) == before


ENGINE = SQLite()
FRESH = {
    dialect: ENGINE.open(CONTENT, dialect=dialect)
    .execute("SELECT count(*), sum(age) FROM people")[0]
    .rows
    for dialect in ("sqlite", "mysql")
}

REFUSED = [
    "ATTACH DATABASE '/tmp/x.db' AS x",
    "ATTACH ':memory:' AS x",
    "DETACH main",
    "VACUUM",
    "VACUUM INTO '/tmp/x.db'",
    "SELECT load_extension('x')",
    "SELECT fts3_tokenizer('simple')",
    "CREATE VIRTUAL TABLE x USING fts5(a)",
    "CREATE VIRTUAL TABLE x USING rtree(a, b, c)",
    "SELECT * FROM dbstat",
    "PRAGMA writable_schema = 1",
    "PRAGMA journal_mode = WAL",
    "PRAGMA temp_store_directory = '/tmp'",
    "PRAGMA max_page_count = 1",
    "PRAGMA hard_heap_limit = 1",
    "PRAGMA user_version = 1",
    "PRAGMA wal_checkpoint(TRUNCATE)",
    "PRAGMA trusted_schema = 1",
    "PRAGMA cache_size = 1",
]


@pytest.mark.parametrize("statement", REFUSED)
@pytest.mark.parametrize("policy", ["read-only", "write", "ddl"])
def test_what_reaches_beyond_the_session_is_refused(engine, statement, policy) -> None:
    session = engine.open(CONTENT, policy=policy)
    (result,) = session.execute(statement)
    session.close()
    assert result.refused, result


@pytest.mark.parametrize(
    "statement",
    [
        "PRAGMA table_info(people)",
        "SELECT name FROM pragma_table_info('people')",
        "SELECT sql FROM sqlite_master",
        "PRAGMA integrity_check",
        "EXPLAIN QUERY PLAN SELECT * FROM people",
        "SELECT json_group_array(id) FROM people",
        "SELECT count(*) FROM json_each('[1, 2]')",
    ],
)
def test_what_only_tells_is_allowed(engine, statement) -> None:
    session = engine.open(CONTENT, policy="read-only")
    (result,) = session.execute(statement)
    session.close()
    assert result.ok, result.error
    assert result.rows


LONG = "(a.d || hex(zeroblob(120000)))"
MANY = "digits a, digits b, digits c, digits d, digits e, digits f"
WIDE = "c(b) AS (SELECT randomblob(9999) UNION ALL SELECT randomblob(9999) FROM c)"
SLOW = [
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c",
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c ORDER BY -x",
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION SELECT x + 1 FROM c) SELECT sum(x) FROM c",
    f"WITH RECURSIVE {WIDE} SELECT b FROM c ORDER BY 1",
    f"SELECT sum(instr({LONG} || 'a', {LONG} || 'b')) FROM {MANY}",
    f"SELECT sum(length(replace({LONG}, '0', 'ab'))) FROM {MANY}",
    f"SELECT sum(length(trim({LONG}, '123456789'))) FROM {MANY}",
    f"SELECT sum({LONG} LIKE '%0%0%0%0%0%1') FROM {MANY}",
    f"SELECT sum({LONG} GLOB '*0*0*0*0*0*1') FROM {MANY}",
]


@pytest.mark.parametrize("statement", SLOW)
def test_a_timeout_is_kept(engine, statement) -> None:
    session = engine.open(CONTENT)
    began = time.monotonic()
    (result,) = session.execute(statement, QueryLimits(timeout_s=0.3))
    took = time.monotonic() - began
    session.close()
    assert result.timed_out, result
    assert took < 2


def test_compiling_is_bounded_too(engine) -> None:
    session = engine.open(CONTENT, policy="ddl")
    session.execute("CREATE VIEW v0 AS SELECT 1 AS a FROM digits")
    for depth in range(40):
        made = f"CREATE VIEW v{depth + 1} AS SELECT 1 AS a FROM v{depth} x, v{depth} y"
        session.execute(made)
    began = time.monotonic()
    (result,) = session.execute("SELECT * FROM v40", QueryLimits(timeout_s=0.5))
    session.close()
    assert not result.ok
    assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT zeroblob(1000000000)",
        "SELECT randomblob(1000000000)",
        "SELECT replace(hex(zeroblob(200000)), '0', hex(zeroblob(200000)))",
        "SELECT group_concat(hex(zeroblob(9999))) FROM digits a, digits b, digits c",
    ],
)
def test_a_single_value_is_bounded(engine, statement) -> None:
    session = engine.open(CONTENT)
    (result,) = session.execute(statement)
    session.close()
    assert result.error == "string or blob too big"


def test_writing_is_bounded_by_memory(engine) -> None:
    session = engine.open(CONTENT)
    source = "digits a, digits b, digits c, digits d"
    (result,) = session.execute(
        f"INSERT INTO notes SELECT a.d, hex(randomblob(5000)) FROM {source}",
        QueryLimits(memory_mib=8, timeout_s=60),
    )
    assert result.error == "database or disk is full"
    assert session.execute("SELECT count(*) FROM notes")[0].rows == ((0,),)
    session.close()


def test_text_that_is_no_unicode_is_read(engine) -> None:
    broken = Table("t", (Column("a", "TEXT"),), (("\udcffA",), ("plain",)))
    content = Content("broken", "sqlite", (broken,))
    session = engine.open(content)
    assert session.execute("SELECT a FROM t")[0].rows == (("\ufffdA",), ("plain",))
    session.execute("UPDATE t SET a = CAST(x'fe' AS TEXT)")
    assert session.changed()["t"].rows == (("\ufffd",), ("\ufffd",))
    session.close()


def test_what_a_session_left_open_is_over_with_it(engine) -> None:
    session = engine.open(CONTENT)
    session.execute("BEGIN; DELETE FROM people")
    snapshot = session.snapshot()
    session.execute("ROLLBACK")
    assert session.execute("SELECT count(*) FROM people")[0].rows == ((5,),)
    session.restore(snapshot)
    assert session.execute("SELECT count(*) FROM people")[0].rows == ((0,),)
    assert dict(session.changed())["people"].rows == ()
    session.close()


def test_temporary_tables_are_in_a_snapshot(engine) -> None:
    session = engine.open(CONTENT, policy="ddl")
    session.execute("CREATE TEMP TABLE mine (a, b); INSERT INTO mine VALUES (1, 'it''s')")
    snapshot = session.snapshot()
    session.execute("DROP TABLE mine")
    session.restore(snapshot)
    assert session.execute("SELECT * FROM mine")[0].rows == ((1, "it's"),)
    session.close()


def test_a_snapshot_of_another_database_is_refused(engine) -> None:
    other = Content("other", "sqlite", (Table("t", (Column("a", "int"),)),))
    first, second = engine.open(CONTENT), engine.open(other)
    with pytest.raises(EngineError, match="another database"):
        second.restore(first.snapshot())
    first.close()
    second.close()


def test_views_indexes_and_triggers_come_along(engine) -> None:
    script = """
    CREATE TABLE t (a INTEGER PRIMARY KEY AUTOINCREMENT, b TEXT);
    CREATE TABLE log (b TEXT);
    INSERT INTO t (b) VALUES ('x');
    CREATE INDEX i ON t (b); CREATE VIEW v AS SELECT b FROM t;
    CREATE TRIGGER g AFTER INSERT ON t BEGIN INSERT INTO log VALUES (new.b); END;
    """
    session = engine.open(from_script(script, "sqlite"))
    session.execute("INSERT INTO t (b) VALUES ('y')")
    assert session.execute("SELECT b FROM v")[0].rows == (("x",), ("y",))
    assert session.execute("SELECT * FROM log")[0].rows == (("y",),)
    assert set(session.changed()) == {"t", "log"}
    session.close()


def test_content_that_it_cannot_hold_is_an_engine_error(engine) -> None:
    broken = Content("x", "sqlite", (Table("t", (Column("a", "int"),), (), ddl="CREATE TABLE t"),))
    with pytest.raises(EngineError, match="cannot hold it"):
        engine.open(broken)


def test_templates_are_not_kept_for_ever(engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("intercode.engines.sqlite.engine._KEPT", 64)
    first = engine.open(replace(CONTENT, name="0"))
    first.execute("DELETE FROM people")
    snapshot = first.snapshot()
    for number in range(1, 80):
        engine.open(replace(CONTENT, name=str(number))).close()
    assert len(engine._templates) <= 64
    assert first.execute("SELECT count(*) FROM digits")[0].rows == ((10,),)
    first.close()
    for number in range(80, 160):
        engine.open(replace(CONTENT, name=str(number))).close()
    again = engine.open(replace(CONTENT, name="0"))
    again.restore(snapshot)
    assert again.execute("SELECT count(*) FROM people")[0].rows == ((0,),)
    again.close()


def test_a_closed_session_and_a_closed_engine_say_so() -> None:
    engine = SQLite()
    session = engine.open(CONTENT)
    engine.close()
    with pytest.raises(EngineError, match="closed"):
        session.execute("SELECT 1")
    with pytest.raises(EngineError, match="closed"):
        engine.open(CONTENT)


def test_an_old_library_is_unavailable(monkeypatch) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 39, 0))
    with pytest.raises(EngineUnavailable, match="too old"):
        SQLite()


def test_an_unknown_dialect_is_named(engine) -> None:
    with pytest.raises(UsageError, match="oracle"):
        engine.open(CONTENT, dialect="oracle")


def test_another_dialect_is_translated(engine) -> None:
    session = engine.open(CONTENT, dialect="postgres")
    assert session.execute("SELECT id::text FROM people WHERE name ILIKE 'ANN'")[0].rows == (
        ("1",),
    )
    assert session.execute("SELECT FROM WHERE")[0].error == 'syntax error at or near "WHERE"'
    session.close()


def test_ten_thousand_episodes_with_writes_leave_nothing_behind(engine) -> None:
    before = digest(engine)
    for number in range(10_000):
        session = engine.open(CONTENT)
        session.execute(f"UPDATE people SET age = {number}")
        session.close()
    assert digest(engine) == before
    assert engine.live() == 0
    gc.collect()
    open_ = [o for o in gc.get_objects() if isinstance(o, sqlite3.Connection) and _is_open(o)]
    assert len(open_) < 50


def _is_open(connection: sqlite3.Connection) -> bool:
    try:
        return connection.total_changes >= 0
    except sqlite3.ProgrammingError:
        return False


def test_opening_costs_microseconds(engine) -> None:
    engine.open(CONTENT).close()
    began = time.perf_counter()
    for _ in range(2_000):
        session = engine.open(CONTENT)
        session.execute("SELECT name FROM people WHERE id = 2")
        session.close()
    assert (time.perf_counter() - began) / 2_000 < 0.001
