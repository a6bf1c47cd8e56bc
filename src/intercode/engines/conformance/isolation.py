"""What a session does stays its own, and within its policy."""

from __future__ import annotations

import threading
import traceback

from intercode.engines.base import Engine, Policy
from intercode.engines.conformance.ground import (
    FAST,
    Promise,
    count,
    done,
    opened,
    rows_of,
    seen,
)


def sessions_do_not_see_each_other(engine: Engine) -> None:
    with opened(engine) as first, opened(engine) as second:
        done(first, "UPDATE people SET age = 0")
        done(first, "INSERT INTO notes VALUES (1, 'mine')")
        seen("another's rows", count(second, "notes"), 0)
        done(second, "DELETE FROM people WHERE id > 1")
        seen("own rows", (count(first), count(second)), (5, 1))
        with opened(engine) as third:
            seen("a third's rows", (count(third), count(third, "notes")), (5, 0))


def sessions_run_at_once(engine: Engine) -> None:
    wrong: list[str] = []

    def episode(number: int) -> None:
        try:
            for _ in range(5):
                with opened(engine) as session:
                    done(session, f"UPDATE people SET age = {number}")
                    ages = rows_of(session, "SELECT DISTINCT age FROM people")
                    seen("ages", ages, ((number,),))
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
        with opened(engine) as session:
            done(session, "DELETE FROM people")
            session.execute(control, FAST)
        with opened(engine) as session:
            seen(f"rows after {control}", (count(session), count(session, "digits")), (5, 10))


def a_dropped_table_comes_back(engine: Engine) -> None:
    with opened(engine, "ddl") as session:
        done(session, "DROP TABLE notes")
        done(session, "CREATE TABLE fresh (a int)")
        done(session, "INSERT INTO fresh VALUES (1)")
        done(session, "ALTER TABLE digits ADD COLUMN extra int")
        assert not session.execute("SELECT * FROM notes", FAST)[0].ok, "notes was not dropped"
        seen("rows of the new table", rows_of(session, "SELECT a FROM fresh"), ((1,),))
    with opened(engine, "ddl") as session:
        seen("notes", count(session, "notes"), 0)
        assert not session.execute("SELECT * FROM fresh", FAST)[0].ok, "fresh is still there"
        seen("digits", rows_of(session, "SELECT * FROM digits WHERE d = 3"), ((3,),))


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
        with opened(engine, policy) as session:
            for place, sql in enumerate(_WRITES):
                (result,) = session.execute(sql, FAST)
                seen(f"{policy}: {sql}", result.ok, place < allowed)
                assert result.ok or result.refused, f"{policy}: {sql}: not marked as refused"
            seen(
                f"{policy}: a query",
                rows_of(session, "SELECT id FROM people WHERE id = 1"),
                ((1,),),
            )


def temporary_tables_are_a_sessions_own(engine: Engine) -> None:
    make = "CREATE TEMPORARY TABLE mine AS SELECT id FROM people WHERE id = 1"
    with opened(engine, "read-only") as session:
        assert session.execute(make, FAST)[0].refused, "read-only: a temporary table is made"
    with opened(engine, "write") as session, opened(engine, "write") as other:
        assert session.execute(make, FAST)[0].ok, "write: a temporary table is refused"
        seen("its rows", rows_of(session, "SELECT id FROM mine"), ((1,),))
        seen("what changed", dict(session.changed()), {})
        assert not other.execute("SELECT id FROM mine", FAST)[0].ok, "another session sees it"


PROMISES: tuple[Promise, ...] = (
    sessions_do_not_see_each_other,
    sessions_run_at_once,
    committed_writes_are_gone,
    a_dropped_table_comes_back,
    a_policy_keeps_what_it_says,
    temporary_tables_are_a_sessions_own,
)
