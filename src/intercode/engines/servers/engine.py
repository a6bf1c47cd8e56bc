"""An engine whose databases are on a server, whatever the server."""

from __future__ import annotations

import contextlib
import threading
from typing import Any, Protocol, Self

from intercode.engines.base import DIALECTS, Policy, Session
from intercode.engines.content import Content
from intercode.engines.servers.watch import Watch
from intercode.errors import EngineError, UsageError


class Server(Protocol):
    """The administrator's side of a server."""

    version: str

    def ensure(self) -> None: ...

    def close(self) -> None: ...


class Store(Protocol):
    """The databases on it."""

    def close(self) -> None: ...


class ServerEngine:
    """See `intercode.engines.base.Engine`. A subclass says which server it is, and what a session
    on it is."""

    name: str
    dialect: str

    def __init__(self, server: Server, store: Store) -> None:
        self._server = server
        self._store = store
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
    def server(self) -> Any:
        return self._server

    def open(
        self, content: Content, *, policy: Policy = "write", dialect: str | None = None
    ) -> Session:
        if not self._is_open:
            raise EngineError("this engine is closed")
        dialect = dialect or self.dialect
        if dialect not in DIALECTS:
            raise UsageError(f"no dialect is called {dialect!r}: {', '.join(DIALECTS)}")
        session = self._session(content, policy, dialect)
        with self._lock:
            self._sessions.add(session)
        return session

    def _session(self, content: Content, policy: Policy, dialect: str) -> Session:
        """A new one, which says to `_forget` that it is closed."""
        raise NotImplementedError

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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
