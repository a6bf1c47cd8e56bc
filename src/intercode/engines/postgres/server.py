"""Where a PostgreSQL engine's databases are, and what it does there as administrator."""

from __future__ import annotations

import contextlib
import secrets
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from intercode.engines.postgres import databases
from intercode.engines.postgres.client import Client
from intercode.engines.servers.dying import give_up_the_dying, survives
from intercode.engines.servers.names import PREFIX, Names
from intercode.engines.servers.owned import OwnedServer
from intercode.engines.servers.postgres import ADMIN, PostgreSQL
from intercode.errors import EngineError, UsageError

_START_TIMEOUT_S = 30.0
_LOCK_SPACE = 1_231_972
"""First half of the advisory locks by which engines show that they live."""
ROLES = ("r", "w", "d")
"""Readers, writers, definers."""


class Server:
    """The administrator's side: connections, names, users. Safe to use from many threads.

    Each engine has a random token that is part of every name it makes, and holds an advisory lock
    for it while it lives: what bears a token whose lock is free is swept.
    """

    def __init__(self, url: str | None) -> None:
        self._owned = OwnedServer(PostgreSQL.find()) if url is None else None
        self._where, self._login = ({}, (ADMIN, "")) if url is None else parse_url(url)
        self._lock = threading.RLock()
        self._admin: Client | None = None
        self.generation = 0
        """Grows when everything that was made on the server is gone."""
        self.version = self._owned.kind.version if self._owned else ""
        self._renew()

    def _renew(self) -> None:
        self.names = Names(secrets.token_hex(6))
        self._password = "" if self._owned else secrets.token_urlsafe(12)
        self.generation += 1

    @property
    def owned(self) -> OwnedServer | None:
        return self._owned

    def role(self, letter: str) -> str:
        return self.names.user(letter)

    def ensure(self) -> None:
        """There is a server and an administrator's connection to it. :raises EngineError:"""
        with self._lock:
            if self._admin is not None and (self._owned is None or self._owned.alive()):
                return
            self._disconnect()
            if self._owned is not None:
                self._owned.ensure()
                self._where = {"host": self._owned.run_folder}
            self._renew()
            admin = self._first()
            try:
                self._begin(admin)
            except BaseException:
                admin.close()
                raise
            self._admin = admin

    def _first(self) -> Client:
        """A server that has just begun to listen may still be starting."""
        limit = time.monotonic() + _START_TIMEOUT_S
        while True:
            try:
                return Client(self._where, *self._login, "postgres")
            except EngineError as error:
                if "starting up" not in str(error) or time.monotonic() > limit:
                    raise
                time.sleep(0.01)

    def _begin(self, admin: Client) -> None:
        self.version = admin.server_version
        admin.rows(f"SELECT pg_advisory_lock({_LOCK_SPACE}, {_lock_of(self.names.token)})")
        if self._owned is None:
            self._sweep(admin)
        for letter in ROLES:
            login = f"LOGIN PASSWORD '{self._password}'" if self._password else "LOGIN"
            admin.rows(f"CREATE ROLE {self.role(letter)} {login}")
        admin.rows(f"GRANT {self.role('d')} TO CURRENT_USER")
        admin.rows(f"ALTER ROLE {self.role('r')} SET default_transaction_read_only = on")
        base = self.names.database(0)
        admin.rows(f"CREATE DATABASE {base} TEMPLATE template0 ENCODING 'UTF8'")
        with contextlib.closing(self.connect(base)) as inside:
            databases.close_off(inside)

    def _sweep(self, admin: Client) -> None:
        """What engines left that are no more."""
        found = admin.rows(
            "SELECT name FROM (SELECT datname::text FROM pg_database UNION ALL "
            f"SELECT rolname::text FROM pg_roles) a (name) WHERE name ~ '^{PREFIX}[0-9a-f]{{12}}_'"
        )
        tokens = {row[0].removeprefix(PREFIX).partition("_")[0] for row in found}
        for token in sorted(tokens - {self.names.token}):
            lock = f"{_LOCK_SPACE}, {_lock_of(token)}"
            if admin.rows(f"SELECT pg_try_advisory_lock({lock})")[0][0]:
                # Another engine may be sweeping the same.
                with contextlib.suppress(EngineError):
                    drop_all(admin, f"{PREFIX}{token}_")
                admin.rows(f"SELECT pg_advisory_unlock({lock})")

    @contextlib.contextmanager
    def admin(self) -> Iterator[Client]:
        """The administrator's connection, for one thread at a time. :raises EngineError:"""
        with self._lock:
            if self._admin is None:
                raise EngineError("the PostgreSQL server is not running")
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

    def connect(self, database: str, letter: str = "") -> Client:
        """As the user that ``letter`` stands for; without one as administrator."""
        user, password = (self.role(letter), self._password) if letter else self._login
        try:
            return Client(self._where, user, password, database)
        except EngineError:
            give_up_the_dying(self._owned, self.alive)
            raise

    def create(self, name: str, source: str) -> None:
        """A new database ``name``, a copy of ``source``, to which nobody is connected."""
        with self.admin() as admin:
            # Copying files is the faster way, for a server that need not put them on a disk.
            quick = self._owned is not None and admin.major_version >= 15
            strategy = " STRATEGY FILE_COPY" if quick else ""
            admin.rows(f"CREATE DATABASE {name} TEMPLATE {source}{strategy}")
            users = ", ".join(self.role(letter) for letter in ROLES)
            admin.rows(f"REVOKE ALL ON DATABASE {name} FROM PUBLIC")
            admin.rows(f"GRANT CONNECT ON DATABASE {name} TO {users}")
            admin.rows(f"GRANT TEMPORARY ON DATABASE {name} TO {self.role('w')}, {self.role('d')}")

    def drop(self, name: str) -> None:
        with self.admin() as admin:
            admin.rows(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def _disconnect(self) -> None:
        if self._admin is not None:
            self._admin.close()
        self._admin = None

    def close(self) -> None:
        with self._lock:
            try:
                if self._owned is None and self._admin is not None:
                    drop_all(self._admin, f"{PREFIX}{self.names.token}_")
            finally:
                self._disconnect()
                if self._owned is not None:
                    self._owned.close()


def drop_all(admin: Client, prefix: str) -> None:
    """Every database and role whose name begins with ``prefix``. :raises EngineError:"""
    like = prefix.replace("_", r"\_") + "%"
    for (name,) in admin.rows(f"SELECT datname::text FROM pg_database WHERE datname LIKE '{like}'"):
        admin.rows(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
    for (name,) in admin.rows(f"SELECT rolname::text FROM pg_roles WHERE rolname LIKE '{like}'"):
        admin.rows(f"DROP ROLE IF EXISTS {name}")


def _lock_of(token: str) -> int:
    return int(token, 16) % (1 << 31)


def parse_url(url: str) -> tuple[Mapping[str, Any], tuple[str, str]]:
    """Of ``postgresql://user:password@host:port/``, or ``postgresql://user@localhost/?host=FOLDER``
    with the folder of its socket: where the server is, and the login.

    :raises UsageError: it is no such URL
    """
    parts = urlsplit(url)
    try:
        port = parts.port or 5432
    except ValueError:
        port = 0
    if parts.scheme not in ("postgresql", "postgres") or not parts.hostname or not port:
        raise UsageError(
            f"not the URL of a PostgreSQL server: {url!r}",
            remedy="postgresql://user:password@host:5432/",
        )
    folder = parse_qs(parts.query).get("host", [parts.hostname])[0]
    where = {"host": folder, "port": port}
    return where, (unquote(parts.username or "postgres"), unquote(parts.password or ""))
