"""Calls of functions: MySQL's own, aggregates, window functions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from intercode.engines.sqlite.mysql import faults, kinds
from intercode.engines.sqlite.mysql.build import (
    as_text,
    call,
    collated,
    literal,
    mine,
    numeric,
    text_literal,
)
from intercode.engines.sqlite.mysql.calls import (
    AGGREGATES,
    CALLS,
    CONSTANTS,
    NATIVE,
    WINDOWS,
    Call,
)
from intercode.engines.sqlite.mysql.expressions import Place, Typed
from intercode.engines.sqlite.mysql.kinds import DOUBLE, INT, NULL, TEXT, Kind
from intercode.engines.sqlite.mysql.phrases import moved

if TYPE_CHECKING:
    from intercode.engines.sqlite.mysql.rewrite import Rewriter

_RESULTS = {
    "SUM": kinds.total,
    "AVG": kinds.average,
    **dict.fromkeys(("STD", "STDDEV", "STDDEV_POP", "STDDEV_SAMP"), kinds.spread),
    **dict.fromkeys(("VARIANCE", "VAR_POP", "VAR_SAMP"), kinds.spread),
}
_MOVES = {
    "DATE_ADD": "date_add",
    "ADDDATE": "date_add",
    "DATE_SUB": "date_sub",
    "SUBDATE": "date_sub",
}


class Calling:
    def __init__(self, rewriter: Rewriter) -> None:
        self._all = rewriter

    def visit(self, node: Any, place: Place) -> Typed:
        name = str(node.name).upper()
        arguments = node.expressions
        if name in AGGREGATES:
            return self._aggregate(name, arguments, place)
        special = getattr(self, "_" + name.lower(), None)
        if name in _SPECIAL and special is not None:
            typed: Typed = special(arguments, place)
            return typed
        if name in _MOVES:
            return self._move(name, arguments, place)
        if name in ("DATABASE", "SCHEMA"):
            return text_literal(self._all.database), TEXT
        if name in CONSTANTS:
            value = CONSTANTS[name]
            return (literal(value), INT) if isinstance(value, int) else (text_literal(value), TEXT)
        visited = [self._all.expressions.visit(argument, place) for argument in arguments]
        nodes, given = [n for n, _ in visited], [kind for _, kind in visited]
        if name in NATIVE:
            target, rule = NATIVE[name]
            return call(target, *nodes), rule(given, nodes)
        if name not in CALLS:
            raise faults.no_function(self._all.database, str(node.name))
        return self._known(name, CALLS[name], nodes, given)

    def _known(self, name: str, known: Call, nodes: list[Any], given: list[Kind]) -> Typed:
        if not known.least <= len(nodes) <= known.most:
            raise faults.no_arguments_fit(name)
        kind = known.result if isinstance(known.result, Kind) else known.result(given, nodes)
        target = known.target
        if target == "round" and kind.family == "float":
            target = "round_even"
        if known.takes == "text":
            nodes = [as_text(node, kind) for node, kind in zip(nodes, given, strict=True)]
        return mine(target, *nodes), kind

    # aggregates

    def _aggregate(self, name: str, arguments: list[Any], place: Place) -> Typed:
        from sqlglot import exp

        inside = self._inside(place)
        target, fixed = AGGREGATES[name]
        distinct = bool(arguments) and isinstance(arguments[0], exp.Distinct)
        values = arguments[0].expressions if distinct else arguments
        if name == "COUNT" and len(values) == 1 and isinstance(values[0], exp.Star):
            return call("COUNT", exp.Star()), INT
        if any(isinstance(value, exp.Star) for value in values):
            raise faults.syntax("*)")
        if not values or (len(values) > 1 and not (name == "COUNT" and distinct)):
            raise faults.syntax(")" if not values else ",")
        visited = [self._all.expressions.visit(value, inside) for value in values]
        if len(visited) > 1:
            return mine("count_distinct", *(node for node, _ in visited)), INT
        value, kind = visited[0]
        if name in ("SUM", "AVG") and not kind.numeric:
            value = numeric(value, kind)
        elif kind.family == "text" and not kind.collated and (distinct or name in ("MIN", "MAX")):
            value = collated(value, self._all.collation)
        if name in ("MIN", "MAX"):
            place.scope.extremes = True
        result = fixed or _RESULTS.get(name, kinds.plain)(kind)
        return call(target, exp.Distinct(expressions=[value]) if distinct else value), result

    def _inside(self, place: Place) -> Place:
        if not place.aggregates:
            raise faults.Fault("Invalid use of group function")
        place.scope.aggregates = True
        return Place(place.scope, place.clause, aggregates=False, aliases=place.aliases)

    def group_concat(self, node: Any, place: Place) -> Typed:
        from sqlglot import exp

        inside = self._inside(place)
        value, order = node.this, []
        if isinstance(value, exp.Order):
            order, value = value.expressions, value.this
        distinct = isinstance(value, exp.Distinct)
        if distinct:
            parts = value.expressions
            value = parts[0] if len(parts) == 1 else call("CONCAT", *parts)
        said, kind = self._all.expressions.visit(value, inside)
        separator = node.args.get("separator")
        sorting: list[Any] = []
        for item in order:
            key = self._all.expressions.visit(item.this, inside)[0]
            sorting += [key, literal(int(bool(item.args.get("desc"))))]
        mark = separator if separator is not None else text_literal(",")
        return mine(
            "group_concat", mark, literal(int(distinct)), as_text(said, kind), *sorting
        ), TEXT

    def window(self, node: Any, place: Place) -> Typed:
        function = node.this
        inside = Place(place.scope, place.clause, aggregates=True, aliases=False)
        before = place.scope.aggregates
        name = str(function.name).upper()
        if name in WINDOWS:
            visited = [self._all.expressions.visit(a, inside) for a in function.expressions]
            kind = WINDOWS[name] or (kinds.plain(visited[0][1]) if visited else NULL)
            node.set("this", call(name, *(value for value, _ in visited)))
        else:
            value, kind = self._all.expressions.visit(function, inside)
            place.scope.aggregates = before
            node.set("this", value)
        partition = node.args.get("partition_by") or []
        node.set("partition_by", [self._sorted(part, inside) for part in partition])
        order = node.args.get("order")
        for item in order.expressions if order is not None else []:
            item.set("this", self._sorted(item.this, inside))
        return node, kind

    def _sorted(self, node: Any, place: Place) -> Any:
        value, kind = self._all.expressions.visit(node, place)
        loose = kind.family == "text" and not kind.collated
        return collated(value, self._all.collation) if loose else value

    # functions with a syntax or a meaning of their own

    def _move(self, name: str, arguments: list[Any], place: Place) -> Typed:
        from sqlglot import exp

        if len(arguments) != 2:
            raise faults.no_arguments_fit(name)
        date, amount = arguments
        if not isinstance(amount, exp.Interval):
            if not name.startswith(("ADD", "SUB")):
                raise faults.syntax(")")
            amount = exp.Interval(this=amount, unit=exp.Var(this="DAY"))
        return moved(self._all.expressions, date, amount, place, _MOVES[name])

    def _timestampdiff(self, arguments: list[Any], place: Place) -> Typed:
        if len(arguments) != 3:
            raise faults.no_arguments_fit("TIMESTAMPDIFF")
        unit = text_literal(str(arguments[0].name).upper())
        dates = [self._all.expressions.visit(date, place)[0] for date in arguments[1:]]
        return mine("timestampdiff", unit, *dates), INT

    def _timestampadd(self, arguments: list[Any], place: Place) -> Typed:
        from sqlglot import exp

        if len(arguments) != 3:
            raise faults.no_arguments_fit("TIMESTAMPADD")
        unit, amount, date = arguments
        interval = exp.Interval(this=amount, unit=exp.Var(this=str(unit.name).upper()))
        return moved(self._all.expressions, date, interval, place, "date_add")

    def _unix_timestamp(self, arguments: list[Any], place: Place) -> Typed:
        if not arguments:
            return mine("unix_now"), INT
        return mine("unix_timestamp", self._all.expressions.visit(arguments[0], place)[0]), INT

    def _isnull(self, arguments: list[Any], place: Place) -> Typed:
        from sqlglot import exp

        if len(arguments) != 1:
            raise faults.no_arguments_fit("ISNULL")
        value = self._all.expressions.visit(arguments[0], place)[0]
        return exp.Paren(this=exp.Is(this=value, expression=exp.null())), INT

    def _nullif(self, arguments: list[Any], place: Place) -> Typed:
        from sqlglot import exp

        if len(arguments) != 2:
            raise faults.no_arguments_fit("NULLIF")
        value, kind = self._all.expressions.visit(arguments[0].copy(), place)
        same = exp.EQ(this=arguments[0], expression=arguments[1])
        condition = self._all.expressions.visit(same, place)[0]
        choice = exp.Case(ifs=[exp.If(this=condition, true=exp.null())], default=value)
        return choice, kinds.plain(kind)

    def _values(self, arguments: list[Any], place: Place) -> Typed:
        """VALUES(column) in ON DUPLICATE KEY UPDATE."""
        from sqlglot import exp

        name = exp.to_identifier(str(arguments[0].name), quoted=True)
        return exp.column(name, table="excluded"), TEXT

    def _load_file(self, arguments: list[Any], place: Place) -> Typed:
        from sqlglot import exp

        return exp.null(), NULL

    def _uuid(self, arguments: list[Any], place: Place) -> Typed:
        return call("LOWER", call("HEX", call("RANDOMBLOB", literal(16)))), TEXT

    def _pi(self, arguments: list[Any], place: Place) -> Typed:
        return literal(math.pi), kinds.replace_fixed(DOUBLE, 6)

    def _convert_tz(self, arguments: list[Any], place: Place) -> Typed:
        from sqlglot import exp

        return exp.null(), NULL


_SPECIAL = frozenset(
    [
        *("TIMESTAMPDIFF", "TIMESTAMPADD", "UNIX_TIMESTAMP", "ISNULL", "NULLIF", "VALUES"),
        *("LOAD_FILE", "UUID", "PI", "CONVERT_TZ"),
    ]
)
