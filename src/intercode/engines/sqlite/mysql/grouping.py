"""Columns that are not the same for all rows of a group: MySQL's ONLY_FULL_GROUP_BY, and which
row's value they have where that is off."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from intercode.engines.sqlite.mysql.build import mine
from intercode.engines.sqlite.mysql.faults import Fault
from intercode.engines.sqlite.mysql.names import Scope, Source

if TYPE_CHECKING:
    from intercode.engines.sqlite.mysql.expressions import Place
    from intercode.engines.sqlite.mysql.rewrite import Setting

Used = tuple[Any, Source, str, "Place"]
Column = tuple[str, str]
"""A source's alias and a column, in small letters."""

_MODE = "this is incompatible with sql_mode=only_full_group_by"


@dataclass(frozen=True)
class Originals:
    """A SELECT's words before they are rewritten."""

    grouped: frozenset[str]
    selected: tuple[str, ...]
    ordered: tuple[str, ...]

    @staticmethod
    def of(node: Any) -> Originals:
        group, order = node.args.get("group"), node.args.get("order")
        return Originals(
            frozenset(_words(item) for item in (group.expressions if group else [])),
            tuple(_words(item) for item in node.expressions),
            tuple(_words(item.this) for item in (order.expressions if order else [])),
        )


def _words(node: Any) -> str:
    inner = node.this if type(node).__name__ == "Alias" else node
    return str(inner.sql("mysql")).lower().replace("`", "")


class Checks:
    """Of one SELECT, rewritten already."""

    def __init__(self, setting: Setting, scope: Scope, node: Any, originals: Originals) -> None:
        self._setting = setting
        self._scope = scope
        self._node = node
        self._originals = originals

    def run(self, used: Sequence[Used], where: Any) -> None:
        """:raises Fault: as MySQL with ONLY_FULL_GROUP_BY"""
        grouped = self._node.args.get("group") is not None
        if grouped or self._scope.aggregates:
            known = self._determined(used, where) if grouped else self._constants(where)
            for number, item in enumerate(self._node.expressions, 1):
                loose = self._loose(item, known)
                if loose and not self._is_key(number - 1):
                    raise self._fault("SELECT list", number, loose, grouped)
            for number, item in self._ordered():
                loose = self._loose(item, known)
                if loose:
                    raise self._fault("ORDER BY clause", number, loose, grouped)
        elif self._node.args.get("distinct"):
            self._check_distinct()

    def pin(self, used: Iterable[Used]) -> None:
        """Beside MIN or MAX SQLite takes the row of the extreme: take the first, as MySQL does."""
        from sqlglot import exp

        group = self._node.args.get("group")
        keys = {item.sql() for item in group.expressions} if group is not None else set()
        for column, _, _, place in list(used):
            inside = column.find_ancestor(exp.Anonymous, exp.Where, exp.Group, exp.Join, exp.Select)
            while (
                inside is not None and isinstance(inside, exp.Anonymous) and not _aggregate(inside)
            ):
                inside = inside.find_ancestor(
                    exp.Anonymous, exp.Where, exp.Group, exp.Join, exp.Select
                )
            free = inside is self._node and place.clause in ("field list", "having clause")
            if free and column.sql() not in keys and column.parent is not None:
                column.replace(mine("first", column.copy()))

    def _ordered(self) -> list[tuple[int, Any]]:
        from sqlglot import exp

        order = self._node.args.get("order")
        items = order.expressions if order is not None else []
        return [
            (number, item.this)
            for number, item in enumerate(items, 1)
            if not (isinstance(item.this, exp.Column) and not item.this.table)
        ]

    def _is_key(self, place: int) -> bool:
        listed = self._originals.selected
        if len(listed) != len(self._node.expressions):
            return False
        alias = str(self._node.expressions[place].alias).lower()
        return (
            listed[place] in self._originals.grouped
            or str(place + 1) in self._originals.grouped
            or (alias in self._originals.grouped and "." not in listed[place])
        )

    def _loose(self, item: Any, known: set[Column]) -> Column | None:
        """A column outside of aggregates that a group does not determine."""
        from sqlglot import exp

        for column in item.find_all(exp.Column):
            within = column
            while (
                within is not item and not _aggregate(within) and not isinstance(within, exp.Query)
            ):
                within = within.parent
            if within is not item and (_aggregate(within) or isinstance(within, exp.Query)):
                continue
            if _aggregate(item) or isinstance(item, exp.Query):
                continue
            found = (column.table.lower(), column.name.lower())
            if column.table and found not in known and self._source(column.table) is not None:
                return column.table, column.name
        return None

    def _source(self, alias: str) -> Source | None:
        return next((s for s in self._scope.sources if s.alias.lower() == alias.lower()), None)

    def _fault(self, part: str, number: int, column: Column, grouped: bool) -> Fault:
        source = self._source(column[0])
        named = f"'{self._setting.database}.{source.alias if source else column[0]}.{column[1]}'"
        if grouped:
            return Fault(
                f"Expression #{number} of {part} is not in GROUP BY clause and contains"
                f" nonaggregated column {named} which is not functionally dependent on columns in"
                f" GROUP BY clause; {_MODE}"
            )
        return Fault(
            f"In aggregated query without GROUP BY, expression #{number} of {part} contains"
            f" nonaggregated column {named}; {_MODE}"
        )

    def _determined(self, used: Sequence[Used], where: Any) -> set[Column]:
        """The columns that a group has one value of: those it is grouped by, constants, what is
        equal to them, and all of a table whose key is among them."""
        known = self._constants(where)
        for item in self._node.args["group"].expressions:
            tree = item.this if type(item).__name__ == "Collate" else item
            if type(tree).__name__ == "Literal" and str(tree.this).isdigit():
                place = int(str(tree.this)) - 1
                listed = self._node.expressions
                tree = listed[place].this if 0 <= place < len(listed) else tree
            if type(tree).__name__ == "Column":
                known.add((tree.table.lower(), tree.name.lower()))
                if not tree.table:
                    known |= self._aliased(tree.name.lower())
        equal = self._equalities(where)
        while True:
            more = {b for a, b in equal if a in known} | {a for a, b in equal if b in known}
            for source in self._scope.sources:
                alias = source.alias.lower()
                if any(all((alias, c) in known for c in key) for key in source.keys):
                    more |= {(alias, column) for column in source.columns}
            if more <= known:
                return known
            known |= more

    def _aliased(self, name: str) -> set[Column]:
        """The column that an alias stands for, or the one source's that has a column so named."""
        found = self._scope.aliases.get(name)
        if found is not None and type(found[0]).__name__ == "Column":
            return {(found[0].table.lower(), found[0].name.lower())}
        return {(s.alias.lower(), name) for s in self._scope.sources if name in s.columns}

    def _conditions(self, where: Any) -> list[Any]:
        from sqlglot import exp

        waiting = [where.this] if where is not None else []
        joins = self._node.args.get("joins") or []
        waiting += [
            j.args["on"] for j in joins if j.args.get("on") is not None and j.side != "LEFT"
        ]
        found = []
        while waiting:
            node = waiting.pop()
            if isinstance(node, exp.And | exp.Paren):
                waiting += [part for part in (node.this, node.args.get("expression")) if part]
            else:
                found.append(node)
        return found

    def _constants(self, where: Any) -> set[Column]:
        from sqlglot import exp

        found = set()
        for node in self._conditions(where):
            if isinstance(node, exp.EQ):
                sides = (node.this, node.expression)
                columns = [side for side in sides if isinstance(side, exp.Column)]
                if len(columns) == 1 and any(isinstance(side, exp.Literal) for side in sides):
                    found.add((columns[0].table.lower(), columns[0].name.lower()))
        return found

    def _equalities(self, where: Any) -> list[tuple[Column, Column]]:
        from sqlglot import exp

        found = []
        for node in self._conditions(where):
            sides = (node.this, node.expression) if isinstance(node, exp.EQ) else ()
            if sides and all(isinstance(side, exp.Column) for side in sides):
                one, other = ((side.table.lower(), side.name.lower()) for side in sides)
                found.append((one, other))
        return found

    def _check_distinct(self) -> None:
        from sqlglot import exp

        listed = {item.this.sql() for item in self._node.expressions}
        for number, item in self._ordered():
            for column in item.find_all(exp.Column):
                if not column.table or column.sql() in listed or item.sql() in listed:
                    continue
                source = self._source(column.table)
                if source is None:
                    continue
                named = f"'{self._setting.database}.{source.alias}.{column.name}'"
                raise Fault(
                    f"Expression #{number} of ORDER BY clause is not in SELECT list, references"
                    f" column {named} which is not in SELECT list; this is incompatible with"
                    " DISTINCT"
                )


_AGGREGATES = frozenset(
    [
        *("COUNT", "SUM", "AVG", "MIN", "MAX", "MY_GROUP_CONCAT", "MY_FIRST", "MY_STDDEV_POP"),
        *("MY_STDDEV_SAMP", "MY_VAR_POP", "MY_VAR_SAMP", "MY_BIT_AND", "MY_BIT_OR", "MY_BIT_XOR"),
        *("MY_JSON_ARRAYAGG", "MY_COUNT_DISTINCT"),
    ]
)


def aggregates_in(tree: Any) -> bool:
    """Whether an aggregate function is called somewhere in it."""
    return any(_aggregate(node) for node in tree.walk())


def _aggregate(node: Any) -> bool:
    return type(node).__name__ == "Anonymous" and str(node.name).upper() in _AGGREGATES
