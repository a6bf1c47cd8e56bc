"""Databases read into `Content`: SQLite files, and scripts of CREATE TABLE and INSERT."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

from intercode.engines.content import Column, Content, ForeignKey, Table
from intercode.engines.script import Script
from intercode.errors import DatasetError


def from_sqlite(path: str | Path, name: str | None = None) -> Content:
    """A SQLite file as it is: rows in the file's order, text that is no UTF-8 with surrogates. The
    content's name is the file's, without its ending, unless given.

    :raises DatasetError: there is no such file, or it is no SQLite database.
    """
    path = Path(path)
    if not path.is_file():
        raise DatasetError(f"{path}: no such file")
    try:
        connection = sqlite3.connect(f"file:{_uri(path)}?mode=ro&immutable=1", uri=True)
        try:
            connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
            return _content(connection, name or path.stem)
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise DatasetError(f"{path}: not a readable SQLite database: {error}") from error


def _uri(path: Path) -> str:
    return str(path.resolve()).replace("%", "%25").replace("?", "%3f").replace("#", "%23")


def _content(connection: sqlite3.Connection, name: str) -> Content:
    listing = connection.execute(
        "SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
        " AND sql IS NOT NULL ORDER BY rowid"
    ).fetchall()
    tables = [_table(connection, table, sql) for kind, table, sql in listing if kind == "table"]
    extra = {table: sql for kind, table, sql in listing if kind != "table"}
    return Content(name, "sqlite", tuple(tables), extra)


def _table(connection: sqlite3.Connection, name: str, sql: str) -> Table:
    quoted = '"' + name.replace('"', '""') + '"'
    described = connection.execute(f"PRAGMA table_info({quoted})").fetchall()
    keyed = sorted((key, column) for _, column, _, _, _, key in described if key)
    columns = tuple(Column(column, kind, not fixed) for _, column, kind, fixed, _, _ in described)
    names = ", ".join('"' + column.name.replace('"', '""') + '"' for column in columns)
    rows = connection.execute(f"SELECT {names} FROM {quoted}").fetchall()
    return Table(
        name,
        columns,
        tuple(rows),
        tuple(column for _, column in keyed),
        _foreign_keys(connection, quoted),
        sql,
    )


def _foreign_keys(connection: sqlite3.Connection, quoted: str) -> tuple[ForeignKey, ...]:
    found: dict[int, list[tuple[str, str, str]]] = {}
    for number, _, table, column, other, *_ in connection.execute(
        f"PRAGMA foreign_key_list({quoted})"
    ):
        found.setdefault(number, []).append((table, column, other))
    return tuple(
        ForeignKey(
            tuple(column for _, column, _ in parts),
            parts[0][0],
            tuple(other for _, _, other in parts if other is not None),
        )
        for _, parts in sorted(found.items(), reverse=True)
    )


def from_script(
    path_or_text: str | Path, dialect: str, section: str | None = None, name: str | None = None
) -> Content:
    """A script (a `Path`, or its text) of CREATE TABLE and INSERT, as a dump is.

    Where a MySQL dump holds several databases ``section`` says which; what stands before the first
    ``USE`` belongs to none. Further objects (indexes, views, triggers) come as `Content.extra`;
    users, grants, locks, settings and transactions are passed over.

    :raises DatasetError: with file and line: the script cannot be read, has no such section, or has
        several and none was named.
    """
    by_name = sections(path_or_text, dialect)
    where = _where(path_or_text)
    if section is None:
        if len(by_name) > 1:
            listed = ", ".join(sorted(by_name))
            raise DatasetError(f"{where}: several databases, and none is named: {listed}")
        found = next(iter(by_name.values()), Content("", dialect, ()))
    elif section in by_name:
        found = by_name[section]
    else:
        raise DatasetError(f"{where}: there is no database {section!r} in it")
    stem = path_or_text.stem if isinstance(path_or_text, Path) else "main"
    return replace(found, name=name or found.name or stem)


def sections(path_or_text: str | Path, dialect: str) -> dict[str, Content]:
    """Every database of a script by name; what has none is under the empty name.

    :raises DatasetError: with file and line.
    """
    where = _where(path_or_text)
    if isinstance(path_or_text, Path):
        try:
            text = path_or_text.read_text("utf-8", "surrogateescape")
        except OSError as error:
            raise DatasetError(f"{where}: {error.strerror or error}") from error
    else:
        text = path_or_text
    script = Script(text, dialect, where)
    script.read()
    return script.contents()


def _where(path_or_text: str | Path) -> str:
    return str(path_or_text) if isinstance(path_or_text, Path) else "script"
