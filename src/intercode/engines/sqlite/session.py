"""One episode on a template: reading there as long as it only reads, on its own copy from then."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from intercode.engines.base import Policy, QueryLimits, QueryResult, TableState
from intercode.engines.content import Row
from intercode.engines.ddl import quote
from intercode.engines.sqlite.speech import Speech
from intercode.engines.sqlite.template import Lane, Template
from intercode.errors import EngineError

_BATCH = 256
_LIMITS = QueryLimits()


@dataclass(frozen=True)
class Snapshot:
    """``origin`` says of which content and dialect; ``image`` is the database file, None while it
    is the template's; ``temporary`` makes the temporary tables, which are not in it. An open
    transaction is not kept: coming back, what it had done is there and it is over."""

    origin: tuple[str, str]
    image: bytes | None
    temporary: tuple[str, ...]
    touched: frozenset[str]
    touched_schema: bool


class SqliteSession:
    """See `intercode.engines.base.Session`. ``speech`` is what its statements are written in."""

    def __init__(
        self,
        template: Template,
        policy: Policy,
        speech: Speech,
    ) -> None:
        self.template = template
        self.policy = policy
        self._speech = speech
        self._reader: Lane | None = None
        self._own: Lane | None = None
        self._closed = False

    def execute(
        self, sql: str, limits: QueryLimits = _LIMITS, *, several: bool = True
    ) -> tuple[QueryResult, ...]:
        self._require_open()
        statements = self._speech.split(sql)
        if not statements:
            return (QueryResult(error=self._speech.nothing),)
        if len(statements) > 1 and not several:
            return (QueryResult(error=self._speech.several(sql, statements)),)
        results = []
        for statement in statements:
            results.append(self._speech.run(self, statement, limits))
            if not results[-1].ok:
                break
        return tuple(results)

    def run(self, sql: str, limits: QueryLimits, parameters: tuple[Any, ...] = ()) -> QueryResult:
        """One statement in SQLite's own dialect, guarded."""
        lane = self._lane()
        result = self._attempt(lane, sql, limits, parameters)
        if result is None:
            result = self._attempt(self._make_own(limits), sql, limits, parameters)
        assert result is not None, "a writable connection wants no other"
        return result

    def _attempt(
        self, lane: Lane, sql: str, limits: QueryLimits, parameters: tuple[Any, ...]
    ) -> QueryResult | None:
        """None where the statement needs a connection of its own."""
        guard, connection = lane.guard, lane.connection
        guard.policy = self.policy
        guard.begin(limits)
        try:
            cursor = connection.execute(sql, parameters)
            try:
                return _fetched(cursor, guard.late, limits)
            finally:
                cursor.close()
        except sqlite3.OperationalError as error:
            if "Could not decode to UTF-8" in str(error) and connection.text_factory is str:
                return self._leniently(lane, sql, limits, parameters)
            return None if guard.wants_own else _failed(error, lane)
        except (sqlite3.Error, sqlite3.Warning, OverflowError, MemoryError) as error:
            return None if guard.wants_own and not guard.refused else _failed(error, lane)
        except UnicodeEncodeError as error:
            return QueryResult(error=f"not valid Unicode: {error.reason}")
        finally:
            guard.lift()

    def _leniently(
        self, lane: Lane, sql: str, limits: QueryLimits, parameters: tuple[Any, ...]
    ) -> QueryResult | None:
        with _lenient(lane.connection):
            return self._attempt(lane, sql, limits, parameters)

    @contextmanager
    def looking(self) -> Iterator[sqlite3.Connection]:
        """The database as it is now, for the engine's own questions."""
        with _lenient(self._lane().connection) as connection:
            yield connection

    @property
    def pristine(self) -> bool:
        """Nothing can have changed: there is no copy of its own yet."""
        return self._own is None

    @property
    def reshaped(self) -> bool:
        """The schema may be another than the template's."""
        return self._own is not None and self._own.guard.touched_schema

    @property
    def in_transaction(self) -> bool:
        return self._own is not None and self._own.connection.in_transaction

    def schema(self) -> Mapping[str, tuple[tuple[str, str], ...]]:
        self._require_open()
        return self._speech.schema(self)

    def changed(self) -> Mapping[str, TableState | None]:
        self._require_open()
        if self._own is None:
            return {}
        names = self._own.guard.touched
        found: dict[str, TableState | None] = {}
        reader = self.template.reader()
        try:
            with self.looking() as connection, _lenient(reader.connection):
                before, now = _tables(reader.connection), _tables(connection)
                candidates = [*now, *(name for name in before if name not in now)]
                for key in candidates:
                    if not self._own.guard.touched_schema and key not in names:
                        continue
                    old = _state(reader.connection, before[key]) if key in before else None
                    new = _state(connection, now[key]) if key in now else None
                    if not _same(old, new):
                        found[now.get(key) or before[key]] = new and self._decoded(now[key], new)
        finally:
            self.template.give_back(reader)
        return found

    def _decoded(self, table: str, state: TableState) -> TableState:
        return TableState(state.columns, self._speech.decoded(self, table, state.rows))

    def snapshot(self) -> Snapshot:
        self._require_open()
        if self._own is None:
            return Snapshot(self._origin, None, (), frozenset(), False)
        connection, guard = self._own.connection, self._own.guard
        return Snapshot(
            self._origin,
            _image(connection),
            _temporary(connection),
            frozenset(guard.touched),
            guard.touched_schema,
        )

    def restore(self, snapshot: Snapshot) -> None:
        self._require_open()
        if snapshot.origin != self._origin:
            raise EngineError("a snapshot of another database", remedy="restore it where it is of")
        self._drop_own()
        if snapshot.image is None:
            return
        self._own = self.template.own(snapshot.image, _LIMITS.memory_mib)
        self._own.guard.touched = set(snapshot.touched)
        self._own.guard.touched_schema = snapshot.touched_schema
        for statement in snapshot.temporary:
            self._own.connection.execute(statement)

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._drop_own()
        if self._reader is not None:
            self.template.give_back(self._reader)
            self._reader = None
        self.template.sessions.discard(self)

    @property
    def _origin(self) -> tuple[str, str]:
        return self.template.content.digest, self._speech.dialect

    def _require_open(self) -> None:
        if self._closed:
            raise EngineError("the session is closed")

    def _lane(self) -> Lane:
        if self._own is not None:
            return self._own
        if self._reader is None:
            self._reader = self.template.reader()
        return self._reader

    def _make_own(self, limits: QueryLimits) -> Lane:
        self._own = self.template.own(None, limits.memory_mib)
        return self._own

    def _drop_own(self) -> None:
        if self._own is not None:
            self._own.connection.close()
            self._own = None


@contextmanager
def _lenient(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """Text that is no UTF-8 is read all the same."""
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    try:
        yield connection
    finally:
        connection.text_factory = str


def _fetched(cursor: sqlite3.Cursor, late: Callable[[], bool], limits: QueryLimits) -> QueryResult:
    affected = cursor.rowcount if cursor.rowcount >= 0 else None
    if cursor.description is None:
        return QueryResult(affected=affected)
    columns = tuple(column[0] for column in cursor.description)
    rows: list[Row] = []
    size, truncated = 0, False
    while True:
        batch = cursor.fetchmany(min(_BATCH, limits.max_rows + 1 - len(rows)))
        if not batch:
            break
        size += sum(_size(row) for row in batch)
        rows += batch
        if len(rows) > limits.max_rows or size > limits.max_bytes:
            truncated = True
            del rows[limits.max_rows :]
            break
        if late():
            raise sqlite3.OperationalError("interrupted")
    while truncated and size > limits.max_bytes and rows:
        size -= _size(rows.pop())
    affected = cursor.rowcount if cursor.rowcount >= 0 else None
    return QueryResult(columns, tuple(rows), truncated=truncated, affected=affected)


def _size(row: Row) -> int:
    return sum(len(value) if isinstance(value, str | bytes) else 8 for value in row)


def _failed(error: BaseException, lane: Lane) -> QueryResult:
    guard = lane.guard
    if guard.timed_out or (guard.late() and "interrupted" in str(error)):
        return QueryResult(error="interrupted", timed_out=True)
    if guard.overfull:
        return QueryResult(error="database or disk is full")
    if isinstance(error, MemoryError):
        return QueryResult(error="out of memory")
    if isinstance(error, OverflowError):
        return QueryResult(error="string or blob too big")
    return QueryResult(error=str(error) or "SQL logic error", refused=guard.refused)


def _tables(connection: sqlite3.Connection) -> dict[str, str]:
    """Names of tables as they are, by their small letters."""
    listing = connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table'"
        " AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY rowid"
    )
    return {name.lower(): name for (name,) in listing}


def _state(connection: sqlite3.Connection, table: str) -> TableState:
    cursor = connection.execute(f"SELECT * FROM main.{quote(table, 'sqlite')}")
    return TableState(tuple(column[0] for column in cursor.description), tuple(cursor))


def _same(old: TableState | None, new: TableState | None) -> bool:
    if old is None or new is None:
        return old is new
    if old.columns != new.columns or len(old.rows) != len(new.rows):
        return False
    return old.rows == new.rows or Counter(old.rows) == Counter(new.rows)


def _image(connection: sqlite3.Connection) -> bytes:
    if not connection.in_transaction:
        return connection.serialize()
    # What a transaction has not committed is not in the image: write it all anew.
    copy = sqlite3.connect(":memory:", isolation_level=None)
    try:
        copy.executescript("\n".join(connection.iterdump()))
        return copy.serialize()
    finally:
        copy.close()


def _temporary(connection: sqlite3.Connection) -> tuple[str, ...]:
    statements = []
    for kind, name, sql in connection.execute(
        "SELECT type, name, sql FROM sqlite_temp_master WHERE sql IS NOT NULL ORDER BY rowid"
    ).fetchall():
        head, _, rest = sql.partition(" ")
        statements.append(f"{head} TEMP {rest}")
        if kind == "table":
            quoted = quote(name, "sqlite")
            columns = [row[1] for row in connection.execute(f"PRAGMA temp.table_info({quoted})")]
            values = " || ', ' || ".join(f"quote({quote(c, 'sqlite')})" for c in columns)
            statements += [
                f"INSERT INTO temp.{quoted} VALUES ({row})"
                for (row,) in connection.execute(f"SELECT {values} FROM temp.{quoted}")
            ]
    return tuple(statements)
