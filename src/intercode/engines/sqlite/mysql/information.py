"""``information_schema``: what it says of the session's database, as queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from intercode.engines.sqlite.mysql import faults
from intercode.engines.sqlite.mysql.build import literal, text_literal
from intercode.engines.sqlite.mysql.catalog import Catalog, Known
from intercode.engines.sqlite.mysql.kinds import INT, TEXT
from intercode.engines.sqlite.mysql.names import Columns
from intercode.engines.types import parse_type

if TYPE_CHECKING:
    from intercode.engines.sqlite.mysql.rewrite import Setting

Cell = str | int | None


def column_key(known: Known, column: str) -> str:
    """``PRI``, ``UNI``, ``MUL`` or nothing, as SHOW COLUMNS says."""
    declaration = known.declaration
    if column in declaration.primary_key:
        return "PRI"
    for index in declaration.indexes:
        if index.columns == (column,) and index.unique:
            return "UNI"
    return "MUL" if any(index.columns[0] == column for index in declaration.indexes) else ""


def default_text(default: str | None) -> str | None:
    if default is None or default.upper() == "NULL":
        return None
    return default[1:-1].replace("''", "'") if default[0] in "'\"" else default


def _tables(catalog: Catalog, database: str) -> Iterable[tuple[Cell, ...]]:
    for name in sorted(catalog):
        known = catalog[name]
        kind = "VIEW" if known.view else "BASE TABLE"
        engine = None if known.view else "InnoDB"
        yield "def", database, known.name, kind, engine, 10, None, "utf8mb4_general_ci", ""


def _columns(catalog: Catalog, database: str) -> Iterable[tuple[Cell, ...]]:
    for name in sorted(catalog):
        known = catalog[name]
        for place, column in enumerate(known.declaration.columns, 1):
            kind = parse_type(column.type)
            text = kind.family == "text"
            length = kind.arguments[0] if text and kind.arguments else 65_535 if text else None
            extra = "auto_increment" if column.auto_increment else ""
            yield (
                "def", database, known.name, column.name, place, default_text(column.default),
                "YES" if column.nullable else "NO", kind.base.lower(), length,
                kind.arguments[0] if kind.family == "decimal" and kind.arguments else None,
                kind.scale if kind.family == "decimal" else None,
                "utf8mb4" if text else None, "utf8mb4_general_ci" if text else None,
                column.type, column_key(known, column.name), extra, column.comment,
            )  # fmt: skip


def _keys(catalog: Catalog, database: str) -> Iterable[tuple[Cell, ...]]:
    for name in sorted(catalog):
        declaration = catalog[name].declaration
        for place, column in enumerate(declaration.primary_key, 1):
            yield (
                "def",
                database,
                "PRIMARY",
                database,
                declaration.name,
                column,
                place,
                None,
                None,
                None,
            )
        for number, reference in enumerate(declaration.foreign_keys, 1):
            for place, column in enumerate(reference.columns):
                other = reference.references[place] if place < len(reference.references) else None
                yield (
                    "def", database, f"{declaration.name}_ibfk_{number}", database,
                    declaration.name, column, place + 1, database, reference.table, other,
                )  # fmt: skip


def _constraints(catalog: Catalog, database: str) -> Iterable[tuple[Cell, ...]]:
    for name in sorted(catalog):
        declaration = catalog[name].declaration
        if declaration.primary_key:
            yield "def", database, "PRIMARY", database, declaration.name, "PRIMARY KEY"
        for index in declaration.indexes:
            if index.unique:
                yield "def", database, index.name, database, declaration.name, "UNIQUE"
        for number, _ in enumerate(declaration.foreign_keys, 1):
            named = f"{declaration.name}_ibfk_{number}"
            yield "def", database, named, database, declaration.name, "FOREIGN KEY"


def _statistics(catalog: Catalog, database: str) -> Iterable[tuple[Cell, ...]]:
    for name in sorted(catalog):
        for row in index_rows(catalog[name]):
            yield "def", database, row[0], row[1], database, row[2], row[3], row[4], row[9], "BTREE"


def index_rows(known: Known) -> Iterable[tuple[Cell, ...]]:
    """As SHOW INDEX gives them."""
    declaration = known.declaration
    nullable = {c.name for c in declaration.columns if c.nullable}
    keys = [("PRIMARY", declaration.primary_key, True)] if declaration.primary_key else []
    keys += [(index.name, index.columns, index.unique) for index in declaration.indexes]
    for name, columns, unique in keys:
        for place, column in enumerate(columns, 1):
            yield (
                declaration.name, 0 if unique else 1, name, place, column, "A", 0, None, None,
                "YES" if column in nullable else "", "BTREE", "", "", "YES", None,
            )  # fmt: skip


def _schemata(catalog: Catalog, database: str) -> Iterable[tuple[Cell, ...]]:
    for name in databases(database):
        yield "def", name, "utf8mb4", "utf8mb4_general_ci", None


def databases(database: str) -> list[str]:
    return sorted({database, "information_schema"})


Rows = Callable[[Catalog, str], Iterable[tuple[Cell, ...]]]

_TABLES: dict[str, tuple[list[str], Rows]] = {
    "tables": (
        [
            *("TABLE_CATALOG", "TABLE_SCHEMA", "TABLE_NAME", "TABLE_TYPE", "ENGINE", "VERSION"),
            *("TABLE_ROWS", "TABLE_COLLATION", "TABLE_COMMENT"),
        ],
        _tables,
    ),
    "columns": (
        [
            *("TABLE_CATALOG", "TABLE_SCHEMA", "TABLE_NAME", "COLUMN_NAME", "ORDINAL_POSITION"),
            *("COLUMN_DEFAULT", "IS_NULLABLE", "DATA_TYPE", "CHARACTER_MAXIMUM_LENGTH"),
            *("NUMERIC_PRECISION", "NUMERIC_SCALE", "CHARACTER_SET_NAME", "COLLATION_NAME"),
            *("COLUMN_TYPE", "COLUMN_KEY", "EXTRA", "COLUMN_COMMENT"),
        ],
        _columns,
    ),
    "key_column_usage": (
        [
            *("CONSTRAINT_CATALOG", "CONSTRAINT_SCHEMA", "CONSTRAINT_NAME", "TABLE_SCHEMA"),
            *("TABLE_NAME", "COLUMN_NAME", "ORDINAL_POSITION", "REFERENCED_TABLE_SCHEMA"),
            *("REFERENCED_TABLE_NAME", "REFERENCED_COLUMN_NAME"),
        ],
        _keys,
    ),
    "table_constraints": (
        [
            *("CONSTRAINT_CATALOG", "CONSTRAINT_SCHEMA", "CONSTRAINT_NAME", "TABLE_SCHEMA"),
            *("TABLE_NAME", "CONSTRAINT_TYPE"),
        ],
        _constraints,
    ),
    "statistics": (
        [
            *("TABLE_CATALOG", "TABLE_SCHEMA", "TABLE_NAME", "NON_UNIQUE", "INDEX_SCHEMA"),
            *("INDEX_NAME", "SEQ_IN_INDEX", "COLUMN_NAME", "NULLABLE", "INDEX_TYPE"),
        ],
        _statistics,
    ),
    "schemata": (
        [
            *("CATALOG_NAME", "SCHEMA_NAME", "DEFAULT_CHARACTER_SET_NAME"),
            *("DEFAULT_COLLATION_NAME", "SQL_PATH"),
        ],
        _schemata,
    ),
}
_NUMBERS = ("ORDINAL_POSITION", "NUMERIC_SCALE", "NUMERIC_PRECISION", "VERSION", "SEQ_IN_INDEX",
            "NON_UNIQUE", "CHARACTER_MAXIMUM_LENGTH")  # fmt: skip


def virtual_table(name: str, setting: Setting) -> tuple[Any, Columns]:
    """One of its tables as a query. :raises Fault: it has no such table"""
    from sqlglot import exp

    found = _TABLES.get(name.lower())
    if found is None:
        raise faults.Fault(f"Unknown table '{name.upper()}' in information_schema")
    names, rows = found[0], list(found[1](setting.catalog, setting.database))
    selects = [
        exp.select(
            *(
                exp.Alias(this=_cell(cell), alias=exp.to_identifier(column, quoted=True))
                for column, cell in zip(names, row, strict=True)
            )
        )
        for row in rows or [(None,) * len(names)]
    ]
    tree: Any = selects[0] if rows else selects[0].where(exp.false())
    if len(selects) > 1:
        tuples = [exp.Tuple(expressions=[_cell(cell) for cell in row]) for row in rows]
        listed = exp.Values(expressions=tuples)
        columns = [
            exp.Alias(
                this=exp.column(f"column{place}"), alias=exp.to_identifier(column, quoted=True)
            )
            for place, column in enumerate(names, 1)
        ]
        tree = exp.select(*columns).from_(exp.Subquery(this=listed))
    kinds = {n.lower(): (n, INT if n in _NUMBERS else TEXT) for n in names}
    return tree, kinds


def _cell(value: Cell) -> Any:
    from sqlglot import exp

    if value is None:
        return exp.null()
    return literal(value) if isinstance(value, int) else text_literal(value)
