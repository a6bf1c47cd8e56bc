"""The databases that stand behind sessions, made by the administrator.

Names of tables and columns are folded to small letters where the content is not PostgreSQL's own:
then they are found however an agent writes them, as everywhere else.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from intercode.engines.content import Content, ForeignKey, Row, Table
from intercode.engines.ddl import add_foreign_keys, create_table
from intercode.engines.postgres import lenient
from intercode.engines.postgres.client import Client
from intercode.errors import EngineError

Schema = Mapping[str, tuple[tuple[str, str], ...]]

HIDDEN_FUNCTIONS = (
    r"^(lo_.*|loread|lowrite|pg_(try_)?advisory_.*|pg_notify|set_config|pg_cancel_backend"
    r"|pg_terminate_backend|pg_log_backend_memory_contexts|pg_stat_get_activity|pg_ls_.*|pg_read_.*"
    r"|pg_stat_file|pg_export_snapshot|pg_logical_.*|pg_create_.*|pg_replication_.*|query_to_xml.*"
    r"|database_to_xml.*|table_to_xml.*|cursor_to_xml.*|schema_to_xml.*)$"
)
"""What reaches files, other sessions, or what all sessions share."""
HIDDEN_TABLES = (
    "pg_database", "pg_stat_activity", "pg_stat_database", "pg_stat_database_conflicts",
    "pg_roles", "pg_user", "pg_group", "pg_stat_ssl", "pg_stat_gssapi", "pg_largeobject_metadata",
    "pg_db_role_setting", "pg_shdescription", "pg_shdepend", "pg_stat_replication", "pg_locks",
    "pg_auth_members", "pg_prepared_xacts",
)  # fmt: skip
SCHEMA = (
    "SELECT c.relname::text, a.attname::text, format_type(a.atttypid, a.atttypmod) "
    "FROM pg_catalog.pg_class c JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid "
    "WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'v', 'm', 'p') "
    "AND a.attnum > 0 AND NOT a.attisdropped ORDER BY c.relname, a.attnum"
)
TABLES = (
    "SELECT relname::text FROM pg_catalog.pg_class WHERE relnamespace = 'public'::regnamespace "
    "AND relkind IN ('r', 'p') ORDER BY relname"
)


def quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@dataclass
class Database:
    """``name`` is that of the one that copies are made of: nobody is connected to it."""

    name: str
    schema: Schema = field(default_factory=dict)
    digests: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    has_sequences: bool = False


def folded(content: Content) -> Content:
    """With names in small letters; as it is where it is PostgreSQL's own."""
    if content.dialect == "postgres":
        return content
    return replace(content, tables=tuple(_folded(table) for table in content.tables))


def _folded(table: Table) -> Table:
    return Table(
        table.name.lower(),
        tuple(replace(column, name=column.name.lower()) for column in table.columns),
        table.rows,
        tuple(name.lower() for name in table.primary_key),
        tuple(
            ForeignKey(
                tuple(name.lower() for name in key.columns),
                key.table.lower(),
                tuple(name.lower() for name in key.references),
            )
            for key in table.foreign_keys
        ),
    )


def close_off(admin: Client) -> None:
    """In a new database: what its ordinary users shall not reach. Where we may not say so (no
    superuser on a server with an URL), the server's own settings hold."""
    functions = admin.rows(
        "SELECT p.oid::regprocedure::text FROM pg_catalog.pg_proc p "
        f"WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.proname ~ '{HIDDEN_FUNCTIONS}'"
    )
    with contextlib.suppress(EngineError):
        for (function,) in functions:
            admin.rows(f"REVOKE ALL ON FUNCTION {function} FROM PUBLIC")
        tables = ", ".join(f"pg_catalog.{table}" for table in HIDDEN_TABLES)
        admin.rows(f"REVOKE ALL ON {tables} FROM PUBLIC")
        admin.rows("REVOKE ALL ON LANGUAGE plpgsql FROM PUBLIC")
    admin.rows("REVOKE ALL ON SCHEMA public FROM PUBLIC")
    for statement in lenient.definitions():
        admin.rows(statement)
    admin.rows(f"GRANT USAGE ON SCHEMA {lenient.SCHEMA} TO PUBLIC")


def load(admin: Client, content: Content, reader: str, writer: str, definer: str) -> None:
    """``content`` into the new database that ``admin`` is connected to. :raises EngineError:"""
    with contextlib.suppress(EngineError):
        admin.rows(f"GRANT ALL ON LANGUAGE plpgsql TO {definer}")
    admin.rows(f"GRANT ALL ON SCHEMA public TO {definer}")
    admin.rows(f"GRANT USAGE ON SCHEMA public TO {reader}, {writer}")
    admin.rows(f"SET ROLE {definer}")
    for table in content.tables:
        admin.rows(create_table(table, content.dialect, "postgres", foreign_keys=False))
    for table in content.tables:
        _fill(admin, table)
    for table in content.tables:
        for statement in add_foreign_keys(table, "postgres"):
            # Data that breaks a key, or refers to no key, is as it is: then without it.
            with contextlib.suppress(EngineError):
                admin.rows(f"{statement} NOT VALID")
    if content.dialect == "postgres":
        for statement in content.extra.values():
            admin.rows(statement)
    for privileges, user in (("SELECT", reader), ("SELECT, INSERT, UPDATE, DELETE", writer)):
        admin.rows(f"GRANT {privileges} ON ALL TABLES IN SCHEMA public TO {user}")
    admin.rows(f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {writer}")
    admin.rows("RESET ROLE")
    if content.tables:
        listed = ", ".join(f"public.{quote(table.name)}" for table in content.tables)
        admin.rows(f"VACUUM (ANALYZE) {listed}")


def _fill(admin: Client, table: Table) -> None:
    if not table.rows:
        return
    names = ", ".join(quote(column.name) for column in table.columns)
    sql = f"COPY {quote(table.name)} ({names}) FROM STDIN"
    admin.fill(sql, (_storable(row) for row in table.rows))


def _storable(row: Row) -> Row:
    """PostgreSQL's text is UTF-8 without zero bytes: what is not has its bad bytes replaced."""
    return tuple(_text(value) if isinstance(value, str) else value for value in row)


def _text(value: str) -> str:
    clean = value.replace("\0", "")
    return clean if clean.isascii() else clean.encode("utf-8", "replace").decode("utf-8")


def schema(rows: list[Row]) -> Schema:
    """Of the rows of `SCHEMA`."""
    found: dict[str, list[tuple[str, str]]] = {}
    for table, column, kind in rows:
        found.setdefault(table, []).append((column, kind))
    return {table: tuple(columns) for table, columns in found.items()}


def digest_query(table: str) -> str:
    """A number of rows and a sum over them that tells one content from another, in any order."""
    return (
        "SELECT count(*)::int8, sum(hashtextextended(t::text, 0)::numeric), "
        f"sum(hashtextextended(t::text, 1)::numeric) FROM public.{quote(table)} t"
    )
