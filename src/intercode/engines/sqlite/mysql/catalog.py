"""The tables of a session as MySQL knows them: types, keys and defaults as declared."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from intercode.engines.content import Content, Table
from intercode.engines.ddl import column_types, quote
from intercode.engines.declare import (
    ColumnDeclaration,
    Declaration,
    Index,
    NotDeclared,
    parse,
)
from intercode.engines.sqlite.mysql import kinds
from intercode.engines.sqlite.mysql.kinds import Kind
from intercode.engines.types import parse_type


@dataclass(frozen=True)
class Known:
    """A table or view. ``ddl`` is what SHOW CREATE TABLE says, where the source said it."""

    declaration: Declaration
    ddl: str | None = None
    view: bool = False

    @property
    def name(self) -> str:
        return self.declaration.name

    @cached_property
    def columns(self) -> dict[str, tuple[str, Kind]]:
        """By small letters: the name as declared, and the kind."""
        return {c.name.lower(): (c.name, kinds.of_column(c.type)) for c in self.declaration.columns}

    @cached_property
    def keys(self) -> tuple[frozenset[str], ...]:
        """Sets of columns, in small letters, that tell rows apart and are never NULL."""
        fixed = {c.name.lower() for c in self.declaration.columns if not c.nullable}
        primary = frozenset(map(str.lower, self.declaration.primary_key))
        unique = [
            frozenset(map(str.lower, index.columns))
            for index in self.declaration.indexes
            if index.unique
        ]
        return tuple(key for key in [primary, *unique] if key and (key is primary or key <= fixed))


Catalog = Mapping[str, Known]
"""By small letters."""


def known_tables(content: Content) -> dict[str, Known]:
    """The content's own tables by small letters, as MySQL would have them."""
    return {table.name.lower(): _known(table, content.dialect) for table in content.tables}


def _known(table: Table, source: str) -> Known:
    """Its name in small letters, as on a server with lower_case_table_names = 1."""
    name = table.name.lower()
    if source == "mysql" and table.ddl is not None:
        ddl = table.ddl.replace(quote(table.name, "mysql"), quote(name, "mysql"), 1)
        return Known(replace(parse(table.ddl, "mysql"), name=name), ddl)
    types = column_types(table, source, "mysql")
    columns = tuple(
        ColumnDeclaration(c.name, kind, c.nullable and c.name not in table.primary_key)
        for c, kind in zip(table.columns, types, strict=True)
    )
    return Known(Declaration(name, columns, table.primary_key, (), table.foreign_keys))


def create(declaration: Declaration, collation: str) -> str:
    """CREATE TABLE for SQLite. Types are written as MySQL declares them; an AUTO_INCREMENT column
    is SQLite's INTEGER PRIMARY KEY AUTOINCREMENT. Foreign keys are not kept."""
    lines = []
    key = declaration.primary_key
    for column in declaration.columns:
        name = quote(column.name, "sqlite")
        whole = parse_type(column.type).family == "int"
        if whole and column.auto_increment and key == (column.name,):
            lines.append(f"{name} INTEGER PRIMARY KEY AUTOINCREMENT")
            key = ()
            continue
        text = kinds.of_column(column.type).family == "text"
        collate = f" COLLATE {collation}" if text else ""
        fixed = "" if column.nullable else " NOT NULL"
        default = _default(column)
        lines.append(f"{name} {_type(column.type)}{collate}{fixed}{default}")
    if key:
        lines.append(f"PRIMARY KEY ({_names(key)})")
    lines += [f"UNIQUE ({_names(index.columns)})" for index in declaration.indexes if index.unique]
    body = ",\n  ".join(lines)
    temporary = "TEMPORARY " if declaration.temporary else ""
    return f"CREATE {temporary}TABLE {quote(declaration.name, 'sqlite')} (\n  {body}\n)"


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(quote(name, "sqlite") for name in names)


_EASY = ("int", "bit", "bool", "decimal", "float", "date", "datetime", "time", "blob")


def _type(declared: str) -> str:
    kind = parse_type(declared)
    easy = kind.family in _EASY or kind.base in ("CHAR", "VARCHAR") or kind.base.endswith("TEXT")
    return declared if easy else quote(declared, "sqlite")


def _default(column: ColumnDeclaration) -> str:
    if column.default is None or column.default.upper() == "NULL":
        return ""
    if column.default[0] in "'\"-+0123456789.":
        return f" DEFAULT {column.default}"
    moment = column.default.upper().startswith(("CURRENT_TIMESTAMP", "NOW"))
    return " DEFAULT CURRENT_TIMESTAMP" if moment else ""


def live(connection: sqlite3.Connection, own: Mapping[str, tuple[str, Known]]) -> Catalog:
    """What is there now. ``own`` has the tables that are as the content has them, by small letters,
    with the words by which SQLite made them."""
    found: dict[str, Known] = {}
    listing = connection.execute(
        "SELECT type, name, sql FROM sqlite_master WHERE type IN ('table', 'view')"
        " AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
        " UNION ALL SELECT type, name, sql FROM sqlite_temp_master WHERE type IN ('table', 'view')"
    ).fetchall()
    for kind, name, sql in listing:
        given = own.get(name.lower())
        if given is not None and given[0] == sql:
            found[name.lower()] = given[1]
        else:
            described = connection.execute(f"PRAGMA table_info({quote(name, 'sqlite')})").fetchall()
            found[name.lower()] = _described(kind, name, sql, tuple(described))
    return found


@lru_cache(maxsize=512)
def _described(kind: str, name: str, sql: str, described: tuple[tuple[object, ...], ...]) -> Known:
    columns = tuple(
        ColumnDeclaration(str(c), _named_type(str(t)), not fixed and not key)
        for _, c, t, fixed, _, key in described
    )
    if kind == "view":
        return Known(Declaration(name, columns), view=True)
    try:
        made = parse(sql, "sqlite")
    except NotDeclared:
        return Known(Declaration(name, columns))
    declared = {column.name.lower(): column for column in made.columns}
    columns = tuple(
        replace(
            column,
            default=declared[column.name.lower()].default,
            auto_increment=declared[column.name.lower()].auto_increment,
        )
        if column.name.lower() in declared
        else column
        for column in columns
    )
    unique = tuple(Index(index.columns[0], index.columns, True) for index in made.indexes)
    return Known(Declaration(name, columns, made.primary_key, unique))


def _named_type(declared: str) -> str:
    """As MySQL names it; SQLite shouts the types that are its own. A view's expression has none."""
    own = {"INTEGER": "int", "INT": "int", "TEXT": "text", "BLOB": "blob", "REAL": "double"}
    return own.get(declared, declared)
