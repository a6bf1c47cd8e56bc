"""Where a MySQL engine's databases are, and what it does there as administrator."""

from __future__ import annotations

import contextlib
import itertools
import secrets
import threading
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from intercode.engines.mysql import databases
from intercode.engines.mysql.client import Client
from intercode.engines.servers.dying import give_up_the_dying, survives
from intercode.engines.servers.mariadb import MariaDB
from intercode.engines.servers.names import PREFIX, Names
from intercode.engines.servers.owned import OwnedServer
from intercode.errors import EngineError, UsageError

_WRITE = "SELECT, SHOW VIEW, INSERT, UPDATE, DELETE, EXECUTE, CREATE TEMPORARY TABLES, LOCK TABLES"
_ROLES = {
    "r": "SELECT, SHOW VIEW",
    "o": "SELECT, SHOW VIEW, EXECUTE",
    "w": _WRITE,
    "d": f"{_WRITE}, CREATE, DROP, ALTER, INDEX, REFERENCES, TRIGGER, CREATE VIEW, "
    "CREATE ROUTINE, ALTER ROUTINE",
}
"""Privileges of users by the first letter of their names: readers of a pristine database; on a
private one readers, writers and definers. None of them has one that is not about its database."""


class Server:
    """The administrator's side: connections, names, users. Safe to use from many threads.

    Each engine has a random token that is part of every name it makes, and holds a lock of that
    name while it lives: what bears the name of a lock that nobody holds is swept.
    """

    def __init__(self, url: str | None) -> None:
        self._owned = OwnedServer(MariaDB.find()) if url is None else None
        self._where, self._login = ({}, ("root", "")) if url is None else parse_url(url)
        self._lock = threading.RLock()
        self._admin: Client | None = None
        self._killer: Client | None = None
        self._kill_lock = threading.Lock()
        self._users: set[str] = set()
        self._numbers: set[int] = set()
        self.generation = 0
        """Grows when everything that was made on the server is gone."""
        self.version = self._owned.kind.version if self._owned else ""
        self._renew()

    def _renew(self) -> None:
        self.names = Names(secrets.token_hex(6))
        self._password = "" if self._owned else secrets.token_urlsafe(12)
        self._users = set()
        self.generation += 1

    @property
    def owned(self) -> OwnedServer | None:
        return self._owned

    def ensure(self) -> None:
        """There is a server and an administrator's connection to it. :raises EngineError:"""
        with self._lock:
            if self._admin is not None and (self._owned is None or self._owned.alive()):
                return
            self._disconnect()
            if self._owned is not None:
                self._owned.ensure()
                self._where = {"unix_socket": self._owned.socket, "ssl_disabled": True}
            self._renew()
            admin = Client(self._where, *self._login)
            try:
                self._begin(admin)
                self._killer = Client(self._where, *self._login)
            except BaseException:
                admin.close()
                raise
            self._admin = admin

    def _begin(self, admin: Client) -> None:
        for statement in databases.ADMIN_SESSION:
            admin.rows(statement)
        version = str(admin.rows("SELECT version()")[0][0])
        number = version.partition("-")[0]
        self.version = f"{'MariaDB' if 'mariadb' in version.lower() else 'MySQL'} {number}"
        self._where_users = "localhost" if self._owned else "%"
        admin.rows(f"SELECT GET_LOCK('{PREFIX}{self.names.token}', 0)")
        if self._owned is None:
            self._sweep(admin)

    def _sweep(self, admin: Client) -> None:
        """What engines left that are no more."""
        found, users = databases.listed(admin, PREFIX)
        names = [*found, *(user.strip("'") for user in users)]
        tokens = {name.removeprefix(PREFIX).partition("_")[0] for name in names}
        for token in sorted(tokens - {self.names.token}):
            if not token.isalnum():
                continue
            if admin.rows(f"SELECT IS_FREE_LOCK('{PREFIX}{token}')")[0][0] == 1:
                # Another engine may be sweeping the same.
                with contextlib.suppress(EngineError):
                    databases.drop_all(admin, f"{PREFIX}{token}_")

    @contextlib.contextmanager
    def admin(self) -> Iterator[Client]:
        """The administrator's connection, for one thread at a time. :raises EngineError:"""
        with self._lock:
            if self._admin is None:
                raise EngineError("the MySQL server is not running")
            try:
                yield self._admin
            except EngineError:
                if not self._admin.answers():
                    self._disconnect()
                raise

    def alive(self) -> bool:
        """Whether the server answers now."""
        with self._lock:
            if self._admin is None or (self._owned is not None and not self._owned.alive()):
                return False
            if self._admin.answers():
                return True
            self._disconnect()
            return False

    def survives(self) -> bool:
        return survives(self.alive)

    def user(self, suffix: str, database: str, more: str = "") -> tuple[str, str]:
        """Name and password of the user for ``database``, with the privileges that the first letter
        of ``suffix`` stands for, and ``more``."""
        name = self.names.user(suffix)
        if name not in self._users:
            with self.admin() as admin:
                account = f"'{name}'@'{self._where_users}'"
                admin.rows(f"CREATE USER IF NOT EXISTS {account} IDENTIFIED BY '{self._password}'")
                admin.rows(f"GRANT {_ROLES[suffix[0]]}{more} ON `{database}`.* TO {account}")
                self._users.add(name)
        return name, self._password

    def connect(self) -> Client:
        """A connection that can do nothing yet."""
        name, password = self.user_of_nothing()
        with self._lock:
            number = next(n for n in itertools.count(1) if n not in self._numbers)
            self._numbers.add(number)
        try:
            return Client(self._where, name, password, number)
        except BaseException:
            self._numbers.discard(number)
            give_up_the_dying(self._owned, self.alive)
            raise

    def disconnect(self, client: Client) -> None:
        """Close one of `connect`: its number, and the users made for it, are the next one's."""
        client.close()
        with self._lock:
            self._numbers.discard(client.number)

    def user_of_nothing(self) -> tuple[str, str]:
        name = self.names.user("nobody")
        if name not in self._users:
            with self.admin() as admin:
                account = f"'{name}'@'{self._where_users}'"
                admin.rows(f"CREATE USER IF NOT EXISTS {account} IDENTIFIED BY '{self._password}'")
                self._users.add(name)
        return name, self._password

    def kill(self, connection: int, whole: bool) -> None:
        """What a connection does, or the ``whole`` of it. From a connection of its own: the other
        may be busy."""
        with self._kill_lock:
            killer = self._killer
            if killer is not None:
                with contextlib.suppress(EngineError):
                    killer.rows(f"KILL {'' if whole else 'QUERY '}{connection}")

    def _disconnect(self) -> None:
        for client in (self._admin, self._killer):
            if client is not None:
                client.close()
        self._admin = self._killer = None

    def close(self) -> None:
        with self._lock:
            try:
                if self._owned is None and self._admin is not None:
                    databases.drop_all(self._admin, f"{PREFIX}{self.names.token}_")
            finally:
                self._disconnect()
                if self._owned is not None:
                    self._owned.close()


def parse_url(url: str) -> tuple[Mapping[str, Any], tuple[str, str]]:
    """Of ``mysql://user:password@host:port/``, or ``mysql://user:password@localhost/?socket=PATH``:
    where the server is, and the login.

    :raises UsageError: it is no such URL
    """
    parts = urlsplit(url)
    try:
        port = parts.port or 3306
    except ValueError:
        port = 0
    if parts.scheme not in ("mysql", "mariadb") or not parts.hostname or not port:
        raise UsageError(
            f"not the URL of a MySQL server: {url!r}", remedy="mysql://user:password@host:3306/"
        )
    where: dict[str, Any] = {"host": parts.hostname, "port": port}
    for path in parse_qs(parts.query).get("socket", ()):
        where = {"unix_socket": path, "ssl_disabled": True}
    return where, (unquote(parts.username or "root"), unquote(parts.password or ""))
