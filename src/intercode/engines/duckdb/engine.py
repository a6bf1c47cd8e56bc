"""The DuckDB engine: contents as files, and sessions on them."""

from __future__ import annotations

import itertools
import tempfile
import threading
from pathlib import Path
from typing import Any

from intercode.engines.base import DIALECTS, Policy
from intercode.engines.content import Content
from intercode.engines.ddl import create_table, quote
from intercode.engines.duckdb.client import Pool
from intercode.engines.duckdb.session import DuckSession, Place
from intercode.engines.statements import kind_of
from intercode.engines.translate import SyntaxFault, translate
from intercode.errors import EngineError, EngineUnavailable, UsageError

_BATCH_VALUES = 2_000
_RESERVED = ("memory", "system", "temp", "main", "__pristine")


class DuckDB:
    """See `intercode.engines.base.Engine`. Foreign keys are not enforced: DuckDB refuses updates
    of rows that others refer to, which no other engine does.

    :raises EngineUnavailable: DuckDB is not installed.
    """

    name = "duckdb"
    dialect = "duckdb"

    def __init__(self) -> None:
        try:
            import duckdb
        except ImportError as error:
            raise EngineUnavailable(
                "the duckdb engine needs duckdb", remedy="pip install 'intercode[sql]'"
            ) from error
        self._version = f"DuckDB {duckdb.__version__}"
        self._lock = threading.Lock()
        self._pool = Pool()
        self._places: dict[str, Place] = {}
        self._sessions: set[DuckSession] = set()
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._closed = False

    @property
    def version(self) -> str:
        return self._version

    def open(
        self, content: Content, *, policy: Policy = "write", dialect: str | None = None
    ) -> DuckSession:
        dialect = dialect or self.dialect
        if dialect not in DIALECTS:
            raise UsageError(f"no dialect {dialect!r}", remedy=f"one of {', '.join(DIALECTS)}")
        place = self._place(content)
        session = DuckSession(place, policy, dialect, self._pool, self._sessions.discard)
        self._sessions.add(session)
        return session

    def live(self) -> int:
        return len(self._sessions)

    def close(self) -> None:
        self._closed = True
        for session in list(self._sessions):
            session.close()
        self._pool.close()
        with self._lock:
            self._places = {}
            if self._folder is not None:
                self._folder.cleanup()
                self._folder = None

    def _place(self, content: Content) -> Place:
        if self._closed:
            raise EngineError("the engine is closed")
        with self._lock:
            place = self._places.get(content.digest)
            if place is None:
                if self._folder is None:
                    self._folder = tempfile.TemporaryDirectory(prefix="intercode-duckdb-")
                file = Path(self._folder.name) / f"{content.digest}.duckdb"
                _write(content, file)
                file.chmod(0o444)
                name = content.name + "_" * (content.name.lower() in _RESERVED) or "db"
                place = self._places[content.digest] = Place(str(file), name)
            return place


def _write(content: Content, file: Path) -> None:
    import duckdb

    file.unlink(missing_ok=True)
    connection = duckdb.connect(str(file), config={"threads": 1})
    try:
        connection.execute("BEGIN")
        for table in content.tables:
            connection.execute(create_table(table, content.dialect, "duckdb", foreign_keys=False))
            _insert(connection, table.name, table.rows)
        connection.execute("COMMIT")
        for name, statement in content.extra.items():
            _extra(connection, content, name, statement)
        connection.execute("CHECKPOINT")
    except duckdb.Error as error:
        raise EngineError(f"{content.name}: DuckDB cannot hold it: {error}") from error
    finally:
        connection.close()


def _insert(connection: Any, table: str, rows: tuple[tuple[Any, ...], ...]) -> None:
    if not rows:
        return
    width = len(rows[0])
    marks = f"({', '.join('?' * width)})"
    stream = iter(rows)
    while batch := list(itertools.islice(stream, max(1, _BATCH_VALUES // width))):
        values = [_stored(value) for row in batch for value in row]
        connection.execute(
            f"INSERT INTO {quote(table, 'duckdb')} VALUES {', '.join([marks] * len(batch))}", values
        )


def _stored(value: Any) -> Any:
    """Text that is no Unicode gets signs for what is wrong in it."""
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return value


def _extra(connection: Any, content: Content, name: str, statement: str) -> None:
    """Views. An index is left out: it holds nothing."""
    if kind_of(statement) == "create" and "INDEX" in statement.upper().split("(")[0].split():
        return
    try:
        connection.execute(translate(statement, content.dialect, "duckdb"))
    except SyntaxFault as fault:
        raise EngineError(f"{content.name}: DuckDB cannot hold {name}: {fault}") from fault
