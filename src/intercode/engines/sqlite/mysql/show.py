"""SHOW, DESCRIBE, USE, SET: statements whose answer is known without SQLite."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from intercode.engines.ddl import quote
from intercode.engines.lexer import Token, name_value, significant, string_value
from intercode.engines.sqlite.mysql import collate, faults
from intercode.engines.sqlite.mysql.catalog import Known
from intercode.engines.sqlite.mysql.information import (
    column_key,
    databases,
    default_text,
    index_rows,
)
from intercode.engines.sqlite.mysql.rewrite import Setting

Rows = tuple[tuple[Any, ...], ...]

VARIABLES = {
    "version": "8.0.32",
    "version_comment": "MySQL spoken to SQLite",
    "sql_mode": "STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO",
    "autocommit": "1",
    "character_set_client": "utf8mb4",
    "character_set_database": "utf8mb4",
    "collation_connection": "utf8mb4_general_ci",
    "collation_database": "utf8mb4_general_ci",
    "lower_case_table_names": "1",
    "max_allowed_packet": "67108864",
    "group_concat_max_len": "1024",
    "time_zone": "SYSTEM",
    "datadir": "",
    "hostname": "localhost",
    "port": "3306",
}


@dataclass(frozen=True)
class Answer:
    """Columns and rows; without columns the statement has no result set."""

    columns: tuple[str, ...] = ()
    rows: Rows = ()


def answer(statement: str, setting: Setting) -> Answer | None:
    """Of SHOW, DESCRIBE, EXPLAIN of a table, USE, SET and locks; None for what is none of these.

    :raises Fault: as MySQL says it.
    """
    stream = significant(statement, "mysql")
    words = [token.upper for token in stream]
    match words[0]:
        case "SHOW":
            return _Show(setting, stream, statement).answer()
        case "DESC" | "DESCRIBE" | "EXPLAIN":
            return _describe(setting, stream, words)
        case "USE":
            return _use(setting, stream)
        case "SET" | "LOCK" | "UNLOCK" | "FLUSH" | "ANALYZE" | "OPTIMIZE" | "DO":
            return Answer()
    return None


def _use(setting: Setting, stream: list[Token]) -> Answer:
    if len(stream) != 2:
        raise faults.syntax("")
    name = name_value(stream[1])
    if name.lower() not in (setting.database.lower(), "information_schema"):
        raise faults.Fault(f"Unknown database '{name}'")
    return Answer()


def _known(setting: Setting, name: str) -> Known:
    found = setting.catalog.get(name.lower())
    if found is None:
        raise faults.no_table(setting.database, name)
    return found


_FIELDS = ("Field", "Type", "Null", "Key", "Default", "Extra")


def _describe(setting: Setting, stream: list[Token], words: list[str]) -> Answer | None:
    if len(stream) < 2 or stream[1].kind not in ("word", "quoted"):
        if words[0] == "EXPLAIN" or words[1:2] == ["("]:
            return None
        raise faults.syntax("")
    if words[1] in (
        "SELECT",
        "INSERT",
        "UPDATE",
        "DELETE",
        "WITH",
        "FORMAT",
        "EXTENDED",
        "ANALYZE",
    ):
        return None
    name, rest = _qualified(setting, stream[1:])
    known = _known(setting, name)
    if len(rest) > 1:
        raise faults.syntax(rest[1].text)
    wanted = None
    if rest:
        wanted = string_value(rest[0], "mysql") if rest[0].kind == "string" else name_value(rest[0])
    return Answer(_FIELDS, tuple(_fields(known, wanted)))


def _qualified(setting: Setting, stream: list[Token]) -> tuple[str, list[Token]]:
    """A table's name, perhaps behind the database's, and the tokens behind it."""
    name, rest = name_value(stream[0]), stream[1:]
    if len(rest) > 1 and rest[0].text == ".":
        if name.lower() != setting.database.lower():
            raise faults.Fault(f"Unknown database '{name}'")
        return name_value(rest[1]), rest[2:]
    return name, rest


def _fields(known: Known, pattern: str | None) -> Iterable[tuple[Any, ...]]:
    for column in known.declaration.columns:
        if pattern is not None and not collate.like(pattern, column.name):
            continue
        extra = "auto_increment" if column.auto_increment else column.extra
        yield (
            column.name,
            column.type,
            "YES" if column.nullable else "NO",
            column_key(known, column.name),
            default_text(column.default),
            extra,
        )


class _Show:
    def __init__(self, setting: Setting, stream: list[Token], statement: str) -> None:
        self._setting = setting
        self._statement = statement
        self._stream = [t for t in stream[1:] if t.upper not in ("EXTENDED", "GLOBAL", "SESSION")]
        self._full = bool(self._stream) and self._stream[0].upper == "FULL"
        if self._full:
            self._stream = self._stream[1:]
        self._words = [token.upper for token in self._stream]

    def answer(self) -> Answer:
        first = self._words[0] if self._words else ""
        match first:
            case "TABLES":
                return self._tables()
            case "COLUMNS" | "FIELDS":
                return self._columns()
            case "DATABASES" | "SCHEMAS":
                return self._filtered(
                    ("Database",), [(n,) for n in databases(self._setting.database)]
                )
            case "CREATE":
                return self._create()
            case "INDEX" | "INDEXES" | "KEYS":
                return self._indexes()
            case "TABLE":
                return self._status()
            case "VARIABLES" | "STATUS":
                rows = sorted(VARIABLES.items()) if first == "VARIABLES" else []
                return self._filtered(("Variable_name", "Value"), rows)
            case "WARNINGS" | "ERRORS":
                return Answer(("Level", "Code", "Message"))
            case "PROCESSLIST" | "GRANTS" | "ENGINES" | "TRIGGERS" | "EVENTS" | "COLLATION":
                return Answer((first.capitalize(),))
            case "CHARACTER" | "FUNCTION" | "PROCEDURE":
                return Answer(("Name",))
        raise faults.syntax(self._statement[self._stream[0].start :] if self._stream else "")

    def _from(self) -> tuple[str, list[Token]]:
        """The table behind FROM or IN; a second FROM names its database."""
        if len(self._stream) < 3 or self._words[1] not in ("FROM", "IN"):
            raise faults.syntax("")
        name, rest = _qualified(self._setting, self._stream[2:])
        if len(rest) > 1 and rest[0].upper in ("FROM", "IN"):
            self._check_database(name_value(rest[1]))
            rest = rest[2:]
        return name, rest

    def _check_database(self, name: str) -> None:
        if name.lower() != self._setting.database.lower():
            raise faults.Fault(f"Unknown database '{name}'")

    def _pattern(self, rest: list[Token]) -> str | None:
        if not rest:
            return None
        if len(rest) == 2 and rest[0].upper == "LIKE" and rest[1].kind == "string":
            return string_value(rest[1], "mysql")
        if rest[0].upper == "WHERE" and len(rest) >= 4 and rest[-1].kind == "string":
            return string_value(rest[-1], "mysql")  # WHERE Field = '…', LIKE '…'
        raise faults.syntax(self._statement[rest[0].start :])

    def _filtered(self, columns: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> Answer:
        pattern = self._pattern(self._stream[1:])
        kept = [row for row in rows if pattern is None or collate.like(pattern, str(row[0]))]
        return Answer(columns, tuple(kept))

    def _tables(self) -> Answer:
        rest = self._stream[1:]
        if len(rest) > 1 and rest[0].upper in ("FROM", "IN"):
            self._check_database(name_value(rest[1]))
            rest = rest[2:]
        pattern = self._pattern(rest)
        catalog = self._setting.catalog
        found = [
            (known.name, "VIEW" if known.view else "BASE TABLE")
            for key, known in sorted(catalog.items())
            if pattern is None or collate.like(pattern, key)
        ]
        heading = f"Tables_in_{self._setting.database}"
        if self._full:
            return Answer((heading, "Table_type"), tuple(found))
        return Answer((heading,), tuple((name,) for name, _ in found))

    def _columns(self) -> Answer:
        name, rest = self._from()
        known = _known(self._setting, name)
        rows = list(_fields(known, self._pattern(rest)))
        if not self._full:
            return Answer(_FIELDS, tuple(rows))
        comments = {column.name: column.comment for column in known.declaration.columns}
        columns = ("Field", "Type", "Collation", "Null", "Key", "Default", "Extra", "Privileges",
                   "Comment")  # fmt: skip
        privileges = "select,insert,update,references"
        full = []
        for row in rows:
            text = "char" in row[1].lower() or "text" in row[1].lower()
            collation = "utf8mb4_general_ci" if text else None
            full.append((row[0], row[1], collation, *row[2:], privileges, comments[row[0]]))
        return Answer(columns, tuple(full))

    def _create(self) -> Answer:
        if len(self._stream) < 3 or self._words[1] not in ("TABLE", "VIEW", "DATABASE", "SCHEMA"):
            raise faults.syntax("")
        if self._words[1] in ("DATABASE", "SCHEMA"):
            name = name_value(self._stream[2])
            self._check_database(name)
            made = f"CREATE DATABASE `{name}` /*!40100 DEFAULT CHARACTER SET utf8mb4 */"
            return Answer(("Database", "Create Database"), ((name, made),))
        name, _ = _qualified(self._setting, self._stream[2:])
        known = _known(self._setting, name)
        return Answer(("Table", "Create Table"), ((known.name, known.ddl or create_text(known)),))

    def _indexes(self) -> Answer:
        name, _ = self._from()
        columns = ("Table", "Non_unique", "Key_name", "Seq_in_index", "Column_name", "Collation",
                   "Cardinality", "Sub_part", "Packed", "Null", "Index_type", "Comment",
                   "Index_comment", "Visible", "Expression")  # fmt: skip
        return Answer(columns, tuple(index_rows(_known(self._setting, name))))

    def _status(self) -> Answer:
        rows = [
            (known.name, "InnoDB", 10, "Dynamic", None, "utf8mb4_general_ci", "")
            for _, known in sorted(self._setting.catalog.items())
        ]
        columns = ("Name", "Engine", "Version", "Row_format", "Rows", "Collation", "Comment")
        return Answer(columns, tuple(rows))


def create_text(known: Known) -> str:
    """CREATE TABLE as MySQL would print it."""
    declaration = known.declaration
    lines = []
    for column in declaration.columns:
        fixed = "" if column.nullable else " NOT NULL"
        default = f" DEFAULT {column.default}" if column.default is not None else ""
        if column.default is None and column.nullable:
            default = " DEFAULT NULL"
        extra = " AUTO_INCREMENT" if column.auto_increment else ""
        lines.append(f"  {quote(column.name, 'mysql')} {column.type}{fixed}{default}{extra}")
    if declaration.primary_key:
        lines.append(f"  PRIMARY KEY ({_names(declaration.primary_key)})")
    for index in declaration.indexes:
        unique = "UNIQUE " if index.unique else ""
        lines.append(f"  {unique}KEY {quote(index.name, 'mysql')} ({_names(index.columns)})")
    for number, reference in enumerate(declaration.foreign_keys, 1):
        lines.append(
            f"  CONSTRAINT `{declaration.name}_ibfk_{number}` FOREIGN KEY"
            f" ({_names(reference.columns)}) REFERENCES {quote(reference.table, 'mysql')}"
            f" ({_names(reference.references)})"
        )
    body = ",\n".join(lines)
    name = quote(declaration.name, "mysql")
    return f"CREATE TABLE {name} (\n{body}\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4"


def _names(names: tuple[str, ...]) -> str:
    return ",".join(quote(name, "mysql") for name in names)
