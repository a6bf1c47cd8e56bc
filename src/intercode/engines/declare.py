"""CREATE TABLE, read: names, types as declared, keys. What a column's CHECK says is passed over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from intercode.engines.content import Column, ForeignKey
from intercode.engines.lexer import Token, name_value, significant, string_value


class NotDeclared(ValueError):
    """The text is no CREATE TABLE that can be read. ``position`` is where it went wrong."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message)
        self.position = position


@dataclass(frozen=True)
class ColumnDeclaration:
    """``default`` is the expression as written, None where there is none."""

    name: str
    type: str
    nullable: bool = True
    default: str | None = None
    auto_increment: bool = False
    extra: str = ""
    comment: str = ""


@dataclass(frozen=True)
class Index:
    name: str
    columns: tuple[str, ...]
    unique: bool = False


@dataclass(frozen=True)
class Declaration:
    """A CREATE TABLE. ``schema`` is the name before the point of ``CREATE TABLE a.b``; with
    ``as_select`` the columns are those of a query or of another table, which are not read."""

    name: str
    columns: tuple[ColumnDeclaration, ...]
    primary_key: tuple[str, ...] = ()
    indexes: tuple[Index, ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    schema: str | None = None
    if_not_exists: bool = False
    temporary: bool = False
    as_select: bool = False

    def plain_columns(self) -> tuple[Column, ...]:
        return tuple(Column(c.name, c.type, c.nullable) for c in self.columns)


def parse(sql: str, dialect: str) -> Declaration:
    """:raises NotDeclared: it is none."""
    return parse_tokens(significant(sql, dialect), sql, dialect)


def parse_tokens(stream: Sequence[Token], sql: str, dialect: str) -> Declaration:
    """As `parse`; the tokens are without blanks, their positions those in ``sql``."""
    reader = _Reader(stream, sql, dialect)
    reader.expect("CREATE")
    temporary = reader.take("TEMPORARY", "TEMP", "UNLOGGED", "LOCAL", "GLOBAL") is not None
    if temporary:
        reader.take("TEMPORARY", "TEMP")
    if reader.take("OR"):
        reader.expect("REPLACE")
    reader.expect("TABLE")
    polite = reader.take("IF") is not None
    if polite:
        reader.expect("NOT")
        reader.expect("EXISTS")
    path = reader.path()
    base = Declaration(
        path[-1],
        (),
        schema=path[-2] if len(path) > 1 else None,
        if_not_exists=polite,
        temporary=temporary,
    )
    if reader.upper() in ("AS", "SELECT", "LIKE", "WITH"):
        return replace(base, as_select=True)
    reader.expect("(")
    if reader.upper() in ("SELECT", "LIKE", "WITH"):
        return replace(base, as_select=True)
    body = _Body()
    while True:
        _element(reader, body)
        if reader.take(")"):
            break
        reader.expect(",")
    return replace(
        base,
        columns=tuple(
            replace(column, nullable=False) if column.name in body.primary_key else column
            for column in body.columns
        )
        if dialect != "sqlite"
        else tuple(body.columns),
        primary_key=tuple(body.primary_key),
        indexes=tuple(body.indexes),
        foreign_keys=tuple(body.foreign_keys),
    )


@dataclass
class _Body:
    columns: list[ColumnDeclaration] = field(default_factory=list)
    primary_key: list[str] = field(default_factory=list)
    indexes: list[Index] = field(default_factory=list)
    foreign_keys: list[ForeignKey] = field(default_factory=list)


class _Reader:
    def __init__(self, stream: Sequence[Token], sql: str, dialect: str) -> None:
        self.stream = stream
        self.sql = sql
        self.dialect = dialect
        self.at = 0

    def peek(self, ahead: int = 0) -> Token | None:
        where = self.at + ahead
        return self.stream[where] if where < len(self.stream) else None

    def upper(self, ahead: int = 0) -> str:
        token = self.peek(ahead)
        return token.upper if token else ""

    def take(self, *words: str) -> Token | None:
        token = self.peek()
        if token is None or token.upper not in words:
            return None
        self.at += 1
        return token

    def next(self) -> Token:
        token = self.peek()
        if token is None:
            raise NotDeclared("the CREATE TABLE ends too early", len(self.sql))
        self.at += 1
        return token

    def expect(self, word: str) -> None:
        token = self.next()
        if token.upper != word:
            raise NotDeclared(f"expected {word}, found {token.text[:30]!r}", token.start)

    def name(self) -> str:
        token = self.next()
        if token.kind == "string":
            return string_value(token, self.dialect)
        if token.kind not in ("word", "quoted"):
            raise NotDeclared(f"expected a name, found {token.text[:30]!r}", token.start)
        return name_value(token)

    def path(self) -> list[str]:
        parts = [self.name()]
        while self.take("."):
            parts.append(self.name())
        return parts

    def names(self) -> tuple[str, ...]:
        """A bracketed list of names; lengths and directions behind them are passed over."""
        self.expect("(")
        found = []
        while True:
            found.append(self.name())
            while self.upper() not in (",", ")"):
                self.skip_one()
            if self.next().text == ")":
                return tuple(found)

    def skip_one(self) -> None:
        """A token, or a bracketed group."""
        if self.next().text != "(":
            return
        depth = 1
        while depth:
            text = self.next()
            depth += (text.upper == "(") - (text.upper == ")")

    def text(self, first: int, last: int) -> str:
        """The source from one token up to another, that one left out."""
        return self.sql[self.stream[first].start : self.stream[last - 1].end]


_INDEX_WORDS = ("KEY", "INDEX", "FULLTEXT", "SPATIAL")
_ATTRIBUTES = (
    "NOT",
    "NULL",
    "DEFAULT",
    "PRIMARY",
    "UNIQUE",
    "KEY",
    "REFERENCES",
    "CHECK",
    "COLLATE",
    "CONSTRAINT",
    "AUTO_INCREMENT",
    "AUTOINCREMENT",
    "COMMENT",
    "GENERATED",
    "AS",
    "ON",
    "CHARSET",
    "STORED",
    "VIRTUAL",
    "VISIBLE",
    "INVISIBLE",
    "DEFERRABLE",
    "ENCODE",
    "STORAGE",
    "COMPRESSION",
)


def _element(reader: _Reader, body: _Body) -> None:
    constraint = ""
    if reader.upper() == "CONSTRAINT":
        reader.next()
        if reader.upper() not in ("PRIMARY", "UNIQUE", "FOREIGN", "CHECK"):
            constraint = reader.name()
    token = reader.peek()
    word = reader.upper()
    ahead = reader.upper(1)
    if word == "PRIMARY" and ahead == "KEY":
        reader.at += 2
        if reader.upper() in ("USING",):
            reader.at += 2
        body.primary_key[:] = reader.names()
    elif word == "FOREIGN" and ahead == "KEY":
        reader.at += 2
        if reader.upper() != "(":
            constraint = reader.name()
        columns = reader.names()
        body.foreign_keys.append(_reference(reader, columns))
    elif word == "UNIQUE" or (word in _INDEX_WORDS and _is_index(reader)):
        _index(reader, body, constraint)
    elif word == "CHECK" or word in ("EXCLUDE", "LIKE"):
        pass
    elif token is not None and token.kind in ("word", "quoted", "string"):
        _column(reader, body)
    else:
        found = token.text[:30] if token else "the end"
        raise NotDeclared(f"expected a column, found {found!r}", token.start if token else 0)
    while reader.upper() not in (",", ")"):
        reader.skip_one()


def _is_index(reader: _Reader) -> bool:
    """``KEY name (column)``, and not a column with the name KEY: ``key varchar (20)``."""
    after, inside = reader.peek(1), reader.peek(3)
    if after is None or after.kind == "quoted" or after.upper in ("(", *_INDEX_WORDS):
        return True
    return reader.upper(2) in ("(", "USING") and not (inside and inside.kind == "number")


def _index(reader: _Reader, body: _Body, constraint: str) -> None:
    unique = reader.take("UNIQUE") is not None
    while reader.take(*_INDEX_WORDS):
        pass
    name = constraint
    if reader.upper() not in ("(", "USING"):
        name = reader.name()
    if reader.take("USING"):
        reader.next()
    if reader.upper() != "(":
        return
    columns = reader.names()
    body.indexes.append(Index(name or columns[0], columns, unique))


def _reference(reader: _Reader, columns: tuple[str, ...]) -> ForeignKey:
    reader.expect("REFERENCES")
    table = reader.path()[-1]
    references = reader.names() if reader.upper() == "(" else ()
    return ForeignKey(columns, table, references)


def _column(reader: _Reader, body: _Body) -> None:
    name = reader.name()
    column = ColumnDeclaration(name, _type(reader))
    while reader.upper() not in (",", ")"):
        word = reader.upper()
        if word == "NOT" and reader.upper(1) == "NULL":
            reader.at += 2
            column = replace(column, nullable=False)
        elif word == "DEFAULT":
            reader.next()
            column = replace(column, default=_default(reader))
        elif word == "PRIMARY" or (word == "KEY" and reader.dialect == "mysql"):
            reader.next()
            reader.take("KEY")
            body.primary_key[:] = [name]
        elif word == "UNIQUE":
            reader.next()
            reader.take("KEY")
            body.indexes.append(Index(name, (name,), unique=True))
        elif word == "REFERENCES":
            body.foreign_keys.append(_reference(reader, (name,)))
        elif word in ("AUTO_INCREMENT", "AUTOINCREMENT"):
            reader.next()
            column = replace(column, auto_increment=True)
        elif word == "COMMENT":
            reader.next()
            column = replace(column, comment=string_value(reader.next(), reader.dialect))
        elif word == "ON" and reader.upper(1) == "UPDATE":
            first = reader.at
            reader.at += 2
            reader.next()
            column = replace(column, extra=reader.text(first, reader.at))
        else:
            reader.skip_one()
    if column.type.upper().startswith(("SERIAL", "BIGSERIAL")):
        column = replace(column, auto_increment=True)
    body.columns.append(column)


def _type(reader: _Reader) -> str:
    first = reader.at
    while reader.upper() not in (",", ")"):
        word = reader.upper()
        if word in _ATTRIBUTES:
            break
        if word == "CHARACTER" and reader.upper(1) == "SET":
            break
        reader.skip_one()
    return " ".join(reader.text(first, reader.at).split()) if reader.at > first else ""


def _default(reader: _Reader) -> str:
    first = reader.at
    reader.skip_one()
    sign = reader.stream[first].text in ("-", "+")
    if sign or reader.upper() == "(":
        reader.skip_one()
    while reader.upper() == "::":
        reader.next()
        reader.skip_one()
        while reader.upper() in ("VARYING", "PRECISION", "WITHOUT", "WITH", "TIME", "ZONE", "("):
            reader.skip_one()
    return reader.text(first, reader.at)
