"""SQL text into statements, and a statement into its kind, without understanding either."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from intercode.engines.lexer import Token, tokens

_BLANK = ("space", "comment")
_BODIES = {
    "sqlite": {"TRIGGER"},
    "mysql": {"TRIGGER", "PROCEDURE", "FUNCTION", "EVENT"},
    "postgres": {"FUNCTION", "PROCEDURE"},
    "duckdb": set[str](),
}
"""What a CREATE may make whose body has semicolons of its own between BEGIN and END."""

_MARKS = (";", "--", "/*", "#")
"""Without one of them a text is one statement."""


def split(sql: str, dialect: str) -> list[str]:
    """The statements, without the semicolons that end them and the blanks around; what is nothing
    but blanks and comments is none. Never raises: an open string or comment reaches to the end.

    Joining them by ``";\\n"`` and splitting again gives the same list.
    """
    whole = sql.strip()
    if whole and sql.endswith(whole) and not any(mark in sql for mark in _MARKS):
        return [whole]
    return [_text(part) for part in cut(tokens(sql, dialect), dialect)]


def cut(stream: Iterable[Token], dialect: str) -> Iterator[list[Token]]:
    """Tokens statement by statement, blanks and comments left in, the ending semicolons out."""
    part: list[Token] = []
    body = _Body(dialect)
    for token in stream:
        if token.kind == "op" and token.text == ";" and not body.semicolon():
            if _says_something(part):
                yield part
            part, body = [], _Body(dialect)
            continue
        part.append(token)
        if token.kind not in _BLANK:
            body.see(token)
    if _says_something(part):
        yield part


def _says_something(part: list[Token]) -> bool:
    return any(token.kind not in _BLANK for token in part)


def _text(part: list[Token]) -> str:
    first, last = 0, len(part)
    while part[first].kind in _BLANK:
        first += 1
    while part[last - 1].kind in _BLANK:
        last -= 1
    return "".join(token.text for token in part[first:last])


class _Body:
    """Whether a semicolon is inside the body of a trigger or routine."""

    def __init__(self, dialect: str) -> None:
        self._makes = _BODIES[dialect]
        self._nests = dialect != "sqlite"
        self._seen = 0
        self._inside = False
        self._depth = 0
        self._last: list[str] = []

    def see(self, token: Token) -> None:
        self._seen += 1
        if not self._makes or (self._seen > 1 and not self._last):
            return
        word = token.upper
        if self._seen == 1 and word != "CREATE":
            return
        if not self._inside and word in self._makes and self._seen < 12:
            self._inside = True
        self._last = [*self._last[-1:], word or "-"]
        if not self._inside:
            return
        if word == "BEGIN":
            self._depth += 1
        elif self._depth and self._nests:
            if word == "CASE" and self._last[0] != "END":
                self._depth += 1
            elif self._last[0] == "END" and word not in ("IF", "LOOP", "WHILE", "REPEAT"):
                self._depth -= 1

    def semicolon(self) -> bool:
        """True where the semicolon that comes now ends no statement."""
        if not self._depth:
            return False
        if self._nests:
            if self._last[-1] == "END":
                self._depth -= 1
        elif self._last == [";", "END"]:
            self._depth = 0
        self._last = [self._last[-1], ";"] if self._depth else self._last
        return self._depth > 0


_VERBS = frozenset(("SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "VALUES", "TABLE", "MERGE"))


def kind_of(statement: str, dialect: str = "mysql") -> str:
    """The first keyword in small letters (``select``, ``show``, ``create``, …), behind comments and
    opening brackets; of a WITH the verb that follows it; empty where there is none."""
    depth, first = 0, True
    for token in tokens(statement, dialect):
        word = token.upper
        if first:
            if token.kind in ("space", "comment", "hint") or word == "(":
                continue
            if word != "WITH":
                return token.text.lower() if token.kind == "word" else ""
            first = False
        elif word == "(":
            depth += 1
        elif word == ")":
            depth -= 1
        elif depth == 0 and word in _VERBS:
            return word.lower()
    return "" if first else "with"
