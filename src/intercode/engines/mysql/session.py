"""One episode on a MySQL server.

It begins on the pristine database, shared with all that only read, as a user who can do nothing
else there. With the first statement that is not plain reading it moves to a private copy, where
nothing is committed unless it says so: as a rule a ROLLBACK is all that its end takes. A copy in
which something was committed or defined is dropped.

Autocommit is off there, as in the original; `snapshot` copies the database as the session sees it.
"""

from __future__ import annotations

import contextlib
import time
import weakref
from collections.abc import Callable, Mapping
from typing import Any

from intercode.engines.base import Policy, QueryLimits, QueryResult, TableState
from intercode.engines.mysql import databases
from intercode.engines.mysql.client import Answer, Client, Lost
from intercode.engines.mysql.names import UNKNOWN_NAME, in_catalog, missing, qualified
from intercode.engines.mysql.rules import Ruling, looks_back, rule
from intercode.engines.mysql.server import Server
from intercode.engines.mysql.slots import Done, Slot, Store, Template
from intercode.engines.servers.watch import Watch
from intercode.engines.statements import split
from intercode.engines.translate import SyntaxFault, translate
from intercode.errors import EngineError, UsageError

_ROLES: Mapping[Policy, str] = {"read-only": "o", "write": "w", "ddl": "d"}
_LONGEST = 4 << 20
_DEFAULT_LIMITS = QueryLimits()


class MySQLSnapshot:
    """Of one database: its copy's name, None for the pristine one. Goes with the object."""

    def __init__(self, content: str, generation: int, name: str | None) -> None:
        self.content = content
        self.generation = generation
        self.name = name


class MySQLSession:
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
        self._slot: Slot | None = None
        self._done = Done()
        self._locks = self._ran = False
        self._is_open = True
        self._client: Client | None = store.client(template)

    def execute(
        self, sql: str, limits: QueryLimits = _DEFAULT_LIMITS, *, several: bool = True
    ) -> tuple[QueryResult, ...]:
        self._check()
        if len(sql) > _LONGEST:
            return (QueryResult(error=f"a statement of {len(sql)} characters is too long"),)
        statements = split(sql, self._dialect)
        if not statements:
            return (QueryResult(error="Query was empty"),)
        if len(statements) > 1 and not several:
            return (QueryResult(error="more than one statement"),)
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
            statement = translate(statement, self._dialect, "mysql")
            statement.encode("utf-8")
        except SyntaxFault as fault:
            return QueryResult(error=str(fault))
        except UnicodeEncodeError:
            return QueryResult(error="Invalid utf8mb4 character string")
        ruling = rule(statement, self._policy)
        refusal = ruling.refusal or self._judge_variable(ruling)
        if refusal is not None:
            return QueryResult(error=refusal, refused=True)
        for attempt in range(2):
            try:
                answer = self._answer(statement, ruling, limits, deadline)
                break
            except Lost as lost:
                mended = self._mend(str(lost))
                # What only reads is asked again: its connection may have been lost long before.
                if attempt or not ruling.pure or self._slot is not None:
                    return mended
        self._ran = True
        return self._server.names.result(answer.result, self._template.shown)

    def _answer(
        self, statement: str, ruling: Ruling, limits: QueryLimits, deadline: float
    ) -> Answer:
        """:raises Lost:"""
        if not ruling.pure:
            self._prepare(ruling)
        elif (
            self._client is not None
            and self._client.stale
            and looks_back(statement, first=not self._ran)
        ):
            self._client.refresh()
        shown, real = self._template.shown, self._database
        answer = self._run(in_catalog(statement, shown, real), limits, deadline)
        if answer.errno in UNKNOWN_NAME and shown.lower() in statement.lower():
            known = self._template.tables | missing(answer.result.error or "", shown)
            again = qualified(statement, shown, real, known)
            if again != statement:
                answer = self._run(in_catalog(again, shown, real), limits, deadline)
        return answer

    def _run(self, statement: str, limits: QueryLimits, deadline: float) -> Answer:
        assert self._client is not None
        left_s = max(deadline - time.monotonic(), 0.001)
        return self._client.run(
            statement.encode("utf-8"), limits, left_s, self._watch, self._server.kill
        )

    @property
    def _database(self) -> str:
        return self._slot.name if self._slot else self._template.database.name

    def _judge_variable(self, ruling: Ruling) -> str | None:
        """Of a statement that is to be prepared from a user variable."""
        if not ruling.source or self._client is None:
            return None
        try:
            text = self._client.rows(f"SELECT {ruling.source}")[0][0]
        except EngineError:
            return None
        for statement in split(str(text), "mysql"):
            inner = rule(statement, self._policy)
            if inner.refusal is not None or inner.source:
                return inner.refusal or "a statement can only be prepared from a string here"
        return None

    def _prepare(self, ruling: Ruling) -> None:
        """Be where the statement may do what it does. :raises Lost:"""
        if self._slot is None:
            self._slot = self._store.slot(self._template)
            self._done = Done(defined=not self._template.database.shape.transactional)
            self._enter()
        self._done.note(ruling)
        if self._template.database.shape.others:
            # Functions and triggers change tables that no statement names.
            self._done.touched.add("*")
        if ruling.kind in ("lock", "flush", "handler"):
            self._locks = True

    def _enter(self) -> None:
        assert self._client is not None
        if self._slot is None:
            self._store.read(self._client, self._template)
        else:
            self._store.write(self._client, self._slot, _ROLES[self._policy])

    def _mend(self, text: str) -> QueryResult:
        """A lost connection may be the statement's doing: then the session goes on with another.

        :raises EngineError: the server is gone
        """
        assert self._client is not None
        self._server.disconnect(self._client)
        self._client = None
        if self._server.survives() and self._generation == self._server.generation:
            with contextlib.suppress(Lost):
                client = self._server.connect()
                self._client = client
                self._enter()
                shown = self._server.names.text(text, self._template.shown)
                return QueryResult(error=shown)
        raise EngineError(f"the MySQL server is gone: {text}")

    def _check(self) -> None:
        if not self._is_open:
            raise EngineError("the session is closed")
        if self._client is None or self._generation != self._server.generation:
            raise EngineError("the MySQL server was lost under this session")

    def schema(self) -> Mapping[str, tuple[tuple[str, str], ...]]:
        self._check()
        if self._slot is None:
            return self._template.database.schema
        with self._server.admin() as admin:
            return databases.schema(admin, self._slot.name)

    def changed(self) -> Mapping[str, TableState | None]:
        self._check()
        if self._slot is None:
            return {}
        self._unlock()
        with self._server.admin() as admin:
            return databases.difference(
                admin, self._slot.name, self._template.database, shape_too=self._done.defined
            )

    def _unlock(self) -> None:
        """Tables that are locked cannot be looked at from beside."""
        if self._locks and self._client is not None:
            self._client.run_plainly("UNLOCK TABLES")
            self._locks = False

    def snapshot(self) -> MySQLSnapshot:
        self._check()
        made = MySQLSnapshot(self._template.content.digest, self._generation, None)
        if self._slot is not None:
            self._unlock()
            made.name = self._store.copy(self._slot.name)
            weakref.finalize(made, self._store.abandon, self._generation, made.name)
        return made

    def restore(self, snapshot: Any) -> None:
        self._check()
        if not isinstance(snapshot, MySQLSnapshot) or snapshot.generation != self._generation:
            raise EngineError("no snapshot of this engine, or the server has been lost since")
        if snapshot.content != self._template.content.digest:
            raise UsageError("a snapshot of another database")
        assert self._client is not None
        try:
            self._leave()
            if snapshot.name is not None:
                self._slot = self._store.slot(self._template, snapshot.name)
                self._done = Done(defined=True)
            self._enter()
        except Lost as lost:
            self._client = None
            raise EngineError(f"the MySQL server is gone: {lost}") from None

    def _leave(self) -> None:
        """Back to the pristine database. :raises Lost:"""
        slot, self._slot = self._slot, None
        if slot is None or self._client is None:
            return
        # The connection's end of it first: what it holds open would keep the others waiting.
        self._store.read(self._client, self._template)
        self._store.return_slot(self._template, slot, self._done)
        self._done, self._locks = Done(), False

    def close(self) -> None:
        if not self._is_open:
            return
        self._is_open = False
        client, gone = self._client, self._generation != self._server.generation
        try:
            if client is not None and not gone:
                self._leave()
                self._store.give_back(client)
                client = None
        except (EngineError, Lost):
            # The server died: with it went all that there was to put away.
            pass
        finally:
            if client is not None:
                self._server.disconnect(client)
            self._closed(self)
