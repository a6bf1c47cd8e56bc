"""The `postgres` engine."""

from __future__ import annotations

import contextlib
import threading
from typing import Any

from intercode.engines.base import DIALECTS, Policy
from intercode.engines.content import Content
from intercode.engines.postgres.server import Server
from intercode.engines.postgres.session import PostgresSession
from intercode.engines.postgres.slots import Store
from intercode.engines.servers.watch import Watch
from intercode.errors import EngineError, UsageError


class Postgres:
    """A PostgreSQL server of InterCode's own, started on first use; or, by ``url``
    (``postgresql://user:password@host:port/``), a running one, whose user may make databases and
    roles: all that is made there is called ``intercode_…`` and dropped by `close`.

    :raises EngineUnavailable: there is no PostgreSQL on this machine, and no URL.
    """

    name = "postgres"
    dialect = "postgres"

    def __init__(self, url: str | None = None) -> None:
        self._server = Server(url)
        self._store = Store(self._server)
        self._watch = Watch()
        self._lock = threading.Lock()
        self._sessions: set[Any] = set()
        self._is_open = True

    @property
    def version(self) -> str:
        if not self._server.version:
            self._server.ensure()
        return self._server.version

    @property
    def server(self) -> Server:
        return self._server

    def open(
        self, content: Content, *, policy: Policy = "write", dialect: str | None = None
    ) -> PostgresSession:
        if not self._is_open:
            raise EngineError("this engine is closed")
        dialect = dialect or self.dialect
        if dialect not in DIALECTS:
            raise UsageError(f"no dialect is called {dialect!r}: {', '.join(DIALECTS)}")
        template = self._store.template(content)
        session = PostgresSession(
            self._server, self._store, self._watch, template, policy, dialect, self._forget
        )
        with self._lock:
            self._sessions.add(session)
        return session

    def _forget(self, session: Any) -> None:
        with self._lock:
            self._sessions.discard(session)

    def live(self) -> int:
        with self._lock:
            return len(self._sessions)

    def close(self) -> None:
        self._is_open = False
        with self._lock:
            sessions = list(self._sessions)
        with contextlib.ExitStack() as stack:
            stack.callback(self._server.close)
            stack.callback(self._watch.close)
            stack.callback(self._store.close)
            for session in sessions:
                stack.callback(session.close)

    def __enter__(self) -> Postgres:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
