"""Pristine databases, private copies of them, and connections: what sessions borrow."""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from dataclasses import dataclass, field

from intercode.engines.content import Content
from intercode.engines.mysql import databases
from intercode.engines.mysql.client import Client, Lost
from intercode.engines.mysql.databases import Database
from intercode.engines.mysql.rules import Ruling
from intercode.engines.mysql.server import Server
from intercode.errors import EngineError

_SPARE_CLIENTS = 128
_SPARE_SLOTS = 64
"""Private copies of one database kept for later."""


@dataclass
class Slot:
    """A private copy of a template, for one session at a time. ``number`` is in its name."""

    number: int
    name: str


@dataclass
class Done:
    """What a session did in its slot, on the safe side: ``touched`` names that rows were changed
    under, ``committed`` where a rollback does not take that back, ``defined`` where more than rows
    may have changed."""

    touched: set[str] = field(default_factory=set)
    committed: bool = False
    defined: bool = False

    def note(self, ruling: Ruling) -> None:
        self.touched |= ruling.names
        if ruling.effect == "defines":
            self.defined = True
        elif ruling.effect == "commits" and (self.touched or ruling.kind == "set"):
            self.committed = True


@dataclass
class Template:
    """A pristine database that is there for all to read, and its spare copies."""

    content: Content
    shown: str
    number: int
    database: Database
    tables: frozenset[str]
    """Names in small letters."""
    spare: list[Slot] = field(default_factory=list)


class Store:
    """All that an engine has on its server at present. Safe to use from many threads."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._lock = threading.Lock()
        self._loading = threading.Lock()
        self._generation = 0
        self._templates: dict[str, Template] = {}
        self._clients: list[Client] = []
        self._numbers = 0
        self._freed: list[int] = []
        """Numbers of dropped slots: their users are still there, and do for the next."""
        self._abandoned: deque[tuple[int, str]] = deque()

    def template(self, content: Content) -> Template:
        """Loaded on first use; again after the server has been started again."""
        with self._loading:
            self._server.ensure()
            if self._generation != self._server.generation:
                self._forget()
            self._drop_abandoned()
            found = self._templates.get(content.digest)
            if found is None:
                found = self._load(content)
                self._templates[content.digest] = found
            return found

    def _forget(self) -> None:
        with self._lock:
            clients, self._clients = self._clients, []
        for client in clients:
            self._server.disconnect(client)
        self._templates.clear()
        self._freed.clear()
        self._generation = self._server.generation

    def _load(self, content: Content) -> Template:
        number = self._number()
        name = self._server.names.database(number)
        with self._server.admin() as admin:
            try:
                database = databases.load(admin, name, content)
            except EngineError as error:
                with contextlib.suppress(EngineError):
                    databases.drop(admin, name)
                text = self._server.names.text(str(error), content.name)
                raise EngineError(f"{content.name} cannot be loaded: {text}") from None
            folded = int(admin.rows("SELECT @@lower_case_table_names")[0][0]) == 1
        shown = content.name.lower() if folded else content.name
        tables = frozenset(table.lower() for table in database.schema)
        return Template(content, shown, number, database, tables)

    def _number(self) -> int:
        with self._lock:
            self._numbers += 1
            return self._numbers

    def client(self, template: Template) -> Client:
        """A connection that reads ``template``: one that did so before, where there is one. That
        one is ``stale``."""
        with self._lock:
            client = None
            for place in range(len(self._clients) - 1, -1, -1):
                if self._clients[place].database == template.database.name:
                    client = self._clients.pop(place)
                    client.stale = True
                    return client
            if self._clients:
                client = self._clients.pop(0)
        if client is not None:
            try:
                self.read(client, template)
                return client
            except Lost:
                self._server.disconnect(client)
        client = self._server.connect()
        try:
            self.read(client, template)
        except Lost as error:
            self._server.disconnect(client)
            raise EngineError(f"the MySQL server is gone: {error}") from None
        return client

    def read(self, client: Client, template: Template) -> None:
        """Make it a fresh session that reads the pristine database. :raises Lost:"""
        name = template.database.name
        if client.database == name:
            client.refresh()
        else:
            # Without it a function that is not there would be one that may not be called. Where
            # there are some, they could write: those are called in private copies.
            more = "" if template.database.shape.others else ", EXECUTE"
            user = self._server.user(f"r{client.number}_{template.number}", name, more)
            client.become(*user, name)

    def write(self, client: Client, slot: Slot, role: str) -> None:
        """Make it a fresh session on a private database. :raises Lost:"""
        user = self._server.user(f"{role}{slot.number}", slot.name)
        client.become(*user, slot.name)
        client.run_plainly("SET autocommit = 0")

    def give_back(self, client: Client) -> None:
        with self._lock:
            if len(self._clients) < _SPARE_CLIENTS:
                self._clients.append(client)
                return
        self._server.disconnect(client)

    def slot(self, template: Template, source: str | None = None) -> Slot:
        """A private copy of ``template``, or of the database called ``source``."""
        with self._lock:
            if source is None and template.spare:
                return template.spare.pop()
            number = self._freed.pop() if self._freed else None
        if number is None:
            number = self._number()
        slot = Slot(number, self._server.names.database(number))
        definer = self._server.user(f"d{number}", slot.name)[0] if source else ""
        with self._server.admin() as admin:
            databases.copy(admin, source or template.database, slot.name, definer)
        return slot

    def return_slot(self, template: Template, slot: Slot, done: Done) -> None:
        """Pristine again for the next, or dropped. Its session has been rolled back."""
        with self._server.admin() as admin:
            if not done.defined and len(template.spare) < _SPARE_SLOTS:
                if done.committed:
                    databases.refill(admin, slot.name, template.database, done.touched)
                if done.touched:
                    databases.reset_counters(admin, slot.name, template.database.shape)
                with self._lock:
                    template.spare.append(slot)
            else:
                databases.drop(admin, slot.name)
                with self._lock:
                    self._freed.append(slot.number)

    def copy(self, source: str) -> str:
        """The name of a new database with what ``source`` holds now."""
        name = self._server.names.database(self._number())
        with self._server.admin() as admin:
            databases.copy(admin, source, name)
        return name

    def abandon(self, generation: int, name: str) -> None:
        """``name`` is to be dropped some time. Takes no lock: the garbage collector calls it."""
        self._abandoned.append((generation, name))

    def _drop_abandoned(self) -> None:
        while self._abandoned:
            generation, name = self._abandoned.popleft()
            if generation == self._server.generation:
                with self._server.admin() as admin:
                    databases.drop(admin, name)

    def close(self) -> None:
        self._forget()
