"""The `postgres` engine."""

from __future__ import annotations

from intercode.engines.base import Policy
from intercode.engines.content import Content
from intercode.engines.postgres.server import Server
from intercode.engines.postgres.session import PostgresSession
from intercode.engines.postgres.slots import Store
from intercode.engines.servers.engine import ServerEngine


class Postgres(ServerEngine):
    """A PostgreSQL server of InterCode's own, started on first use; or, by ``url``
    (``postgresql://user:password@host:port/``), a running one, whose user may make databases and
    roles: all that is made there is called ``intercode_…`` and dropped by `close`.

    :raises EngineUnavailable: there is no PostgreSQL on this machine, and no URL.
    """

    name = "postgres"
    dialect = "postgres"

    def __init__(self, url: str | None = None) -> None:
        server = Server(url)
        self._templates = Store(server)
        super().__init__(server, self._templates)

    def _session(self, content: Content, policy: Policy, dialect: str) -> PostgresSession:
        template = self._templates.template(content)
        return PostgresSession(
            self.server, self._templates, self._watch, template, policy, dialect, self._forget
        )
