"""One connection to a MySQL server: statements in, results with limits out.

The rows' Python types are the connector's own (``Decimal``, ``date``, ``timedelta``, …), in its
pure form: it needs no library of the system's, and is the same everywhere.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from intercode.engines.base import QueryLimits, QueryResult
from intercode.engines.content import Row
from intercode.engines.mysql.wire import Meter, TooMuch
from intercode.engines.servers.watch import Watch
from intercode.errors import EngineError, EngineUnavailable

_CHUNK = 200
_SLACK_BYTES = 1 << 20
_PATIENCE = 40
"""Attempts to stop a statement, half a second apart, before the connection is given up."""
_LOST = frozenset((1053, 1158, 1159, 1160, 1161, 1927, 2006, 2013, 2014, 2027, 2055))
REFUSED = frozenset((1044, 1045, 1095, 1142, 1143, 1227, 1290, 1370, 1410, 1419, 3948))
"""Errors that say that a privilege is missing."""
INTERRUPTED = "Query execution was interrupted"


class Lost(Exception):
    """The connection is gone; the server may be, too."""


class Answer(NamedTuple):
    """A result as it came, with the server's number of its error."""

    result: QueryResult
    errno: int = 0


class Client:
    """A connection for one thread at a time. ``number`` tells an engine's connections apart."""

    def __init__(self, where: Mapping[str, Any], user: str, password: str, number: int = 0) -> None:
        """:raises EngineError: the server does not let us in."""
        try:
            import mysql.connector
            from mysql.connector.constants import ClientFlag
        except ImportError as error:
            raise EngineUnavailable(
                f"the mysql engine needs {error.name}", remedy="pip install 'intercode[sql]'"
            ) from None

        self._error = mysql.connector.Error
        self.number = number
        self.user = user
        self.database = ""
        self.stale = False
        """Whether another session has read by it, and `refresh` was not called since."""
        try:
            self._connection: Any = mysql.connector.connect(
                **where, user=user, password=password, use_pure=True, autocommit=True,
                charset="utf8mb4", collation="utf8mb4_general_ci", allow_local_infile=False,
                client_flags=[-ClientFlag.MULTI_STATEMENTS],
            )  # fmt: skip
        except mysql.connector.Error as error:
            raise EngineError(f"the MySQL server cannot be reached: {error.msg}") from None
        self._meter = Meter(self._connection)
        self.id = int(self._connection.connection_id or 0)

    @property
    def server_version(self) -> str:
        return str(self._connection.server_info)

    def become(self, user: str, password: str, database: str) -> None:
        """Another user's fresh session in ``database``. :raises Lost:"""
        try:
            self._connection.cmd_change_user(user, password, database)
        except self._error as error:
            raise Lost(error.msg) from None
        self.user, self.database, self.stale = user, database, False

    def refresh(self) -> None:
        """Roll back and forget all that the session set, where it stayed in its database.

        :raises Lost:
        """
        try:
            self._connection.cmd_reset_connection()
            self.stale = False
        except self._error as error:
            raise Lost(error.msg) from None

    def rows(self, sql: str) -> list[Row]:
        """For our own statements, which do not fail. :raises EngineError: one did"""
        try:
            answer = self._connection.cmd_query(sql.encode("utf-8", "surrogateescape"))
            return list(self._connection.get_rows()[0]) if "columns" in answer else []
        except self._error as error:
            if error.errno in _LOST or error.errno is None:
                raise EngineError(f"the MySQL server is gone: {error.msg}") from None
            raise EngineError(f"{error.msg} [{sql[:200]}]") from None

    def run_plainly(self, sql: str) -> None:
        """A statement of ours without rows, in the agent's session. :raises Lost:"""
        try:
            self._connection.cmd_query(sql.encode())
        except self._error as error:
            raise Lost(error.msg) from None

    def insert(self, sql: str, rows: list[Row]) -> None:
        """``sql`` with a ``%s`` for each value. :raises EngineError: the server refuses them"""
        try:
            with contextlib.closing(self._connection.cursor()) as cursor:
                cursor.executemany(sql, rows)
        except (self._error, ValueError, TypeError) as error:
            raise EngineError(f"{getattr(error, 'msg', error)} [{sql[:200]}]") from None

    def run(
        self, sql: bytes, limits: QueryLimits, timeout_s: float, watch: Watch,
        kill: Callable[[int, bool], None],
    ) -> Answer:  # fmt: skip
        """One statement of the agent's. :raises Lost:"""

        def stop(attempt: int) -> None:
            if attempt < _PATIENCE:
                kill(self.id, attempt >= _PATIENCE // 2)
            else:
                self._connection.shutdown()

        guard = watch.start(timeout_s, stop)
        # Four bytes make a character, and numbers come as text.
        self._meter.start(4 * limits.max_bytes + _SLACK_BYTES)
        try:
            answer = self._run(sql, limits, lambda: kill(self.id, False))
        except Exception as error:
            self._meter.stop()
            fired = watch.finish(guard)
            answer = self._failed(error)
            if fired:
                stopped = QueryResult(error=answer.result.error, timed_out=True)
                return Answer(stopped, answer.errno)
            return answer
        self._meter.stop()
        if watch.finish(guard):
            # SLEEP ends without an error, and a result that was under way comes to its end.
            return Answer(QueryResult(error=INTERRUPTED, timed_out=True), 1317)
        return answer

    def _run(self, sql: bytes, limits: QueryLimits, kill: Callable[[], None]) -> Answer:
        first: QueryResult | None = None
        results = self._connection.cmd_query_iter(sql)
        for found in results:
            if "columns" not in found:
                result = QueryResult(affected=int(found.get("affected_rows", 0)))
            elif first is not None and first.rows is not None:
                self._drain()
                continue
            else:
                result = self._fetch(found["columns"], limits, kill)
            # Of a procedure's several results the first with rows, else the last.
            if first is None or first.rows is None:
                first = result if result.rows is not None or first is None else first
        return Answer(first if first is not None else QueryResult())

    def _fetch(
        self, columns: list[Any], limits: QueryLimits, kill: Callable[[], None]
    ) -> QueryResult:
        names = tuple(_text(column[0]) for column in columns)
        rows: list[Row] = []
        size, truncated, ended = 0, False, False
        while not ended:
            wanted = min(_CHUNK, limits.max_rows - len(rows) + 1)
            try:
                chunk, eof = self._connection.get_rows(count=wanted)
            except TooMuch:
                kill()
                self._meter.discard()
                truncated = True
                break
            ended = eof is not None
            for row in chunk:
                size += sum(_size(value) for value in row)
                if len(rows) >= limits.max_rows or size > limits.max_bytes:
                    truncated = True
                    break
                rows.append(row)
            if truncated and not ended:
                kill()
                self._drain()
                break
        return QueryResult(columns=names, rows=tuple(rows), truncated=truncated)

    def _drain(self) -> None:
        """Read away what is under way; that it ends in an error is to be expected."""
        with contextlib.suppress(self._error):
            while self._connection.unread_result:
                self._connection.get_rows(count=_CHUNK, raw=True)

    def _failed(self, error: Exception) -> Answer:
        if not isinstance(error, self._error):
            # A value that the connector cannot turn into Python's.
            self._drain()
            return Answer(QueryResult(error=str(error)))
        number, text = error.errno or 0, error.msg or str(error)
        if number in _LOST or (number == -1 and not self.answers()):
            raise Lost(text)
        return Answer(QueryResult(error=text, refused=number in REFUSED), number)

    def answers(self) -> bool:
        try:
            self._drain()
            self._connection.cmd_ping()
        except Exception:
            return False
        return True

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self._connection.close()


def _text(name: Any) -> str:
    return name.decode("utf-8", "replace") if isinstance(name, bytes | bytearray) else str(name)


def _size(value: Any) -> int:
    return len(value) if isinstance(value, str | bytes | bytearray) else 8
