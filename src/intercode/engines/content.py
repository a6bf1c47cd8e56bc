"""What a database holds, apart from any engine: tables, their columns and their rows."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Column:
    """``type`` is written in the dialect of the content's source, as declared (``varchar(20)``)."""

    name: str
    type: str
    nullable: bool = True


@dataclass(frozen=True)
class ForeignKey:
    columns: tuple[str, ...]
    table: str
    references: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """``ddl`` is the source's own CREATE TABLE, verbatim, where it has one: an engine of the same
    dialect uses it as it is, every other one makes its own from the columns and keys."""

    name: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...] = ()
    primary_key: tuple[str, ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    ddl: str | None = None


@dataclass(frozen=True)
class Content:
    """One database. ``dialect`` is that of the declared types and of ``Table.ddl``.

    Values are ``None``, ``int``, ``float``, ``str``, ``bytes``, ``Decimal``, ``date``, ``time``,
    ``timedelta`` or ``datetime``.
    """

    name: str
    dialect: str
    tables: tuple[Table, ...]
    extra: Mapping[str, str] = field(default_factory=dict)
    """Further objects by name, as statements in ``dialect``: views, indexes, triggers."""

    @cached_property
    def digest(self) -> str:
        """16 hexadecimal digits over all of it."""
        state = hashlib.sha256()
        for part in (self.name, self.dialect, sorted(self.extra.items())):
            state.update(repr(part).encode("utf-8", "surrogateescape"))
        for table in self.tables:
            state.update(repr(table).encode("utf-8", "surrogateescape"))
        return state.hexdigest()[:16]

    def __hash__(self) -> int:
        return hash(self.digest)
