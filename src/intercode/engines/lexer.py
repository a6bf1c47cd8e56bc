"""SQL text as tokens, in the four dialects: the ground of splitting, reading and translating.

Any text has tokens: together they are the text again, and what is open at its end (a string
without its closing quote) is one token to the end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Literal, NamedTuple

Kind = Literal["space", "comment", "hint", "string", "blob", "quoted", "number", "word", "op"]
"""``quoted`` is a quoted name; ``hint`` the opening (``/*!40101``) or the closing of a comment that
MySQL executes, whose inside has tokens of its own; ``blob`` covers ``x'00'``, ``b'01'``, ``0x00``.
"""


class Token(NamedTuple):
    kind: Kind
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def upper(self) -> str:
        """Of a bare word, for comparing with keywords; of an operator itself; else empty."""
        if self.kind == "word":
            return self.text.upper()
        return self.text if self.kind == "op" else ""


_SPACE = r"(?P<space>\s+)"
_BLOCK = r"/\*.*?(?:\*/|\Z)"
_LINE = r"--[^\n]*"
_NUMBER = r"(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?![^\W\d]))"
_WORD = r"(?P<word>[^\W\d][\w$]*|[@:$]+[\w$.]*\w|\d+[^\W\d][\w$]*)"
_OP = r"(?P<op><=>|->>|::|->|<<|>>|<>|!=|<=|>=|:=|==|\|\||&&|.)"
_DOUBLED = r"'(?:[^']|'')*(?:'|\Z)"
_BACKSLASHED = r"'(?:[^'\\]|\\.|'')*(?:'|\\?\Z)"
_NAME = r'"(?:[^"]|"")*(?:"|\Z)'
_BACKQUOTED = r"`(?:[^`]|``)*(?:`|\Z)"
_DOLLAR = r"\$(?P<tag>(?:[^\W\d]\w*)?)\$.*?(?:\$(?P=tag)\$|\Z)"


def _pattern(dialect: str) -> re.Pattern[str]:
    if dialect == "mysql":
        double = r'"(?:[^"\\]|\\.|"")*(?:"|\\?\Z)'
        parts = [
            _SPACE,
            r"(?P<hint>/\*M?!\d*|\*/)",
            rf"(?P<comment>{_BLOCK}|--(?=[\s\x00-\x1f])[^\n]*|\#[^\n]*)",
            rf"(?P<blob>[xXbB]{_DOUBLED}|0x[0-9a-fA-F]+\b|0b[01]+\b)",
            rf"(?P<string>[nN]?{_BACKSLASHED}|{double})",
            rf"(?P<quoted>{_BACKQUOTED})",
        ]
    elif dialect == "sqlite":
        parts = [
            _SPACE,
            rf"(?P<comment>{_BLOCK}|{_LINE})",
            rf"(?P<blob>[xX]{_DOUBLED})",
            rf"(?P<string>{_DOUBLED})",
            rf"(?P<quoted>{_NAME}|{_BACKQUOTED}|\[[^\]]*(?:\]|\Z))",
            r"(?P<hex>0[xX][0-9a-fA-F]+\b)",
        ]
    else:
        parts = [
            _SPACE,
            rf"(?P<comment>{_LINE}|(?P<nested>/\*))",
            rf"(?P<blob>[xXbB]{_DOUBLED})",
            rf"(?P<string>[eE]{_BACKSLASHED}|[nN]?{_DOUBLED}|{_DOLLAR})",
            rf"(?P<quoted>(?:[uU]&)?{_NAME})",
        ]
    return re.compile("|".join([*parts, _NUMBER, _WORD, _OP]), re.DOTALL)


_compiled = cache(_pattern)


def tokens(sql: str, dialect: str) -> Iterator[Token]:
    """Every token, blanks and comments too: ``"".join(t.text for t in tokens(sql, d)) == sql``."""
    match = _compiled(dialect).match
    position, length, open_hints = 0, len(sql), 0
    while position < length:
        found = match(sql, position)
        assert found is not None, "the last alternative takes any character"
        groups = found.lastgroup
        kind: Kind = "number" if groups == "hex" else groups  # type: ignore[assignment]
        end = found.end()
        if kind == "comment" and sql.startswith("/*", position) and dialect not in _FLAT:
            end = _nested_end(sql, position)
        elif kind == "hint":
            if found.group() == "*/":
                if not open_hints:
                    kind, end = "op", position + 1
                else:
                    open_hints -= 1
            else:
                open_hints += 1
        yield Token(kind, sql[position:end], position)
        position = end


_FLAT = ("mysql", "sqlite")
"""Dialects whose comments do not nest."""

_COMMENT_EDGE = re.compile(r"/\*|\*/")


def _nested_end(sql: str, start: int) -> int:
    depth = 0
    for edge in _COMMENT_EDGE.finditer(sql, start):
        depth += 1 if edge.group() == "/*" else -1
        if depth == 0:
            return edge.end()
    return len(sql)


def significant(sql: str, dialect: str) -> list[Token]:
    """Without blanks, comments and hints' edges."""
    skip = ("space", "comment", "hint")
    return [token for token in tokens(sql, dialect) if token.kind not in skip]


_ESCAPES = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a"}
_PG_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_MYSQL_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_PG_ESCAPE = re.compile(
    r"\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-7]{1,3}|.)", re.DOTALL
)


def string_value(token: Token, dialect: str) -> str:
    """What a ``string`` token says."""
    text = token.text
    if text[0] == "$":
        tag = text[: text.index("$", 1) + 1]
        return text[len(tag) :].removesuffix(tag)
    escaped = dialect == "mysql" or text[0] in "eE"
    if text[0] in "eEnN":
        text = text[1:]
    quote, inner = text[0], text[1:].removesuffix(text[0])
    inner = inner.replace(quote * 2, quote)
    if not escaped or "\\" not in inner:
        return inner
    if dialect == "mysql":
        return _MYSQL_ESCAPE.sub(lambda found: _ESCAPES.get(found[1], found[1]), inner)
    return _PG_ESCAPE.sub(_postgres_escape, inner)


def _postgres_escape(found: re.Match[str]) -> str:
    what = found[1]
    if what[0] in "xuU" and len(what) > 1:
        return chr(int(what[1:], 16))
    return chr(int(what, 8)) if what[0] in "01234567" else _PG_ESCAPES.get(what, what)


def name_value(token: Token) -> str:
    """What a ``quoted`` or ``word`` token names, as it is written."""
    text = token.text
    if token.kind != "quoted":
        return text
    if text[0] == "[":
        return text[1:].removesuffix("]")
    if text[0] in "uU":
        text = text[2:]
    return text[1:].removesuffix(text[0]).replace(text[0] * 2, text[0])


def blob_value(token: Token) -> bytes | int:
    """Bytes of ``x'…'`` and ``0x…``, an integer of ``b'…'``. :raises ValueError: malformed"""
    text = token.text
    if text[0] in "bB" or text[:2] == "0b":
        return int(text.strip("bB'").removeprefix("0b") or "0", 2)
    digits = text[2:].removesuffix("'")
    return bytes.fromhex(digits if len(digits) % 2 == 0 else "0" + digits)


def line_of(sql: str, position: int) -> int:
    """Counted from 1."""
    return sql.count("\n", 0, position) + 1
