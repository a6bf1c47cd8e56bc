"""Copies of a database with other data, to tell a right query from one that is right by luck.

What a schema promises still holds in a copy: types and lengths, unique keys, references. What the
data lets one believe holds too: a column without NULL has none, one of flags has only flags, trees
are trees (`acyclic`), names are unique, what follows from another column does (`beliefs`).
All else is varied: rows are dropped, doubled and made up, numbers are shifted, texts exchanged.
Values that the queries look for (`literals`) and near misses of them are put where they are looked
for, so that conditions are met by some rows and just missed by others.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from random import Random
from typing import Any

from intercode.engines.content import Content, Row, Table
from intercode.engines.kept import Kept, Made
from intercode.engines.literals import Literal
from intercode.engines.vary import Kind, fits, kind_of, new, new_key, varied

MOST_ROWS = 400
"""Of a table; of larger ones a part is kept, so that a copy is made and read in milliseconds."""
_KEPT = 0.75
_NAMED = 0.95
"""How many of the rows are kept, and of those that are looked for by name."""
_CHANGED = 0.12
_SOUGHT = 0.3
"""How often a value is changed, and how often where one is looked for."""
_PLANTED = 0.35
"""How many of the new rows meet most conditions at once."""
_TRIES = 12


def perturbed(content: Content, seed: int, keep: Collection[Literal] = ()) -> Content:
    """One copy: the same for the same arguments, anywhere. ``keep`` are the literals of the queries
    that will be run on it."""
    draw = Random(f"{seed} {content.digest} {sorted(map(repr, keep))}")
    tables = {table.name.casefold(): table for table in content.tables}
    unique = any("UNIQUE" in statement.upper() for statement in content.extra.values())
    made: dict[str, Made] = {}
    builders: dict[str, _Builder] = {}
    for table in _parents_first(content.tables):
        builder = _Builder(
            table, content.dialect, tables, made, sorted(keep, key=repr), unique, draw
        )
        name = table.name.casefold()
        builders[name], made[name] = builder, builder.made()
    for name, builder in builders.items():
        made[name] = builder.mended(made)
    order = [made[table.name.casefold()].table for table in content.tables]
    return replace(content, tables=tuple(order))


def _parents_first(tables: Collection[Table]) -> list[Table]:
    """A cycle is cut where it is met first."""
    left = {table.name.casefold(): table for table in tables}
    ordered: list[Table] = []
    while left:
        free = [
            name
            for name, table in left.items()
            if not any(key.table.casefold() in left.keys() - {name} for key in table.foreign_keys)
        ]
        ordered += [left.pop(name) for name in free or [next(iter(left))]]
    return ordered


class _Builder:
    """One table's rows."""

    def __init__(
        self,
        table: Table,
        dialect: str,
        pristine: dict[str, Table],
        made: dict[str, Made],
        keep: list[Literal],
        unique: bool,
        draw: Random,
    ) -> None:
        self.table, self.draw = table, draw
        self.name = table.name.casefold()
        self.names = [column.name.casefold() for column in table.columns]
        columns = list(zip(*table.rows, strict=True)) or [()] * len(self.names)
        ddl = (table.ddl or "").upper()
        checked = "CHECK" in ddl
        self.kinds = [
            replace(kind, fixed=kind.fixed or (checked and bool(kind.values)))
            for kind in (
                kind_of(column.type, values, dialect)
                for column, values in zip(table.columns, columns, strict=True)
            )
        ]
        self.nullable = [
            column.nullable and None in values and column.name not in table.primary_key
            for column, values in zip(table.columns, columns, strict=True)
        ]
        repeated = {literal.column for literal in keep if literal.value is None}
        said = unique or "UNIQUE" in ddl
        self.kept = Kept(table, self.kinds, self.nullable, pristine, made, repeated, said, draw)
        self.sought = [self._sought(index, keep) for index in range(len(self.names))]
        counts = [literal.value for literal in keep if literal.column is None]
        self.counted = max((n for n in counts if isinstance(n, int) and n < 100), default=0)
        self.unique = sorted({key.columns[0] for key in self.kept.keys if len(key.columns) == 1})
        self.number = 0

    def made(self) -> Made:
        return self._with(self.kept.untied(self._rows()))

    def mended(self, made: dict[str, Made]) -> Made:
        """With the references to tables that were not made before this one: to itself, or round a
        cycle."""
        now = made[self.name]
        while self.kept.later:
            self.kept.turn({**made, self.name: now})
            mended: list[Row] = []
            for row in now.table.rows:
                self._add_mended(mended, list(row))
            complete = len(mended) == len(now.table.rows)
            now = self._with(mended)
            if complete:
                break
        return now

    def _with(self, rows: list[Row]) -> Made:
        met = [self._met(row) for row in rows]
        most = max(met, default=0)
        hits = tuple(row for row, times in zip(rows, met, strict=True) if 0 < times == most)
        return Made(replace(self.table, rows=tuple(rows)), hits)

    def _rows(self) -> list[Row]:
        draw, source = self.draw, list(self.table.rows)
        rows = [row for row in source if draw.random() < (_NAMED if self._named(row) else _KEPT)]
        if len(rows) > MOST_ROWS * 3 // 4:
            hits = [row for row in rows if self._met(row)]
            rows = _some(hits, MOST_ROWS // 4, draw) + _some(rows, MOST_ROWS // 2, draw)
        made: list[Row] = []
        for row in rows:
            self._add(made, self._changed(row))
        wanted = self._size()
        for _ in range(3 * wanted):
            if len(made) >= wanted:
                break
            doubled = bool(made) and draw.random() < 0.4
            values = self._changed(draw.choice(made) if doubled else self._made_up())
            if draw.random() < _PLANTED:
                values = self._planted(values)
            self._add(made, values, new_keys=True)
        draw.shuffle(made)
        return made

    def _size(self) -> int:
        """Somewhat more than there are; of empty tables, and of those that groups are counted in,
        as many as it takes."""
        size = len(self.table.rows)
        if not size:
            return max(self.draw.randrange(28, 40), min(4 * self.counted, MOST_ROWS))
        return max(min(int(size * 1.2), MOST_ROWS), min(size, 20) + self.draw.randrange(6, 20))

    # One row after another. Each is a list of values until it is added.

    def _changed(self, row: Row | list[Any]) -> list[Any]:
        changed = list(row)
        for index, kind in enumerate(self.kinds):
            often = self.sought[index] and index not in self.unique
            if self.draw.random() < (_SOUGHT if often else _CHANGED):
                changed[index] = self._other(index, kind, changed[index])
        return changed

    def _other(self, index: int, kind: Kind, value: Any) -> Any:
        draw = self.draw
        if self.sought[index] and draw.random() < 0.5:
            value = draw.choice(self.sought[index])
            return varied(value, kind, draw) if draw.random() < 0.4 else value
        if self.nullable[index] and draw.random() < 0.2:
            return None
        if kind.values and draw.random() < 0.6:
            return draw.choice(kind.values)
        return value if value is None else varied(value, kind, draw)

    def _made_up(self) -> list[Any]:
        return [self._any(*pair) for pair in zip(self.kinds, self.nullable, strict=True)]

    def _any(self, kind: Kind, nullable: bool) -> Any:
        if kind.values and not (nullable and self.draw.random() < 0.1):
            return self.draw.choice(kind.values)
        return None if self.table.rows else new(kind, self.draw)

    def _planted(self, row: list[Any]) -> list[Any]:
        """With most of what is looked for, and every other time one near miss among it."""
        draw = self.draw
        places = [index for index, sought in enumerate(self.sought) if sought]
        for index in places:
            if draw.random() < 0.8:
                row[index] = draw.choice(self.sought[index])
        if places and draw.random() < 0.5:
            missed = draw.choice(places)
            row[missed] = varied(draw.choice(self.sought[missed]), self.kinds[missed], draw)
        return row

    def _add(self, made: list[Row], row: list[Any], *, new_keys: bool = False) -> None:
        """With all that holds, if its keys can be made unlike all others."""
        for attempt in range(_TRIES):
            settled = self.kept.settle(row, again=attempt > 0)
            clashing = self.kept.clashing(row)
            if settled and not clashing:
                made.append(self.kept.put(row))
                return
            if not new_keys and attempt > 2:
                return
            for key in clashing:
                self._renew(row, key)

    def _add_mended(self, mended: list[Row], row: list[Any]) -> None:
        for attempt in range(_TRIES):
            if self.kept.settle(row, again=attempt > 0) and not self.kept.clashing(row):
                mended.append(self.kept.put(row))
                return
        self.kept.unbind(row)
        if not self.kept.clashing(row):
            mended.append(self.kept.put(row))

    def _renew(self, row: list[Any], key: tuple[int, ...]) -> None:
        """Other values for a key, but for what refers elsewhere."""
        bound = self.kept.bound()
        for index in key:
            if index in bound:
                continue
            self.number += 1
            unused = self.kept.unused(key, self.sought[index])
            kind = self.kinds[index]
            row[index] = (
                self.draw.choice(unused)
                if unused and self.draw.random() < 0.5
                else new_key(kind, self.number, self.draw)
                if not kind.fixed
                else self.draw.choice(kind.values)
            )

    def _sought(self, index: int, keep: list[Literal]) -> list[Any]:
        """What queries look for in a column: by its name, or by a value it has."""
        kind, own = self.kinds[index], set(map(repr, self.kinds[index].values))
        found = []
        for literal in keep:
            if literal.value is None:
                continue
            named = literal.column == self.names[index]
            if named or (literal.column is None or isinstance(literal.value, str)):
                value = fits(literal.value, kind)
                if value is not None and (named or repr(value) in own):
                    found.append(value)
        return found

    def _named(self, row: Row) -> bool:
        """Whether a query looks for it by a name that no other row has."""
        return any(row[index] in self.sought[index] for index in self.unique)

    def _met(self, row: Row) -> int:
        """In how many columns it has what is looked for."""
        return sum(value in sought for value, sought in zip(row, self.sought, strict=True))


def _some(rows: list[Row], most: int, draw: Random) -> list[Row]:
    return rows if len(rows) <= most else draw.sample(rows, most)
