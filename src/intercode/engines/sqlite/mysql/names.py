"""What names in a statement mean: the tables of each query and their columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from intercode.engines.sqlite.mysql import faults
from intercode.engines.sqlite.mysql.kinds import Kind

Columns = dict[str, tuple[str, Kind]]
"""By small letters: the name as it is, and its kind."""


@dataclass
class Source:
    """A table, view or query in a FROM. ``table`` is its name in error messages, ``keys`` the sets
    of columns that tell its rows apart."""

    alias: str
    columns: Columns
    table: str
    keys: tuple[frozenset[str], ...] = ()


@dataclass
class Scope:
    """One query's names. ``visible`` are the sources that may be used now (those of a join's own
    group, in its ON), ``waiting`` the joins whose ON is still to be read; ``merged`` the columns
    that USING made one; ``aliases`` the select list's names, with the expressions that they stand
    for; ``queries`` the common table expressions."""

    parent: Scope | None = None
    sources: list[Source] = field(default_factory=list)
    visible: list[Source] | None = None
    waiting: list[tuple[Any, list[Source]]] = field(default_factory=list)
    merged: set[str] = field(default_factory=set)
    aliases: dict[str, tuple[Any, Kind]] = field(default_factory=dict)
    queries: dict[str, Columns] = field(default_factory=dict)
    aggregates: bool = False
    extremes: bool = False

    def find_query(self, name: str) -> Columns | None:
        """A common table expression of this query or of one around it."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.queries:
                return scope.queries[name]
            scope = scope.parent
        return None

    def around(self) -> Iterator[Scope]:
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent


def resolve(scope: Scope, table: str, column: str, clause: str) -> tuple[Scope, Source, str, Kind]:
    """The query and source that a column belongs to, its name as declared, its kind.

    :raises Fault: none or several have it.
    """
    written = f"{table}.{column}" if table else column
    key, owner = column.lower(), table.lower()
    for level in scope.around():
        sources = level.visible if level.visible is not None else level.sources
        found = [
            source
            for source in sources
            if key in source.columns and (not owner or source.alias.lower() == owner)
        ]
        if len(found) > 1 and not owner and key not in level.merged:
            raise faults.ambiguous(column, clause)
        if found:
            name, kind = found[0].columns[key]
            return level, found[0], name, kind
        if owner and any(source.alias.lower() == owner for source in sources):
            break
    raise faults.no_column(written, clause)
