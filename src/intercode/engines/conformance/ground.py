"""What the promises stand on: a small database, and how results are looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, datetime
from decimal import Decimal

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
VALUES: tuple[Row, ...] = (
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
    VALUES,
    ("id",),
)
CONTENT = Content("conformance", "mysql", (_PEOPLE, _NOTES, _DIGITS, _TYPED))
"""A small database with a key, NULLs, text beyond ASCII, an empty table, and every kind of value.
Its types are MySQL's, without a CREATE TABLE of its own."""

FAST = QueryLimits(timeout_s=10.0)


@contextmanager
def opened(engine: Engine, policy: Policy = "write") -> Iterator[Session]:
    session = engine.open(CONTENT, policy=policy)
    try:
        yield session
    finally:
        session.close()


def rows_of(session: Session, sql: str) -> tuple[Row, ...]:
    (result,) = session.execute(sql, FAST)
    assert result.ok, f"{sql}: {result.error}"
    assert result.rows is not None, f"{sql}: no result set"
    return result.rows


def done(session: Session, sql: str) -> QueryResult:
    results = session.execute(sql, FAST)
    assert results[-1].ok, f"{sql}: {results[-1].error}"
    return results[-1]


def count(session: Session, table: str = "people") -> int:
    return int(rows_of(session, f"SELECT count(*) FROM {table}")[0][0])


def seen(what: str, seen: object, expected: object) -> None:
    assert seen == expected, f"{what}: {seen!r}, expected {expected!r}"
