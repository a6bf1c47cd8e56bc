"""Trees stay trees: references among a table's own rows, kept free of cycles.

``boss_id`` leads from a row to another of its table, and a link table such as ``part (whole,
component)`` from one row of another table to a second one. Where no way along them leads back in
the data, none does in a copy, and none is longer than the longest in the data, so that a query that
follows them comes to an end. Each row has a level: 0 where no way goes on, otherwise one more than
the highest that it leads to. In a copy rows have levels first, and lead to lower ones only.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from intercode.engines.content import Row

Columns = tuple[int, ...]
_Arc = tuple[Row, Row]

_DEEP = 4
"""Levels of a graph that has nothing to go by."""
_NEXT = 0.7
"""How often a mended reference leads just one level down, as it does in most trees."""


@dataclass(frozen=True)
class Graph:
    """In each row every pair of ``arcs`` leads from the first columns' value to the second's."""

    arcs: tuple[tuple[Columns, Columns], ...]
    rooted: bool
    """The first columns are the row's own key, so that only the second can be mended."""
    levels: Mapping[Row, int]
    """Of the data's nodes."""
    ends: tuple[tuple[Row, ...], ...]
    """For each pair: what stands for leading nowhere. NULL, or what is no key (``0``)."""

    def columns(self) -> frozenset[int]:
        """All that can be mended."""
        return frozenset(
            index
            for first, second in self.arcs
            for index in (second if self.rooted else first + second)
        )

    def on(self, nodes: Iterable[Row], draw: Random) -> Ranks:
        """For a copy with these ``nodes``: those that the data has keep their levels."""
        levels = sorted(self.levels.values()) or list(range(_DEEP))
        ranks: dict[Row, int] = {}
        for node in nodes:
            known = self.levels.get(node)
            ranks[node] = draw.choice(levels) if known is None else known
        by_level: list[list[Row]] = [[] for _ in range(levels[-1] + 1)]
        for node, level in ranks.items():
            by_level[level].append(node)
        return Ranks(self, ranks, tuple(map(tuple, by_level)))


@dataclass(frozen=True)
class Ranks:
    """A graph on the nodes of one copy."""

    graph: Graph
    levels: Mapping[Row, int]
    by_level: tuple[tuple[Row, ...], ...]

    def mend(self, row: list[Any], draw: Random) -> bool:
        """Has the row lead downwards, where it leads anywhere; False if it cannot."""
        pairs = zip(self.graph.arcs, self.graph.ends, strict=True)
        return all(self._mend(row, *arc, ends, draw) for arc, ends in pairs)

    def _mend(
        self, row: list[Any], first: Columns, second: Columns, ends: tuple[Row, ...], draw: Random
    ) -> bool:
        start, end = (tuple(row[index] for index in columns) for columns in (first, second))
        above, below = self.levels.get(start), self.levels.get(end)
        if above is None or below is None or above > below:
            return True
        if not self.graph.rooted and below > above:
            _write(row, first, end)
            _write(row, second, start)
            return True
        if lower := self._of([self.by_level[level] for level in range(above - 1, -1, -1)], draw):
            _write(row, second, lower)
            return True
        if self.graph.rooted:
            if ends:
                _write(row, second, draw.choice(ends))
            return bool(ends)
        higher = self._of(self.by_level[below + 1 :], draw)
        if higher:
            _write(row, first, higher)
        return bool(higher)

    def _of(self, levels: Sequence[Sequence[Row]], draw: Random) -> Row | None:
        """A node of these levels, the first of them more often than the others."""
        some = [nodes for nodes in levels if nodes]
        if not some:
            return None
        return draw.choice(some[0] if draw.random() < _NEXT else draw.choice(some))


def _write(row: list[Any], columns: Columns, value: Row) -> None:
    for index, part in zip(columns, value, strict=True):
        row[index] = part


def tree(
    rows: Sequence[Row], key: Columns, references: Collection[Columns], optional: Collection[int]
) -> list[Graph]:
    """The graphs without cycles that references to the own table make: one of all of them (both
    parents of a person), or, if that has cycles, of each that has none. ``optional`` columns may be
    NULL."""

    def graph(some: Sequence[Columns]) -> Graph | None:
        ends = tuple(_ends(rows, key, columns, optional) for columns in some)
        found = _levels(rows, [(key, columns) for columns in some], {_at(row, key) for row in rows})
        if found is None or not all(ends):
            return None
        return Graph(tuple((key, columns) for columns in some), True, found, ends)

    every = list(dict.fromkeys(references))
    if every and (whole := graph(every)):
        return [whole]
    return [one for columns in every if (one := graph([columns]))]


def apparent(rows: Sequence[Row], key: Columns, columns: Collection[int]) -> list[int]:
    """Those of the ``columns`` whose values are all keys of the same rows, some NULL, in a graph
    without cycles: references, or so they look."""
    if len(key) != 1:
        return []
    nodes = {row[key[0]] for row in rows}
    found = []
    for index in columns:
        values = {row[index] for row in rows} if index not in key else set()
        arcs = [((row[key[0]],), (row[index],)) for row in rows if row[index] is not None]
        if None in values and arcs and values - {None} <= nodes and levels(arcs) is not None:
            found.append(index)
    return found


def link(rows: Sequence[Row], first: Columns, second: Columns) -> Graph | None:
    """What a table with two references to one other table makes of them; None if it has cycles."""
    levels = _levels(rows, [(first, second)], None)
    return None if levels is None else Graph(((first, second),), False, levels, ((),))


def _ends(
    rows: Sequence[Row], key: Columns, columns: Columns, optional: Collection[int]
) -> tuple[Row, ...]:
    nodes = {_at(row, key) for row in rows}
    nowhere = dict.fromkeys(
        value for row in rows if (value := _at(row, columns)) not in nodes and None not in value
    )
    null: Row = (None,) * len(columns)
    return (null,) if optional and set(columns) <= set(optional) else tuple(nowhere)


def levels(arcs: Iterable[_Arc]) -> dict[Row, int] | None:
    """Each node's longest way on, in steps; None if some way leads back."""
    leads: dict[Row, set[Row]] = {}
    for start, end in arcs:
        leads.setdefault(start, set()).add(end)
        leads.setdefault(end, set())
    before: dict[Row, list[Row]] = {node: [] for node in leads}
    for start, ends in leads.items():
        for end in ends:
            before[end].append(start)
    left = {node: len(ends) for node, ends in leads.items()}
    found = {node: 0 for node, ends in leads.items() if not ends}
    ready = list(found)
    while ready:
        node = ready.pop()
        for start in before[node]:
            left[start] -= 1
            found[start] = max(found.get(start, 0), found[node] + 1)
            if not left[start]:
                ready.append(start)
    return None if any(left.values()) else found


def _levels(
    rows: Sequence[Row], pairs: Sequence[tuple[Columns, Columns]], nodes: Collection[Row] | None
) -> dict[Row, int] | None:
    """``nodes``: all that count, whether they lead anywhere or not; None for those that are met."""
    arcs = [
        (start, end)
        for row in rows
        for first, second in pairs
        if None not in (start := _at(row, first)) and None not in (end := _at(row, second))
    ]
    if nodes is None:
        return levels(arcs)
    found = levels(arc for arc in arcs if arc[1] in nodes)
    return None if found is None else {**dict.fromkeys(nodes, 0), **found}


def _at(row: Row, columns: Columns) -> Row:
    return tuple(row[index] for index in columns)
