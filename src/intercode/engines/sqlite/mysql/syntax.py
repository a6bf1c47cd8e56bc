"""MySQL's grammar, where sqlglot's is more liberal: a statement becomes a tree, or a fault."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any

from intercode.engines.lexer import Token, line_of, significant
from intercode.engines.sqlite.mysql.faults import Fault, syntax
from intercode.engines.translate import SyntaxFault, parse

_TIGHT = frozenset(
    [
        *("ADDDATE", "BIT_AND", "BIT_OR", "BIT_XOR", "CAST", "COUNT", "CURDATE", "CURTIME"),
        *("DATE_ADD", "DATE_SUB", "EXTRACT", "GROUP_CONCAT", "MAX", "MID", "MIN", "NOW"),
        *("POSITION", "STD", "STDDEV", "STDDEV_POP", "STDDEV_SAMP", "SUBDATE", "SUBSTR"),
        *("SUBSTRING", "SUM", "SYSDATE", "TRIM", "VARIANCE", "VAR_POP", "VAR_SAMP"),
    ]
)
"""Functions that MySQL knows as such only with the bracket right behind the name."""

_WINDOWS = frozenset(
    [
        *("RANK", "DENSE_RANK", "ROW_NUMBER", "PERCENT_RANK", "CUME_DIST", "NTILE", "LAG", "LEAD"),
        *("FIRST_VALUE", "LAST_VALUE", "NTH_VALUE"),
    ]
)
_RESERVED = frozenset(
    [
        *("SHOW", "KEY", "KEYS", "INDEX", "ORDER", "GROUP", "GROUPS", "ROW", "ROWS", "FUNCTION"),
        *("SYSTEM", "GROUPING", "LATERAL", "RECURSIVE", "EMPTY", "OF", "CONDITION", "DESC", "ASC"),
        *("DESCRIBE", "EXPLAIN", "FROM", "WHERE", "HAVING", "LIMIT", "TABLE", "SELECT", "CHECK"),
        *("COLUMN", "CASE", "WHEN", "THEN", "ELSE", "READ", "WRITE", "RANGE", "RELEASE", "PRIMARY"),
        *("REFERENCES", "REPEAT", "RETURN", "SCHEMA", "SCHEMAS", "DATABASES", "TRIGGER", "USAGE"),
        *("USE", "WINDOW", "WITH", "LEADING", "LOAD", "MATCH", "OPTION", "OUT", "INOUT", "CALL"),
        *("CHANGE", "CROSS", "CURSOR", "DECLARE", "DIV", "EACH", "EXIT", "FETCH", "FLOAT"),
        *("FOREIGN", "FULLTEXT", "GRANT", "INTERVAL", "ITERATE", "KILL", "LEAVE", "LINES", "LOCK"),
        *("LONG", "LOOP", "MOD", "NATURAL", "OPTIMIZE", "OUTER", "PROCEDURE", "PURGE", "RENAME"),
        *("REQUIRE", "RESTRICT", "REVOKE", "SENSITIVE", "SEPARATOR", "SIGNAL", "SPATIAL"),
        *("SPECIFIC", "SQL", "SSL", "STARTING", "STORED", "TERMINATED", "TRAILING", "UNDO"),
        *("UNLOCK", "VARYING", "VIRTUAL", "WHILE", "YEAR_MONTH", "ZEROFILL", "BOTH", "BLOB"),
        *("ANALYZE", "CASCADE"),
    ]
)  # fmt: skip
"""Reserved words that an agent may take for a name."""


def tree(statement: str, database: str) -> Any:
    """The statement's tree, with its functions as they are written.

    :raises Fault: what MySQL says of it.
    """
    stream = significant(statement, "mysql")
    _check_commas(stream, statement)
    _check_functions(stream, statement, database)
    try:
        found = parse(statement, _dialect())
    except SyntaxFault as fault:
        raise Fault(str(fault)) from fault
    _check_names(found, stream, statement)
    return found


@cache
def _dialect() -> Any:
    """MySQL as sqlglot reads it, but without its knowledge of functions."""
    from sqlglot.dialects.mysql import MySQL

    special = ("CAST", "CONVERT", "EXTRACT", "GROUP_CONCAT", "POSITION", "SUBSTRING", "SUBSTR")

    theirs: Any = MySQL.Parser
    parsers = {
        name: parser
        for name, parser in theirs.FUNCTION_PARSERS.items()
        if name in (*special, "TRIM", "CHAR")
    }
    parser = type("Parser", (theirs,), {"FUNCTIONS": {}, "FUNCTION_PARSERS": parsers})
    return type("PlainMySQL", (MySQL,), {"Parser": parser})


def near(statement: str, token: Token | None) -> Fault:
    if token is None:
        return syntax("", line_of(statement, len(statement)))
    return syntax(statement[token.start :], line_of(statement, token.start))


def _check_commas(stream: list[Token], statement: str) -> None:
    for token, behind in pairwise(stream):
        if token.text == "," and (behind.text in (",", ")") or behind.upper in ("FROM", "WHERE")):
            raise near(statement, behind)


def _check_functions(stream: list[Token], statement: str, database: str) -> None:
    for place, token in enumerate(stream[:-1]):
        word = token.upper
        behind = stream[place + 1]
        if word in _TIGHT and behind.text == "(" and behind.start > token.end:
            inside = stream[place + 2] if place + 2 < len(stream) else None
            if inside is None or inside.text in ("*", ")") or inside.upper == "DISTINCT":
                raise near(statement, inside)
            raise Fault(
                f"FUNCTION {database}.{token.text} does not exist. Check the 'Function Name Parsing"
                " and Resolution' section in the Reference Manual"
            )


def _check_names(found: Any, stream: list[Token], statement: str) -> None:
    from sqlglot import exp

    for node in found.find_all(exp.Identifier, exp.Join, exp.Subquery):
        if isinstance(node, exp.Identifier):
            word = node.name.upper()
            if not node.args.get("quoted") and (word in _RESERVED or word in _WINDOWS):
                _check_reserved(word, stream, statement)
        elif isinstance(node, exp.Join):
            if node.side == "FULL":
                raise near(statement, _full(stream))
        elif isinstance(node.parent, exp.From | exp.Join) and not node.alias:
            _check_derived(node.this)


def _check_derived(inner: Any) -> None:
    from sqlglot import exp

    if isinstance(inner, exp.Query) and not isinstance(inner, exp.Subquery):
        raise Fault("Every derived table must have its own alias")


def _check_reserved(word: str, stream: list[Token], statement: str) -> None:
    for place, token in enumerate(stream):
        if token.upper != word:
            continue
        before = stream[place - 1].text if place else ""
        behind = stream[place + 1] if place + 1 < len(stream) else None
        if before == "." or (behind is not None and behind.text == "("):
            continue
        if word not in _WINDOWS and place and not _wants_name(stream[place - 1]):
            continue
        raise near(statement, behind if word in _WINDOWS else token)


def _wants_name(before: Token) -> bool:
    """Whether a name is to come, and not a keyword."""
    names = ("FROM", "JOIN", "SELECT", "BY", "WHERE", "AS", "ON", "AND", "OR", "INTO", "UPDATE")
    return before.upper in (*names, "DISTINCT", "TABLE") or before.text in ("(", ",", "=", "<", ">")


def _full(stream: list[Token]) -> Token | None:
    """Where MySQL stops at FULL OUTER JOIN, for which FULL is a table's alias."""
    for place, token in enumerate(stream):
        if token.upper == "FULL":
            before = stream[place - 2] if place > 1 else None
            aliased = before is not None and (before.upper == "AS" or before.kind == "word")
            aliased = aliased and before is not None and before.upper not in ("FROM", "JOIN", ".")
            return token if aliased else stream[place + 1]
    return None
