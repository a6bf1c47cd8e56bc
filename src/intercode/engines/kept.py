"""What holds in a table's rows, and has to hold in those of a copy.

Keys are unique and references lead somewhere, as the schema says; graphs without cycles stay so
(`acyclic`), and what the data lets one believe holds (`beliefs`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from random import Random
from typing import Any

from intercode.engines.acyclic import Graph, Ranks, apparent, link, tree
from intercode.engines.beliefs import (
    Settled,
    compared,
    is_unique_reference,
    ordered_dates,
    shared_names,
    single_extremes,
    untied,
)
from intercode.engines.content import ForeignKey, Row, Table
from intercode.engines.vary import Kind

_TRIES = 12


@dataclass(frozen=True)
class Made:
    """A table with new rows; ``hits`` are those with most values that are looked for."""

    table: Table
    hits: tuple[Row, ...]


@dataclass(frozen=True)
class Reference:
    """A foreign key as it is kept: the columns' places, the parent's keys, those of its ``hits``,
    and whether it may be NULL."""

    columns: tuple[int, ...]
    parents: tuple[Row, ...]
    known: frozenset[Row]
    hits: tuple[Row, ...]
    optional: bool


@dataclass(frozen=True)
class Key:
    """Columns of which no two rows have the same values, but for the ``shared`` ones. NULL is like
    no other, unless the key is the ``primary`` one."""

    columns: tuple[int, ...]
    primary: bool = False
    shared: frozenset[Row] = frozenset()

    def value(self, row: Sequence[Any]) -> Row | None:
        """What no other row may have; None if there is nothing of the kind."""
        values = tuple(row[index] for index in self.columns)
        if None in values and not self.primary:
            return None
        found = compared(values)
        return None if found in self.shared else found


class Kept:
    """Of one table and its copy. Rows are lists of values until they are put into it."""

    def __init__(
        self,
        table: Table,
        kinds: Sequence[Kind],
        nullable: Sequence[bool],
        pristine: Mapping[str, Table],
        made: Mapping[str, Made],
        repeated: Collection[str | None],
        unique: bool,
        draw: Random,
    ) -> None:
        """``made`` are the other tables of the copy, as far as they are there; ``repeated`` names
        columns whose values are expected to repeat; ``unique``: something is said to be unique."""
        self.table, self.pristine, self.draw = table, pristine, draw
        self.kinds, self.nullable = kinds, nullable
        self.name = table.name.casefold()
        self.names = [column.name.casefold() for column in table.columns]
        self.keys = self._keys(unique, repeated)
        self.later = [key for key in table.foreign_keys if key.table.casefold() not in made]
        self.later += self._apparent()
        self.seen = [self._never(key.columns) for key in self.keys]
        self.references = list(self._references(table.foreign_keys, made))
        self.ranks = list(self._ranks(table.foreign_keys, made))
        self.settled = self._settled()
        self.in_order = ordered_dates(table.rows, len(self.names))
        self.extremes = single_extremes(table.rows, self._unbound())

    def turn(self, made: Mapping[str, Made]) -> None:
        """To the references that could not be kept before all tables were made: those of the table
        to itself, or round a cycle. The copy is empty again."""
        self.references = list(self._references(self.later, made))
        self.ranks = list(self._ranks(self.later, made))
        self.seen = [self._never(key.columns) for key in self.keys]

    # One row

    def settle(self, row: list[Any], *, again: bool) -> bool:
        """With what refers elsewhere, or follows from other columns, mended; False if it cannot."""
        for reference in self.references:
            self._refer(row, reference, again)
        for start, end in self.in_order:
            if None not in (row[start], row[end]) and row[start] > row[end]:
                row[start], row[end] = row[end], row[start]
        before = None
        for _ in range(_TRIES):
            if row == before:
                return True
            before = list(row)
            if not all(ranks.mend(row, self.draw) for ranks in self.ranks):
                return False
            if not self.settled.mend(row):
                return False
        return False

    def clashing(self, row: list[Any]) -> list[tuple[int, ...]]:
        """The keys that another row has already."""
        pairs = zip(self.keys, self.seen, strict=True)
        return [key.columns for key, seen in pairs if key.value(row) in seen]

    def unused(self, columns: tuple[int, ...], values: Sequence[Any]) -> Sequence[Any]:
        """Of the values for a key of one column those that no row has yet; for others all."""
        if len(columns) > 1:
            return values
        seen = next(
            seen for key, seen in zip(self.keys, self.seen, strict=True) if key.columns == columns
        )
        return [value for value in values if compared((value,)) not in seen]

    def put(self, row: list[Any]) -> Row:
        for key, seen in zip(self.keys, self.seen, strict=True):
            value = key.value(row)
            if value is not None:
                seen.add(value)
        self.settled.learn(row)
        return tuple(row)

    def untied(self, rows: Sequence[Row]) -> list[Row]:
        return untied(rows, self.extremes)

    def bound(self) -> frozenset[int]:
        """The columns that refer elsewhere."""
        return frozenset(index for one in self.references for index in one.columns)

    def unbind(self, row: list[Any]) -> None:
        """From all that it need not refer to."""
        for reference in self.references:
            for index in reference.columns if reference.optional else ():
                row[index] = None

    def _refer(self, row: list[Any], reference: Reference, again: bool) -> None:
        now = tuple(row[index] for index in reference.columns)
        if None in now and reference.optional:
            return
        if now in reference.known and not again and self.draw.random() < 0.85:
            return
        if not reference.parents:
            return
        if reference.hits and self.draw.random() < 0.3:
            chosen = self.draw.choice(reference.hits)
        elif again and reference.columns in (columns := [key.columns for key in self.keys]):
            seen = self.seen[columns.index(reference.columns)]
            left = [one for one in reference.parents if compared(one) not in seen]
            chosen = self.draw.choice(left or reference.parents)
        else:
            # Some are referred to much more often than others.
            chosen = reference.parents[int(len(reference.parents) * self.draw.random() ** 2)]
        for index, value in zip(reference.columns, chosen, strict=True):
            row[index] = value

    # What holds

    def _keys(self, unique: bool, repeated: Collection[str | None]) -> list[Key]:
        """Sets of columns without duplicates: the primary key, what others refer to, what is
        believed to be unique, and, where something is said to be unique, every column that is."""
        keys = [self._indexes(self.table.primary_key)]
        for table in self.pristine.values():
            keys += [
                self._indexes(key.references)
                for key in table.foreign_keys
                if key.table.casefold() == self.name
            ]
        if unique:
            keys += [(index,) for index in range(len(self.names))]
        distinct = dict.fromkeys(key for key in keys if key)
        primary = keys[0]
        declared = [key for key in distinct if key == primary or self._is_unique(key)]
        found = {key: Key(key, key == primary) for key in declared}
        for key in self._believed(repeated):
            found.setdefault(key.columns, key)
        return list(found.values())

    def _believed(self, repeated: Collection[str | None]) -> Iterator[Key]:
        """Names, and references that are all different. A text that is expected to repeat may be
        meant in any table that has such a column, and then none is known to be."""
        everywhere = [one.name.casefold() for t in self.pristine.values() for one in t.columns]
        for index, name in enumerate(self.names):
            expected = name in repeated and everywhere.count(name) == 1
            if (shared := shared_names(self.table, index, expected)) is not None:
                yield Key((index,), False, frozenset(compared((value,)) for value in shared))
        for key in self.table.foreign_keys:
            columns = self._indexes(key.columns)
            if columns and not all(self.names[index] in repeated for index in columns):
                references = _present(self.table.rows, columns)
                if is_unique_reference(references, len(self._parents(key))):
                    yield Key(columns)

    def _apparent(self) -> list[ForeignKey]:
        """References to the own table that are not declared."""
        key = self._indexes(self.table.primary_key)
        bound = {index for one in self.table.foreign_keys for index in self._indexes(one.columns)}
        free = [index for index in range(len(self.names)) if index not in bound]
        names = [self.table.columns[index].name for index in apparent(self.table.rows, key, free)]
        return [ForeignKey((name,), self.name, self.table.primary_key) for name in names]

    def _ranks(self, keys: Collection[ForeignKey], made: Mapping[str, Made]) -> Iterator[Ranks]:
        """Of the graphs that references make, those that have no cycle in the data: also of such as
        hold for few rows, since those may be all that lead anywhere."""
        rows = self.table.rows
        by_parent: dict[tuple[str, tuple[int, ...]], list[tuple[int, ...]]] = {}
        for key in keys:
            name, columns = key.table.casefold(), self._indexes(key.columns)
            if columns and name in made:
                parent = made[name].table
                there = _columns_of(parent, key.references or parent.primary_key)
                if len(there) == len(columns):
                    by_parent.setdefault((name, there), []).append(columns)
        for (name, there), some in by_parent.items():
            nodes = _distinct(made[name].table.rows, there)
            graphs: list[Graph | None]
            if name == self.name:
                optional = [
                    index
                    for index, column in enumerate(self.table.columns)
                    if self.nullable[index] or (column.nullable and not rows)
                ]
                graphs = [*tree(rows, there, some, optional)]
            else:
                pairs = combinations(some, 2)
                graphs = [link(rows, one, other) for one, other in pairs]
            for graph in graphs:
                if graph is not None:
                    yield graph.on(nodes, self.draw)

    def _settled(self) -> Settled:
        """What follows from what; trees, references of several columns, and keys of one, do not."""
        names = [key.columns for key in self.table.foreign_keys]
        several = {i for key in names if len(key) > 1 for i in self._indexes(key)}
        later = {index for key in self.later for index in self._indexes(key.columns)}
        ranked = {index for rank in self.ranks for index in rank.graph.columns()}
        unique = {key.columns[0] for key in self.keys if len(key.columns) == 1}
        free = [i for i in range(len(self.names)) if i not in several | later | ranked | unique]
        allowed = {
            one.columns[0]: {key[0] for key in one.known} | ({None} if one.optional else set())
            for one in self.references
            if len(one.columns) == 1
        }
        return Settled(self.table.rows, free, allowed)

    def _unbound(self) -> list[int]:
        """The columns that nothing else is said or believed of."""
        keys = {index for key in self.keys for index in key.columns}
        later = {index for key in self.later for index in self._indexes(key.columns)}
        dates = {index for pair in self.in_order for index in pair}
        taken = keys | later | dates | self.bound() | self.settled.columns()
        return [i for i, kind in enumerate(self.kinds) if i not in taken and not kind.fixed]

    def _never(self, key: tuple[int, ...]) -> set[Row]:
        """What no row may have for a key: what stands for a reference to none of them (``0``)."""
        known = set(_present(self.table.rows, key))
        return {
            compared(value)
            for reference in self.later
            if reference.table.casefold() == self.name
            if self._indexes(reference.references or self.table.primary_key) == key
            for value in _present(self.table.rows, self._indexes(reference.columns))
            if value not in known
        }

    def _is_unique(self, key: tuple[int, ...]) -> bool:
        values = [tuple(row[index] for index in key) for row in self.table.rows]
        return bool(values) and len(set(values)) == len(values)

    def _indexes(self, columns: Collection[str]) -> tuple[int, ...]:
        names = [column.casefold() for column in columns]
        known = all(name in self.names for name in names)
        return tuple(self.names.index(name) for name in names) if known else ()

    def _references(
        self, keys: Collection[ForeignKey], made: Mapping[str, Made]
    ) -> Iterator[Reference]:
        """Those to tables that are made, if they hold in the data."""
        for key in keys:
            parent = made.get(key.table.casefold())
            columns = self._indexes(key.columns)
            if parent is None or not columns or not self._holds(key, columns):
                continue
            if key not in self.table.foreign_keys and self.kinds[columns[0]].fixed:
                # More likely flags, which are as they are.
                continue
            there = _columns_of(parent.table, key.references or parent.table.primary_key)
            if len(there) != len(columns):
                continue
            values = _distinct(parent.table.rows, there)
            known = frozenset(values)
            if key not in self.table.foreign_keys:
                # Only apparent: it leads to what it led to.
                now = set(_present(self.table.rows, columns))
                values = [value for value in values if value in now] or values
            self.draw.shuffle(values)
            optional = all(self.nullable[index] for index in columns)
            hits = tuple(_distinct(parent.hits, there))
            hits = tuple(hit for hit in hits if key in self.table.foreign_keys)
            yield Reference(columns, tuple(values), known, hits, optional)

    def _holds(self, key: ForeignKey, columns: tuple[int, ...]) -> bool:
        """Whether at least half of the rows keep it: some schemas declare what never held."""
        known = self._parents(key)
        values = _present(self.table.rows, columns)
        return not values or 2 * sum(value in known for value in values) >= len(values)

    def _parents(self, key: ForeignKey) -> set[Row]:
        parent = self.pristine.get(key.table.casefold())
        if parent is None:
            return set()
        return set(
            _distinct(parent.rows, _columns_of(parent, key.references or parent.primary_key))
        )


def _columns_of(table: Table, columns: Collection[str]) -> tuple[int, ...]:
    names = [column.name.casefold() for column in table.columns]
    wanted = [column.casefold() for column in columns]
    known = all(name in names for name in wanted)
    return tuple(names.index(name) for name in wanted) if known else ()


def _distinct(rows: Collection[Row], columns: tuple[int, ...]) -> list[Row]:
    return list(dict.fromkeys(_present(rows, columns)))


def _present(rows: Collection[Row], columns: tuple[int, ...]) -> list[Row]:
    """Without those with a NULL."""
    values = [tuple(row[index] for index in columns) for row in rows]
    return [value for value in values if None not in value]
