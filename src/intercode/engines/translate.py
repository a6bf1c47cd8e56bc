"""A statement from one dialect into another, by sqlglot and with what it gets wrong mended.

Needs no schema, and so knows no types: what depends on them (MySQL's comparisons without regard to
case, its arithmetic on text) is the engine's part.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from intercode.engines.base import DIALECTS
from intercode.errors import EngineUnavailable, UsageError

if TYPE_CHECKING:
    from sqlglot import exp

    Mend = Callable[[Any], Any]


class SyntaxFault(Exception):
    """A statement that cannot be parsed, in the words of its dialect's own engine."""


def translate(sql: str, source: str, target: str, names: tuple[str, ...] = ()) -> str:
    """One statement in ``target``'s words; as it is where both dialects are the same.

    ``names``, where given, are those of tables and columns as the engine has them: an identifier
    that is one of them but for its case is written so and quoted, for engines (PostgreSQL) that
    tell cases apart. What sqlglot has no tree for (``VACUUM``, …) comes back as it is.

    :raises SyntaxFault: it is not in the source dialect.
    :raises UsageError: there is no such dialect. :raises EngineUnavailable: sqlglot is missing.
    """
    for dialect in (source, target):
        if dialect not in DIALECTS:
            raise UsageError(f"no dialect {dialect!r}", remedy=f"one of {', '.join(DIALECTS)}")
    return sql if source == target else _translated(sql, source, target, names)


@lru_cache(maxsize=8192)
def _translated(sql: str, source: str, target: str, names: tuple[str, ...]) -> str:
    tree = parse(sql, source)
    exp = _sqlglot().exp
    if isinstance(tree, exp.Command):
        return sql
    for mend in _mends(source, target):
        tree = tree.transform(mend, copy=False)
    if names:
        _respell(tree, {name.lower(): name for name in names})
    level = _sqlglot().ErrorLevel.IGNORE
    written: str = tree.sql(dialect=target, unsupported_level=level, comments=False)
    return written


def require_sqlglot() -> None:
    """:raises EngineUnavailable: it is missing."""
    _sqlglot()


def parse(sql: str, dialect: Any) -> exp.Expression:
    """One statement as a tree, which is the caller's own. The dialect may be a class of sqlglot's,
    then one of MySQL's. :raises SyntaxFault: it is none."""
    sqlglot = _sqlglot()
    spoken = dialect if isinstance(dialect, str) else "mysql"
    try:
        trees = [tree for tree in sqlglot.parse(sql, read=dialect) if tree is not None]
    except sqlglot.errors.ParseError as error:
        raise SyntaxFault(_phrase(sql, spoken, error)) from error
    except (sqlglot.errors.SqlglotError, RecursionError) as error:
        raise SyntaxFault(_near(spoken, sql, 1)) from error
    if len(trees) != 1:
        raise SyntaxFault(_near(spoken, "" if not trees else sql, 1))
    tree: exp.Expression = trees[0]
    return tree


@cache
def _sqlglot() -> Any:
    try:
        import sqlglot
        import sqlglot.errors
    except ImportError as error:
        raise EngineUnavailable(
            "translating between SQL dialects needs sqlglot", remedy="pip install 'intercode[sql]'"
        ) from error
    # It warns of every statement that it has no tree for; here that is an agent's affair.
    logging.getLogger("sqlglot").setLevel(logging.ERROR)
    return sqlglot


def _phrase(sql: str, dialect: str, error: Any) -> str:
    details = error.errors[0] if error.errors else {}
    found = details.get("highlight") or ""
    rest = found + (details.get("end_context") or "")
    if rest.upper() in _OPEN and "but got <" not in str(details.get("description")):
        return _near(dialect, "", details.get("line") or 1)
    return _near(dialect, rest, details.get("line") or 1)


_OPEN = ("", "SELECT", "FROM", "WHERE", "BY", "ON", "AND", "OR", "HAVING", "SET", "IN", "LIMIT",
         "LIKE", "JOIN", "VALUES", "INTO", "=", "(", ",", "+", "-", "*", "<", ">")  # fmt: skip
"""Where the text ends with one of these it is its end that is wrong."""


def _near(dialect: str, rest: str, line: int) -> str:
    """A syntax error at the beginning of ``rest``, which is empty at the statement's end."""
    first = rest.split(None, 1)[0] if rest.strip() else ""
    if dialect == "mysql":
        return (
            "You have an error in your SQL syntax; check the manual that corresponds to your MySQL"
            f" server version for the right syntax to use near '{rest[:80]}' at line {line}"
        )
    if dialect == "sqlite":
        return f'near "{first}": syntax error' if first else "incomplete input"
    where = f'at or near "{first}"' if first else "at end of input"
    prefix = "Parser Error: " if dialect == "duckdb" else ""
    return f"{prefix}syntax error {where}"


def _respell(tree: exp.Expression, names: dict[str, str]) -> None:
    exp = _sqlglot().exp
    for identifier in tree.find_all(exp.Identifier):
        spelled = names.get(identifier.name.lower())
        if spelled is not None:
            identifier.set("this", spelled)
            identifier.set("quoted", True)


def _mends(source: str, target: str) -> tuple[Mend, ...]:
    mends: list[Mend] = []
    if source == "mysql":
        mends.append(_mysql_like if target in ("postgres", "duckdb") else _same)
        mends.append(_date_parts if target == "sqlite" else _same)
        mends.append(_whole_division)
    if target == "sqlite":
        mends.append(_sqlite_functions)
    if target == "postgres":
        mends.append(_postgres_functions)
    if target == "duckdb" and source == "mysql":
        mends.append(_duckdb_functions)
    return tuple(mend for mend in mends if mend is not _same)


def _same(node: Any) -> Any:
    return node


def _mysql_like(node: Any) -> Any:
    """MySQL's LIKE knows no case."""
    exp = _sqlglot().exp
    if type(node) is exp.Like:
        return exp.ILike(**node.args)
    return node


def _whole_division(node: Any) -> Any:
    """DIV cuts towards zero also where the operands are no whole numbers."""
    exp = _sqlglot().exp
    if isinstance(node, exp.IntDiv):
        quotient = exp.Div(
            this=exp.Paren(this=exp.cast(node.this.copy(), "double")),
            expression=exp.Nullif(this=node.expression.copy(), expression=exp.Literal.number(0)),
            typed=False,
            safe=True,
        )
        return exp.cast(exp.Anonymous(this="TRUNC", expressions=[quotient]), "bigint")
    return node


_PARTS = {
    "Year": "%Y",
    "Month": "%m",
    "Day": "%d",
    "DayOfMonth": "%d",
    "DayOfYear": "%j",
    "Hour": "%H",
    "Minute": "%M",
    "Second": "%S",
}


def _date_parts(node: Any) -> Any:
    """SQLite has no YEAR(d): CAST(STRFTIME('%Y', d) AS INTEGER)."""
    exp = _sqlglot().exp
    part = _PARTS.get(type(node).__name__)
    if part is None and isinstance(node, exp.Extract):
        part = _PARTS.get(node.name.capitalize())
        value = node.expression
    else:
        value = node.this
    if part is None:
        return node
    while isinstance(value, exp.TsOrDsToDate | exp.Date) and isinstance(value.this, exp.Expression):
        value = value.this
    call = exp.Anonymous(this="STRFTIME", expressions=[exp.Literal.string(part), value.copy()])
    return exp.cast(call, "int")


def _sqlite_functions(node: Any) -> Any:
    exp = _sqlglot().exp
    if isinstance(node, exp.Left | exp.Right):
        start = exp.Literal.number(1)
        if isinstance(node, exp.Right):
            start = exp.Neg(this=exp.Paren(this=node.expression.copy()))
            return exp.Anonymous(this="SUBSTR", expressions=[node.this.copy(), start])
        parts = [node.this.copy(), start, node.expression.copy()]
        return exp.Anonymous(this="SUBSTR", expressions=parts)
    if isinstance(node, exp.CurrentTimestamp) or (
        isinstance(node, exp.Anonymous) and node.name.upper() == "NOW"
    ):
        return exp.Anonymous(this="DATETIME", expressions=[exp.Literal.string("now")])
    if isinstance(node, exp.Cast) and node.to.is_type("decimal"):
        return exp.cast(node.this.copy(), "real")
    if isinstance(node, exp.ILike):
        return exp.Like(**node.args)
    return node


def _postgres_functions(node: Any) -> Any:
    """Differences in whole units, counted as MySQL counts them."""
    exp = _sqlglot().exp
    if not isinstance(node, exp.TimestampDiff):
        return node
    later, earlier, unit = node.this, node.expression, (node.text("unit") or "DAY").upper()
    late, early = (f"CAST({side.sql('postgres')} AS TIMESTAMP)" for side in (later, earlier))
    seconds = {"SECOND": 1, "MINUTE": 60, "HOUR": 3600, "DAY": 86400, "WEEK": 604800}.get(unit)
    if seconds:
        text = f"TRUNC(EXTRACT(EPOCH FROM {late} - {early}) / {seconds})::bigint"
    else:
        age = f"AGE({late}, {early})"
        months = f"EXTRACT(YEAR FROM {age}) * 12 + EXTRACT(MONTH FROM {age})"
        per = {"YEAR": 12, "QUARTER": 3}.get(unit, 1)
        text = f"TRUNC(({months}) / {per})::bigint"
    return _sqlglot().parse_one(text, read="postgres")


def _duckdb_functions(node: Any) -> Any:
    """DATE_DIFF counts boundaries that were crossed, DATE_SUB whole units, as MySQL does."""
    exp = _sqlglot().exp
    if not isinstance(node, exp.TimestampDiff):
        return node
    unit = exp.Literal.string((node.text("unit") or "DAY").lower())
    ends = [exp.cast(side.copy(), "timestamp") for side in (node.expression, node.this)]
    return exp.Anonymous(this="DATE_SUB", expressions=[unit, *ends])
