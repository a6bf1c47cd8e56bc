"""Time, rows and bytes."""

from __future__ import annotations

import time

from intercode.engines.base import Engine, QueryLimits
from intercode.engines.conformance.ground import (
    Promise,
    count,
    opened,
    seen,
)

_ENDLESS = (
    "WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT 1 FROM c) SELECT count(*) FROM c",
    "SELECT count(*) FROM " + ", ".join(f"digits AS d{n}" for n in range(13)),
    "SELECT a.d FROM "
    + ", ".join(f"digits AS {name}" for name in "abcdefghijk")
    + " ORDER BY a.d + b.d, c.d + d.d, e.d + f.d",
)


def a_timeout_stops_the_query(engine: Engine) -> None:
    with opened(engine) as session:
        for sql in _ENDLESS[1:]:
            began = time.monotonic()
            (result,) = session.execute(sql, QueryLimits(timeout_s=0.5, memory_mib=4096))
            took = time.monotonic() - began
            assert took < 5, f"{sql}: {took:.1f} s"
            assert result.timed_out, f"{sql}: {result.error}"
            assert result.error, "a timeout without an error"
        seen("the session goes on", count(session), 5)


def a_query_without_end_ends(engine: Engine) -> None:
    """By the timeout, or by a limit of the engine's own on recursion."""
    with opened(engine) as session:
        began = time.monotonic()
        (result,) = session.execute(_ENDLESS[0], QueryLimits(timeout_s=0.5))
        took = time.monotonic() - began
        assert took < 5, f"{took:.1f} s"
        assert not result.ok or result.rows is not None
        seen("the session goes on", count(session), 5)


def a_timeout_of_a_write_leaves_nothing(engine: Engine) -> None:
    with opened(engine) as session:
        source = ", ".join(f"digits AS d{n}" for n in range(9))
        (result,) = session.execute(
            f"INSERT INTO notes (person) SELECT d0.d FROM {source}",
            QueryLimits(timeout_s=0.5, memory_mib=4096),
        )
        assert not result.ok, "a billion rows were written"
        seen("rows of a stopped write", count(session, "notes"), 0)


def rows_are_capped(engine: Engine) -> None:
    with opened(engine) as session:
        source = "digits AS a, digits AS b, digits AS c"
        (result,) = session.execute(f"SELECT a.d FROM {source}", QueryLimits(max_rows=50))
        assert result.rows is not None, result.error
        seen("rows", (len(result.rows), result.truncated), (50, True))
        (exact,) = session.execute("SELECT d FROM digits", QueryLimits(max_rows=10))
        seen("exactly as many", (len(exact.rows or ()), exact.truncated), (10, False))
        (large,) = session.execute(f"SELECT a.d, b.d FROM {source}", QueryLimits(max_bytes=200))
        assert large.truncated, "bytes are not capped"
        assert len(large.rows or ()) < 1000, "bytes are not capped"


PROMISES: tuple[Promise, ...] = (
    a_timeout_stops_the_query,
    a_query_without_end_ends,
    a_timeout_of_a_write_leaves_nothing,
    rows_are_capped,
)
