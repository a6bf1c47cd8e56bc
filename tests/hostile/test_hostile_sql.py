"""Hostile statements end in bounded results and leave nothing behind, on every engine here."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import sql_cases

from intercode.engines.base import Engine, Policy, QueryLimits, QueryResult
from intercode.engines.conformance import CONTENT
from intercode.engines.registry import choose
from intercode.errors import EngineUnavailable

LIMITS = QueryLimits(timeout_s=1.0, max_rows=1000, max_bytes=4 << 20, memory_mib=256)
PATIENCE_S = 20.0
"""What was written before it was stopped is rolled back first, and the machine may be busy."""
POLICIES: tuple[Policy, ...] = ("ddl", "write", "read-only")


@pytest.fixture(scope="module", params=sql_cases.EVERY)
def engine(request) -> Iterator[Engine]:  # type: ignore[no-untyped-def]
    try:
        chosen = choose(request.param)
        chosen.open(CONTENT).close()
    except EngineUnavailable as error:
        pytest.skip(f"needs the {request.param} engine: {error}")
    yield chosen
    chosen.close()
    assert chosen.live() == 0


def bounded(result: QueryResult) -> bool:
    if result.error is not None:
        return bool(result.error.strip()) and len(result.error) < 100_000 and result.rows is None
    if result.rows is None:
        return True
    size = sum(len(value) for row in result.rows for value in row if isinstance(value, str | bytes))
    return len(result.rows) <= LIMITS.max_rows and size <= LIMITS.max_bytes


def pristine(engine: Engine) -> None:
    session = engine.open(CONTENT, policy="ddl")
    try:
        expected = {table.name: len(table.rows) for table in CONTENT.tables}
        assert {name.lower() for name in session.schema()} == set(expected)
        for moved in (False, True):
            if moved:
                # On a server the private copy is another database than the shared one.
                session.execute("INSERT INTO notes VALUES (0, 'mine'); DELETE FROM notes")
            for name, count in expected.items():
                (result,) = session.execute(f"SELECT count(*) FROM {name}")
                assert result.rows == ((count,),), (name, result)
        assert session.changed() == {}
    finally:
        session.close()


@pytest.mark.parametrize("case", sql_cases.CASES, ids=lambda case: case.name)
def test_case(engine: Engine, case: sql_cases.Case) -> None:
    if engine.name not in case.engines:
        pytest.skip("no test: for another engine")
    for policy in POLICIES:
        session = engine.open(CONTENT, policy=policy)
        try:
            began = time.monotonic()
            results = session.execute(case.sql, LIMITS)
            took = time.monotonic() - began
            assert results
            assert all(bounded(result) for result in results), policy
            assert took < PATIENCE_S, (policy, took)
            if case.fails is not None and policy == "ddl":
                assert results[-1].ok is not case.fails, (policy, results[-1])
            session.execute("ROLLBACK", LIMITS)
            (alive,) = session.execute("SELECT 1", LIMITS)
            assert alive.ok, (policy, alive)
            assert "intercode_" not in repr([*results[-1:], alive]) or "intercode_" in case.sql
        finally:
            session.close()
    pristine(engine)
    assert not Path(sql_cases.FILE).exists()


def test_there_are_enough() -> None:
    for name in sql_cases.EVERY:
        assert sum(name in case.engines for case in sql_cases.CASES) >= 40, name
