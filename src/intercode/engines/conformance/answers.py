"""What statements give: columns, rows, values, errors."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

from intercode.engines.base import Engine
from intercode.engines.conformance.ground import (
    FAST,
    VALUES,
    Promise,
    count,
    done,
    opened,
    rows_of,
    seen,
)


def a_session_starts_pristine(engine: Engine) -> None:
    for _ in range(3):
        with opened(engine) as session:
            seen("rows at the start", count(session), 5)
            done(session, "DELETE FROM people")
            seen("rows after DELETE", count(session), 0)


def a_query_says_columns_and_rows(engine: Engine) -> None:
    with opened(engine) as session:
        (result,) = session.execute("SELECT name, age FROM people WHERE id < 3 ORDER BY id", FAST)
        seen("columns", tuple(map(str.lower, result.columns)), ("name", "age"))
        seen("rows", result.rows, (("Ann", 31), ("Bob", 17)))
        (empty,) = session.execute("SELECT name FROM people WHERE id = 99", FAST)
        seen("rows of an empty result", empty.rows, ())
        seen("its columns", tuple(map(str.lower, empty.columns)), ("name",))


def a_write_counts_its_rows(engine: Engine) -> None:
    with opened(engine) as session:
        result = done(session, "UPDATE people SET age = age + 1 WHERE age = 31")
        seen("rows of a write", result.rows, None)
        assert result.affected in (2, None), f"affected: {result.affected}"


def values_come_as_they_went_in(engine: Engine) -> None:
    with opened(engine) as session:
        rows = rows_of(session, "SELECT * FROM typed ORDER BY id")
        for row, expected in zip(rows, VALUES, strict=True):
            got = tuple(map(_alike, row, expected))
            seen("a row", got, expected)


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
    with opened(engine) as session:
        seen("by text", rows_of(session, "SELECT id FROM people WHERE name = 'Çağrı'"), ((3,),))
        seen("by NULL", rows_of(session, "SELECT id FROM people WHERE name IS NULL"), ((5,),))
        done(session, "INSERT INTO notes (person, note) VALUES (1, 'naïve 日本 😀'), (2, NULL)")
        notes = rows_of(session, "SELECT note FROM notes ORDER BY person")
        seen("notes", notes, (("naïve 日本 😀",), (None,)))


def several_statements_give_a_result_each(engine: Engine) -> None:
    with opened(engine) as session:
        results = session.execute(
            "INSERT INTO notes VALUES (1, 'a;b'); SELECT note FROM notes; -- ;\n", FAST
        )
        seen("number of results", len(results), 2)
        seen("the last", results[1].rows, (("a;b",),))


def the_first_failure_ends_several_statements(engine: Engine) -> None:
    with opened(engine) as session:
        results = session.execute("SELECT 1; SELECT nothing FROM nowhere; SELECT 2", FAST)
        seen("which succeeded", [result.ok for result in results], [True, False])
        seen("the session goes on", count(session), 5)


def several_can_be_forbidden(engine: Engine) -> None:
    with opened(engine) as session:
        results = session.execute("DELETE FROM people; SELECT 1", FAST, several=False)
        seen("number of results", len(results), 1)
        assert not results[0].ok, "several statements were run"
        seen("rows after none was run", count(session), 5)
        (single,) = session.execute("SELECT 1;", FAST, several=False)
        assert single.ok, f"one with a semicolon: {single.error}"


def errors_are_results(engine: Engine) -> None:
    with opened(engine) as session:
        for sql in (
            "SELECT * FROM no_such_table", "SELECT no_such_column FROM people", "SELEC 1",
            "SELECT 'open", "", "   ", ";", "-- nothing", "SELECT (",
            "INSERT INTO people VALUES (1)", "INSERT INTO people VALUES (1, 'twice', 1)",
            "\x00", "SELECT \ud800",
        ):  # fmt: skip
            results = session.execute(sql, FAST)
            seen(f"number of results of {sql!r}", len(results), 1)
            assert results[0].error, f"{sql!r} gave no error"
            assert not results[0].refused, f"{sql!r} was refused: {results[0].error}"
            seen("rows of a failure", results[0].rows, None)
        seen("the session goes on", count(session), 5)


def an_error_names_what_is_missing(engine: Engine) -> None:
    with opened(engine) as session:
        (table,) = session.execute("SELECT * FROM no_such_table", FAST)
        assert "no_such_table" in str(table.error), table.error
        (column,) = session.execute("SELECT no_such_column FROM people", FAST)
        assert "no_such_column" in str(column.error), column.error


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
)
