"""MySQL as a session of SQLite hears it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING

from intercode.engines.base import QueryLimits, QueryResult
from intercode.engines.content import Content, Row, Table
from intercode.engines.sqlite.mysql import catalog, collate, kinds
from intercode.engines.sqlite.mysql.faults import in_mysql_words
from intercode.engines.sqlite.mysql.planning import Plan, plan
from intercode.engines.sqlite.mysql.rewrite import Setting
from intercode.engines.statements import kind_of, split

if TYPE_CHECKING:
    from intercode.engines.sqlite.session import SqliteSession

_PLANS = 4096


class MySQLSpeech:
    """For one content. Plans of statements are kept, and are good as long as the schema is the
    content's."""

    nothing = "Query was empty"
    dialect = "mysql"

    def __init__(self, content: Content, *, full_group_by: bool) -> None:
        self.collation = collate.of(content)
        self._known = catalog.known_tables(content)
        self._database = content.name.lower()  # lower_case_table_names = 1
        self._full_group_by = full_group_by
        self._plans: OrderedDict[str, Plan] = OrderedDict()
        self._lock = Lock()
        self._own = {key: (self.create(known), known) for key, known in self._known.items()}

    def create(self, known: catalog.Known) -> str:
        return catalog.create(known.declaration, self.collation)

    def made_by(self, table: str) -> str:
        """The CREATE TABLE for SQLite of one of the content's tables."""
        return self._own[table.lower()][0]

    def fitted(self, table: Table) -> tuple[Row, ...]:
        """The rows with FLOAT columns as exact as MySQL keeps them."""
        columns = self._known[table.name.lower()].columns.values()
        single = [place for place, (_, kind) in enumerate(columns) if kind.single]
        return tuple(kinds.in_single(row, single) for row in table.rows) if single else table.rows

    def setting(self, session: SqliteSession | None) -> Setting:
        tables: catalog.Catalog = self._known
        if session is not None and session.reshaped:
            with session.looking() as connection:
                tables = catalog.live(connection, self._own)
        return Setting(tables, self._database, self.collation, self._full_group_by)

    def split(self, sql: str) -> list[str]:
        return split(sql, "mysql")

    def several(self, sql: str, statements: list[str]) -> str:
        second = sql.find(statements[1], len(statements[0]))
        return (
            "You have an error in your SQL syntax; check the manual that corresponds to your MySQL"
            f" server version for the right syntax to use near '{sql[second:][:80]}' at line"
            f" {sql.count(chr(10), 0, max(second, 0)) + 1}"
        )

    def run(self, session: SqliteSession, statement: str, limits: QueryLimits) -> QueryResult:
        made = self._plan(session, statement)
        if made.fault is not None:
            return QueryResult(error=made.fault, refused=made.refused)
        if made.answer is not None:
            shown = made.answer
            return QueryResult(shown.columns, shown.rows if shown.columns else None)
        if made.control:
            return self._control(session, made.control, limits)
        if made.shapes and session.in_transaction:
            session.run("COMMIT", limits)
        result = QueryResult()
        for sql in made.statements:
            result = session.run(sql, limits)
            if not result.ok:
                return self._failed(result, statement)
        return _decoded(result, made)

    def _plan(self, session: SqliteSession, statement: str) -> Plan:
        if session.reshaped:
            return plan(statement, self.setting(session))
        with self._lock:
            found = self._plans.get(statement)
            if found is not None:
                self._plans.move_to_end(statement)
                return found
        made = plan(statement, self.setting(None))
        with self._lock:
            self._plans[statement] = made
            if len(self._plans) > _PLANS:
                self._plans.popitem(last=False)
        return made

    def _failed(self, result: QueryResult, statement: str) -> QueryResult:
        if result.refused:
            verb = kind_of(statement).upper()
            return replace(result, error=f"{verb} command denied to user 'admin'@'localhost'")
        return replace(result, error=in_mysql_words(str(result.error), self._database))

    def _control(self, session: SqliteSession, statement: str, limits: QueryLimits) -> QueryResult:
        """MySQL begins anew inside a transaction, and may end one where there is none."""
        verb = kind_of(statement)
        if verb in ("begin", "start"):
            if session.in_transaction:
                session.run("COMMIT", limits)
            return session.run("BEGIN", limits)
        if verb == "commit" or (verb == "rollback" and " TO " not in statement.upper()):
            if not session.in_transaction:
                return QueryResult()
            return session.run(verb.upper(), limits)
        return self._failed(session.run(statement, limits), statement)

    def schema(self, session: SqliteSession) -> Mapping[str, tuple[tuple[str, str], ...]]:
        return {
            known.name: tuple((c.name, c.type) for c in known.declaration.columns)
            for _, known in sorted(self.setting(session).catalog.items())
        }

    def decoded(self, session: SqliteSession, table: str, rows: tuple[Row, ...]) -> tuple[Row, ...]:
        known = self.setting(session).catalog.get(table.lower())
        if known is None:
            return rows
        found = [kinds.decoder(kind) for _, kind in known.columns.values()]
        decoders = tuple((place, decode) for place, decode in enumerate(found) if decode)
        return _rows(rows, decoders)


def _decoded(result: QueryResult, made: Plan) -> QueryResult:
    if result.rows is None or not made.columns:
        return result
    return replace(result, columns=made.columns, rows=_rows(result.rows, made.decoders))


def _rows(
    rows: tuple[Row, ...], decoders: tuple[tuple[int, kinds.Decoder], ...]
) -> tuple[Row, ...]:
    if not decoders:
        return rows
    decoded = []
    for row in rows:
        values = list(row)
        for place, decode in decoders:
            values[place] = decode(values[place])
        decoded.append(tuple(values))
    return tuple(decoded)
