"""CREATE, ALTER and DROP of MySQL, as SQLite's statements."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from intercode.engines.ddl import quote
from intercode.engines.declare import ColumnDeclaration, Declaration, NotDeclared, parse
from intercode.engines.sqlite.mysql import faults
from intercode.engines.sqlite.mysql.catalog import create
from intercode.engines.sqlite.mysql.kinds import Kind
from intercode.engines.sqlite.mysql.rewrite import Rewriter, Setting
from intercode.engines.types import parse_type


def create_table(setting: Setting, statement: str) -> list[str]:
    """CREATE TABLE with columns. :raises Fault: it is none, or the table is there."""
    try:
        made = parse(statement, "mysql")
    except NotDeclared as error:
        raise faults.syntax(statement[error.position :]) from error
    if made.name.lower() in setting.catalog and not made.temporary:
        if made.if_not_exists:
            return []
        raise faults.Fault(f"Table '{made.name}' already exists")
    return [create(made, setting.collation)]


def is_plain_create(statement: str) -> bool:
    try:
        return not parse(statement, "mysql").as_select
    except NotDeclared:
        return True


def make(rewriter: Rewriter, node: Any) -> list[str]:
    """CREATE of something else: a table from a query or like another, a view, an index."""
    kind = str(node.args.get("kind")).upper()
    setting = rewriter.setting
    if kind == "INDEX":
        return [_index(setting, node)]
    target = node.this
    columns: list[str] = []
    if type(target).__name__ == "Schema":
        columns = [column.name for column in target.expressions]
        target = target.this
    name = target.name
    there = name.lower() in setting.catalog
    if kind == "VIEW":
        query = rewriter.query(node.expression)
        listed = f" ({', '.join(quote(column, 'sqlite') for column in columns)})" if columns else ""
        dropped = (
            [f"DROP VIEW {quote(name, 'sqlite')}"] if there and node.args.get("replace") else []
        )
        if there and not dropped:
            raise faults.Fault(f"Table '{name}' already exists")
        return [*dropped, f"CREATE VIEW {quote(name, 'sqlite')}{listed} AS {sql(query.tree)}"]
    if kind != "TABLE":
        raise faults.Fault(f"CREATE {kind} is not supported by this engine")
    if there and not _is_temporary(node):
        if node.args.get("exists"):
            return []
        raise faults.Fault(f"Table '{name}' already exists")
    return _table_of(rewriter, node, name)


def _table_of(rewriter: Rewriter, node: Any, name: str) -> list[str]:
    setting = rewriter.setting
    if node.expression is None:
        like = next((p for p in _properties(node) if type(p).__name__ == "LikeProperty"), None)
        if like is None:
            raise faults.syntax("")
        known = setting.catalog.get(like.this.name.lower())
        if known is None:
            raise faults.no_table(setting.database, like.this.name)
        return [
            create(
                replace(known.declaration, name=name, temporary=_is_temporary(node)),
                setting.collation,
            )
        ]
    query = rewriter.query(node.expression)
    declaration = Declaration(
        name,
        tuple(ColumnDeclaration(n, _type_of(kind)) for n, kind in query.columns),
        temporary=_is_temporary(node),
    )
    filled = f"INSERT INTO {quote(name, 'sqlite')} {sql(query.tree)}"
    return [create(declaration, setting.collation), filled]


def _is_temporary(node: Any) -> bool:
    return any(type(found).__name__ == "TemporaryProperty" for found in _properties(node))


def _properties(node: Any) -> list[Any]:
    found = node.args.get("properties")
    return list(found.expressions) if found is not None else []


def _type_of(kind: Kind) -> str:
    if kind.family == "decimal":
        return f"decimal(65,{kind.scale})"
    return {"int": "bigint", "float": "double", "text": "text", "null": "text"}.get(
        kind.family, kind.family
    )


def _index(setting: Setting, node: Any) -> str:
    index = node.this
    table = index.args["table"]
    known = setting.catalog.get(table.name.lower())
    if known is None:
        raise faults.no_table(setting.database, table.name)
    names = []
    for item in index.args["params"].args.get("columns") or []:
        column = item.find(_column_class())
        name = column.name if column is not None else item.name
        if name.lower() not in known.columns:
            raise faults.Fault(f"Key column '{name}' doesn't exist in table")
        names.append(quote(known.columns[name.lower()][0], "sqlite"))
    unique = "UNIQUE " if node.args.get("unique") else ""
    return (
        f"CREATE {unique}INDEX {quote(index.name, 'sqlite')} ON"
        f" {quote(known.name, 'sqlite')} ({', '.join(names)})"
    )


def _column_class() -> Any:
    from sqlglot import exp

    return exp.Column


def drop(setting: Setting, node: Any) -> list[str]:
    kind = str(node.args.get("kind")).upper()
    if kind not in ("TABLE", "VIEW", "INDEX"):
        raise faults.Fault(f"DROP {kind} is not supported by this engine")
    tables = node.args.get("tables") or ([node.this] if node.this is not None else [])
    statements = []
    for table in tables:
        known = setting.catalog.get(table.name.lower())
        if kind != "INDEX" and (known is None or known.view != (kind == "VIEW")):
            if node.args.get("exists"):
                continue
            raise faults.Fault(f"Unknown table '{setting.database}.{table.name}'")
        name = known.name if known is not None and kind != "INDEX" else table.name
        statements.append(f"DROP {kind} {quote(name, 'sqlite')}")
    return statements


def alter(setting: Setting, node: Any) -> list[str]:
    known = setting.catalog.get(node.this.name.lower())
    if known is None:
        raise faults.no_table(setting.database, node.this.name)
    head = f"ALTER TABLE {quote(known.name, 'sqlite')}"
    statements = []
    for action in node.args.get("actions") or []:
        match type(action).__name__:
            case "ColumnDef":
                statements.append(f"{head} ADD COLUMN {_added(setting, action)}")
            case "Drop" if str(action.args.get("kind")).upper() == "COLUMN":
                dropped = action.args.get("tables") or [action.this]
                statements += [f"{head} DROP COLUMN {quote(c.name, 'sqlite')}" for c in dropped]
            case "AlterRename":
                statements.append(f"{head} RENAME TO {quote(action.this.name, 'sqlite')}")
            case "RenameColumn":
                new = action.args["to"].name
                old = quote(action.this.name, "sqlite")
                statements.append(f"{head} RENAME COLUMN {old} TO {quote(new, 'sqlite')}")
            case _:
                raise faults.Fault("This ALTER TABLE is not supported by this engine")
    if not statements:
        raise faults.Fault("This ALTER TABLE is not supported by this engine")
    return statements


def _added(setting: Setting, action: Any) -> str:
    """A new column; one that must not be NULL begins as nothing of its type, as in MySQL."""
    made = parse(f"CREATE TABLE x ({action.sql('mysql')})", "mysql").columns[0]
    if not made.nullable and made.default is None:
        number = parse_type(made.type).family in ("int", "decimal", "float", "bit", "bool")
        made = replace(made, default="0" if number else "''")
    whole = create(Declaration("x", (replace(made, auto_increment=False),)), setting.collation)
    return whole.partition("(\n  ")[2].removesuffix("\n)")


def sql(tree: Any) -> str:
    from sqlglot import ErrorLevel

    return str(tree.sql(dialect="sqlite", unsupported_level=ErrorLevel.IGNORE, comments=False))


__all__ = ["alter", "create_table", "drop", "is_plain_create", "make", "sql"]
