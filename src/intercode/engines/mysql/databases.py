"""The databases that stand behind sessions: pristine ones, and private copies of them.

All of it is done by the administrator's connection, which reads what others have not committed yet.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from intercode.engines.base import TableState
from intercode.engines.content import Content, Row, Table
from intercode.engines.ddl import create_table
from intercode.engines.mysql.client import Client
from intercode.engines.servers.names import PREFIX
from intercode.errors import EngineError

_BATCH = 500
_COUNTER = re.compile(r" AUTO_INCREMENT=(\d+)")
_DEFINER = re.compile(rf"DEFINER=`{PREFIX}\w+`@")
_SAFE_MODE = "NO_AUTO_VALUE_ON_ZERO,NO_ENGINE_SUBSTITUTION"
ADMIN_SESSION = (
    "SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED",
    f"SET foreign_key_checks = 0, unique_checks = 0, sql_mode = '{_SAFE_MODE}'",
    "SET lock_wait_timeout = 20, innodb_lock_wait_timeout = 20, wait_timeout = 31536000",
)


def quote(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


@dataclass(frozen=True)
class Shape:
    """What a database is made of, as the server itself writes it: CREATE TABLE by name without the
    counter, the counters, and everything else (views, triggers, routines) in order of making."""

    tables: Mapping[str, str]
    counters: Mapping[str, int]
    others: tuple[str, ...] = ()
    transactional: bool = True


@dataclass
class Database:
    """One on the server. ``shape`` is that of its pristine state."""

    name: str
    shape: Shape
    schema: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    checksums: dict[str, int | None] = field(default_factory=dict)


def load(admin: Client, name: str, content: Content) -> Database:
    """A new database that holds ``content``.

    :raises EngineError: the server cannot hold it, in its own words.
    """
    raw = f"{name}_raw"
    _make(admin, raw)
    for table in content.tables:
        admin.rows(create_table(table, content.dialect, "mysql"))
    for table in content.tables:
        _fill(admin, table)
    if content.dialect == "mysql":
        for statement in content.extra.values():
            admin.rows(statement)
    # A copy like all others, so that plans and the order of rows are the same in each.
    copy(admin, raw, name)
    drop(admin, raw)
    return Database(name, shape(admin, name), schema(admin, name))


def _make(admin: Client, name: str) -> None:
    quoted = quote(name)
    admin.rows(f"DROP DATABASE IF EXISTS {quoted}")
    admin.rows(f"CREATE DATABASE {quoted} CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci")
    admin.rows(f"USE {quoted}")


def _fill(admin: Client, table: Table) -> None:
    if not table.rows:
        return
    names = ", ".join(quote(column.name) for column in table.columns)
    target = f"{quote(table.name)} ({names})".replace("%", "%%")
    sql = f"INSERT INTO {target} VALUES ({', '.join(['%s'] * len(table.columns))})"
    admin.rows("START TRANSACTION")
    for start in range(0, len(table.rows), _BATCH):
        admin.insert(sql, [_storable(row) for row in table.rows[start : start + _BATCH]])
    admin.rows("COMMIT")


def _storable(row: Row) -> Row:
    """Text that is no UTF-8 has its bad bytes replaced: the server would refuse all of it."""
    return tuple(
        value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        if isinstance(value, str) and not value.isascii()
        else value
        for value in row
    )


def analyze(admin: Client, tables: Iterable[str]) -> None:
    """Count the rows now, so that plans are the same in every copy."""
    listed = ", ".join(quote(table) for table in tables)
    if listed:
        admin.rows(f"ANALYZE TABLE {listed}")


def shape(admin: Client, name: str) -> Shape:
    """Of a database as it is now."""
    admin.rows(f"USE {quote(name)}")
    tables: dict[str, str] = {}
    counters: dict[str, int] = {}
    views: list[str] = []
    for table, kind in admin.rows("SHOW FULL TABLES"):
        made = str(admin.rows(f"SHOW CREATE TABLE {quote(table)}")[0][1])
        if kind == "VIEW":
            views.append(made)
        if kind != "BASE TABLE":
            continue
        counter = _COUNTER.search(made)
        tables[table] = _COUNTER.sub("", made, count=1)
        if "AUTO_INCREMENT" in made:
            counters[table] = int(counter[1]) if counter else 1
    engines = {made.rpartition(") ENGINE=")[2].split(" ")[0] for made in tables.values()}
    others = (*_ordered(views), *_routines(admin, name), *_triggers(admin))
    return Shape(tables, counters, others, engines <= {"InnoDB"})


def _ordered(views: list[str]) -> list[str]:
    """A view behind those that it names."""
    named = {re.search(r"VIEW (`(?:[^`]|``)+`)", view)[1]: view for view in views}  # type: ignore[index]
    done: dict[str, str] = {}
    while len(done) < len(named):
        free = [
            name for name, view in named.items()
            if name not in done
            and not any(other in view for other in named if other != name and other not in done)
        ]  # fmt: skip
        for name in free or [next(name for name in named if name not in done)]:
            done[name] = named[name]
    return list(done.values())


def _routines(admin: Client, name: str) -> list[str]:
    made = []
    for kind in ("PROCEDURE", "FUNCTION"):
        names = [row[1] for row in admin.rows(f"SHOW {kind} STATUS WHERE Db = '{name}'")]
        made += [str(admin.rows(f"SHOW CREATE {kind} {quote(each)}")[0][2]) for each in names]
    return made


def _triggers(admin: Client) -> list[str]:
    names = [row[0] for row in admin.rows("SHOW TRIGGERS")]
    return [str(admin.rows(f"SHOW CREATE TRIGGER {quote(name)}")[0][2]) for name in names]


def copy(admin: Client, source: Database | str, name: str, definer: str = "") -> None:
    """A new database ``name`` with all that ``source`` holds now: of a `Database` its pristine
    shape is known and not asked for. What an agent's user defined is defined by ``definer`` then,
    never by the administrator: it runs with its definer's privileges."""
    origin = source if isinstance(source, str) else source.name
    form = shape(admin, origin) if isinstance(source, str) else source.shape
    _make(admin, name)
    for table, made in form.tables.items():
        counter = form.counters.get(table, 1)
        admin.rows(made + (f" AUTO_INCREMENT={counter}" if counter > 1 else ""))
        _copy_rows(admin, origin, table, made)
    for made in form.others:
        # A view of an agent's may stand on a table that is no more.
        with contextlib.suppress(EngineError):
            made = made.replace(quote(origin) + ".", quote(name) + ".")
            admin.rows(_DEFINER.sub(f"DEFINER=`{definer}`@", made) if definer else made)
    analyze(admin, form.tables)


def _is_computed(made: str) -> bool:
    return "GENERATED ALWAYS AS" in made


def _plain_columns(admin: Client, database: str, table: str) -> str:
    found = admin.rows(f"SHOW COLUMNS FROM {quote(table)} FROM {quote(database)}")
    return ", ".join(quote(row[0]) for row in found if "GENERATED" not in str(row[5]).upper())


def refill(admin: Client, name: str, pristine: Database, names: Collection[str]) -> None:
    """The tables of ``names``, and those whose keys refer to them, with their pristine rows again.
    Where there are views and triggers it may be any table: then all are."""
    tables = pristine.shape.tables
    wanted = {table for table in tables if table.lower() in names or pristine.shape.others}
    while True:
        behind = {
            table for table, made in tables.items()
            if table not in wanted and any(f"REFERENCES {quote(one)}" in made for one in wanted)
        }  # fmt: skip
        if not behind:
            break
        wanted |= behind
    if not wanted:
        return
    admin.rows(f"USE {quote(name)}")
    for table in sorted(wanted):
        admin.rows(f"TRUNCATE TABLE {quote(table)}")
        _copy_rows(admin, pristine.name, table, tables[table])
    analyze(admin, sorted(wanted))


def _copy_rows(admin: Client, origin: str, table: str, made: str) -> None:
    columns = _plain_columns(admin, origin, table) if _is_computed(made) else "*"
    listed = "" if columns == "*" else f" ({columns})"
    rows = f"SELECT {columns} FROM {quote(origin)}.{quote(table)}"
    admin.rows(f"INSERT INTO {quote(table)}{listed} {rows}")


def reset_counters(admin: Client, name: str, pristine: Shape) -> None:
    """What AUTO_INCREMENT gives next: the one thing that a ROLLBACK leaves."""
    if not pristine.counters:
        return
    now = admin.rows(
        "SELECT table_name, auto_increment FROM information_schema.tables "
        f"WHERE table_schema = '{name}' AND auto_increment IS NOT NULL"
    )
    for table, counter in now:
        wanted = pristine.counters.get(table)
        if wanted is not None and counter != wanted:
            admin.rows(f"ALTER TABLE {quote(name)}.{quote(table)} AUTO_INCREMENT = {wanted}")


def schema(admin: Client, name: str) -> Mapping[str, tuple[tuple[str, str], ...]]:
    """Columns and their types by table and view, in the server's order."""
    found: dict[str, list[tuple[str, str]]] = {}
    for table, column, kind in admin.rows(
        "SELECT table_name, column_name, column_type FROM information_schema.columns "
        f"WHERE table_schema = '{name}' ORDER BY table_name, ordinal_position"
    ):
        found.setdefault(table, []).append((column, _decoded(kind)))
    return {table: tuple(columns) for table, columns in found.items()}


def _decoded(kind: str | bytes | bytearray) -> str:
    return kind if isinstance(kind, str) else kind.decode("utf-8")


def difference(
    admin: Client, name: str, pristine: Database, *, shape_too: bool
) -> Mapping[str, TableState | None]:
    """The tables of ``name`` that are not as in ``pristine``; with ``shape_too`` those made,
    dropped and altered are looked for as well."""
    shapes = pristine.shape.tables
    now = shape(admin, name).tables if shape_too else shapes
    changed: dict[str, TableState | None] = {table: None for table in shapes if table not in now}
    same = [table for table in now if table in shapes and now[table] == shapes[table]]
    unknown = [table for table in same if table not in pristine.checksums]
    pristine.checksums.update(_checksums(admin, pristine.name, unknown))
    sums = _checksums(admin, name, same)
    for table in now:
        if table not in sums or sums[table] != pristine.checksums[table]:
            changed[table] = _state(admin, name, table)
    return changed


def _checksums(admin: Client, name: str, tables: list[str]) -> dict[str, int | None]:
    if not tables:
        return {}
    listed = ", ".join(f"{quote(name)}.{quote(table)}" for table in tables)
    found = admin.rows(f"CHECKSUM TABLE {listed}")
    return {table: row[1] for table, row in zip(tables, found, strict=True)}


def _state(admin: Client, name: str, table: str) -> TableState:
    columns = tuple(
        row[0] for row in admin.rows(f"SHOW COLUMNS FROM {quote(table)} FROM {quote(name)}")
    )
    return TableState(columns, tuple(admin.rows(f"SELECT * FROM {quote(name)}.{quote(table)}")))


def drop(admin: Client, name: str) -> None:
    admin.rows(f"DROP DATABASE IF EXISTS {quote(name)}")


def listed(admin: Client, pattern: str) -> tuple[list[str], list[str]]:
    """Databases and users of ours whose names begin so."""
    like = pattern.replace("_", "\\_") + "%"
    databases = [row[0] for row in admin.rows(f"SHOW DATABASES LIKE '{like}'")]
    found = admin.rows(f"SELECT user, host FROM mysql.user WHERE user LIKE '{like}'")
    users = [f"'{_decoded(user)}'@'{_decoded(host)}'" for user, host in found]
    return databases, users


def drop_all(admin: Client, prefix: str) -> None:
    """Everything whose name begins with ``prefix``. What cannot be dropped is tried once."""
    databases, users = listed(admin, prefix)
    failed = None
    for statement in (
        *(f"DROP DATABASE IF EXISTS {quote(name)}" for name in databases),
        *(f"DROP USER IF EXISTS {user}" for user in users),
    ):
        try:
            admin.rows(statement)
        except EngineError as error:
            failed = error
    if failed is not None:
        raise failed
