"""One connection to a PostgreSQL server: statements in, results with limits out.

The agent's statements go by the extended protocol, which takes one at a time, whatever its text
says; rows come as they are made, so that the rest can be stopped.
"""

from __future__ import annotations

import contextlib
import select
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from intercode.engines.base import QueryLimits, QueryResult
from intercode.engines.content import Row
from intercode.engines.servers.watch import Watch
from intercode.errors import EngineError, EngineUnavailable

_CHUNK = 200
_PATIENCE = 20
"""Attempts to cancel a statement, half a second apart, before its connection is given up."""
REFUSED = frozenset(("42501", "25006", "0LP01"))
INTERRUPTED = "canceling statement due to user request"


class Lost(Exception):
    """The connection is gone; the server may be, too."""


class Answer(NamedTuple):
    result: QueryResult
    state: str = ""
    """Of an error, PostgreSQL's five characters."""


class Client:
    """A connection for one thread at a time, on one database for ever."""

    def __init__(self, where: Mapping[str, Any], user: str, password: str, database: str) -> None:
        """:raises EngineError: the server does not let us in."""
        try:
            import psycopg
            from psycopg import adapt, pq
            from psycopg.types.string import TextLoader
        except ImportError as error:
            raise EngineUnavailable(
                f"the postgres engine needs {error.name}", remedy="pip install 'intercode[sql]'"
            ) from None

        self._errors, self._adapt, self._pq = psycopg, adapt, pq
        self._path = ""
        self._chunked = pq.version() >= 170000
        try:
            self._connection = psycopg.connect(
                **where, user=user, password=password or None, dbname=database, autocommit=True,
                prepare_threshold=None, client_encoding="UTF8",
            )  # fmt: skip
        except psycopg.Error as error:
            said = str(error).strip().splitlines()
            raise EngineError(f"the PostgreSQL server cannot be reached: {said[-1]}") from None
        for name in ("json", "jsonb"):
            self._connection.adapters.register_loader(name, TextLoader)
        self.pid = self._connection.info.backend_pid

    @property
    def server_version(self) -> str:
        number = self._connection.info.server_version
        return f"PostgreSQL {number // 10000}.{number % 10000}"

    @property
    def major_version(self) -> int:
        return self._connection.info.server_version // 10000

    def rows(self, sql: str) -> list[Row]:
        """For our own statements, which do not fail. :raises EngineError: one did"""
        try:
            cursor = self._connection.execute(sql.encode("utf-8"))
            return cursor.fetchall() if cursor.description else []
        except self._errors.Error as error:
            if self._connection.closed:
                raise EngineError(f"the PostgreSQL server is gone: {error}") from None
            raise EngineError(f"{_message(error)} [{sql[:200]}]") from None

    def fill(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """``sql`` is a COPY … FROM STDIN. :raises EngineError: the server refuses them"""
        try:
            with self._connection.cursor() as cursor, cursor.copy(sql.encode("utf-8")) as copy:
                for row in rows:
                    copy.write_row(row)
        except self._errors.Error as error:
            raise EngineError(f"{_message(error)} [{sql[:200]}]") from None

    def plain(self, sql: str) -> None:
        """One of ours in the agent's session. :raises Lost: the connection is"""
        try:
            self._connection.execute(sql.encode("utf-8"))
        except self._errors.Error as error:
            raise Lost(_message(error)) from None

    def look_in(self, path: str) -> None:
        """For what has no schema before it. :raises Lost:"""
        if path != self._path:
            self.plain(f"SET search_path = {path}")
            self._path = path

    def forget(self) -> None:
        """All that the session set. :raises Lost:"""
        self.plain("DISCARD ALL")
        self._path = ""

    def run(
        self, sql: str, limits: QueryLimits, timeout_s: float, watch: Watch, *, reads: bool = False
    ) -> Answer:
        """One statement of the agent's. Where it ``reads`` only, it is cancelled when there are
        more rows than the limits allow; another one goes on to its end. :raises Lost:"""
        guard = watch.start(timeout_s, self._stop)
        try:
            answer = self._run(sql.encode("utf-8"), limits, reads)
        except self._errors.Error as error:
            # One of the client's own: a value that Python cannot hold, a connection that is gone.
            answer = Answer(QueryResult(error=_message(error)))
            with contextlib.suppress(self._errors.Error):
                self._connection.cancel()
            self._drain()
            if not self.answers():
                raise Lost(_message(error)) from None
        finally:
            fired = watch.finish(guard)
        if self._connection.closed:
            raise Lost(answer.result.error or "the connection is closed")
        if not fired and not (answer.result.truncated and reads):
            return answer
        # A cancellation that came too late must not hit the next statement.
        for _ in range(3):
            if self.answers():
                break
        if not fired:
            return answer
        text = answer.result.error or INTERRUPTED
        return Answer(QueryResult(error=text, timed_out=True), answer.state or "57014")

    def _stop(self, attempt: int) -> None:
        if attempt < _PATIENCE:
            self._connection.cancel()
        else:
            self._connection.close()

    def _run(self, sql: bytes, limits: QueryLimits, reads: bool) -> Answer:
        wire, loaded = self._connection.pgconn, self._adapt.Transformer(self._connection)
        wire.send_query_params(sql, None)
        if self._chunked:
            wire.set_chunked_rows_mode(_CHUNK)
        else:
            wire.set_single_row_mode()
        answer = Answer(QueryResult())
        rows: list[Row] = []
        size, truncated = 0, False
        while (result := self._next()) is not None:
            status = self._pq.ExecStatus(result.status).name
            if status in ("FATAL_ERROR", "BAD_RESPONSE"):
                # What was cut off ends in the error that says so.
                failed = answer if truncated else self._failed(result)
                self._drain()
                # The server's own errors have a state; without one it is the client that speaks.
                if not (truncated or failed.state) and not self.answers():
                    raise Lost(failed.result.error)
                return failed
            if status in ("COPY_IN", "COPY_OUT", "COPY_BOTH"):
                self.close()
            if not result.nfields or truncated:
                answer = answer if truncated else Answer(QueryResult(affected=_affected(result)))
                continue
            loaded.set_pgresult(result)
            for row in loaded.load_rows(0, result.ntuples, tuple):
                size += sum(_size(value) for value in row)
                if len(rows) >= limits.max_rows or size > limits.max_bytes:
                    truncated = True
                    if reads:
                        self._connection.cancel()
                    break
                rows.append(row)
            names = [result.fname(place) or b"" for place in range(result.nfields)]
            columns = tuple(name.decode("utf-8", "replace") for name in names)
            answer = Answer(QueryResult(columns, tuple(rows), truncated=truncated))
        return answer

    def _next(self) -> Any:
        """The next part of what the server answers, None at its end."""
        wire = self._connection.pgconn
        poll = select.poll()
        while wire.flush():
            poll.register(wire.socket, select.POLLIN | select.POLLOUT)
            poll.poll()
            wire.consume_input()
        poll.register(wire.socket, select.POLLIN)
        while wire.is_busy():
            poll.poll()
            wire.consume_input()
        return wire.get_result()

    def _failed(self, result: Any) -> Answer:
        field = self._pq.DiagnosticField
        text = result.error_field(field.MESSAGE_PRIMARY) or result.error_message or b""
        state = (result.error_field(field.SQLSTATE) or b"").decode()
        error = text.decode("utf-8", "replace").strip()
        return Answer(QueryResult(error=error, refused=state in REFUSED), state)

    def _drain(self) -> None:
        """Read away what is under way."""
        with contextlib.suppress(self._errors.Error):
            while self._next() is not None:
                pass

    @property
    def lost(self) -> bool:
        return bool(self._connection.closed)

    def answers(self) -> bool:
        try:
            self._connection.execute(b"SELECT 1")
        except self._errors.Error:
            return False
        return True

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self._connection.close()


def _message(error: Any) -> str:
    diagnosis = getattr(error, "diag", None)
    primary = diagnosis.message_primary if diagnosis is not None else None
    return str(primary or str(error).strip() or type(error).__name__)


def _affected(result: Any) -> int | None:
    count: int | None = result.command_tuples
    return count


def _size(value: Any) -> int:
    return len(value) if isinstance(value, str | bytes) else 8
