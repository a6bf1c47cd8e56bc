"""INSERT, UPDATE and DELETE of MySQL, as SQLite's."""

from __future__ import annotations

import re
from typing import Any

from intercode.engines.declare import ColumnDeclaration
from intercode.engines.sqlite.mysql import faults, kinds
from intercode.engines.sqlite.mysql.build import literal, mine, text_literal
from intercode.engines.sqlite.mysql.catalog import Known
from intercode.engines.sqlite.mysql.expressions import Place
from intercode.engines.sqlite.mysql.functions.values import day_text, moment, moment_text
from intercode.engines.sqlite.mysql.functions.values import number as as_number
from intercode.engines.sqlite.mysql.kinds import Kind
from intercode.engines.sqlite.mysql.names import Scope, Source
from intercode.engines.sqlite.mysql.rewrite import Rewriter
from intercode.engines.types import parse_type


def insert(rewriter: Rewriter, node: Any, *, replace: bool = False) -> str:
    from sqlglot import exp

    target = node.this
    listed = (
        [column.name for column in target.expressions] if isinstance(target, exp.Schema) else []
    )
    table = target.this if isinstance(target, exp.Schema) else target
    known = _known(rewriter, table)
    columns = _columns(known, listed)
    source = node.expression
    if source is None:
        raise faults.syntax("")
    duplicate = node.args.get("conflict")
    query: Any = source
    if isinstance(source, exp.Values):
        for number, row in enumerate(source.expressions, 1):
            _row(rewriter, row, columns, number)
    else:
        found = rewriter.query(source)
        if len(found.columns) != len(columns):
            raise faults.Fault("Column count doesn't match value count at row 1")
        query = found.tree
        if duplicate is not None:
            alias = exp.TableAlias(this=exp.to_identifier("q", quoted=True))
            inner = exp.Subquery(this=query, alias=alias)
            query = exp.select("*").from_(inner).where(exp.true())
    _require_values(known, columns, query)
    verb = "REPLACE" if replace else "INSERT OR IGNORE" if node.args.get("ignore") else "INSERT"
    names = ", ".join(_quoted(column.name) for column in columns)
    written = f"{verb} INTO {_quoted(known.name)} ({names}) {_sql(query)}"
    if duplicate is not None:
        written += " ON CONFLICT DO UPDATE SET " + _updates(rewriter, known, duplicate)
    return written


def _updates(rewriter: Rewriter, known: Known, conflict: Any) -> str:
    scope = Scope(sources=[Source(known.name, known.columns, known.name)])
    place = Place(scope, "field list")
    parts = []
    for item in conflict.expressions:
        name = _column(known, item.this)
        parts.append(
            f"{_quoted(name)} = {_sql(rewriter.expressions.visit(item.expression, place)[0])}"
        )
    return ", ".join(parts)


def _known(rewriter: Rewriter, table: Any) -> Known:
    database = rewriter.database
    if table.db and table.db.lower() != database.lower():
        raise faults.Fault(f"Unknown database '{table.db}'")
    found = rewriter.setting.catalog.get(table.name.lower())
    if found is None:
        raise faults.no_table(database, table.name)
    return found


def _columns(known: Known, listed: list[str]) -> list[ColumnDeclaration]:
    by_name = {column.name.lower(): column for column in known.declaration.columns}
    if not listed:
        return list(known.declaration.columns)
    found = []
    for name in listed:
        if name.lower() not in by_name:
            raise faults.no_column(name, "field list")
        if by_name[name.lower()] in found:
            raise faults.Fault(f"Column '{name}' specified twice")
        found.append(by_name[name.lower()])
    return found


def _column(known: Known, node: Any) -> str:
    found = known.columns.get(node.name.lower())
    if found is None:
        raise faults.no_column(node.name, "field list")
    return found[0]


def _row(rewriter: Rewriter, row: Any, columns: list[ColumnDeclaration], number: int) -> None:
    values = list(row.expressions) if type(row).__name__ == "Tuple" else [row]
    if len(values) != len(columns):
        raise faults.Fault(f"Column count doesn't match value count at row {number}")
    place = Place(Scope(), "field list")
    visited = []
    for value, column in zip(values, columns, strict=True):
        if type(value).__name__ in ("Column", "Var") and value.name.upper() == "DEFAULT":
            visited.append(_default(column))
            continue
        tree, kind = rewriter.expressions.visit(value, place)
        visited.append(fitted(tree, kind, column, number))
    row.set("expressions", visited)


def _default(column: ColumnDeclaration) -> Any:
    from sqlglot import exp

    if column.default is None or column.default.upper() == "NULL":
        return exp.null()
    return exp.maybe_parse(column.default, dialect="mysql")


_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")


def fitted(tree: Any, kind: Kind, column: ColumnDeclaration, number: int = 1) -> Any:
    """A value as the column takes it. :raises Fault: it does not, in MySQL's strict mode"""
    target = parse_type(column.type)
    if type(tree).__name__ == "Literal" and tree.is_string:
        return _fitted_text(str(tree.this), tree, column, number)
    if kind.family == "null":
        return tree
    if target.family in ("date", "datetime") and kind.numeric:
        return mine(target.family, tree)
    return rounded(tree, kinds.of_column(target), kind)


def rounded(tree: Any, target: Kind, kind: Kind) -> Any:
    """A number as exact as the column is."""
    if target.family == "int" and kind.family in ("decimal", "float"):
        return mine("signed", tree)
    if target.family == "decimal" and kind.numeric and kind != target:
        return mine("round", tree, literal(target.scale))
    if target.single:
        digits = target.fixed
        exact = tree if digits is None else mine("round_even", tree, literal(digits))
        return mine("single", exact)
    return tree


def _fitted_text(said: str, tree: Any, column: ColumnDeclaration, number: int) -> Any:
    target = parse_type(column.type)
    where = f"for column '{column.name}' at row {number}"
    if target.family in ("int", "decimal", "float"):
        if not _NUMBER.fullmatch(said):
            if target.family == "float":
                raise faults.Fault(f"Data truncated {where}")
            word = "integer" if target.family == "int" else "decimal"
            raise faults.Fault(f"Incorrect {word} value: '{said}' {where}")
        return rounded(literal(as_number(said) or 0), kinds.of_column(target), kinds.DOUBLE)
    if target.family in ("date", "datetime"):
        at = moment(said)
        if at is None:
            raise faults.Fault(f"Incorrect {target.family} value: '{said}' {where}")
        return text_literal(day_text(at) if target.family == "date" else moment_text(at))
    sized = target.base in ("CHAR", "VARCHAR") and bool(target.arguments)
    if sized and len(said.rstrip()) > target.arguments[0]:
        raise faults.Fault(f"Data too long {where}")
    return tree


def _require_values(known: Known, columns: list[ColumnDeclaration], query: Any) -> None:
    given = {column.name for column in columns}
    for column in known.declaration.columns:
        bare = not column.nullable and column.default is None and not column.auto_increment
        if bare and column.name not in given:
            raise faults.Fault(f"Field '{column.name}' doesn't have a default value")


def update(rewriter: Rewriter, node: Any) -> str:
    from sqlglot import exp

    table = node.this
    tables = [table, *(join.this for join in table.args.get("joins") or [])]
    scope = Scope()
    rest = exp.select("*").from_(table.copy())
    rewriter.sources.read(rest, scope)
    rewriter.sources.conditions(scope)
    target = _target(node.expressions, scope)
    known = _known(rewriter, next(t for t in tables if (t.alias or t.name).lower() == target))
    place = Place(scope, "field list")
    declared = {column.name.lower(): column for column in known.declaration.columns}
    sets = []
    for item in node.expressions:
        name = _column(known, item.this)
        tree, kind = rewriter.expressions.visit(item.expression, place)
        sets.append(f"{_quoted(name)} = {_sql(fitted(tree, kind, declared[name.lower()]))}")
    head = f"UPDATE {_quoted(known.name)} AS {_quoted(target)} SET {', '.join(sets)}"
    if len(tables) == 1:
        return head + _restriction(rewriter, node, scope, target)
    conditions = []
    start = (rest.args.get("from_") or rest.args["from"]).this
    joins = start.args.pop("joins")
    for join in joins:
        if join.side:
            raise faults.Fault("UPDATE with an outer join is not supported by this engine")
        if join.args.get("on") is not None:
            conditions.append(_sql(join.args["on"]))
    sources = [start, *(join.this for join in joins)]
    others = [_sql(source) for source in sources if source.alias.lower() != target]
    where = node.args.get("where")
    if where is not None:
        conditions.append(
            _sql(rewriter.expressions.visit(where.this, Place(scope, "where clause"))[0])
        )
    condition = " AND ".join(f"({part})" for part in conditions)
    return f"{head} FROM {', '.join(others)}" + (f" WHERE {condition}" if condition else "")


def _target(sets: list[Any], scope: Scope) -> str:
    """The one table that is changed, by its alias in small letters."""
    found = set()
    for item in sets:
        for source in scope.sources:
            owner = item.this.table.lower()
            if owner in ("", source.alias.lower()) and item.this.name.lower() in source.columns:
                found.add(source.alias.lower())
                break
        else:
            raise faults.no_column(item.this.sql("mysql"), "field list")
    if len(found) > 1:
        raise faults.Fault("UPDATE of several tables at once is not supported by this engine")
    return found.pop()


def _restriction(rewriter: Rewriter, node: Any, scope: Scope, alias: str) -> str:
    """WHERE; with ORDER BY or LIMIT by the rows' numbers."""
    where, order, limit = (node.args.get(part) for part in ("where", "order", "limit"))
    condition = ""
    if where is not None:
        tree = rewriter.expressions.visit(where.this, Place(scope, "where clause"))[0]
        condition = f" WHERE {_sql(tree)}"
    if order is None and limit is None:
        return condition
    keys = []
    for item in order.expressions if order is not None else []:
        tree = rewriter.expressions.visit(item.this, Place(scope, "order clause"))[0]
        keys.append(_sql(tree) + (" DESC" if item.args.get("desc") else ""))
    sorting = f" ORDER BY {', '.join(keys)}" if keys else ""
    cap = f" LIMIT {_sql(limit.expression)}" if limit is not None else ""
    table = _quoted(scope.sources[0].table)
    rows = f"SELECT rowid FROM {table} AS {_quoted(alias)}{condition}{sorting}{cap}"
    return f" WHERE rowid IN ({rows})"


def delete(rewriter: Rewriter, node: Any) -> str:
    from sqlglot import exp

    listed = [table.name for table in node.args.get("tables") or []]
    source = node.this
    if node.args.get("using"):
        listed, source = [node.this.name], node.args["using"][0]
    scope = Scope()
    rest = exp.select("*").from_(source.copy())
    rewriter.sources.read(rest, scope)
    rewriter.sources.conditions(scope)
    if not listed:
        only = scope.sources[0]
        head = f"DELETE FROM {_quoted(_known(rewriter, source).name)} AS {_quoted(only.alias)}"
        return head + _restriction(rewriter, node, scope, only.alias)
    if len(listed) > 1:
        raise faults.Fault("DELETE from several tables at once is not supported by this engine")
    target = next((s for s in scope.sources if s.alias.lower() == listed[0].lower()), None)
    if target is None:
        raise faults.Fault(f"Unknown table '{listed[0]}' in MULTI DELETE")
    where = node.args.get("where")
    if where is not None:
        tree = rewriter.expressions.visit(where.this, Place(scope, "where clause"))[0]
        rest.set("where", exp.Where(this=tree))
    rest.set(
        "expressions", [exp.column("rowid", table=exp.to_identifier(target.alias, quoted=True))]
    )
    known = rewriter.setting.catalog[target.table.lower()]
    return f"DELETE FROM {_quoted(known.name)} WHERE rowid IN ({_sql(rest)})"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _sql(tree: Any) -> str:
    from sqlglot import ErrorLevel

    return str(tree.sql(dialect="sqlite", unsupported_level=ErrorLevel.IGNORE, comments=False))
