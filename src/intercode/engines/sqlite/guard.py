"""What a statement may do on a connection, and for how long.

SQLite asks the guard for every table, function and setting that a statement names while it is
compiled, and reports to it while it runs.
"""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import suppress

from intercode.engines.base import Policy, QueryLimits
from intercode.engines.sqlite.watch import Watch

_OK, _DENY = sqlite3.SQLITE_OK, sqlite3.SQLITE_DENY

_ROWS = {sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE}
_HARMLESS = {
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_RECURSIVE,
}
_CONTROL = {sqlite3.SQLITE_TRANSACTION, sqlite3.SQLITE_SAVEPOINT}
_SCHEMA = {
    sqlite3.SQLITE_CREATE_INDEX,
    sqlite3.SQLITE_CREATE_TABLE,
    sqlite3.SQLITE_CREATE_TRIGGER,
    sqlite3.SQLITE_CREATE_VIEW,
    sqlite3.SQLITE_DROP_INDEX,
    sqlite3.SQLITE_DROP_TABLE,
    sqlite3.SQLITE_DROP_TRIGGER,
    sqlite3.SQLITE_DROP_VIEW,
    sqlite3.SQLITE_ALTER_TABLE,
    sqlite3.SQLITE_REINDEX,
    sqlite3.SQLITE_ANALYZE,
}
_TEMPORARY = {
    sqlite3.SQLITE_CREATE_TEMP_INDEX,
    sqlite3.SQLITE_CREATE_TEMP_TABLE,
    sqlite3.SQLITE_CREATE_TEMP_TRIGGER,
    sqlite3.SQLITE_CREATE_TEMP_VIEW,
    sqlite3.SQLITE_DROP_TEMP_INDEX,
    sqlite3.SQLITE_DROP_TEMP_TABLE,
    sqlite3.SQLITE_DROP_TEMP_TRIGGER,
    sqlite3.SQLITE_DROP_TEMP_VIEW,
}
"""What only the session itself sees, and what is gone with it."""
_MASTERS = {"sqlite_master", "sqlite_schema", "sqlite_temp_master", "sqlite_temp_schema"}
_TEMPORARY_MASTERS = {"sqlite_temp_master", "sqlite_temp_schema"}
_BARE_TABLES = {"sqlite_dbpage", "sqlite_stmt", "dbstat", "bytecode", "tables_used"}
"""Virtual tables of the library that show or change its inside."""
_BARE_FUNCTIONS = {"load_extension", "fts3_tokenizer", "readfile", "writefile", "edit"}

_NAMING_PRAGMAS = {
    *("table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo"),
    *("foreign_key_list", "foreign_key_check", "integrity_check", "quick_check"),
}
"""Their argument is a name (or a count): they only tell."""
_TELLING_PRAGMAS = {
    *_NAMING_PRAGMAS,
    *("collation_list", "compile_options", "database_list", "encoding", "foreign_keys"),
    *("function_list", "module_list", "page_count", "page_size", "pragma_list"),
    *("schema_version", "user_version", "application_id"),
}

_COMPILE_STEPS = 200_000
_STEPS = 2_000
"""Instructions of SQLite's machine between two reports: well below a millisecond."""
_WATCH_S = 0.1


class Guard:
    """The guard of one connection. ``writable`` says whether the connection is a session's own; on
    a shared one a statement that writes is denied with ``wants_own`` set, and nothing has happened.
    """

    def __init__(self, connection: sqlite3.Connection, watch: Watch, *, writable: bool) -> None:
        self.writable = writable
        self._connection = connection
        self._watching = watch
        self.policy: Policy = "read-only"
        self.touched: set[str] = set()
        self.touched_schema = False
        self.open = True
        self._reset(QueryLimits())
        connection.set_authorizer(self._authorize)
        connection.set_progress_handler(self._progress, _STEPS)

    def begin(self, limits: QueryLimits) -> None:
        """Before each statement."""
        self._reset(limits)
        self.open = False
        self._watching.begin(self._connection, self.deadline)

    def lift(self) -> None:
        """Behind the statement: what runs now is the engine's own."""
        self._watching.end(self._connection)
        self.open = True

    def _reset(self, limits: QueryLimits) -> None:
        self.deadline = time.monotonic() + limits.timeout_s
        self.refused = False
        self.wants_own = False
        self.timed_out = False
        self.overfull = False
        self._scratch = limits.memory_mib << 20
        self._watch = time.monotonic() + _WATCH_S
        self._calls = 0

    def late(self) -> bool:
        if time.monotonic() > self.deadline:
            self.timed_out = True
        return self.timed_out

    def _progress(self) -> int:
        if self.open:
            return 0
        now = time.monotonic()
        if now > self.deadline:
            self.timed_out = True
        elif now > self._watch:
            self._watch = now + _WATCH_S
            self.overfull = _scratch_bytes() > self._scratch
        return self.timed_out or self.overfull

    def _authorize(self, action: int, first: str | None, second: str | None, *_: str | None) -> int:
        if self.open:
            return _OK
        self._calls += 1
        if self._calls % 256 == 0 and (self._calls > _COMPILE_STEPS or self.late()):
            self.timed_out = True
            return _DENY
        if action == sqlite3.SQLITE_READ:
            return self._may(str(first).lower() not in _BARE_TABLES)
        if action in _HARMLESS:
            return _OK
        if action == sqlite3.SQLITE_FUNCTION:
            return self._may(str(second).lower() not in _BARE_FUNCTIONS)
        if action == sqlite3.SQLITE_PRAGMA:
            name = str(first).lower()
            return self._may(name in (_NAMING_PRAGMAS if second else _TELLING_PRAGMAS))
        return self._write(action, str(first))

    def _write(self, action: int, first: str) -> int:
        if action == sqlite3.SQLITE_UPDATE and first.lower() in _MASTERS:
            # So it seems where a table-valued function is made known; whoever truly changes the
            # schema is asked for that too, and SQLite lets nobody write here by himself.
            return _OK
        if action in _CONTROL:
            return self._on_own()
        if action in _ROWS and first.lower() not in _MASTERS:
            if self.policy == "read-only" or first.lower() in _BARE_TABLES:
                return self._may(False)
            if self.writable:
                self.touched.add(first.lower())
            return self._on_own()
        temporary = first.lower() in _TEMPORARY_MASTERS if action in _ROWS else action in _TEMPORARY
        if temporary and self.policy != "read-only":
            self.touched_schema = self.writable
            return self._on_own()
        if action in _SCHEMA | _TEMPORARY or action in _ROWS:
            if self.policy != "ddl":
                return self._may(False)
            self.touched_schema = self.writable
            return self._on_own()
        return self._may(False)

    def _may(self, allowed: bool) -> int:
        if allowed:
            return _OK
        self.refused = True
        return _DENY

    def _on_own(self) -> int:
        if self.writable:
            return _OK
        self.wants_own = True
        return _DENY


def _scratch_bytes() -> int:
    """What SQLite's temporary files (sorts, materialised queries) of this process hold now. They
    have no names, and only Linux tells of them."""
    total = 0
    with suppress(OSError):
        for name in os.listdir("/proc/self/fd"):
            with suppress(OSError, ValueError):
                if "/etilqs_" in os.readlink(f"/proc/self/fd/{name}"):
                    total += os.fstat(int(name)).st_size
    return total


def limit(connection: sqlite3.Connection, longest: int) -> None:
    """Bounds what a single instruction can cost; ``longest`` is the content's longest value.

    What SQLite does between two reports (compiling, one function call) is not interrupted, so that
    these bounds, the guard's on compiling, and functions of linear time keep a timeout true.
    """
    for category, value in (
        (sqlite3.SQLITE_LIMIT_LENGTH, max(500_000, 2 * longest)),
        (sqlite3.SQLITE_LIMIT_SQL_LENGTH, 1_000_000),
        (sqlite3.SQLITE_LIMIT_COLUMN, 1_000),
        (sqlite3.SQLITE_LIMIT_EXPR_DEPTH, 500),
        (sqlite3.SQLITE_LIMIT_COMPOUND_SELECT, 200),
        (sqlite3.SQLITE_LIMIT_VDBE_OP, 1_000_000),
        (sqlite3.SQLITE_LIMIT_FUNCTION_ARG, 100),
        (sqlite3.SQLITE_LIMIT_ATTACHED, 0),
        (sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 500),
        (sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH, 100),
        (sqlite3.SQLITE_LIMIT_WORKER_THREADS, 0),
    ):
        connection.setlimit(category, value)
