"""What a statement may do, and what it may leave behind, by its words.

Privileges are the wall; this decides what they cannot: locks that all sessions share, a session's
own limits, another connection's end. And it tells, on the safe side, which statements may run on
the shared pristine database, and which a ROLLBACK takes back.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from intercode.engines.base import Policy
from intercode.engines.lexer import Token, name_value, significant, string_value
from intercode.engines.statements import kind_of, split

_READS = frozenset(
    ("select", "with", "values", "table", "show", "desc", "describe", "explain", "help", "check")
)
_OWN = frozenset(
    ("set", "begin", "start", "commit", "rollback", "savepoint", "release", "use", "do", "prepare",
     "execute", "deallocate", "handler", "analyze", "checksum", "signal", "resignal", "get")
)  # fmt: skip
"""About the session alone."""
_WRITES = frozenset(("insert", "update", "delete", "replace", "call", "lock", "unlock", "truncate"))
_DEFINES = frozenset(("create", "alter", "drop", "rename", "optimize", "repair"))
_NEVER = frozenset(("kill", "xa", "load"))
_CHANGES = frozenset(("insert", "update", "delete", "replace"))
_COMMITS = frozenset(("begin", "start", "commit", "lock", "unlock", "set"))
_NOTHING = frozenset(
    ("select", "with", "values", "table", "show", "desc", "describe", "explain", "do", "savepoint",
     "rollback", "release", "use", "handler")
)  # fmt: skip
_LIMITS = frozenset(
    ("max_statement_time", "max_execution_time", "max_session_mem_used", "tmp_disk_table_size",
     "tmp_memory_table_size", "tmp_table_size", "max_heap_table_size", "sort_buffer_size",
     "join_buffer_size", "read_buffer_size", "read_rnd_buffer_size", "bulk_insert_buffer_size",
     "wait_timeout", "interactive_timeout", "net_read_timeout", "net_write_timeout",
     "lock_wait_timeout", "preload_buffer_size", "query_alloc_block_size", "query_prealloc_size",
     "range_alloc_block_size", "transaction_alloc_block_size", "transaction_prealloc_size",
     "mrr_buffer_size", "join_buffer_space_limit", "aria_sort_buffer_size",
     "myisam_sort_buffer_size", "max_tmp_session_space_usage", "local_infile")
)  # fmt: skip
_LOCKS = frozenset(
    ("GET_LOCK", "RELEASE_LOCK", "RELEASE_ALL_LOCKS", "IS_FREE_LOCK", "IS_USED_LOCK")
)
_PURE = re.compile(r"[\s(]*(select|with|values|table|show|desc|describe|explain)\b", re.IGNORECASE)
_IMPURE = re.compile(
    r"@|:=|/\*[!M]|\b(into|update|share|lock|insert|delete|replace\s+into|get_lock|release_lock"
    r"|release_all_locks|is_free_lock|is_used_lock|nextval|lastval|setval|next\s+value"
    r"|previous\s+value|analyze|procedure|grants|variables)\b",
    re.IGNORECASE,
)
"""What a reading statement says that may leave something behind, or tell one session from another.
A word in a string is taken for it too, at the cost of a private database."""


Effect = Literal["none", "changes", "commits", "defines"]
"""Nothing that lasts; rows changed, until a rollback; what was changed, committed, here or with
every later change; anything else."""


_EVER = re.compile(r"last_insert_id|status", re.IGNORECASE)
_LAST = re.compile(r"warnings|errors|found_rows|row_count|profile", re.IGNORECASE)


def looks_back(sql: str, *, first: bool) -> bool:
    """Whether a reading statement may tell what the connection did before this session, in which it
    is the ``first``, or not."""
    return _EVER.search(sql) is not None or (first and _LAST.search(sql) is not None)


@dataclass(frozen=True)
class Ruling:
    """``refusal``: why it is not run. ``pure``: it leaves nothing behind, so that it may run on the
    shared pristine database. ``source``: of dynamic SQL the user variable (``@text``) whose value
    is to be judged as well. ``names``: those in it, in small letters, where it changes rows."""

    kind: str
    effect: Effect
    refusal: str | None = None
    pure: bool = False
    source: str = ""
    names: frozenset[str] = frozenset()


_READ_ONLY = Ruling("select", "none", pure=True)


def rule(sql: str, policy: Policy) -> Ruling:
    """One statement."""
    if _PURE.match(sql) and not _IMPURE.search(sql):
        return _READ_ONLY
    words = significant(sql, "mysql")
    kind = kind_of(sql)
    effect = _effect(kind, words)
    return Ruling(
        kind,
        effect,
        _refusal(kind, words, policy),
        source=_dynamic_source(words) if kind in _DYNAMIC else "",
        names=_names(words) if effect == "changes" else frozenset(),
    )


def _refusal(kind: str, words: list[Token], policy: Policy) -> str | None:
    upper = {token.upper for token in words}
    if kind in _NEVER:
        return f"{kind.upper()} is not allowed here"
    if upper & _LOCKS and not upper.isdisjoint(("(",)):
        return "locks by name are not allowed here"
    if kind == "set" and upper & {"PASSWORD", "GLOBAL", "PERSIST", "PERSIST_ONLY"}:
        return "users and the server's settings cannot be changed here"
    if kind == "alter" and upper & {"USER", "ROLE"}:
        return "users and the server's settings cannot be changed here"
    if kind not in _READS and _touches_limits(words):
        return "the session's limits cannot be changed here"
    refusal = _by_policy(kind, words, policy)
    return refusal or _dynamic(kind, words, policy)


def _touches_limits(words: list[Token]) -> bool:
    for token in words:
        if token.kind in ("word", "quoted"):
            name = token.text.strip("`").lower().rpartition("@")[2].rpartition(".")[2]
            if name in _LIMITS:
                return True
            if name == "global" and token.text.startswith("@@"):
                return True
        if token.kind == "word" and token.text.lower().startswith("@@global."):
            return True
    return False


def _by_policy(kind: str, words: list[Token], policy: Policy) -> str | None:
    if policy == "ddl":
        return None
    temporary = kind in ("create", "drop") and "TEMPORARY" in {token.upper for token in words[:5]}
    if policy == "read-only" and (kind in _WRITES or kind in _DEFINES):
        return f"{kind.upper()} is not allowed here: the database can only be read"
    if (kind in _DEFINES or kind == "truncate") and not temporary:
        return f"{kind.upper()} is not allowed here: the schema cannot be changed"
    return None


def _dynamic(kind: str, words: list[Token], policy: Policy) -> str | None:
    """Dynamic SQL is judged by its text: so it must have one."""
    upper = [token.upper for token in words]
    for place, word in enumerate(upper):
        immediate = word == "IMMEDIATE" and upper[place - 1] == "EXECUTE"
        prepared = word == "FROM" and place >= 2 and upper[place - 2] == "PREPARE"
        if not (immediate or prepared):
            continue
        text = words[place + 1] if place + 1 < len(words) else None
        alone = place + 2 == len(words) or upper[place + 2] in (";", "USING")
        if text is not None and text.kind == "string" and alone:
            for statement in split(string_value(text, "mysql"), "mysql"):
                refusal = rule(statement, policy).refusal
                if refusal is not None:
                    return refusal
        elif not (text is not None and _is_variable(text) and alone and kind in _DYNAMIC):
            return "a statement can only be prepared from a string or a variable here"
    return None


_DYNAMIC = ("prepare", "execute")


def _is_variable(token: Token) -> bool:
    return token.kind == "word" and re.fullmatch(r"@[\w$.]+", token.text) is not None


def _dynamic_source(words: list[Token]) -> str:
    for token in words[2:4]:
        if _is_variable(token):
            return token.text
    return ""


def _effect(kind: str, words: list[Token]) -> Effect:
    if kind in ("create", "drop") and len(words) > 1 and words[1].upper == "TEMPORARY":
        return "none"
    if kind == "set":
        text = " ".join(token.text for token in words).upper()
        if "STATEMENT" in text:
            return "defines"
        return "commits" if "@@" in text or "AUTOCOMMIT" in text else "none"
    if kind == "begin" and len(words) > 2:
        # A block of statements.
        return "defines"
    if kind in _CHANGES:
        return "changes"
    if kind in _COMMITS:
        return "commits"
    return "none" if kind in _NOTHING else "defines"


def _names(words: list[Token]) -> frozenset[str]:
    return frozenset(
        name_value(token).lower() for token in words if token.kind in ("word", "quoted")
    )
