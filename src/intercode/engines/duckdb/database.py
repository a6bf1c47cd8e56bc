"""One database inside a worker: the pristine file, or a session's own copy of it in memory."""

from __future__ import annotations

import resource
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

from intercode.engines.base import Policy, QueryLimits, QueryResult, TableState
from intercode.engines.content import Row
from intercode.engines.ddl import quote
from intercode.engines.duckdb.rules import Ruling, rule
from intercode.engines.lexer import name_value, significant

_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "threads": 1,
    "memory_limit": "4GiB",  # The process has a limit of its own for each statement.
    "temp_directory": "",
    "autoload_known_extensions": False,
    "autoinstall_known_extensions": False,
    "python_enable_replacements": False,
}
_BATCH = 256
_AGAIN_S = 0.05
_OTHERS = {"memory", "temp", "system"}
"""Databases that are always there beside a session's own."""


class Database:
    """``file`` is never written; ``name`` is what sessions see the database called."""

    def __init__(self, file: str, name: str, watch: Watch) -> None:
        import duckdb

        self._file, self._name, self._watch = _text(file), quote(name, "duckdb"), watch
        self._root = duckdb.connect(":memory:", config=_CONFIG)
        self._mirror: _Mirror | None = None
        self._own = False
        self._strayed = False
        for statement in (
            "SET TimeZone = 'UTC'",
            f"SET allowed_paths = [{self._file}, {_text(file + '.wal')}]",
            "SET enable_external_access = false",
            "SET lock_configuration = true",
        ):
            self._root.execute(statement)
        self._attach()
        self._cursor = self._connect()

    def run(self, sql: str, policy: Policy, limits: QueryLimits) -> tuple[QueryResult, bool]:
        """And whether it may have left something behind."""
        import duckdb

        pure = False
        try:
            with self._watch.over(self._cursor, limits.timeout_s):
                ruling, statement = rule(self._cursor, sql, policy)
                if ruling.refusal:
                    return QueryResult(error=ruling.refusal, refused=True), False
                pure = ruling.pure
                if not pure:
                    self._make_own()
                    self._strayed = self._strayed or _names_another(sql)
                try:
                    result = self._fetched(statement, ruling, limits)
                except duckdb.InvalidInputException as error:
                    if self._own or "read-only mode" not in str(error):
                        raise
                    # It reads, but changes a sequence while it does.
                    pure = False
                    self._make_own()
                    result = self._fetched(statement, ruling, limits)
            return result, not pure
        except (duckdb.Error, MemoryError) as error:
            timed_out = self._watch.fired and isinstance(error, duckdb.InterruptException)
            said = str(error) or "Out of Memory Error"
            return QueryResult(error=said, timed_out=timed_out), not pure
        except (ValueError, OverflowError, UnicodeError) as error:
            return QueryResult(error=f"Conversion Error: {error}"), not pure

    def _fetched(self, statement: Any, ruling: Ruling, limits: QueryLimits) -> QueryResult:
        cursor = self._cursor.execute(statement)
        if ruling.silent:
            cursor.fetchall()
            return QueryResult()
        if ruling.counts:
            counted = cursor.fetchall()
            return QueryResult(affected=counted[0][0] if counted else None)
        columns = tuple(column[0] for column in cursor.description)
        zoned = any("TIME ZONE" in str(column[1]) for column in cursor.description)
        rows: list[Row] = []
        size, truncated = 0, False
        while batch := cursor.fetchmany(min(_BATCH, limits.max_rows + 1 - len(rows))):
            size += sum(map(_size, batch))
            rows += map(_in_utc, batch) if zoned else batch
            if len(rows) > limits.max_rows or size > limits.max_bytes:
                truncated = True
                del rows[limits.max_rows :]
                break
        while size > limits.max_bytes and rows:
            size -= _size(rows.pop())
        return QueryResult(columns, tuple(rows), truncated=truncated)

    def schema(self) -> Mapping[str, tuple[tuple[str, str], ...]]:
        return _columns(self._reading())

    def changed(self) -> Mapping[str, TableState | None]:
        if not self._own:
            return {}
        if self._mirror is None:
            self._mirror = _Mirror(self._file)
        old, now = self._mirror, self._reading()
        tables, columns = _tables(now), _columns(now)
        found: dict[str, TableState | None] = {}
        for name in tables:
            path = _path(name)
            same = name in old.tables and columns[name] == old.columns[name]
            if same and _digest(now, path) == old.digest(path):
                continue
            state = _state(now, path)
            if not (same and _counted(state) == _counted(_state(old.connection, path))):
                found[name] = state
        return found | {name: None for name in old.tables if name not in tables}

    def pristine(self) -> None:
        """Back to the file, with nothing left of a session in between."""
        self._cursor.close()
        if self._own:
            self._root.execute(f"DETACH {self._name}")
            self._own = False
            self._attach()
        self._cursor = self._connect()

    @property
    def is_clean(self) -> bool:
        """Whether nothing can have been left outside of the session's own database."""
        return not self._strayed

    def close(self) -> None:
        self._cursor.close()
        if self._mirror is not None:
            self._mirror.connection.close()
        self._root.close()

    def _attach(self) -> None:
        self._root.execute(f"ATTACH {self._file} AS {self._name} (READ_ONLY)")

    def _connect(self) -> Any:
        cursor = self._root.cursor()
        cursor.execute(f"USE {self._name}")
        return cursor

    def _make_own(self) -> None:
        if self._own:
            return
        root = self._root
        # What a reading session has is about its connection alone; there is nothing to keep.
        self._cursor.execute("USE memory")
        root.execute(f"DETACH {self._name}")
        root.execute(f"ATTACH ':memory:' AS {self._name}")
        root.execute(f"ATTACH {self._file} AS __pristine (READ_ONLY)")
        root.execute(f"COPY FROM DATABASE __pristine TO {self._name}")
        root.execute("DETACH __pristine")
        self._own = True
        self._cursor.execute(f"USE {self._name}")

    def _reading(self) -> Any:
        """The session's connection, out of a transaction that a failed statement has ended."""
        import duckdb

        try:
            self._cursor.execute("SELECT 1").fetchall()
        except duckdb.TransactionException:
            self._cursor.execute("ROLLBACK")
        return self._cursor


class _Mirror:
    """The pristine file beside a session's own database, to compare with."""

    def __init__(self, file: str) -> None:
        import duckdb

        self.connection = duckdb.connect(_untext(file), read_only=True, config=_CONFIG)
        self.tables, self.columns = _tables(self.connection), _columns(self.connection)
        self._digests: dict[str, Any] = {}

    def digest(self, path: str) -> Any:
        if path not in self._digests:
            self._digests[path] = _digest(self.connection, path)
        return self._digests[path]


class Watch:
    """Interrupts a connection at its deadline, and again until it heeds."""

    def __init__(self) -> None:
        self.fired = False
        self._connection: Any = None
        self._deadline = 0.0
        self._changed = threading.Condition()
        threading.Thread(target=self._loop, daemon=True).start()

    @contextmanager
    def over(self, connection: Any, timeout_s: float) -> Iterator[None]:
        with self._changed:
            self.fired = False
            self._connection, self._deadline = connection, time.monotonic() + timeout_s
            self._changed.notify()
        try:
            yield
        finally:
            with self._changed:
                self._connection = None

    def _loop(self) -> None:
        with self._changed:
            while True:
                if self._connection is None:
                    self._changed.wait()
                    continue
                left = self._deadline - time.monotonic()
                if left > 0:
                    self._changed.wait(left)
                    continue
                self.fired = True
                self._connection.interrupt()
                self._deadline = time.monotonic() + _AGAIN_S


def limit_memory(mib: int) -> None:
    """From now on this process may have so much more than it has."""
    with open("/proc/self/statm") as statm:
        pages = int(statm.read().split()[5])
    now = pages * resource.getpagesize()
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    resource.setrlimit(resource.RLIMIT_DATA, (now + (mib << 20), hard))


class Utc(tzinfo):
    """What DuckDB's client asks of ``pytz``, which is not needed for the one zone there is here."""

    def utcoffset(self, moment: datetime | None) -> timedelta:
        return timedelta(0)

    def dst(self, moment: datetime | None) -> timedelta:
        return timedelta(0)

    def tzname(self, moment: datetime | None) -> str:
        return "UTC"

    def localize(self, moment: datetime) -> datetime:
        return moment.replace(tzinfo=UTC)


def _in_utc(row: Row) -> Row:
    return tuple(
        value.replace(tzinfo=UTC)
        if isinstance(value, datetime) and value.tzinfo is not None
        else value
        for value in row
    )


def _size(row: Row) -> int:
    return sum(
        len(value)
        if isinstance(value, (str, bytes))
        else 8 * (1 + len(value))
        if isinstance(value, (list, dict, tuple))
        else 8
        for value in row
    )


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _untext(literal: str) -> str:
    return literal[1:-1].replace("''", "'")


def _tables(connection: Any) -> list[str]:
    listed = connection.execute(
        "SELECT schema_name, table_name FROM duckdb_tables() WHERE NOT internal AND NOT temporary"
        " AND database_name = current_database() ORDER BY table_oid"
    ).fetchall()
    return [_named(*pair) for pair in listed]


def _columns(connection: Any) -> dict[str, tuple[tuple[str, str], ...]]:
    found: dict[str, list[tuple[str, str]]] = {}
    for schema, table, column, kind in connection.execute(
        "SELECT schema_name, table_name, column_name, data_type FROM duckdb_columns()"
        " WHERE NOT internal AND database_name = current_database()"
        " ORDER BY table_oid, column_index"
    ).fetchall():
        found.setdefault(_named(schema, table), []).append((column, kind))
    return {name: tuple(columns) for name, columns in found.items()}


def _named(schema: str, table: str) -> str:
    return table if schema == "main" else f"{schema}.{table}"


def _path(name: str) -> str:
    schema, mark, table = name.partition(".")
    return f"{quote(schema, 'duckdb')}.{quote(table, 'duckdb')}" if mark else quote(name, "duckdb")


def _counted(state: TableState) -> Counter[str]:
    return Counter(map(repr, state.rows))


def _names_another(sql: str) -> bool:
    return any(
        token.kind in ("word", "quoted") and name_value(token).lower() in _OTHERS
        for token in significant(sql, "duckdb")
    )


def _digest(connection: Any, path: str) -> Any:
    return connection.execute(
        f"SELECT count(*), sum(hash(r)), bit_xor(hash(r)) FROM {path} AS r"
    ).fetchall()


def _state(connection: Any, path: str) -> TableState:
    cursor = connection.execute(f"SELECT * FROM {path}")
    columns = tuple(column[0] for column in cursor.description)
    return TableState(columns, tuple(map(_in_utc, cursor.fetchall())))
