"""The `mysql` engine."""

from __future__ import annotations

from intercode.engines.base import Policy
from intercode.engines.content import Content
from intercode.engines.mysql.names import checked
from intercode.engines.mysql.server import Server
from intercode.engines.mysql.session import MySQLSession
from intercode.engines.mysql.slots import Store
from intercode.engines.servers.engine import ServerEngine


class MySQL(ServerEngine):
    """A MariaDB server of InterCode's own, started on first use; or, by ``url``
    (``mysql://user:password@host:port/``), a running MySQL or MariaDB server, whose user may make
    databases and users: all that is made there is called ``intercode_…`` and dropped by `close`.

    :raises EngineUnavailable: there is no MariaDB on this machine, and no URL.
    """

    name = "mysql"
    dialect = "mysql"

    def __init__(self, url: str | None = None) -> None:
        server = Server(url)
        self._templates = Store(server)
        super().__init__(server, self._templates)

    def _session(self, content: Content, policy: Policy, dialect: str) -> MySQLSession:
        checked(content.name)
        template = self._templates.template(content)
        return MySQLSession(
            self.server, self._templates, self._watch, template, policy, dialect, self._forget
        )
