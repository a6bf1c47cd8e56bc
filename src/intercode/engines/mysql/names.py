"""The task's name for a database, put into statements as the name that it has on the server.

Only where it must be: a name in front of a dot, after USE, FROM or DATABASE in a statement that
failed for want of such a database, since a table or an alias may bear the same name; a string
beside ``information_schema``. What comes back is mapped by `intercode.engines.servers.names`.
"""

from __future__ import annotations

import re
from collections.abc import Container

from intercode.engines.lexer import Token, name_value, string_value, tokens
from intercode.errors import UsageError

UNKNOWN_NAME = frozenset((1044, 1049, 1051, 1054, 1109, 1142, 1143, 1146, 1370))
"""Errors that an unknown database's name can cause."""

_SIMPLE = re.compile(r"[^`/\\.\0]{1,64}")


def checked(name: str) -> str:
    """:raises UsageError: no database can have that name"""
    if not _SIMPLE.fullmatch(name):
        raise UsageError(f"no MySQL database can be called {name!r}")
    return name


def in_catalog(sql: str, shown: str, real: str) -> str:
    """The name as a string, beside ``information_schema``."""
    low = sql.lower()
    if "information_schema" not in low or shown.lower() not in low:
        return sql
    parts = []
    for token in tokens(sql, "mysql"):
        same = token.kind == "string" and string_value(token, "mysql").lower() == shown.lower()
        parts.append(f"'{real}'" if same else token.text)
    return "".join(parts)


def missing(error: str, shown: str) -> frozenset[str]:
    """The table that an error speaks of as one of the database ``shown``."""
    found = re.search(rf"`?{re.escape(shown)}`?\.`?([^`'.\s]+)`?", error, re.IGNORECASE)
    return frozenset((found[1].lower(),)) if found else frozenset()


def qualified(sql: str, shown: str, real: str, tables: Container[str]) -> str:
    """With ``real`` where ``shown`` can only be the database. ``tables``: its own, in lower case.

    Of ``a.b`` the first is taken for the database where ``b`` is a table; of ``a.b.c`` always.
    """
    every = list(tokens(sql, "mysql"))
    said = [i for i, token in enumerate(every) if token.kind not in ("space", "comment", "hint")]
    words = [every[i] for i in said]
    named = [
        place for place, token in enumerate(words)
        if token.kind in ("word", "quoted") and name_value(token).lower() == shown.lower()
    ]  # fmt: skip
    chosen = {place for place in named if _leads(words, place, tables)}
    if not chosen:
        chosen = {place for place in named if _follows(words, place)}
        chosen = {max(chosen)} if chosen else set()
    for place in chosen:
        index = said[place]
        every[index] = every[index]._replace(text=f"`{real}`")
    return "".join(token.text for token in every)


def _leads(words: list[Token], place: int, tables: Container[str]) -> bool:
    if place and words[place - 1].text == ".":
        return False
    after = [token.text for token in words[place + 1 : place + 4]]
    if not after or after[0] != ".":
        return False
    if len(after) == 3 and after[2] == ".":
        return True
    is_name = len(after) > 1 and words[place + 2].kind in ("word", "quoted")
    return is_name and name_value(words[place + 2]).lower() in tables


def _follows(words: list[Token], place: int) -> bool:
    """Behind a word that a database's name comes after."""
    if not place or words[0].upper not in ("USE", "SHOW", "DROP", "CREATE", "ALTER"):
        return False
    before = [token.upper for token in words[:place]]
    while before and before[-1] in ("IF", "NOT", "EXISTS"):
        before.pop()
    return bool(before) and before[-1] in ("USE", "FROM", "IN", "DATABASE", "SCHEMA")
