"""Expressions of MySQL rewritten for SQLite, and their types.

Each visit changes a tree of sqlglot's in place of nothing else: it returns the new expression and
its kind.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from intercode.engines.sqlite.mysql import faults, grouping, kinds
from intercode.engines.sqlite.mysql.build import (
    as_text,
    literal,
    mine,
    numeric,
    text_literal,
)
from intercode.engines.sqlite.mysql.comparing import Comparing
from intercode.engines.sqlite.mysql.kinds import DOUBLE, INT, NULL, TEXT, Kind
from intercode.engines.sqlite.mysql.names import Scope, resolve
from intercode.engines.sqlite.mysql.phrases import VISITS, moved

if TYPE_CHECKING:
    from intercode.engines.sqlite.mysql.rewrite import Rewriter

Typed = tuple[Any, Kind]


@dataclass(frozen=True)
class Place:
    """Where an expression stands. ``clause`` in MySQL's words (``field list``, …);
    ``aggregates`` whether aggregate functions may; ``aliases`` whether the select list's names."""

    scope: Scope
    clause: str
    aggregates: bool = False
    aliases: bool = False


class Expressions:
    """Visits by the node's class."""

    def __init__(self, rewriter: Rewriter) -> None:
        self._all = rewriter
        self.collation = rewriter.collation
        self._compare = Comparing(rewriter.collation)
        self.columns_used: list[tuple[Any, Any, str, Place]] = []

    def visit(self, node: Any, place: Place) -> Typed:
        negated = node.args.get("negate")
        tree, kind = self._visit(node, place)
        return (_negated(tree), INT) if negated else (tree, kind)

    def _visit(self, node: Any, place: Place) -> Typed:
        visitor: Callable[[Any, Place], Typed] | None = getattr(
            self, "_" + type(node).__name__.lower(), None
        )
        if visitor is not None:
            return visitor(node, place)
        phrase = VISITS.get(type(node).__name__.lower())
        return phrase(self, node, place) if phrase else self._other(node, place)

    def _other(self, node: Any, place: Place) -> Typed:
        """What both write alike: the parts are visited."""
        for name, value in list(node.args.items()):
            if isinstance(value, list):
                node.set(name, [self._part(item, place) for item in value])
            elif value is not None:
                node.set(name, self._part(value, place))
        return node, TEXT

    def _part(self, value: Any, place: Place) -> Any:
        from sqlglot import exp

        if isinstance(value, exp.Expression) and not isinstance(value, exp.Identifier | exp.Var):
            return self.visit(value, place)[0]
        return value

    # names and constants

    def _column(self, node: Any, place: Place) -> Typed:
        from sqlglot import exp

        if isinstance(node.this, exp.Star):
            return node, TEXT
        column, table = node.name, node.table
        if not node.this.args.get("quoted") and not table and column.upper() in ("CURRENT_USER",):
            return text_literal("admin@%"), TEXT
        aliased = place.scope.aliases.get(column.lower()) if place.aliases and not table else None
        if aliased is not None and place.clause == "having clause":
            if grouping.aggregates_in(aliased[0]):
                if not place.aggregates:
                    raise faults.Fault("Invalid use of group function")
                place.scope.aggregates = True
            return aliased[0].copy(), aliased[1]
        try:
            level, source, name, kind = resolve(place.scope, table, column, place.clause)
        except faults.Fault:
            if aliased is None:
                raise
            return exp.column(exp.to_identifier(column, quoted=True)), aliased[1]
        found = exp.column(exp.to_identifier(name, quoted=True))
        if table or name.lower() not in level.merged:
            found.set("table", exp.to_identifier(source.alias, quoted=True))
        if level is place.scope:
            self.columns_used.append((found, source, name, place))
        return found, kind

    def _literal(self, node: Any, place: Place) -> Typed:
        if node.is_string:
            return node, TEXT
        said = str(node.this)
        if "e" in said.lower():
            return node, DOUBLE
        if "." in said:
            return node, kinds.decimal(len(said.partition(".")[2]))
        return node, INT if int(said) < 2**63 else kinds.decimal(0)

    def _null(self, node: Any, place: Place) -> Typed:
        return node, NULL

    def _boolean(self, node: Any, place: Place) -> Typed:
        return literal(int(bool(node.this))), INT

    def _hexstring(self, node: Any, place: Place) -> Typed:
        return node, kinds.BLOB

    def _introducer(self, node: Any, place: Place) -> Typed:
        return self.visit(node.expression, place)

    def _parameter(self, node: Any, place: Place) -> Typed:
        return _null_node(), NULL

    def _sessionparameter(self, node: Any, place: Place) -> Typed:
        from intercode.engines.sqlite.mysql.show import VARIABLES

        name = str(node.name).lower()
        if name not in VARIABLES:
            raise faults.Fault(f"Unknown system variable '{name}'")
        value = VARIABLES[name]
        return (literal(int(value)), INT) if value.isdigit() else (text_literal(value), TEXT)

    # arithmetic

    def _paren(self, node: Any, place: Place) -> Typed:
        inner, kind = self.visit(node.this, place)
        node.set("this", inner)
        return node, kind

    def _neg(self, node: Any, place: Place) -> Typed:
        inner, kind = self.visit(node.this, place)
        node.set("this", numeric(inner, kind))
        return node, kinds.arithmetic("-", INT, kind)

    def _arithmetic(self, node: Any, place: Place, operator: str) -> tuple[Any, Any, Kind]:
        left, left_kind = self.visit(node.this, place)
        right, right_kind = self.visit(node.expression, place)
        kind = kinds.arithmetic(operator, left_kind, right_kind)
        return _group(numeric(left, left_kind)), _group(numeric(right, right_kind)), kind

    def _add(self, node: Any, place: Place) -> Typed:
        return self._sum(node, place, "+")

    def _sub(self, node: Any, place: Place) -> Typed:
        return self._sum(node, place, "-")

    def _sum(self, node: Any, place: Place, operator: str) -> Typed:
        from sqlglot import exp

        for value, interval in ((node.this, node.expression), (node.expression, node.this)):
            if isinstance(interval, exp.Interval):
                return moved(
                    self, value, interval, place, "date_add" if operator == "+" else "date_sub"
                )
        left, right, kind = self._arithmetic(node, place, operator)
        node.set("this", left)
        node.set("expression", right)
        return node, kind

    def _mul(self, node: Any, place: Place) -> Typed:
        left, right, kind = self._arithmetic(node, place, "*")
        node.set("this", left)
        node.set("expression", right)
        return node, kind

    def _div(self, node: Any, place: Place) -> Typed:
        left, right, kind = self._arithmetic(node, place, "/")
        return mine("divide", left, right), kind

    def _intdiv(self, node: Any, place: Place) -> Typed:
        left, right, kind = self._arithmetic(node, place, "div")
        return mine("intdiv", left, right), kind

    def _mod(self, node: Any, place: Place) -> Typed:
        left, right, kind = self._arithmetic(node, place, "%")
        return mine("mod", left, right), kind

    def _bitwisexor(self, node: Any, place: Place) -> Typed:
        from sqlglot import exp

        left, right, _ = self._arithmetic(node, place, "div")
        either = exp.Paren(this=exp.BitwiseOr(this=left, expression=right))
        both = exp.Paren(this=exp.BitwiseAnd(this=left.copy(), expression=right.copy()))
        return exp.Paren(this=exp.Sub(this=either, expression=both)), INT

    def _bitwise(self, node: Any, place: Place) -> Typed:
        return self._other(node, place)[0], INT

    _bitwiseand = _bitwiseor = _bitwisenot = _bitwiseleftshift = _bitwiserightshift = _bitwise

    # truth

    def _truth(self, node: Any, place: Place) -> Typed:
        return self._other(node, place)[0], INT

    _and = _or = _not = _is = _truth

    def _exists(self, node: Any, place: Place) -> Typed:
        query = node.this.this if type(node.this).__name__ == "Subquery" else node.this
        node.set("this", self._all.query(query, place.scope).tree)
        return node, INT

    def _xor(self, node: Any, place: Place) -> Typed:
        from sqlglot import exp

        left, right = (self.visit(side, place)[0] for side in (node.this, node.expression))
        return exp.Paren(
            this=exp.NEQ(
                this=exp.Paren(this=exp.Not(this=_group(left))),
                expression=exp.Paren(this=exp.Not(this=_group(right))),
            )
        ), INT

    def _comparison(self, node: Any, place: Place) -> Typed:
        from sqlglot import exp

        if isinstance(node.expression, exp.Any | exp.All):
            return self._all.quantified(node, place), INT
        left, left_kind = self.visit(node.this, place)
        right, right_kind = self.visit(node.expression, place)
        if not isinstance(left, exp.Tuple):
            left, right = self._compare.pair(left, left_kind, right, right_kind)
        node.set("this", left)
        node.set("expression", right)
        return node, INT

    _eq = _neq = _gt = _gte = _lt = _lte = _nullsafeeq = _nullsafeneq = _comparison

    def _between(self, node: Any, place: Place) -> Typed:
        from sqlglot import exp

        value, kind = self.visit(node.this, place)
        low, low_kind = self.visit(node.args["low"], place)
        high, high_kind = self.visit(node.args["high"], place)
        first, low = self._compare.pair(value.copy(), kind, low, low_kind)
        second, high = self._compare.pair(value, kind, high, high_kind)
        return exp.Paren(
            this=exp.And(
                this=exp.GTE(this=first, expression=low),
                expression=exp.LTE(this=second, expression=high),
            )
        ), INT

    def _in(self, node: Any, place: Place) -> Typed:
        if node.args.get("query") is not None:
            return self._all.in_query(node, place), INT
        value, kind = self.visit(node.this, place)
        options = [self.visit(option, place) for option in node.expressions]
        node.set("this", value)
        if type(value).__name__ == "Tuple":
            node.set("expressions", [option for option, _ in options])
            return node, INT
        changed, values = self._compare.many(value, kind, options)
        node.set("this", changed)
        node.set("expressions", values)
        return node, INT

    def _like(self, node: Any, place: Place, escape: Any = None) -> Typed:
        value, kind = self.visit(node.this, place)
        pattern, pattern_kind = self.visit(node.expression, place)
        arguments = [as_text(pattern, pattern_kind), as_text(value, kind)]
        return mine("like", *arguments, *([escape] if escape is not None else [])), INT

    def _escape(self, node: Any, place: Place) -> Typed:
        return self._like(node.this, place, node.expression)

    def _regexplike(self, node: Any, place: Place) -> Typed:
        value, kind = self.visit(node.this, place)
        pattern, pattern_kind = self.visit(node.expression, place)
        return mine("regexp", as_text(value, kind), as_text(pattern, pattern_kind)), INT

    # choice

    def _case(self, node: Any, place: Place) -> Typed:
        from sqlglot import exp

        subject = self.visit(node.this, place) if node.this is not None else None
        branches, results = [], []
        for branch in node.args["ifs"]:
            condition, kind = self.visit(branch.this, place)
            if subject is not None:
                pair = self._compare.pair(subject[0].copy(), subject[1], condition, kind)
                condition = exp.EQ(this=pair[0], expression=pair[1])
            result, result_kind = self.visit(branch.args["true"], place)
            branches.append((condition, result))
            results.append(result_kind)
        default = node.args.get("default")
        otherwise, kind = self.visit(default, place) if default is not None else (None, NULL)
        return _choice(branches, otherwise), kinds.merged([*results, kind])

    def _if(self, node: Any, place: Place) -> Typed:
        condition = self.visit(node.this, place)[0]
        result, kind = self.visit(node.args["true"], place)
        other = node.args.get("false")
        if other is None:
            raise faults.syntax(")")
        otherwise, other_kind = self.visit(other, place)
        return _choice([(condition, result)], otherwise), kinds.merged([kind, other_kind])

    # calls, queries

    def _anonymous(self, node: Any, place: Place) -> Typed:
        return self._all.calling.visit(node, place)

    def _groupconcat(self, node: Any, place: Place) -> Typed:
        return self._all.calling.group_concat(node, place)

    def _window(self, node: Any, place: Place) -> Typed:
        return self._all.calling.window(node, place)

    def _subquery(self, node: Any, place: Place) -> Typed:
        return self._all.scalar(node, place)

    def _select(self, node: Any, place: Place) -> Typed:
        from sqlglot import exp

        return self._all.scalar(exp.Subquery(this=node), place)


def _choice(branches: list[tuple[Any, Any]], otherwise: Any) -> Any:
    from sqlglot import exp

    ifs = [exp.If(this=condition, true=result) for condition, result in branches]
    return exp.Case(ifs=ifs, default=otherwise)


def _negated(node: Any) -> Any:
    """NOT LIKE and the like, which newer sqlglots write as a mark on the node."""
    from sqlglot import exp

    node.set("negate", None)
    return exp.Paren(this=exp.Not(this=exp.Paren(this=node)))


def _group(node: Any) -> Any:
    from sqlglot import exp

    return exp.Paren(this=node) if isinstance(node, exp.Binary | exp.Neg | exp.Not) else node


def _null_node() -> Any:
    from sqlglot import exp

    return exp.null()
