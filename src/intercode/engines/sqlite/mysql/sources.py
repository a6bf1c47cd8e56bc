"""What a query reads from: tables, queries, joins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from intercode.engines.sqlite.mysql import faults
from intercode.engines.sqlite.mysql.build import call
from intercode.engines.sqlite.mysql.expressions import Place
from intercode.engines.sqlite.mysql.information import virtual_table
from intercode.engines.sqlite.mysql.kinds import Kind
from intercode.engines.sqlite.mysql.names import Scope, Source

if TYPE_CHECKING:
    from intercode.engines.sqlite.mysql.rewrite import Rewriter


class Sources:
    def __init__(self, rewriter: Rewriter) -> None:
        self._all = rewriter

    def read(self, node: Any, scope: Scope) -> None:
        """The FROM and the joins of a SELECT, into the scope. What joins say in ON waits for
        `conditions`: MySQL looks at the select list before."""
        start = node.args.get("from_") or node.args.get("from")
        if start is None:
            return
        if type(start.this).__name__ == "Table" and start.this.name.upper() == "DUAL":
            node.set("from_" if node.args.get("from_") else "from", None)
            return
        start.set("this", self._source(start.this, scope))
        self.join(start.this, scope)
        self.join(node, scope)

    def conditions(self, scope: Scope) -> None:
        """What the joins say in ON."""
        for join, visible in scope.waiting:
            scope.visible = visible
            place = Place(scope, "on clause")
            join.set("on", self._all.expressions.visit(join.args["on"], place)[0])
        scope.visible = None

    def join(self, node: Any, scope: Scope, group: int = 0) -> None:
        """The joins that hang on a query or a table. A comma begins a new group: what a join's ON
        may name is in its own."""
        for join in node.args.get("joins") or []:
            comma = not any(
                join.args.get(part) for part in ("side", "kind", "method", "on", "using")
            )
            if comma:
                group = len(scope.sources)
            before = list(scope.sources)
            join.set("this", self._source(join.this, scope))
            self.join(join.this, scope, group)
            added = scope.sources[len(before) :]
            self._merge(join, before, added, scope)
            if join.args.get("on") is not None:
                scope.waiting.append((join, scope.sources[group:]))
            if join.args.get("kind") in ("STRAIGHT", "STRAIGHT_JOIN"):
                join.set("kind", None)

    def _merge(self, join: Any, before: list[Source], added: list[Source], scope: Scope) -> None:
        from sqlglot import exp

        mine = {key for source in added for key in source.columns}
        theirs = {key for source in before for key in source.columns}
        using = join.args.get("using")
        if using:
            for name in using:
                if name.name.lower() not in mine & theirs:
                    raise faults.no_column(name.name, "from clause")
                scope.merged.add(name.name.lower())
            join.set("using", [exp.to_identifier(name.name, quoted=True) for name in using])
        elif str(join.args.get("method") or "").upper() == "NATURAL":
            scope.merged |= mine & theirs

    def _source(self, node: Any, scope: Scope) -> Any:
        from sqlglot import exp

        if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table):
            node.set("this", self._source(node.this, scope))
            self.join(node.this, scope)
            self.join(node, scope)
            return exp.Paren(this=node.this) if not node.alias else node
        if isinstance(node, exp.Subquery):
            return self._derived(node, scope)
        if isinstance(node, exp.Table):
            return self._table(node, scope)
        raise faults.syntax(node.sql("mysql"))

    def _derived(self, node: Any, scope: Scope) -> Any:
        from sqlglot import exp

        alias = node.args["alias"]
        query = self._all.query(
            node.this, scope.parent if not scope.queries else _only_queries(scope)
        )
        given = [column.name for column in alias.args.get("columns") or []]
        names = given or [name for name, _ in query.columns]
        seen: set[str] = set()
        for name in names:
            if name.lower() in seen:
                raise faults.Fault(f"Duplicate column name '{name}'")
            seen.add(name.lower())
        columns = {
            name.lower(): (name, kind) for name, (_, kind) in zip(names, query.columns, strict=True)
        }
        tree = query.tree
        if given:
            tree = _renaming(tree, query.columns, given)
        self._add(scope, Source(node.alias, columns, node.alias, query.keys))
        identifier = exp.to_identifier(node.alias, quoted=True)
        return exp.Subquery(this=tree, alias=exp.TableAlias(this=identifier))

    def _table(self, node: Any, scope: Scope) -> Any:
        from sqlglot import exp

        name, schema = node.name, node.db
        alias = node.alias or name
        identifier = exp.TableAlias(this=exp.to_identifier(alias, quoted=True))
        if not schema:
            query = scope.find_query(name.lower())
            if query is not None:
                self._add(scope, Source(alias, query, name))
                found = exp.Table(this=exp.to_identifier(name, quoted=True), alias=identifier)
                return _with_joins(found, node)
        database = self._all.database
        if schema.lower() == "information_schema":
            tree, columns = virtual_table(name, self._all.setting)
            self._add(scope, Source(alias, columns, name))
            return _with_joins(exp.Subquery(this=tree, alias=identifier), node)
        if schema and schema.lower() != database.lower():
            raise faults.Fault(f"Unknown database '{schema}'")
        known = self._all.setting.catalog.get(name.lower())
        if known is None:
            raise faults.no_table(database, name)
        self._add(scope, Source(alias, known.columns, name, known.keys))
        found = exp.Table(this=exp.to_identifier(known.name, quoted=True), alias=identifier)
        return _with_joins(found, node)

    def _add(self, scope: Scope, source: Source) -> None:
        if any(other.alias.lower() == source.alias.lower() for other in scope.sources):
            raise faults.Fault(f"Not unique table/alias: '{source.alias}'")
        scope.sources.append(source)

    def break_ties(self, node: Any, scope: Scope) -> None:
        """Groups that sort alike come in the order of their first rows in the first table, as MySQL
        8 mostly has them. Which one comes first where there is a LIMIT is seen in results."""
        from sqlglot import exp

        source = node.args.get("from_") or node.args.get("from")
        if source is None:
            return
        start = source.this
        known = self._all.setting.catalog.get(start.name.lower())
        if not isinstance(start, exp.Table) or scope.find_query(start.name.lower()) is not None:
            return
        if known is None or known.view or scope.extremes or node.args.get("distinct"):
            return
        first = exp.column("rowid", table=exp.to_identifier(start.alias, quoted=True))
        node.args["order"].append(
            "expressions", exp.Ordered(this=call("MIN", first), nulls_first=True)
        )

    def star(self, item: Any, scope: Scope) -> list[tuple[Any, str, Kind]] | None:
        """What ``*`` or ``t.*`` stands for, None where the item is neither."""
        from sqlglot import exp

        if isinstance(item, exp.Star):
            sources = scope.sources
            if not sources:
                raise faults.Fault("No tables used")
        elif isinstance(item, exp.Column) and isinstance(item.this, exp.Star):
            sources = [s for s in scope.sources if s.alias.lower() == item.table.lower()]
            if not sources:
                raise faults.Fault(f"Unknown table '{item.table}'")
        else:
            return None
        found, merged = [], set()
        whole = isinstance(item, exp.Star)
        ordered = [(s, n, k) for s in sources for n, k in s.columns.values()]
        if whole and scope.merged:
            ordered.sort(key=lambda entry: entry[1].lower() not in scope.merged)
        for source, name, kind in ordered:
            if whole and name.lower() in scope.merged:
                if name.lower() in merged:
                    continue
                merged.add(name.lower())
            column = exp.column(
                exp.to_identifier(name, quoted=True),
                table=exp.to_identifier(source.alias, quoted=True),
            )
            self._all.expressions.columns_used.append(
                (column, source, name, Place(scope, "field list"))
            )
            tree = exp.Alias(this=column, alias=exp.to_identifier(name, quoted=True))
            found.append((tree, name, kind))
        return found


def _only_queries(scope: Scope) -> Scope:
    """A derived table knows the common table expressions around it, and none of its neighbours."""
    return Scope(scope.parent, queries=scope.queries)


def _with_joins(tree: Any, node: Any) -> Any:
    if node.args.get("joins"):
        tree.set("joins", node.args["joins"])
    return tree


def _renaming(tree: Any, columns: list[tuple[str, Kind]], names: list[str]) -> Any:
    from sqlglot import exp

    items = [
        exp.Alias(
            this=exp.column(exp.to_identifier(old or "?", quoted=True)),
            alias=exp.to_identifier(new, quoted=True),
        )
        for (old, _), new in zip(columns, names, strict=True)
    ]
    alias = exp.TableAlias(this=exp.to_identifier("q", quoted=True))
    return exp.select(*items).from_(exp.Subquery(this=tree, alias=alias))
