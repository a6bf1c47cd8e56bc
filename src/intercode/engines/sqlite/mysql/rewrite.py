"""Queries of MySQL rewritten for SQLite: names, types, and what the two do differently."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from intercode.engines.sqlite.mysql import faults, grouping, kinds
from intercode.engines.sqlite.mysql.build import collated, literal, mine
from intercode.engines.sqlite.mysql.calling import Calling
from intercode.engines.sqlite.mysql.catalog import Catalog
from intercode.engines.sqlite.mysql.comparing import Comparing
from intercode.engines.sqlite.mysql.expressions import Expressions, Place
from intercode.engines.sqlite.mysql.kinds import NULL, Kind
from intercode.engines.sqlite.mysql.names import Columns, Scope
from intercode.engines.sqlite.mysql.sources import Sources


@dataclass
class Query:
    """A query for SQLite. ``single``: it gives at most one row. ``keys`` as those of a table."""

    tree: Any
    columns: list[tuple[str, Kind]]
    single: bool = False
    keys: tuple[frozenset[str], ...] = ()

    def named(self) -> Columns:
        return {name.lower(): (name, kind) for name, kind in self.columns}


@dataclass(frozen=True)
class Setting:
    """Where statements are understood. ``full_group_by`` is MySQL's mode of that name."""

    catalog: Catalog
    database: str
    collation: str
    full_group_by: bool


class Rewriter:
    """For one statement."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.database = setting.database
        self.collation = setting.collation
        self.expressions = Expressions(self)
        self.calling = Calling(self)
        self.sources = Sources(self)

    def query(self, node: Any, parent: Scope | None = None, *, compound: bool = False) -> Query:
        """Of a SELECT, a set operation, or one of these in brackets. ``compound``: a set operation
        has to stay one, as the body of a recursive query has."""
        from sqlglot import exp

        if isinstance(node, exp.SetOperation):
            return self._set_operation(node, parent, compound)
        if isinstance(node, exp.Subquery):
            return self._bracketed(node, parent)
        if isinstance(node, exp.Select):
            return self._select(node, parent)
        raise faults.syntax(node.sql("mysql"))

    def _bracketed(self, node: Any, parent: Scope | None) -> Query:
        from sqlglot import exp

        inner = self.query(node.this, parent)
        order, limit = node.args.get("order"), node.args.get("limit")
        if not order and not limit:
            return inner
        alias = exp.TableAlias(this=exp.to_identifier("q", quoted=True))
        outer = exp.select("*").from_(exp.Subquery(this=inner.tree, alias=alias))
        for part in ("order", "limit", "offset"):
            if node.args.get(part):
                outer.set(part, node.args[part])
        scope = Scope(parent)
        scope.aliases = {n.lower(): (None, kind) for n, kind in inner.columns}
        self._order_of_columns(outer, inner.columns)
        return Query(outer, inner.columns)

    def _set_operation(self, node: Any, parent: Scope | None, compound: bool) -> Query:
        from sqlglot import exp

        scope = Scope(parent)
        self._common(node, scope)
        left = self.query(node.this, scope)
        right = self.query(node.expression, scope)
        if len(left.columns) != len(right.columns):
            raise faults.Fault("The used SELECT statements have a different number of columns")
        sides = []
        for side in (left, right):
            tree = side.tree
            if any(
                tree.args.get(part) for part in ("order", "limit", "offset", "with_", "with")
            ) or (side is right and isinstance(tree, exp.SetOperation)):
                alias = exp.TableAlias(this=exp.to_identifier("q", quoted=True))
                tree = exp.select("*").from_(exp.Subquery(this=tree, alias=alias))
            elif isinstance(tree, exp.Select):
                self._collate_columns(tree, side.columns)
            sides.append(tree)
        node.set("this", sides[0])
        node.set("expression", sides[1])
        columns = [
            (name, kinds.merged([one, other]))
            for (name, one), (_, other) in zip(left.columns, right.columns, strict=True)
        ]
        columns = [(name, kinds.as_column(kind)) for name, kind in columns]
        self._order_of_columns(node, columns)
        if isinstance(node, exp.Union) and node.args.get("distinct") and not compound:
            return Query(_first_of_equals(node), columns)
        return Query(node, columns)

    def _order_of_columns(self, node: Any, columns: list[tuple[str, Kind]]) -> None:
        """The ORDER BY of a set operation, which knows the columns of the result alone."""
        from sqlglot import exp

        names = {name.lower(): name for name, _ in columns}
        order = node.args.get("order")
        for item in order.expressions if order is not None else []:
            if isinstance(item.this, exp.Column):
                name = names.get(item.this.name.lower())
                if name is None or item.this.table:
                    raise faults.no_column(item.this.sql("mysql"), "order clause")
                item.set("this", exp.column(exp.to_identifier(name, quoted=True)))

    def _collate_columns(self, tree: Any, columns: list[tuple[str, Kind]]) -> None:
        """Rows are told apart without regard to case."""
        from sqlglot import exp

        if len(tree.expressions) != len(columns):
            return
        for item, (_, kind) in zip(tree.expressions, columns, strict=True):
            if kind.family == "text" and not kind.collated and isinstance(item, exp.Alias):
                item.set("this", collated(item.this, self.collation))

    def _select(self, node: Any, parent: Scope | None) -> Query:
        scope = Scope(parent)
        self._common(node, scope)
        self.sources.read(node, scope)
        used = len(self.expressions.columns_used)
        originals = grouping.Originals.of(node)
        columns = self._project(node, scope)
        where = node.args.get("where")
        if where is not None:
            place = Place(scope, "where clause")
            where.set("this", self.expressions.visit(where.this, place)[0])
        self.sources.conditions(scope)
        self._group(node, scope)
        if node.args.get("distinct"):
            node.set("distinct", _distinct())
            self._collate_columns(node, columns)
        for part in ("locks", "hint", "kind", "operation_modifiers", "laterals"):
            if node.args.get(part):
                node.set(part, None)
        grouped = node.args.get("group") is not None
        checks = grouping.Checks(self.setting, scope, node, originals)
        if self.setting.full_group_by:
            checks.run(self.expressions.columns_used[used:], where)
        if scope.extremes and (grouped or scope.aggregates):
            checks.pin(self.expressions.columns_used[used:])
        if grouped and node.args.get("order") is not None:
            self.sources.break_ties(node, scope)
        limit = node.args.get("limit")
        _check_limit(limit, node.args.get("offset"))
        single = (scope.aggregates and not grouped) or _one(limit)
        return Query(node, columns, single)

    def _common(self, node: Any, scope: Scope) -> None:
        """WITH: each query in turn, the ones before it known."""
        from sqlglot import exp

        found = node.args.get("with_") or node.args.get("with")
        if found is None:
            return
        for item in found.expressions:
            alias = item.args["alias"]
            name = item.alias
            given = [column.name for column in alias.args.get("columns") or []]
            if found.args.get("recursive") and isinstance(item.this, exp.SetOperation):
                start = self.query(item.this.this.copy(), scope)
                scope.queries[name.lower()] = self._renamed(start.columns, given)
            query = self.query(item.this, scope, compound=bool(found.args.get("recursive")))
            item.set("this", query.tree)
            scope.queries[name.lower()] = self._renamed(query.columns, given)
            alias.set("this", exp.to_identifier(name, quoted=True))
            alias.set("columns", [exp.to_identifier(column, quoted=True) for column in given])

    def _renamed(self, columns: list[tuple[str, Kind]], given: list[str]) -> Columns:
        if given and len(given) != len(columns):
            raise faults.Fault(
                "In definition of view, derived table or common table expression, SELECT list and"
                " column names list have different column counts"
            )
        names = given or [name for name, _ in columns]
        kinds_ = [kind for _, kind in columns]
        return {n.lower(): (n, kind) for n, kind in zip(names, kinds_, strict=True)}

    def _project(self, node: Any, scope: Scope) -> list[tuple[str, Kind]]:
        from sqlglot import exp

        columns: list[tuple[str, Kind]] = []
        items: list[Any] = []
        place = Place(scope, "field list", aggregates=True)
        for item in node.expressions:
            stars = self.sources.star(item, scope)
            if stars is not None:
                for tree, name, kind in stars:
                    items.append(tree)
                    columns.append((name, kind))
                continue
            inner = item.this if isinstance(item, exp.Alias) else item
            name = item.alias if isinstance(item, exp.Alias) else _name(inner)
            bare = isinstance(inner, exp.Column)
            tree, kind = self.expressions.visit(inner, place)
            if bare and not isinstance(item, exp.Alias) and isinstance(tree, exp.Column):
                name = tree.name
            items.append(exp.Alias(this=tree, alias=exp.to_identifier(name or "?", quoted=True)))
            columns.append((name, kind))
            if isinstance(item, exp.Alias) or not bare:
                scope.aliases.setdefault(name.lower(), (tree, kind))
        node.set("expressions", items)
        return columns

    def _group(self, node: Any, scope: Scope) -> None:
        group, having, order = (node.args.get(part) for part in ("group", "having", "order"))
        if group is not None:
            if any(group.args.get(part) for part in ("rollup", "cube", "grouping_sets")):
                raise faults.Fault("WITH ROLLUP is not supported by this engine")
            place = Place(scope, "group statement", aliases=True)
            group.set("expressions", [self._key(item, place) for item in group.expressions])
        if having is not None:
            place = Place(scope, "having clause", aggregates=True, aliases=True)
            having.set("this", self.expressions.visit(having.this, place)[0])
            if group is None and not scope.aggregates:
                # MySQL takes HAVING without groups for a WHERE that knows aliases.
                _into_where(node, having)
        if order is not None:
            place = Place(scope, "order clause", aggregates=True, aliases=True)
            for item in order.expressions:
                item.set("this", self._key(item.this, place))

    def _key(self, node: Any, place: Place) -> Any:
        """What rows are grouped or sorted by; a number is a place in the select list."""
        from sqlglot import exp

        if isinstance(node, exp.Literal) and not node.is_string:
            return node
        if isinstance(node, exp.Column) and not node.table and place.clause == "order clause":
            named = place.scope.aliases.get(node.name.lower())
            if named is not None:
                found = exp.column(exp.to_identifier(node.name, quoted=True))
                return self._sortable(found, named[1])
        used = len(self.expressions.columns_used)
        tree, kind = self.expressions.visit(node, place)
        outer = (
            isinstance(tree, exp.Column)
            and tree.table
            and used == len(self.expressions.columns_used)
        )
        if outer and place.clause == "group statement":
            return exp.null()  # the same for all rows, and SQLite does not look around here
        return self._sortable(tree, kind)

    def _sortable(self, node: Any, kind: Kind) -> Any:
        loose = kind.family == "text" and not kind.collated
        return collated(node, self.collation) if loose else node

    # queries inside expressions

    def scalar(self, node: Any, place: Place) -> tuple[Any, Kind]:
        """A query for one value; more than one row is an error, as in MySQL."""
        from sqlglot import exp

        query = self.query(node.this, place.scope)
        if len(query.columns) != 1:
            if isinstance(node.parent, exp.Predicate | exp.Tuple):
                return exp.Subquery(this=query.tree), NULL
            raise faults.Fault("Operand should contain 1 column(s)")
        kind = kinds.plain(query.columns[0][1])
        if query.single:
            return exp.Subquery(this=query.tree), kind
        value = exp.column(exp.to_identifier(query.columns[0][0] or "?", quoted=True))
        outer = exp.select(mine("one", value)).from_(_derived(query.tree))
        return exp.Subquery(this=outer), kind

    def in_query(self, node: Any, place: Place) -> Any:
        from sqlglot import exp

        within = Place(place.scope, "IN/ALL/ANY subquery", place.aggregates, place.aliases)
        value, kind = self.expressions.visit(node.this, within)
        inner = node.args["query"]
        while isinstance(inner, exp.Subquery):
            inner = inner.this
        if inner.args.get("limit") is not None:
            raise faults.Fault(
                "This version of MySQL doesn't yet support 'LIMIT & IN/ALL/ANY/SOME subquery'"
            )
        query = self.query(inner, place.scope)
        wide = len(value.expressions) if isinstance(value, exp.Tuple) else 1
        if len(query.columns) != wide:
            raise faults.Fault(f"Operand should contain {wide} column(s)")
        tree = query.tree
        if wide == 1:
            name, other = query.columns[0]
            column = exp.column(exp.to_identifier(name or "?", quoted=True))
            compare = Comparing(self.collation)
            first, second = compare.pair(value, kind, column.copy(), other)
            if second != column:
                tree = exp.select(second).from_(_derived(tree))
            value = first
        node.set("this", value)
        node.set("query", exp.Subquery(this=tree))
        return node

    def quantified(self, node: Any, place: Place) -> Any:
        """``= ANY`` and the like, which SQLite has not: by EXISTS over the query's rows."""
        from sqlglot import exp

        inner = node.expression.this
        while isinstance(inner, exp.Subquery | exp.Paren):
            inner = inner.this
        if not isinstance(inner, exp.Query):
            raise faults.syntax(inner.sql("mysql"))
        if inner.args.get("limit") is not None:
            raise faults.Fault(
                "This version of MySQL doesn't yet support 'LIMIT & IN/ALL/ANY/SOME subquery'"
            )
        query = self.query(inner, place.scope)
        if len(query.columns) != 1:
            raise faults.Fault("Operand should contain 1 column(s)")
        value, kind = self.expressions.visit(node.this, place)
        name, other = query.columns[0]
        column = exp.column(exp.to_identifier(name or "?", quoted=True), table="q")
        left, right = Comparing(self.collation).pair(value, kind, column, other)
        holds = type(node)(this=left, expression=right)
        every = isinstance(node.expression, exp.All)
        condition = exp.Not(this=exp.Paren(this=holds)) if every else holds
        rows = exp.select(literal(1)).from_(_derived(query.tree)).where(condition)
        found = exp.Exists(this=rows)
        return exp.Paren(this=exp.Not(this=found)) if every else found


def _first_of_equals(union: Any) -> Any:
    """UNION by DISTINCT: of rows that are equal but for case the first stays, and where it was."""
    from sqlglot import exp

    union.set("distinct", False)
    parts = ("order", "limit", "offset", "with_", "with")
    moved = {part: union.args.pop(part) for part in parts if union.args.get(part)}
    outer = exp.select("*").from_(_derived(union)).distinct()
    for part, value in moved.items():
        outer.set(part, value)
    return outer


def _derived(tree: Any) -> Any:
    from sqlglot import exp

    return exp.Subquery(this=tree, alias=exp.TableAlias(this=exp.to_identifier("q", quoted=True)))


def _name(node: Any) -> str:
    """What MySQL calls a column without a name: the expression, as near as its tree tells."""
    return str(node.name) if type(node).__name__ == "Column" else str(node.sql("mysql"))


def _one(limit: Any) -> bool:
    value = limit.expression if limit is not None else None
    return value is not None and str(getattr(value, "this", "")) == "1"


def _check_limit(*limits: Any) -> None:
    for limit in limits:
        value = limit.expression if limit is not None else None
        if value is not None and not (type(value).__name__ == "Literal" and value.name.isdigit()):
            raise faults.syntax(str(value.sql("mysql")))


def _distinct() -> Any:
    from sqlglot import exp

    return exp.Distinct()


def _into_where(node: Any, having: Any) -> None:
    from sqlglot import exp

    where = node.args.get("where")
    condition = having.this
    if where is not None:
        condition = exp.And(this=exp.Paren(this=where.this), expression=exp.Paren(this=condition))
    node.set("where", exp.Where(this=condition))
    node.set("having", None)
