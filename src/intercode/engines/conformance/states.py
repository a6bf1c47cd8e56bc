"""What a session has become: changes, snapshots, schema, its end."""

from __future__ import annotations

from collections import Counter

from intercode.engines.base import Engine
from intercode.engines.conformance.ground import (
    CONTENT,
    Promise,
    count,
    done,
    opened,
    rows_of,
    seen,
)


def what_changed_is_known(engine: Engine) -> None:
    with opened(engine, "ddl") as session:
        seen("changed at the start", dict(session.changed()), {})
        rows_of(session, "SELECT * FROM people")
        done(session, "UPDATE people SET age = age + 1 WHERE id = 1")
        done(session, "UPDATE people SET age = age - 1 WHERE id = 1")
        done(session, "DELETE FROM people WHERE id = 99")
        seen("changed and taken back", dict(session.changed()), {})
        done(session, "INSERT INTO notes VALUES (1, 'x')")
        done(session, "CREATE TABLE fresh (a int)")
        done(session, "DROP TABLE digits")
        changed = {name.lower(): state for name, state in session.changed().items()}
        seen("names", sorted(changed), ["digits", "fresh", "notes"])
        seen("a dropped table", changed["digits"], None)
        notes, fresh = changed["notes"], changed["fresh"]
        assert notes is not None, "the changed table is missing"
        assert fresh is not None, "the new table is missing"
        seen("rows", Counter(notes.rows), Counter([(1, "x")]))
        seen("a new table's", (tuple(map(str.lower, fresh.columns)), fresh.rows), (("a",), ()))


def a_snapshot_can_be_come_back_to(engine: Engine) -> None:
    with opened(engine, "ddl") as session:
        pristine = session.snapshot()
        done(session, "DELETE FROM people WHERE id > 2")
        done(session, "CREATE TABLE fresh (a int)")
        two = session.snapshot()
        for _ in range(2):
            done(session, "DELETE FROM people")
            done(session, "DROP TABLE fresh")
            session.restore(two)
            seen("rows", (count(session), count(session, "fresh")), (2, 0))
            seen("changed", sorted(session.changed()), ["fresh", "people"])
        session.restore(pristine)
        seen("rows at the beginning", count(session), 5)
        seen("changed at the beginning", dict(session.changed()), {})
        with opened(engine, "ddl") as other:
            other.restore(two)
            seen("rows in another session", count(other), 2)
            done(other, "DELETE FROM people")
            seen("and not in this one", count(session), 5)
        session.restore(two)
        seen("rows again", count(session), 2)


def the_schema_is_told(engine: Engine) -> None:
    with opened(engine, "ddl") as session:
        schema = {name.lower(): columns for name, columns in session.schema().items()}
        seen("tables", set(schema), {"people", "notes", "digits", "typed"})
        names = [name.lower() for name, _ in schema["people"]]
        seen("columns", names, ["id", "name", "age"])
        assert all(kind for columns in schema.values() for _, kind in columns), schema
        done(session, "CREATE TABLE fresh (a int)")
        assert "fresh" in session.schema(), "a new table is not told of"


def closing_is_final_and_idempotent(engine: Engine) -> None:
    before = engine.live()
    session = engine.open(CONTENT)
    seen("live", engine.live(), before + 1)
    done(session, "DELETE FROM people")
    session.close()
    session.close()
    seen("live after closing", engine.live(), before)


PROMISES: tuple[Promise, ...] = (
    what_changed_is_known,
    a_snapshot_can_be_come_back_to,
    the_schema_is_told,
    closing_is_final_and_idempotent,
)
