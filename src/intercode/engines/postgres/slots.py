"""Pristine databases, private copies of them, and connections: what sessions borrow."""

from __future__ import annotations

import contextlib
import threading
from dataclasses import dataclass, field

from intercode.engines.content import Content
from intercode.engines.postgres import databases
from intercode.engines.postgres.client import Client, Lost
from intercode.engines.postgres.databases import Database
from intercode.engines.postgres.server import Server
from intercode.errors import EngineError

_SPARE_READERS = 32
_SPARE_SLOTS = 32
_SPARE_IN_ALL = 96
"""Connections without a session: each is a process of the server's."""
_USES = 1000
"""Of a slot: what a rollback takes back still takes room."""


@dataclass
class Slot:
    """A private copy of a template with a connection to it, for one session at a time."""

    name: str
    letter: str
    client: Client
    uses: int = 0


@dataclass
class Template:
    """A pristine database: its copy that all may read, and spare private ones."""

    content: Content
    database: Database
    shared: str
    names: tuple[str, ...]
    """Of tables and columns, as they are in it."""
    readers: list[Client] = field(default_factory=list)
    spare: list[Slot] = field(default_factory=list)


class Store:
    """All that an engine has on its server at present. Safe to use from many threads."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._lock = threading.Lock()
        self._loading = threading.Lock()
        self._generation = 0
        self._templates: dict[str, Template] = {}
        self._numbers = 0

    def template(self, content: Content) -> Template:
        """Loaded on first use; again after the server has been started again."""
        with self._loading:
            self._server.ensure()
            if self._generation != self._server.generation:
                self._forget()
            found = self._templates.get(content.digest)
            if found is None:
                found = self._load(databases.folded(content))
                self._templates[content.digest] = found
            return found

    def _forget(self) -> None:
        for template in self._templates.values():
            for client in (*template.readers, *(slot.client for slot in template.spare)):
                client.close()
        self._templates.clear()
        self._generation = self._server.generation

    def _load(self, content: Content) -> Template:
        server = self._server
        name, shared = self._name(), self._name()
        server.create(name, server.names.database(0))
        try:
            with contextlib.closing(server.connect(name)) as inside:
                roles = (server.role(letter) for letter in "rwd")
                databases.load(inside, content, *roles)
                schema = databases.schema(inside.rows(databases.SCHEMA))
                digests = {
                    table: inside.rows(databases.digest_query(table))[0]
                    for (table,) in inside.rows(databases.TABLES)
                }
                counted = inside.rows("SELECT count(*) FROM pg_class WHERE relkind = 'S'")
        except EngineError as error:
            server.drop(name)
            text = server.names.text(str(error), content.name)
            raise EngineError(f"{content.name} cannot be loaded: {text}") from None
        server.create(shared, name)
        database = Database(name, schema, digests, counted[0][0] > 0)
        every = set(schema)
        every |= {column for columns in schema.values() for column, _ in columns}
        return Template(content, database, shared, tuple(sorted(every)))

    def _name(self) -> str:
        with self._lock:
            self._numbers += 1
            return self._server.names.database(self._numbers)

    def reader(self, template: Template, path: str) -> Client:
        """``path``: where it looks for what has no schema before it."""
        client: Client | None = None
        with self._lock:
            while template.readers and (client is None or client.lost):
                client = template.readers.pop()
        if client is None or client.lost:
            self._make_room()
            client = self._server.connect(template.shared, "r")
        try:
            client.look_in(path)
        except Lost as error:
            client.close()
            raise EngineError(f"the PostgreSQL server is gone: {error}") from None
        return client

    def give_back(self, template: Template, client: Client) -> None:
        with self._lock:
            if not client.lost and len(template.readers) < _SPARE_READERS:
                template.readers.append(client)
                return
        client.close()

    def slot(self, template: Template, letter: str, path: str) -> Slot:
        """A private copy with its transaction open. :raises Lost:"""
        found: Slot | None = None
        with self._lock:
            for place, slot in enumerate(template.spare):
                if slot.letter == letter:
                    found = template.spare.pop(place)
                    break
        if found is None:
            self._make_room()
            name = self._name()
            self._server.create(name, template.database.name)
            found = Slot(name, letter, self._server.connect(name, letter))
        found.client.look_in(path)
        found.client.plain("BEGIN")
        return found

    def _make_room(self) -> None:
        """Close what is spare where it has become much, of other databases first."""
        with self._lock:
            spare: list[tuple[Template, Client | Slot]] = []
            for template in self._templates.values():
                spare += [(template, client) for client in template.readers]
                spare += [(template, slot) for slot in template.spare]
            excess = spare[: max(len(spare) - _SPARE_IN_ALL, 0)]
            for template, thing in excess:
                if isinstance(thing, Slot):
                    template.spare.remove(thing)
                else:
                    template.readers.remove(thing)
        for _, thing in excess:
            if isinstance(thing, Slot):
                self.discard(thing)
            else:
                thing.close()

    def return_slot(self, template: Template, slot: Slot) -> None:
        """Roll back all that was done in it, and keep it for the next; or drop it."""
        slot.uses += 1
        try:
            slot.client.plain("ROLLBACK")
            slot.client.forget()
        except Lost:
            self.discard(slot)
            return
        with self._lock:
            keep = not template.database.has_sequences and slot.uses < _USES
            if keep and len(template.spare) < _SPARE_SLOTS:
                template.spare.append(slot)
                return
        self.discard(slot)

    def discard(self, slot: Slot) -> None:
        slot.client.close()
        self._server.drop(slot.name)

    def close(self) -> None:
        self._forget()
