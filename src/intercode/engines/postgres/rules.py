"""What a statement may do, by its words, where privileges cannot say it; and which statements may
run on the shared pristine database."""

from __future__ import annotations

import re
from dataclasses import dataclass

from intercode.engines.base import Policy
from intercode.engines.lexer import Token, name_value, significant
from intercode.engines.statements import kind_of

_WRITES = frozenset(("insert", "update", "delete", "merge", "lock", "truncate"))
_DEFINES = frozenset(
    ("create", "alter", "drop", "comment", "grant", "revoke", "reindex", "cluster", "refresh",
     "import", "security", "reassign", "do", "call", "truncate")
)  # fmt: skip
_NEVER = frozenset(("copy", "listen", "load", "checkpoint"))
_CONTROL = frozenset(("begin", "start", "commit", "end", "rollback", "abort"))
_LIMITS = frozenset(
    ("work_mem", "maintenance_work_mem", "temp_buffers", "hash_mem_multiplier", "temp_file_limit",
     "logical_decoding_work_mem", "statement_timeout", "idle_in_transaction_session_timeout",
     "transaction_timeout", "idle_session_timeout", "standard_conforming_strings",
     "client_encoding", "backslash_quote", "max_parallel_workers_per_gather",
     "max_parallel_workers", "wal_buffers", "max_stack_depth", "from_collapse_limit",
     "join_collapse_limit", "gin_pending_list_limit", "names")
)  # fmt: skip
_PURE = re.compile(r"[\s(]*(select|with|values|table|show|explain)\b", re.IGNORECASE)
_IMPURE = re.compile(
    r"\b(into|update|share|insert|delete|merge|analyze|nextval|setval|currval|lastval|setseed"
    r"|set_config|lo_\w+|loread|lowrite|dblink\w*)\b|\bpg_\w+\s*\(",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Ruling:
    """``pure``: it leaves nothing behind, so that it may run on the shared pristine database.
    ``control``: begin, commit or rollback, of a transaction as a whole."""

    kind: str
    refusal: str | None = None
    pure: bool = False
    control: str = ""

    @property
    def reads(self) -> bool:
        """Whether it is a query by its kind."""
        return self.kind in ("select", "values", "table", "show")


_READ_ONLY = Ruling("select", pure=True)


def rule(sql: str, policy: Policy) -> Ruling:
    """One statement."""
    if _PURE.match(sql) and not _IMPURE.search(sql):
        return _READ_ONLY
    words = significant(sql, "postgres")
    kind = kind_of(sql, "postgres")
    upper = {token.upper for token in words}
    return Ruling(
        kind,
        _refusal(kind, words, upper, policy),
        control=_control(kind, words),
    )


def _refusal(kind: str, words: list[Token], upper: set[str], policy: Policy) -> str | None:
    if kind in _NEVER:
        return f"{kind.upper()} is not allowed here"
    second = words[1].upper if len(words) > 1 else ""
    if (kind, second) == ("prepare", "TRANSACTION") or (kind in _CONTROL and "PREPARED" in upper):
        return "prepared transactions are not allowed here"
    if kind == "alter" and second in ("ROLE", "USER", "DATABASE", "SYSTEM", "GROUP", "DEFAULT"):
        return "users and the server's settings cannot be changed here"
    if kind in ("set", "reset") and _touches(words):
        return "the session's limits cannot be changed here"
    if policy == "ddl":
        return None
    if policy == "read-only" and (kind in _WRITES or kind in _DEFINES):
        return f"{kind.upper()} is not allowed here: the database can only be read"
    temporary = kind == "create" and upper & {"TEMP", "TEMPORARY"}
    if kind in _DEFINES and not temporary and not (kind == "drop" and second == "TABLE"):
        return f"{kind.upper()} is not allowed here: the schema cannot be changed"
    return None


def _touches(words: list[Token]) -> bool:
    return any(
        name_value(token).lower() in _LIMITS for token in words if token.kind in ("word", "quoted")
    )


def _control(kind: str, words: list[Token]) -> str:
    """``begin``, ``commit``, ``rollback``; empty for all else, savepoints included."""
    if kind not in _CONTROL:
        return ""
    if kind in ("begin", "start"):
        return "begin"
    if kind in ("commit", "end"):
        return "commit"
    return "" if any(token.upper == "TO" for token in words) else "rollback"
