"""What a statement may do, by the kind that DuckDB's own parser says it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from intercode.engines.base import Policy
from intercode.engines.lexer import Token, significant

_WRITES = {"INSERT", "UPDATE", "DELETE", "MERGE_INTO"}
_DEFINES = {"CREATE", "DROP", "ALTER"}
_OWN = {"TRANSACTION", "VACUUM"}
_TELLING = {
    *("table_info", "show_tables", "show_tables_expanded", "show", "version", "database_size"),
    *("database_list", "show_databases", "storage_info", "functions", "collations", "platform"),
}
_SETTINGS = "settings cannot be changed here"


@dataclass(frozen=True)
class Ruling:
    """``pure``: it leaves nothing behind, and can be run on what all sessions read. ``counts``: its
    result is a number of rows that it changed; ``silent``: its result says nothing."""

    refusal: str | None = None
    pure: bool = False
    counts: bool = False
    silent: bool = False


_READS = Ruling(pure=True)


def rule(parser: Any, sql: str, policy: Policy) -> tuple[Ruling, Any]:
    """With the parsed statement. ``parser`` is a connection.

    :raises duckdb.Error: it cannot be parsed, or is not one statement.
    """
    statements = parser.extract_statements(sql)
    if len(statements) != 1:
        return Ruling(refusal="one statement at a time"), None
    try:
        kind = statements[0].type.name
    except ValueError:  # One that the client has no name for yet.
        kind = ""
    words: list[Token] = [] if kind == "SELECT" else significant(sql, "duckdb")
    return _ruling(parser, kind, words, sql, policy), statements[0]


def _ruling(parser: Any, kind: str, words: list[Token], sql: str, policy: Policy) -> Ruling:
    upper = [token.upper for token in words]
    if kind == "SELECT":
        return _READS
    if kind == "EXPLAIN":
        return _explained(parser, words, sql, policy)
    if kind in _WRITES:
        if policy == "read-only":
            return Ruling(refusal=f"{upper[0]}: the database can only be read here")
        return Ruling(counts="RETURNING" not in upper)
    if kind in _DEFINES:
        return _defined(upper, policy)
    if kind in _OWN:
        return Ruling(silent=True)
    if kind == "MULTI" and not {"PIVOT", "PIVOT_WIDER"}.isdisjoint(upper):
        return Ruling()
    if kind == "SET":
        variable = len(upper) > 1 and upper[1] == "VARIABLE"
        return Ruling(silent=True) if variable else Ruling(refusal=_SETTINGS)
    if kind == "PRAGMA" and len(words) > 1 and words[1].text.lower() in _TELLING:
        return _READS
    if kind == "CALL" and len(words) > 1 and words[1].text.lower().startswith("pragma_"):
        return _READS
    return Ruling(refusal=f"{upper[0] if upper else kind} is not allowed here")


def _defined(upper: list[str], policy: Policy) -> Ruling:
    head = upper[:6]
    if "SECRET" in head or "SECRETS" in head:
        return Ruling(refusal="secrets are not allowed here")
    temporary = upper[0] == "CREATE" and ("TEMP" in head or "TEMPORARY" in head)
    if policy == "ddl" or (policy == "write" and temporary):
        return Ruling(silent=True)
    return Ruling(refusal=f"{upper[0]}: the schema cannot be changed here")


def _explained(parser: Any, words: list[Token], sql: str, policy: Policy) -> Ruling:
    """As what it explains: EXPLAIN ANALYZE runs it."""
    at = 1
    if at < len(words) and words[at].upper == "(":
        while at < len(words) and words[at].upper != ")":
            at += 1
        at += 1
    while at < len(words) and words[at].upper in ("ANALYZE", "ANALYSE", "VERBOSE"):
        at += 1
    if at >= len(words):
        return Ruling(refusal="EXPLAIN of nothing")
    inner, _ = rule(parser, sql[words[at].start :], policy)
    return Ruling(inner.refusal, inner.pure)
