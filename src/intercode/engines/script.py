"""A script of CREATE TABLE and INSERT, as a dump is, read statement by statement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from intercode.engines.content import Content, Row, Table
from intercode.engines.declare import NotDeclared, parse, parse_tokens
from intercode.engines.lexer import Token, blob_value, line_of, name_value, string_value, tokens
from intercode.engines.statements import cut
from intercode.engines.types import SqlType, parse_type, value_of
from intercode.errors import DatasetError


class Script:
    """What has been read so far, database by database."""

    def __init__(self, text: str, dialect: str, where: str) -> None:
        self.text = text
        self.dialect = dialect
        self.where = where
        self.database = ""
        self.tables: dict[str, dict[str, Table]] = {}
        self.rows: dict[tuple[str, str], list[Row]] = {}
        self.kinds: dict[tuple[str, str], list[SqlType]] = {}
        self.extra: dict[str, dict[str, str]] = {}

    def contents(self) -> dict[str, Content]:
        found = {}
        for database, tables in self.tables.items():
            filled = tuple(
                replace(table, rows=tuple(self.rows[database, key]))
                for key, table in tables.items()
            )
            extra = self.extra.get(database, {})
            if filled or extra or database:
                found[database] = Content(database, self.dialect, filled, extra)
        return found

    def read(self) -> None:
        self.tables[""] = {}
        for part in cut(tokens(self.text, self.dialect), self.dialect):
            words = [t for t in part if t.kind not in ("space", "comment", "hint")]
            if words:
                self._statement(words)

    def fail(self, message: str, position: int) -> DatasetError:
        return DatasetError(f"{self.where}:{line_of(self.text, position)}: {message}")

    def _statement(self, words: list[Token]) -> None:
        first = words[0].upper
        if first == "CREATE":
            self._create(words)
        elif first in ("INSERT", "REPLACE"):
            self._insert(words)
        elif first == "ALTER":
            self._alter(words)
        elif first == "DROP":
            self._drop(words)
        elif first == "USE" and len(words) > 1:
            self._enter(name_value(words[1]))
        elif first == "DELIMITER" or first in _PASSED_OVER:
            pass
        elif first == "COPY":
            raise self.fail("COPY cannot be read: dump with --inserts", words[0].start)
        else:
            raise self.fail(f"cannot be read: {words[0].text[:40]}", words[0].start)

    def _enter(self, database: str) -> None:
        self.database = database
        self.tables.setdefault(database, {})

    def _create(self, words: list[Token]) -> None:
        kinds = [t.upper for t in words[1:10]]
        kind = next((k for k in kinds if k in _MADE), "")
        if kind == "TABLE":
            self._create_table(words)
        elif kind in ("DATABASE", "SCHEMA"):
            pass
        elif kind in ("VIEW", "INDEX", "TRIGGER"):
            at = kinds.index(kind) + 2
            while words[at].upper in ("IF", "NOT", "EXISTS", "CONCURRENTLY"):
                at += 1
            source = self.text[words[0].start : words[-1].end]
            if source.count("/*!") != source.count("*/"):  # a closing hint stands behind it
                source += " */"
            self.extra.setdefault(self.database, {})[name_value(words[at])] = source

    def _create_table(self, words: list[Token]) -> None:
        try:
            made = parse_tokens(words, self.text, self.dialect)
        except NotDeclared as error:
            raise self.fail(str(error), error.position) from error
        if made.as_select:
            raise self.fail("CREATE TABLE … AS SELECT is no data", words[0].start)
        key = made.name.lower()
        self.tables[self.database][key] = Table(
            made.name,
            made.plain_columns(),
            (),
            made.primary_key,
            made.foreign_keys,
            self.text[words[0].start : words[-1].end],
        )
        self.rows[self.database, key] = []
        self.kinds[self.database, key] = [parse_type(column.type) for column in made.columns]

    def _drop(self, words: list[Token]) -> None:
        names = [name_value(t).lower() for t in words[2:] if t.kind in ("word", "quoted")]
        for name in names:
            self.tables[self.database].pop(name, None)
            self.extra.get(self.database, {}).pop(name, None)

    def _named(self, words: Sequence[Token], at: int) -> tuple[str, int]:
        """The table that a (qualified) name at that place means, and the place behind it."""
        while at + 1 < len(words) and words[at + 1].text == ".":
            at += 2
        name = name_value(words[at]).lower()
        if name not in self.tables[self.database]:
            raise self.fail(f"there is no table {name_value(words[at])!r}", words[at].start)
        return name, at + 1

    def _alter(self, words: list[Token]) -> None:
        """Keys that are added behind the table, as pg_dump does."""
        at = 2
        while words[at].upper in ("ONLY", "IF", "EXISTS"):
            at += 1
        if words[1].upper != "TABLE":
            return
        name, at = self._named(words, at)
        uppers = [t.upper for t in words]
        if "ADD" not in uppers or "KEY" not in uppers:
            return
        first = words[at:]
        while first and first[0].upper not in ("CONSTRAINT", "PRIMARY", "FOREIGN", "UNIQUE"):
            first = first[1:]
        if not first:
            return
        source = f"CREATE TABLE x ({self.text[first[0].start : words[-1].end]})"
        try:
            made = parse(source, self.dialect)
        except NotDeclared as error:
            raise self.fail(str(error), first[0].start) from error
        table = self.tables[self.database][name]
        self.tables[self.database][name] = replace(
            table,
            primary_key=made.primary_key or table.primary_key,
            foreign_keys=(*table.foreign_keys, *made.foreign_keys),
            ddl=None,
        )

    def _insert(self, words: list[Token]) -> None:
        at = 1
        while words[at].upper in _INSERT_WORDS:
            at += 1
        name, at = self._named(words, at)
        table = self.tables[self.database][name]
        places = list(range(len(table.columns)))
        if words[at].text == "(":
            listed, at = self._listed(words, at, table)
            places = listed
        if words[at].upper not in ("VALUES", "VALUE"):
            raise self.fail("an INSERT without VALUES is no data", words[at].start)
        kinds = self.kinds[self.database, name]
        sink = self.rows[self.database, name]
        for given, position in self._rows(words, at + 1, [kinds[place] for place in places]):
            if len(given) != len(places):
                raise self.fail(
                    f"{len(given)} values for {len(places)} columns of {table.name}", position
                )
            if places == list(range(len(kinds))):
                sink.append(tuple(given))
            else:
                row: list[Any] = [None] * len(kinds)
                for place, value in zip(places, given, strict=True):
                    row[place] = value
                sink.append(tuple(row))

    def _listed(self, words: list[Token], at: int, table: Table) -> tuple[list[int], int]:
        by_name = {column.name.lower(): place for place, column in enumerate(table.columns)}
        places = []
        while words[at].text != ")":
            at += 1
            if words[at].kind in ("word", "quoted"):
                place = by_name.get(name_value(words[at]).lower())
                if place is None:
                    raise self.fail(
                        f"{table.name} has no column {name_value(words[at])!r}", words[at].start
                    )
                places.append(place)
        return places, at + 1

    def _rows(
        self, words: list[Token], at: int, kinds: list[SqlType]
    ) -> Iterator[tuple[list[Any], int]]:
        end = len(words)
        while at < end and words[at].text == "(":
            start = words[at].start
            row: list[Any] = []
            at += 1
            while at < end and words[at].text != ")":
                first = at
                depth = 0
                while at < end and (depth or words[at].text not in (",", ")")):
                    depth += (words[at].text == "(") - (words[at].text == ")")
                    at += 1
                kind = kinds[len(row)] if len(row) < len(kinds) else _UNKNOWN
                row.append(self._value(words[first:at], kind))
                if at < end and words[at].text == ",":
                    at += 1
            if at >= end:
                raise self.fail("a row that does not end", start)
            yield row, start
            at += 1
            if at < end and words[at].text == ",":
                at += 1
        if at < end and words[at].upper not in ("ON", "RETURNING", "AS"):
            raise self.fail(f"expected a row, found {words[at].text[:30]!r}", words[at].start)

    def _value(self, words: list[Token], kind: SqlType) -> Any:
        """A literal; casts and character sets around it are passed over."""
        if not words:
            raise self.fail("a row with an empty value", 0)
        first, rest = words[0], words[1:]
        if first.upper in ("-", "+") and len(rest) == 1 and rest[0].kind == "number":
            return self._number(first.text + rest[0].text, kind)
        if first.kind == "word" and rest and rest[0].kind in ("string", "blob"):
            first, rest = rest[0], rest[1:]  # DATE '…', _binary '…'
        if rest and rest[0].text != "::" and not all(t.kind == "string" for t in rest):
            text = self.text[words[0].start : words[-1].end]
            raise self.fail(f"not a value: {text[:60]}", words[0].start)
        match first.kind:
            case "string":
                parts = [first, *(t for t in rest if t.kind == "string")]
                text = "".join(string_value(part, self.dialect) for part in parts)
                return value_of(text, kind, self.dialect) if self._typed(kind) else text
            case "number":
                return self._number(first.text, kind)
            case "blob":
                value = blob_value(first)
                if isinstance(value, bytes) and kind.family == "text":
                    return value.decode("utf-8", "surrogateescape")
                return value
        match first.upper:
            case "NULL":
                return None
            case "TRUE" | "FALSE":
                truth = first.upper == "TRUE"
                return truth if kind.family == "bool" and self.dialect != "sqlite" else int(truth)
        raise self.fail(f"not a value: {first.text[:60]}", first.start)

    def _typed(self, kind: SqlType) -> bool:
        """SQLite's columns keep what they are given, but for numbers in number columns."""
        return self.dialect != "sqlite" or kind.family in ("int", "float")

    def _number(self, text: str, kind: SqlType) -> Any:
        if self.dialect == "sqlite" and kind.family not in ("float", "text"):
            return int(text, 0) if _is_whole(text) else float(text)
        if kind.family == "other":
            return int(text) if _is_whole(text) else float(text)
        value = value_of(text, kind, self.dialect)
        if kind.family in ("date", "datetime", "time", "blob") and isinstance(value, str):
            return int(text) if _is_whole(text) else text
        return value


def _is_whole(text: str) -> bool:
    return text.lstrip("+-").isdigit() or text[:2].lower() == "0x"


_UNKNOWN = SqlType("other", "")
_MADE = ("TABLE", "VIEW", "INDEX", "TRIGGER", "DATABASE", "SCHEMA", "USER", "ROLE", "SEQUENCE",
         "EXTENSION", "FUNCTION", "PROCEDURE", "TYPE", "EVENT")  # fmt: skip
_INSERT_WORDS = ("INTO", "IGNORE", "OR", "REPLACE", "LOW_PRIORITY", "DELAYED", "HIGH_PRIORITY",
                 "ABORT", "FAIL", "ROLLBACK")  # fmt: skip
_PASSED_OVER = (
    "SET",
    "GRANT",
    "REVOKE",
    "FLUSH",
    "LOCK",
    "UNLOCK",
    "BEGIN",
    "START",
    "COMMIT",
    "END",
    "PRAGMA",
    "ANALYZE",
    "VACUUM",
    "SELECT",
    "COMMENT",
    "REINDEX",
    "SAVEPOINT",
    "RELEASE",
    "RESET",
)
