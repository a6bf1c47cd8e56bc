"""How a session's statements are understood: as SQLite's own, or translated on the way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from intercode.engines.base import QueryLimits, QueryResult
from intercode.engines.content import Row
from intercode.engines.ddl import quote
from intercode.engines.statements import split
from intercode.engines.translate import SyntaxFault, translate

if TYPE_CHECKING:
    from intercode.engines.sqlite.session import SqliteSession


class Speech(Protocol):
    """``nothing`` is the error that an empty text gives."""

    nothing: str
    dialect: str

    def split(self, sql: str) -> list[str]: ...

    def several(self, sql: str, statements: list[str]) -> str:
        """The error that several statements give where one is allowed."""
        ...

    def run(self, session: SqliteSession, statement: str, limits: QueryLimits) -> QueryResult: ...

    def schema(self, session: SqliteSession) -> Mapping[str, tuple[tuple[str, str], ...]]: ...

    def decoded(self, session: SqliteSession, table: str, rows: tuple[Row, ...]) -> tuple[Row, ...]:
        """Stored rows of a table with values of the types that its columns declare."""
        ...


class OwnSpeech:
    """SQLite's own."""

    nothing = "incomplete input"
    dialect = "sqlite"

    def split(self, sql: str) -> list[str]:
        return split(sql, self.dialect)

    def several(self, sql: str, statements: list[str]) -> str:
        return "You can only execute one statement at a time."

    def run(self, session: SqliteSession, statement: str, limits: QueryLimits) -> QueryResult:
        return session.run(statement, limits)

    def schema(self, session: SqliteSession) -> Mapping[str, tuple[tuple[str, str], ...]]:
        with session.looking() as connection:
            names = connection.execute(
                "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')"
                " AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY rowid"
            ).fetchall()
            return {
                name: tuple(
                    (column, kind)
                    for _, column, kind, *_ in connection.execute(
                        f"PRAGMA table_info({quote(name, 'sqlite')})"
                    )
                )
                for (name,) in names
            }

    def decoded(self, session: SqliteSession, table: str, rows: tuple[Row, ...]) -> tuple[Row, ...]:
        return rows


class TranslatedSpeech(OwnSpeech):
    """Another dialect, by its words alone: types and functions are SQLite's."""

    def __init__(self, dialect: str) -> None:
        self.dialect = dialect

    def run(self, session: SqliteSession, statement: str, limits: QueryLimits) -> QueryResult:
        try:
            return session.run(translate(statement, self.dialect, "sqlite"), limits)
        except SyntaxFault as fault:
            return QueryResult(error=str(fault))
