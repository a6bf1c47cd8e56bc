"""A pristine database in memory, shared by its readers, copied for who writes.

The template is an in-memory file of SQLite's ``memdb``. Readers open it read-only, without a copy,
and wait in a pool between sessions; nothing of a session stays on them, since what would is never
run there. A session that writes gets a copy of its own, which is thrown away with it.
"""

from __future__ import annotations

import itertools
import sqlite3
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from operator import attrgetter
from typing import Any

from intercode.engines.content import Content, Table
from intercode.engines.ddl import quote
from intercode.engines.sqlite import guard, text
from intercode.engines.sqlite.watch import Watch
from intercode.errors import EngineError

_NUMBERS = itertools.count()
_IDLE = 32
"""Readers that wait in a pool at most; each holds up to 2 MiB of pages."""

Setup = Callable[[sqlite3.Connection], None]
Fit = Callable[[Table], Iterable[tuple[Any, ...]]]


@dataclass(frozen=True)
class Lane:
    """A connection with its guard."""

    connection: sqlite3.Connection
    guard: guard.Guard


class Template:
    """One content as a database. ``create`` writes a table's CREATE TABLE, ``fit`` gives its rows
    as they are to be stored, ``setup`` makes a new connection speak the dialect (functions,
    collations), before any table is made too."""

    def __init__(
        self,
        content: Content,
        watch: Watch,
        *,
        create: Callable[[Table], str],
        fit: Fit = attrgetter("rows"),
        extra: Iterable[str] = (),
        setup: Setup = text.register,
    ) -> None:
        self.content = content
        self.sessions: set[Any] = set()
        self._watch = watch
        self._setup = setup
        self._uri = f"file:/intercode-{id(self):x}-{next(_NUMBERS)}?vfs=memdb"
        self._longest = max(
            (len(v) * 4 for t in content.tables for row in t.rows for v in row if _sized(v)),
            default=0,
        )
        self._lock = threading.Lock()
        self._idle: list[Lane] = []
        self._keeper = self._connect(self._uri)
        try:
            self._fill(create, fit, extra)
        except sqlite3.Error as error:
            self._keeper.close()
            raise EngineError(f"{content.name}: SQLite cannot hold it: {error}") from error
        self.pages: int = self._keeper.execute("PRAGMA page_count").fetchone()[0]

    def _fill(
        self,
        create: Callable[[Table], str],
        fit: Fit,
        extra: Iterable[str],
    ) -> None:
        keeper = self._keeper
        keeper.execute("BEGIN")
        for table in self.content.tables:
            keeper.execute(create(table))
            insert(keeper, table.name, fit(table))
        for statement in extra:
            keeper.execute(statement)
        keeper.execute("COMMIT")

    def image(self) -> bytes:
        """The database file, byte for byte."""
        return self._keeper.serialize()

    def reader(self) -> Lane:
        with self._lock:
            if self._idle:
                return self._idle.pop()
        connection = self._connect(self._uri + "&mode=ro")
        guard.limit(connection, self._longest)
        return Lane(connection, guard.Guard(connection, self._watch, writable=False))

    def give_back(self, lane: Lane) -> None:
        with self._lock:
            if len(self._idle) < _IDLE:
                self._idle.append(lane)
                return
        lane.connection.close()

    def own(self, image: bytes | None, memory_mib: int) -> Lane:
        """A copy of the template, or of an image of `Connection.serialize`."""
        connection = self._connect(":memory:")
        connection.deserialize(self.image() if image is None else image)
        connection.execute("PRAGMA journal_mode = MEMORY")
        pages = int(connection.execute("PRAGMA page_count").fetchone()[0])
        connection.execute(f"PRAGMA max_page_count = {pages + (memory_mib << 8)}")
        guard.limit(connection, self._longest)
        return Lane(connection, guard.Guard(connection, self._watch, writable=True))

    def close(self) -> None:
        with self._lock:
            lanes, self._idle = self._idle, []
        for lane in lanes:
            lane.connection.close()
        self._keeper.close()

    def _connect(self, uri: str) -> sqlite3.Connection:
        connection = sqlite3.connect(
            uri, uri=True, isolation_level=None, check_same_thread=False, cached_statements=64
        )
        self._setup(connection)
        return connection


def insert(connection: sqlite3.Connection, table: str, rows: Iterable[tuple[Any, ...]]) -> None:
    """Rows of Python values, each as SQLite holds it."""
    for marks, group in itertools.groupby(map(_stored, rows), key=lambda row: row[0]):
        values = f"INSERT INTO {quote(table, 'sqlite')} VALUES ({', '.join(marks)})"
        connection.executemany(values, [row for _, row in group])


def _stored(row: tuple[Any, ...]) -> tuple[tuple[str, ...], list[Any]]:
    """Placeholders and values; text that is no Unicode (surrogates) goes in as its bytes."""
    values = [stored(value) for value in row]
    marks = ["?"] * len(values)
    for place, value in enumerate(values):
        if isinstance(value, str) and not _encodable(value):
            marks[place] = "CAST(? AS TEXT)"
            values[place] = value.encode("utf-8", "surrogateescape")
    return tuple(marks), values


def stored(value: Any) -> Any:
    """A value as SQLite stores it: dates as ISO text, decimals as numbers."""
    match value:
        case None | str() | bytes() | float():
            return value
        case bool():
            return int(value)
        case int():
            return value if -(2**63) <= value < 2**63 else float(value)
        case Decimal():
            whole = value == value.to_integral_value() and abs(value) < 2**63
            return int(value) if whole else float(value)
        case datetime():
            return value.isoformat(" ")
        case date() | time():
            return value.isoformat()
        case timedelta():
            return span(value)
    return str(value)


def span(value: timedelta) -> str:
    """A span of time as MySQL writes it: ``-838:59:59``."""
    seconds, micro = divmod(abs(value) // timedelta(microseconds=1), 1_000_000)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    sign = "-" if value < timedelta() else ""
    return f"{sign}{clock}.{micro:06}" if micro else sign + clock


def _sized(value: Any) -> bool:
    return isinstance(value, str | bytes) and len(value) > 50_000


def _encodable(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
