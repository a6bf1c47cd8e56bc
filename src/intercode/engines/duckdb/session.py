"""One episode on a worker of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from intercode.engines.base import Policy, QueryLimits, QueryResult, TableState
from intercode.engines.duckdb.client import Died, Pool, Process, Stuck
from intercode.engines.statements import split
from intercode.engines.translate import SyntaxFault, translate
from intercode.errors import EngineError

_LIMITS = QueryLimits()
_GRACE_S = 1.0
"""What a statement has to heed an interruption, before its process is ended."""
_LONGEST = 1_000_000
"""Characters of one statement: the parser heeds no interruption."""
_REPLAY = QueryLimits(timeout_s=60.0, max_rows=0, memory_mib=2048)


@dataclass(frozen=True)
class Place:
    """A pristine database file, and what sessions see it called."""

    file: str
    name: str


@dataclass(frozen=True)
class Snapshot:
    """What was done since the pristine database: coming back does it again. What it drew from
    ``random()`` or the clock may come out differently then."""

    place: Place
    done: tuple[str, ...]


class DuckSession:
    """See `intercode.engines.base.Session`."""

    def __init__(
        self,
        place: Place,
        policy: Policy,
        dialect: str,
        pool: Pool,
        on_close: Callable[[DuckSession], None],
    ) -> None:
        self._place, self._policy, self._dialect = place, policy, dialect
        self._pool, self._on_close = pool, on_close
        self._process: Process | None = None
        self._done: list[str] = []
        self._broken: str | None = None
        self._closed = False

    def execute(
        self, sql: str, limits: QueryLimits = _LIMITS, *, several: bool = True
    ) -> tuple[QueryResult, ...]:
        self._require_open()
        statements = split(sql, self._dialect)
        if not statements:
            return (QueryResult(error="Parser Error: syntax error at end of input"),)
        if len(statements) > 1 and not several:
            return (QueryResult(error="Parser Error: one statement at a time"),)
        results = []
        for statement in statements:
            results.append(self._run(statement, limits))
            if not results[-1].ok:
                break
        return tuple(results)

    def schema(self) -> Mapping[str, tuple[tuple[str, str], ...]]:
        found: Mapping[str, tuple[tuple[str, str], ...]] = self._ask("schema")
        return found

    def changed(self) -> Mapping[str, TableState | None]:
        if not self._done:
            self._require_open()
            return {}
        found: Mapping[str, TableState | None] = self._ask("changed")
        return found

    def snapshot(self) -> Snapshot:
        self._require_open()
        return Snapshot(self._place, tuple(self._done))

    def restore(self, snapshot: Snapshot) -> None:
        self._require_open()
        if snapshot.place != self._place:
            raise EngineError("a snapshot of another database", remedy="restore it where it is of")
        if self._done:
            self._ask("pristine")
        self._done = list(snapshot.done)
        if self._process is not None:
            self._replay(self._process)

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        process, self._process = self._process, None
        if process is not None:
            try:
                process.ask("release")
            except (Stuck, Died, EngineError):
                process.kill()
            else:
                self._pool.give_back(process)
        self._on_close(self)

    def _run(self, sql: str, limits: QueryLimits) -> QueryResult:
        if len(sql) > _LONGEST:
            return QueryResult(error="Parser Error: the statement is too long")
        try:
            if self._dialect != "duckdb":
                sql = translate(sql, self._dialect, "duckdb")
            sql.encode()
        except SyntaxFault as fault:
            return QueryResult(error=str(fault))
        except UnicodeEncodeError as error:
            return QueryResult(error=f"not valid Unicode: {error.reason}")
        process = self._ready()
        wait = limits.timeout_s + _GRACE_S
        try:
            answer = process.ask("run", sql, self._policy, limits, timeout_s=wait)
        except Stuck:
            # Its session is made again from what was done before, when it is next needed.
            self._process = None
            return QueryResult(error="INTERRUPT Error: Interrupted!", timed_out=True)
        except Died as death:
            self._process = None
            if death.killed:
                raise self._break() from death
            return QueryResult(error="Out of Memory Error: the statement broke the engine")
        result, lasting = answer
        if lasting:
            self._done.append(sql)
        assert isinstance(result, QueryResult)
        return result

    def _ask(self, name: str) -> Any:
        self._require_open()
        process = self._ready()
        try:
            return process.ask(name)
        except (Stuck, Died) as gone:
            self._process = None
            raise self._break() from gone

    def _ready(self) -> Process:
        if self._process is None:
            process = self._pool.take()
            try:
                process.ask("open", self._place.file, self._place.name)
                self._replay(process)
            except (Stuck, Died) as gone:
                raise self._break() from gone
            except BaseException:
                process.kill()
                raise
            self._process = process
        return self._process

    def _replay(self, process: Process) -> None:
        for sql in self._done:
            process.ask("run", sql, self._policy, _REPLAY, timeout_s=_REPLAY.timeout_s + _GRACE_S)

    def _break(self) -> EngineError:
        self._broken = "a DuckDB process was ended from outside"
        return EngineError(self._broken, remedy="the next session has a new one")

    def _require_open(self) -> None:
        if self._closed:
            raise EngineError("the session is closed")
        if self._broken:
            raise EngineError(self._broken, remedy="open a new session")
