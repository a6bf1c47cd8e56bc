"""One episode on a PostgreSQL server.

It begins on the pristine database, shared with all that only read. With the first statement that is
not plain reading it moves to a private copy, into one transaction that lasts to the session's end
and is rolled back then: tables, types and settings too. Each statement has a savepoint, and the
agent's own BEGIN, COMMIT and ROLLBACK are savepoints in it. What a session did is known by its
statements, which is what `snapshot` keeps and `restore` runs again.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from typing import Any

from intercode.engines.base import Policy, QueryLimits, QueryResult, TableState
from intercode.engines.postgres import databases, lenient
from intercode.engines.postgres.client import Answer, Client, Lost
from intercode.engines.postgres.rules import Ruling, rule
from intercode.engines.postgres.server import Server
from intercode.engines.postgres.slots import Slot, Store, Template
from intercode.engines.servers.watch import Watch
from intercode.engines.statements import split
from intercode.engines.translate import SyntaxFault, translate
from intercode.errors import EngineError, UsageError

_ROLES: Mapping[Policy, str] = {"read-only": "r", "write": "w", "ddl": "d"}
_LONGEST = 4 << 20
_DEFAULT_LIMITS = QueryLimits()
_REPLAY_LIMITS = QueryLimits(timeout_s=60, max_rows=1)
_POINT = "intercode_statement"
_BLOCK = "intercode_block"
_ABORTED = "current transaction is aborted, commands ignored until end of transaction block"


class PostgresSnapshot:
    """``journal``: the statements that lead from the pristine database to this moment."""

    def __init__(self, content: str, journal: tuple[str, ...] | None) -> None:
        self.content = content
        self.journal = journal


class PostgresSession:
    """See `Session`."""

    def __init__(
        self, server: Server, store: Store, watch: Watch, template: Template, policy: Policy,
        dialect: str, closed: Callable[[Any], None],
    ) -> None:  # fmt: skip
        self._server, self._store, self._watch = server, store, watch
        self._template = template
        self._policy: Policy = policy
        self._dialect = dialect
        self._closed = closed
        self._generation = server.generation
        # What a GROUP BY leaves open is any row's in both.
        self._lenient = dialect in ("mysql", "sqlite")
        self._path = lenient.PATH if dialect == "mysql" else "public"
        self._reader: Client | None = store.reader(template, self._path)
        self._slot: Slot | None = None
        self._in_block = False
        self._aborted = False
        self._journal: list[str] = []
        self._broken = False
        self._is_open = True

    def execute(
        self, sql: str, limits: QueryLimits = _DEFAULT_LIMITS, *, several: bool = True
    ) -> tuple[QueryResult, ...]:
        self._check()
        if len(sql) > _LONGEST:
            return (QueryResult(error=f"a statement of {len(sql)} characters is too long"),)
        statements = split(sql, self._dialect)
        if not statements:
            return (QueryResult(error="the statement is empty"),)
        if len(statements) > 1 and not several:
            text = "cannot insert multiple commands into a prepared statement"
            return (QueryResult(error=text),)
        deadline = time.monotonic() + limits.timeout_s
        results: list[QueryResult] = []
        for statement in statements:
            result = self._one(statement, limits, deadline)
            results.append(result)
            if not result.ok:
                break
        return tuple(results)

    def _one(self, statement: str, limits: QueryLimits, deadline: float) -> QueryResult:
        try:
            statement = translate(statement, self._dialect, "postgres", self._template.names)
            statement.encode("utf-8")
        except SyntaxFault as fault:
            return QueryResult(error=str(fault))
        except UnicodeEncodeError:
            return QueryResult(error='invalid byte sequence for encoding "UTF8"')
        if "\0" in statement:
            return QueryResult(error='invalid byte sequence for encoding "UTF8": 0x00')
        ruling = rule(statement, self._policy)
        if ruling.refusal is not None:
            return QueryResult(error=ruling.refusal, refused=True)
        try:
            aborted = self._aborted
            answer = self._answer(statement, ruling, limits, deadline)
            if answer.state == lenient.GROUPING_ERROR and self._lenient:
                again, self._aborted = lenient.loosely_grouped(statement), aborted
                answer = self._answer(again, ruling, limits, deadline)
        except Lost as lost:
            return self._mend(str(lost))
        return self._server.names.result(answer.result, self._template.content.name)

    def _answer(
        self, statement: str, ruling: Ruling, limits: QueryLimits, deadline: float
    ) -> Answer:
        if ruling.pure and self._slot is None:
            return self._run(self._reading(), statement, ruling, limits, deadline)
        answer = self._within(self._own().client, statement, ruling, limits, deadline)
        if answer.result.ok:
            self._journal.append(statement)
        return answer

    def _reading(self) -> Client:
        if self._reader is None:
            self._reader = self._store.reader(self._template, self._path)
        return self._reader

    def _own(self) -> Slot:
        """The private copy, with its transaction open. :raises Lost:"""
        if self._slot is None:
            self._slot = self._store.slot(self._template, _ROLES[self._policy], self._path)
            self._in_block = self._aborted = False
            self._journal = []
            if self._reader is not None:
                self._store.give_back(self._template, self._reader)
                self._reader = None
        return self._slot

    def _run(
        self, client: Client, statement: str, ruling: Ruling, limits: QueryLimits, deadline: float
    ) -> Answer:
        left_s = max(deadline - time.monotonic(), 0.001)
        return client.run(statement, limits, left_s, self._watch, reads=ruling.reads)

    def _within(
        self, client: Client, statement: str, ruling: Ruling, limits: QueryLimits, deadline: float
    ) -> Answer:
        if ruling.control:
            return self._control(client, ruling.control)
        point = ruling.kind in ("savepoint", "release", "rollback")
        if point and not self._in_block:
            text = f"{ruling.kind.upper()} can only be used in transaction blocks"
            return Answer(QueryResult(error=text), "25P01")
        if self._aborted and ruling.kind != "rollback":
            return Answer(QueryResult(error=_ABORTED), "25P02")
        client.plain(f"SAVEPOINT {_POINT}")
        answer = self._run(client, statement, ruling, limits, deadline)
        if not answer.result.ok:
            client.plain(f"ROLLBACK TO SAVEPOINT {_POINT}")
            self._aborted = self._in_block
        elif answer.result.truncated and ruling.reads:
            # Cancelled: nothing of it is to be kept.
            client.plain(f"ROLLBACK TO SAVEPOINT {_POINT}")
        elif point:
            # The statement's own savepoint may be among those that it ended.
            self._aborted = False
        else:
            client.plain(f"RELEASE SAVEPOINT {_POINT}")
        return answer

    def _control(self, client: Client, what: str) -> Answer:
        """Begin, commit and rollback, as far as they cannot leave the session's transaction."""
        if what == "begin" and not self._in_block:
            client.plain(f"SAVEPOINT {_BLOCK}")
            self._in_block = True
        elif what != "begin" and self._in_block:
            if what == "rollback" or self._aborted:
                client.plain(f"ROLLBACK TO SAVEPOINT {_BLOCK}")
            client.plain(f"RELEASE SAVEPOINT {_BLOCK}")
            self._in_block = self._aborted = False
        return Answer(QueryResult())

    def _mend(self, text: str) -> QueryResult:
        """A lost connection may be the statement's doing: then the session goes on, as if all that
        it did in its transaction had been rolled back. :raises EngineError: the server is gone"""
        slot, self._slot = self._slot, None
        reader, self._reader = self._reader, None
        for client in (reader, slot.client if slot else None):
            if client is not None:
                client.close()
        if self._server.survives() and self._generation == self._server.generation:
            if slot is not None:
                with contextlib.suppress(EngineError):
                    self._store.discard(slot)
            shown = self._server.names.text(text, self._template.content.name)
            return QueryResult(error=shown.splitlines()[0] if shown else "connection lost")
        self._broken = True
        raise EngineError(f"the PostgreSQL server is gone: {text}")

    def _check(self) -> None:
        if not self._is_open:
            raise EngineError("the session is closed")
        if self._broken or self._generation != self._server.generation:
            raise EngineError("the PostgreSQL server was lost under this session")

    def schema(self) -> databases.Schema:
        self._check()
        if self._slot is None:
            return self._template.database.schema
        with self._aside() as client:
            return databases.schema(client.rows(databases.SCHEMA))

    def changed(self) -> Mapping[str, TableState | None]:
        self._check()
        if self._slot is None:
            return {}
        pristine = self._template.database
        with self._aside() as client:
            now = databases.schema(client.rows(databases.SCHEMA))
            tables = [table for (table,) in client.rows(databases.TABLES)]
            changed: dict[str, TableState | None] = {
                table: None for table in pristine.digests if table not in tables
            }
            for table in tables:
                same = now.get(table) == pristine.schema.get(table) and table in pristine.digests
                if (
                    same
                    and client.rows(databases.digest_query(table))[0] == (pristine.digests[table])
                ):
                    continue
                columns = tuple(name for name, _ in now.get(table, ()))
                rows = client.rows(f"SELECT * FROM public.{databases.quote(table)}")
                changed[table] = TableState(columns, tuple(rows))
            return changed

    @contextlib.contextmanager
    def _aside(self) -> Any:
        """The session's connection for questions of ours, whatever it has set, and unharmed."""
        assert self._slot is not None
        client = self._slot.client
        try:
            client.plain(f"SAVEPOINT {_POINT}")
            for setting in ("search_path = public", "datestyle = ISO", "extra_float_digits = 1"):
                client.plain(f"SET LOCAL {setting}")
            client.plain("SET LOCAL ROLE NONE")
            try:
                yield client
            finally:
                client.plain(f"ROLLBACK TO SAVEPOINT {_POINT}")
                client.plain(f"RELEASE SAVEPOINT {_POINT}")
        except Lost as lost:
            raise EngineError(f"the PostgreSQL server is gone: {lost}") from None

    def snapshot(self) -> PostgresSnapshot:
        self._check()
        journal = tuple(self._journal) if self._slot is not None else None
        return PostgresSnapshot(self._template.content.digest, journal)

    def restore(self, snapshot: Any) -> None:
        self._check()
        if not isinstance(snapshot, PostgresSnapshot):
            raise UsageError("no snapshot of this engine")
        if snapshot.content != self._template.content.digest:
            raise UsageError("a snapshot of another database")
        self._leave()
        try:
            for statement in snapshot.journal or ():
                slot = self._own()
                ruling = rule(statement, self._policy)
                deadline = time.monotonic() + _REPLAY_LIMITS.timeout_s
                answer = self._within(slot.client, statement, ruling, _REPLAY_LIMITS, deadline)
                if not answer.result.ok:
                    raise EngineError(f"a snapshot cannot be restored: {answer.result.error}")
                self._journal.append(statement)
        except Lost as lost:
            self._broken = True
            raise EngineError(f"the PostgreSQL server is gone: {lost}") from None

    def _leave(self) -> None:
        """Back to the pristine database."""
        slot, self._slot = self._slot, None
        if slot is not None:
            self._store.return_slot(self._template, slot)

    def close(self) -> None:
        if not self._is_open:
            return
        self._is_open = False
        slot, self._slot = self._slot, None
        reader, self._reader = self._reader, None
        gone = self._broken or self._generation != self._server.generation
        try:
            if gone:
                for client in (reader, slot.client if slot else None):
                    if client is not None:
                        client.close()
                return
            if reader is not None:
                self._store.give_back(self._template, reader)
            if slot is not None:
                self._store.return_slot(self._template, slot)
        except EngineError:
            # The server died: with it went all that there was to put away.
            pass
        finally:
            self._closed(self)
