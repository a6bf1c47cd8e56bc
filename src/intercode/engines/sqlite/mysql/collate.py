"""Text compared as MySQL's ``utf8mb4_general_ci``: no case, no accents, no spaces at the end."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from intercode.engines.content import Content

NAME = "MYSQL_CI"
_SHORT = 64
"""Characters of a text whose key is kept: a comparison is asked for thousands of times a query."""
_PLAIN = re.compile(r"[ -Za-~]*(?<! )")


def key(text: str) -> str:
    """Equal for texts that are equal; ordered as they are."""
    return _short_key(text) if len(text) <= _SHORT else _key(text)


@lru_cache(maxsize=65_536)
def _short_key(text: str) -> str:
    return _key(text)


def _key(text: str) -> str:
    if text.isascii():
        return text.upper().rstrip(" ")
    return _folded(text)


def _folded(text: str) -> str:
    return fold(text).rstrip(" ")


def fold(text: str) -> str:
    """Character by character, so that lengths stay (``ß`` is one ``S``)."""
    return text.upper() if text.isascii() else "".join(map(_folded_character, text))


@lru_cache(maxsize=4096)
def _folded_character(character: str) -> str:
    if character == "ß":
        return "S"
    base = unicodedata.normalize("NFD", character)[0]
    upper = base.upper()
    return upper if len(upper) == 1 else base


def compare(left: str, right: str) -> int:
    if left == right:
        return 0
    one, other = key(left), key(right)
    return (one > other) - (one < other)


def of(content: Content) -> str:
    """The collation for its columns: SQLite's own, much faster one where all of its text is such
    that both agree on it (ASCII, no space at the end, nothing that sorts between ``Z`` and ``a``).
    """
    for table in content.tables:
        for row in table.rows:
            for value in row:
                if isinstance(value, str) and not _PLAIN.fullmatch(value):
                    return NAME
    return "NOCASE"


def is_plain(text: str) -> bool:
    return _PLAIN.fullmatch(text) is not None


def like(pattern: str, text: str, escape: str = "\\") -> bool:
    """LIKE, in time linear in the text for each part of the pattern between two ``%``."""
    parts = _parts(pattern, escape)
    subject = fold(text)
    if len(parts) == 1:
        return len(parts[0]) == len(subject) and _at(parts[0], subject, 0)
    first, *middle, last = parts
    if len(subject) < len(first) + len(last) or not _at(first, subject, 0):
        return False
    end = len(subject) - len(last)
    if not _at(last, subject, end):
        return False
    position = len(first)
    for part in middle:
        position = _find(part, subject, position, end)
        if position < 0:
            return False
        position += len(part)
    return True


Part = tuple[str | None, ...]
"""Characters, None for any one."""


@lru_cache(maxsize=1024)
def _parts(pattern: str, escape: str) -> tuple[Part, ...]:
    parts: list[list[str | None]] = [[]]
    escaped = False
    for character in pattern:
        if escaped:
            parts[-1].append(fold(character))
            escaped = False
        elif character == escape and escape:
            escaped = True
        elif character == "%":
            parts.append([])
        elif character == "_":
            parts[-1].append(None)
        else:
            parts[-1].append(fold(character))
    if escaped:
        parts[-1].append(escape)
    return tuple(map(tuple, parts))


def _at(part: Part, subject: str, position: int) -> bool:
    return all(
        wanted is None or wanted == subject[position + offset] for offset, wanted in enumerate(part)
    )


def _find(part: Part, subject: str, position: int, end: int) -> int:
    if None not in part:
        return subject.find("".join(filter(None, part)), position, end)
    for start in range(position, end - len(part) + 1):
        if _at(part, subject, start):
            return start
    return -1
