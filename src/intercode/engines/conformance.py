"""What every database engine promises, as checks that it can run against itself.

For an engine of your own, in a test::

    @pytest.mark.parametrize("promise", conformance.PROMISES)
    def test_promise(promise, engine):
        promise(engine)

or without a test framework: ``conformance.run(engine)``. A promise is a function named for what it
promises. It raises AssertionError with what was seen where the promise is not kept, opens its own
sessions and closes them. Statements are in words that all four dialects share.
"""

from __future__ import annotations

import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from intercode.engines.base import Engine, Policy, QueryLimits, QueryResult, Session
from intercode.engines.content import Column, Content, Row, Table

Promise = Callable[[Engine], None]

_PEOPLE = Table(
    "people",
    (Column("id", "int", nullable=False), Column("name", "varchar(40)"), Column("age", "int")),
    tuple((n, name, age) for n, (name, age) in enumerate(
        [("Ann", 31), ("Bob", 17), ("Çağrı", None), ("Dora", 31), (None, 64)], 1
    )),
    ("id",),
)  # fmt: skip
_NOTES = Table("notes", (Column("person", "int"), Column("note", "varchar(200)")))
_DIGITS = Table("digits", (Column("d", "int"),), tuple((n,) for n in range(10)))
_VALUES: tuple[Row, ...] = (
    (1, 2**40, 1.5, Decimal("12.3400"), "plain", b"\x00\xff", date(2020, 2, 29),
     datetime(1999, 12, 31, 23, 59, 58)),
    (2, -1, -0.25, Decimal("-0.0100"), "it's \"日本\" \\ 😀\n", b"", date(1970, 1, 1),
     datetime(2038, 1, 20, 3, 14, 8)),
    (3, None, None, None, None, None, None, None),
    (4, 0, 0.0, Decimal("0.0000"), "", b"'", date(9999, 12, 31), datetime(1000, 1, 1)),
)  # fmt: skip
_TYPED = Table(
    "typed",
    (
        Column("id", "int", nullable=False),
        Column("whole", "bigint"),
        Column("real_", "double"),
        Column("price", "decimal(19,4)"),
        Column("words", "varchar(100)"),
        Column("raw", "blob"),
        Column("day", "date"),
        Column("moment", "datetime"),
    ),
    _VALUES,
    ("id",),
)
CONTENT = Content("conformance", "mysql", (_PEOPLE, _NOTES, _DIGITS, _TYPED))
"""A small database with a key, NULLs, text beyond ASCII, an empty table, and every kind of value.
Its types are MySQL's, without a CREATE TABLE of its own."""

_FAST = QueryLimits(timeout_s=10.0)


def run(engine: Engine) -> list[tuple[str, str | None]]:
    """Each promise's name, with None or why it is not kept."""
    return [(promise.__name__, _kept(promise, engine)) for promise in PROMISES]


def _kept(promise: Promise, engine: Engine) -> str | None:
    try:
        promise(engine)
    except AssertionError as error:
        return str(error) or traceback.format_exc()
    except Exception:
        # The rest is to be tried all the same, whatever this engine did wrong here.
        return traceback.format_exc()
    return None


@contextmanager
def _session(engine: Engine, policy: Policy = "write") -> Iterator[Session]:
    session = engine.open(CONTENT, policy=policy)
    try:
        yield session
    finally:
        session.close()


def _rows(session: Session, sql: str) -> tuple[Row, ...]:
    (result,) = session.execute(sql, _FAST)
    assert result.ok, f"{sql}: {result.error}"
    assert result.rows is not None, f"{sql}: no result set"
    return result.rows


def _done(session: Session, sql: str) -> QueryResult:
    results = session.execute(sql, _FAST)
    assert results[-1].ok, f"{sql}: {results[-1].error}"
    return results[-1]


def _count(session: Session, table: str = "people") -> int:
    return int(_rows(session, f"SELECT count(*) FROM {table}")[0][0])


def _seen(what: str, seen: object, expected: object) -> None:
    assert seen == expected, f"{what}: {seen!r}, expected {expected!r}"


def a_session_starts_pristine(engine: Engine) -> None:
    for _ in range(3):
        with _session(engine) as session:
            _seen("rows at the start", _count(session), 5)
            _done(session, "DELETE FROM people")
            _seen("rows after DELETE", _count(session), 0)


def a_query_says_columns_and_rows(engine: Engine) -> None:
    with _session(engine) as session:
        (result,) = session.execute("SELECT name, age FROM people WHERE id < 3 ORDER BY id", _FAST)
        _seen("columns", tuple(map(str.lower, result.columns)), ("name", "age"))
        _seen("rows", result.rows, (("Ann", 31), ("Bob", 17)))
        (empty,) = session.execute("SELECT name FROM people WHERE id = 99", _FAST)
        _seen("rows of an empty result", empty.rows, ())
        _seen("its columns", tuple(map(str.lower, empty.columns)), ("name",))


def a_write_counts_its_rows(engine: Engine) -> None:
    with _session(engine) as session:
        result = _done(session, "UPDATE people SET age = age + 1 WHERE age = 31")
        _seen("rows of a write", result.rows, None)
        assert result.affected in (2, None), f"affected: {result.affected}"


def values_come_as_they_went_in(engine: Engine) -> None:
    with _session(engine) as session:
        seen = _rows(session, "SELECT * FROM typed ORDER BY id")
        for row, expected in zip(seen, _VALUES, strict=True):
            got = tuple(map(_alike, row, expected))
            _seen("a row", got, expected)


def _alike(value: Any, expected: Any) -> Any:
    """An engine without a type of its own may give a date as text and a decimal as a number."""
    if isinstance(expected, datetime) and isinstance(value, str):
        return datetime.fromisoformat(value)
    if isinstance(expected, date) and isinstance(value, str):
        return date.fromisoformat(value)
    if isinstance(expected, Decimal) and isinstance(value, int | float):
        return Decimal(str(value))
    return bytes(value) if isinstance(value, bytearray | memoryview) else value


def text_and_null_are_found_again(engine: Engine) -> None:
    with _session(engine) as session:
        _seen("by text", _rows(session, "SELECT id FROM people WHERE name = 'Çağrı'"), ((3,),))
        _seen("by NULL", _rows(session, "SELECT id FROM people WHERE name IS NULL"), ((5,),))
        _done(session, "INSERT INTO notes (person, note) VALUES (1, 'naïve 日本 😀'), (2, NULL)")
        notes = _rows(session, "SELECT note FROM notes ORDER BY person")
        _seen("notes", notes, (("naïve 日本 😀",), (None,)))


def several_statements_give_a_result_each(engine: Engine) -> None:
    with _session(engine) as session:
        results = session.execute(
            "INSERT INTO notes VALUES (1, 'a;b'); SELECT note FROM notes; -- ;\n", _FAST
        )
        _seen("number of results", len(results), 2)
        _seen("the last", results[1].rows, (("a;b",),))


def the_first_failure_ends_several_statements(engine: Engine) -> None:
    with _session(engine) as session:
        results = session.execute("SELECT 1; SELECT nothing FROM nowhere; SELECT 2", _FAST)
        _seen("which succeeded", [result.ok for result in results], [True, False])
        _seen("the session goes on", _count(session), 5)


def several_can_be_forbidden(engine: Engine) -> None:
    with _session(engine) as session:
        results = session.execute("DELETE FROM people; SELECT 1", _FAST, several=False)
        _seen("number of results", len(results), 1)
        assert not results[0].ok, "several statements were run"
        _seen("rows after none was run", _count(session), 5)
        (single,) = session.execute("SELECT 1;", _FAST, several=False)
        assert single.ok, f"one with a semicolon: {single.error}"


def errors_are_results(engine: Engine) -> None:
    with _session(engine) as session:
        for sql in (
            "SELECT * FROM no_such_table", "SELECT no_such_column FROM people", "SELEC 1",
            "SELECT 'open", "", "   ", ";", "-- nothing", "SELECT (",
            "INSERT INTO people VALUES (1)", "INSERT INTO people VALUES (1, 'twice', 1)",
            "\x00", "SELECT \ud800",
        ):  # fmt: skip
            results = session.execute(sql, _FAST)
            _seen(f"number of results of {sql!r}", len(results), 1)
            assert results[0].error, f"{sql!r} gave no error"
            assert not results[0].refused, f"{sql!r} was refused: {results[0].error}"
            _seen("rows of a failure", results[0].rows, None)
        _seen("the session goes on", _count(session), 5)


def an_error_names_what_is_missing(engine: Engine) -> None:
    with _session(engine) as session:
        (table,) = session.execute("SELECT * FROM no_such_table", _FAST)
        assert "no_such_table" in str(table.error), table.error
        (column,) = session.execute("SELECT no_such_column FROM people", _FAST)
        assert "no_such_column" in str(column.error), column.error


def sessions_do_not_see_each_other(engine: Engine) -> None:
    with _session(engine) as first, _session(engine) as second:
        _done(first, "UPDATE people SET age = 0")
        _done(first, "INSERT INTO notes VALUES (1, 'mine')")
        _seen("another's rows", _count(second, "notes"), 0)
        _done(second, "DELETE FROM people WHERE id > 1")
        _seen("own rows", (_count(first), _count(second)), (5, 1))
        with _session(engine) as third:
            _seen("a third's rows", (_count(third), _count(third, "notes")), (5, 0))


def sessions_run_at_once(engine: Engine) -> None:
    wrong: list[str] = []

    def episode(number: int) -> None:
        try:
            for _ in range(5):
                with _session(engine) as session:
                    _done(session, f"UPDATE people SET age = {number}")
                    ages = _rows(session, "SELECT DISTINCT age FROM people")
                    _seen("ages", ages, ((number,),))
        except Exception:
            wrong.append(traceback.format_exc())

    threads = [threading.Thread(target=episode, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, wrong[0]


def committed_writes_are_gone(engine: Engine) -> None:
    for control in ("COMMIT", "ROLLBACK", "BEGIN; DELETE FROM digits; COMMIT"):
        with _session(engine) as session:
            _done(session, "DELETE FROM people")
            session.execute(control, _FAST)
        with _session(engine) as session:
            _seen(f"rows after {control}", (_count(session), _count(session, "digits")), (5, 10))


def a_dropped_table_comes_back(engine: Engine) -> None:
    with _session(engine, "ddl") as session:
        _done(session, "DROP TABLE notes")
        _done(session, "CREATE TABLE fresh (a int)")
        _done(session, "INSERT INTO fresh VALUES (1)")
        _done(session, "ALTER TABLE digits ADD COLUMN extra int")
        assert not session.execute("SELECT * FROM notes", _FAST)[0].ok, "notes was not dropped"
        _seen("rows of the new table", _rows(session, "SELECT a FROM fresh"), ((1,),))
    with _session(engine, "ddl") as session:
        _seen("notes", _count(session, "notes"), 0)
        assert not session.execute("SELECT * FROM fresh", _FAST)[0].ok, "fresh is still there"
        _seen("digits", _rows(session, "SELECT * FROM digits WHERE d = 3"), ((3,),))


_BY_POLICY: tuple[tuple[Policy, int], ...] = (("read-only", 0), ("write", 2), ("ddl", 4))
"""How many of the next, in their order, a policy allows."""
_WRITES = (
    "UPDATE people SET age = 1",
    "DELETE FROM notes",
    "CREATE TABLE other (a int)",
    "DROP TABLE digits",
)


def a_policy_keeps_what_it_says(engine: Engine) -> None:
    for policy, allowed in _BY_POLICY:
        with _session(engine, policy) as session:
            for place, sql in enumerate(_WRITES):
                (result,) = session.execute(sql, _FAST)
                _seen(f"{policy}: {sql}", result.ok, place < allowed)
                assert result.ok or result.refused, f"{policy}: {sql}: not marked as refused"
            _seen(
                f"{policy}: a query", _rows(session, "SELECT id FROM people WHERE id = 1"), ((1,),)
            )


def temporary_tables_are_a_sessions_own(engine: Engine) -> None:
    make = "CREATE TEMPORARY TABLE mine AS SELECT id FROM people WHERE id = 1"
    with _session(engine, "read-only") as session:
        assert session.execute(make, _FAST)[0].refused, "read-only: a temporary table is made"
    with _session(engine, "write") as session, _session(engine, "write") as other:
        assert session.execute(make, _FAST)[0].ok, "write: a temporary table is refused"
        _seen("its rows", _rows(session, "SELECT id FROM mine"), ((1,),))
        _seen("what changed", dict(session.changed()), {})
        assert not other.execute("SELECT id FROM mine", _FAST)[0].ok, "another session sees it"


_ENDLESS = (
    "WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT 1 FROM c) SELECT count(*) FROM c",
    "SELECT count(*) FROM " + ", ".join(f"digits AS d{n}" for n in range(13)),
    "SELECT a.d FROM "
    + ", ".join(f"digits AS {name}" for name in "abcdefghijk")
    + " ORDER BY a.d + b.d, c.d + d.d, e.d + f.d",
)


def a_timeout_stops_the_query(engine: Engine) -> None:
    with _session(engine) as session:
        for sql in _ENDLESS[1:]:
            began = time.monotonic()
            (result,) = session.execute(sql, QueryLimits(timeout_s=0.5, memory_mib=4096))
            took = time.monotonic() - began
            assert took < 5, f"{sql}: {took:.1f} s"
            assert result.timed_out, f"{sql}: {result.error}"
            assert result.error, "a timeout without an error"
        _seen("the session goes on", _count(session), 5)


def a_query_without_end_ends(engine: Engine) -> None:
    """By the timeout, or by a limit of the engine's own on recursion."""
    with _session(engine) as session:
        began = time.monotonic()
        (result,) = session.execute(_ENDLESS[0], QueryLimits(timeout_s=0.5))
        took = time.monotonic() - began
        assert took < 5, f"{took:.1f} s"
        assert not result.ok or result.rows is not None
        _seen("the session goes on", _count(session), 5)


def a_timeout_of_a_write_leaves_nothing(engine: Engine) -> None:
    with _session(engine) as session:
        source = ", ".join(f"digits AS d{n}" for n in range(9))
        (result,) = session.execute(
            f"INSERT INTO notes (person) SELECT d0.d FROM {source}",
            QueryLimits(timeout_s=0.5, memory_mib=4096),
        )
        assert not result.ok, "a billion rows were written"
        _seen("rows of a stopped write", _count(session, "notes"), 0)


def rows_are_capped(engine: Engine) -> None:
    with _session(engine) as session:
        source = "digits AS a, digits AS b, digits AS c"
        (result,) = session.execute(f"SELECT a.d FROM {source}", QueryLimits(max_rows=50))
        assert result.rows is not None, result.error
        _seen("rows", (len(result.rows), result.truncated), (50, True))
        (exact,) = session.execute("SELECT d FROM digits", QueryLimits(max_rows=10))
        _seen("exactly as many", (len(exact.rows or ()), exact.truncated), (10, False))
        (large,) = session.execute(f"SELECT a.d, b.d FROM {source}", QueryLimits(max_bytes=200))
        assert large.truncated, "bytes are not capped"
        assert len(large.rows or ()) < 1000, "bytes are not capped"


def what_changed_is_known(engine: Engine) -> None:
    with _session(engine, "ddl") as session:
        _seen("changed at the start", dict(session.changed()), {})
        _rows(session, "SELECT * FROM people")
        _done(session, "UPDATE people SET age = age + 1 WHERE id = 1")
        _done(session, "UPDATE people SET age = age - 1 WHERE id = 1")
        _done(session, "DELETE FROM people WHERE id = 99")
        _seen("changed and taken back", dict(session.changed()), {})
        _done(session, "INSERT INTO notes VALUES (1, 'x')")
        _done(session, "CREATE TABLE fresh (a int)")
        _done(session, "DROP TABLE digits")
        changed = {name.lower(): state for name, state in session.changed().items()}
        _seen("names", sorted(changed), ["digits", "fresh", "notes"])
        _seen("a dropped table", changed["digits"], None)
        notes, fresh = changed["notes"], changed["fresh"]
        assert notes is not None, "the changed table is missing"
        assert fresh is not None, "the new table is missing"
        _seen("rows", Counter(notes.rows), Counter([(1, "x")]))
        _seen("a new table's", (tuple(map(str.lower, fresh.columns)), fresh.rows), (("a",), ()))


def a_snapshot_can_be_come_back_to(engine: Engine) -> None:
    with _session(engine, "ddl") as session:
        pristine = session.snapshot()
        _done(session, "DELETE FROM people WHERE id > 2")
        _done(session, "CREATE TABLE fresh (a int)")
        two = session.snapshot()
        for _ in range(2):
            _done(session, "DELETE FROM people")
            _done(session, "DROP TABLE fresh")
            session.restore(two)
            _seen("rows", (_count(session), _count(session, "fresh")), (2, 0))
            _seen("changed", sorted(session.changed()), ["fresh", "people"])
        session.restore(pristine)
        _seen("rows at the beginning", _count(session), 5)
        _seen("changed at the beginning", dict(session.changed()), {})
        with _session(engine, "ddl") as other:
            other.restore(two)
            _seen("rows in another session", _count(other), 2)
            _done(other, "DELETE FROM people")
            _seen("and not in this one", _count(session), 5)
        session.restore(two)
        _seen("rows again", _count(session), 2)


def the_schema_is_told(engine: Engine) -> None:
    with _session(engine, "ddl") as session:
        schema = {name.lower(): columns for name, columns in session.schema().items()}
        _seen("tables", set(schema), {"people", "notes", "digits", "typed"})
        names = [name.lower() for name, _ in schema["people"]]
        _seen("columns", names, ["id", "name", "age"])
        assert all(kind for columns in schema.values() for _, kind in columns), schema
        _done(session, "CREATE TABLE fresh (a int)")
        assert "fresh" in session.schema(), "a new table is not told of"


def closing_is_final_and_idempotent(engine: Engine) -> None:
    before = engine.live()
    session = engine.open(CONTENT)
    _seen("live", engine.live(), before + 1)
    _done(session, "DELETE FROM people")
    session.close()
    session.close()
    _seen("live after closing", engine.live(), before)


PROMISES: tuple[Promise, ...] = (
    a_session_starts_pristine,
    a_query_says_columns_and_rows,
    a_write_counts_its_rows,
    values_come_as_they_went_in,
    text_and_null_are_found_again,
    several_statements_give_a_result_each,
    the_first_failure_ends_several_statements,
    several_can_be_forbidden,
    errors_are_results,
    an_error_names_what_is_missing,
    sessions_do_not_see_each_other,
    sessions_run_at_once,
    committed_writes_are_gone,
    a_dropped_table_comes_back,
    a_policy_keeps_what_it_says,
    temporary_tables_are_a_sessions_own,
    a_timeout_stops_the_query,
    a_query_without_end_ends,
    a_timeout_of_a_write_leaves_nothing,
    rows_are_capped,
    what_changed_is_known,
    a_snapshot_can_be_come_back_to,
    the_schema_is_told,
    closing_is_final_and_idempotent,
)
"""In an order in which the first to fail says most."""
