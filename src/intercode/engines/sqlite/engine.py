"""The SQLite engine: templates by content and dialect, and the sessions on them."""

from __future__ import annotations

import sqlite3
import threading
from collections import OrderedDict

from intercode.engines.base import DIALECTS, Policy
from intercode.engines.content import Content, Table
from intercode.engines.ddl import create_table
from intercode.engines.sqlite.mysql import functions
from intercode.engines.sqlite.mysql.speech import MySQLSpeech
from intercode.engines.sqlite.session import SqliteSession
from intercode.engines.sqlite.speech import OwnSpeech, Speech, TranslatedSpeech
from intercode.engines.sqlite.template import Template
from intercode.engines.sqlite.watch import Watch
from intercode.engines.statements import kind_of
from intercode.engines.translate import SyntaxFault, require_sqlglot, translate
from intercode.errors import EngineError, EngineUnavailable, UsageError

_OLDEST = (3, 40, 0)
_KEPT = 512
"""Templates kept for sessions to come."""


class SQLite:
    """See `intercode.engines.base.Engine`. Nothing is started and no file is touched.

    Values come back as SQLite stores them: dates as text, decimals as numbers, unless the session's
    dialect is MySQL's. ``full_group_by`` is then MySQL's mode ONLY_FULL_GROUP_BY, which MySQL 8 has
    on and MariaDB off.

    :raises EngineUnavailable: Python's SQLite library is too old.
    """

    name = "sqlite"
    dialect = "sqlite"

    def __init__(self, *, full_group_by: bool = False) -> None:
        if sqlite3.sqlite_version_info < _OLDEST:
            raise EngineUnavailable(
                f"SQLite {sqlite3.sqlite_version} is too old",
                remedy="a Python whose sqlite3 is 3.40 or newer",
            )
        self._full_group_by = full_group_by
        self._watch = Watch()
        self._lock = threading.Lock()
        self._templates: OrderedDict[tuple[str, str], tuple[Template, Speech]] = OrderedDict()
        self._closed = False

    @property
    def version(self) -> str:
        return f"SQLite {sqlite3.sqlite_version}"

    def open(
        self, content: Content, *, policy: Policy = "write", dialect: str | None = None
    ) -> SqliteSession:
        with self._lock:
            template, speech = self._template(content, dialect or self.dialect)
            session = SqliteSession(template, policy, speech)
            template.sessions.add(session)
        return session

    def live(self) -> int:
        with self._lock:
            return sum(len(template.sessions) for template, _ in self._templates.values())

    def close(self) -> None:
        with self._lock:
            self._closed = True
            templates, self._templates = self._templates, OrderedDict()
        for template, _ in templates.values():
            for session in list(template.sessions):
                session.close()
            template.close()
        self._watch.close()

    def _template(self, content: Content, dialect: str) -> tuple[Template, Speech]:
        if self._closed:
            raise EngineError("the engine is closed")
        key = (content.digest, dialect)
        found = self._templates.get(key)
        if found is not None:
            self._templates.move_to_end(key)
            return found
        made = self._made(content, dialect)
        self._templates[key] = made
        if len(self._templates) > _KEPT:
            self._forget_one()
        return made

    def _forget_one(self) -> None:
        """The template longest unused on which no session is open."""
        for key, (template, _) in self._templates.items():
            if not template.sessions and key != next(reversed(self._templates)):
                template.close()
                del self._templates[key]
                return

    def _made(self, content: Content, dialect: str) -> tuple[Template, Speech]:
        if dialect not in DIALECTS:
            raise UsageError(f"no dialect {dialect!r}", remedy=f"one of {', '.join(DIALECTS)}")
        if dialect != "sqlite" or (content.extra and content.dialect != "sqlite"):
            require_sqlglot()
        if dialect == "mysql":
            return self._mysql(content)
        speech = OwnSpeech() if dialect == "sqlite" else TranslatedSpeech(dialect)

        def create(table: Table) -> str:
            return create_table(table, content.dialect, "sqlite")

        return Template(content, self._watch, create=create, extra=_extra(content)), speech

    def _mysql(self, content: Content) -> tuple[Template, Speech]:
        speech = MySQLSpeech(content, full_group_by=self._full_group_by)
        template = Template(
            content,
            self._watch,
            create=lambda table: speech.made_by(table.name),
            fit=speech.fitted,
            extra=_extra(content),
            setup=functions.register,
        )
        return template, speech


def _extra(content: Content) -> list[str]:
    """Views, indexes and triggers in SQLite's words. An index that it cannot make is left out: it
    holds nothing."""
    statements = []
    for name, statement in content.extra.items():
        try:
            statements.append(translate(statement, content.dialect, "sqlite"))
        except SyntaxFault as fault:
            if (
                "INDEX" in statement.upper().split("(")[0].split()
                and kind_of(statement) == "create"
            ):
                continue
            raise EngineError(f"{content.name}: SQLite cannot hold {name}: {fault}") from fault
    return statements
