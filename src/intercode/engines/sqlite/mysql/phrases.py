"""Expressions with a syntax or a type of their own: casts, dates and intervals, text."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from intercode.engines.sqlite.mysql import faults, kinds
from intercode.engines.sqlite.mysql.build import as_text, collated, literal, mine, text_literal
from intercode.engines.sqlite.mysql.kinds import DATE, DATETIME, DOUBLE, INT, TEXT, TIME

if TYPE_CHECKING:
    from intercode.engines.sqlite.mysql.expressions import Expressions, Place, Typed


def _cast(to: Expressions, node: Any, place: Place) -> Typed:
    value, kind = to.visit(node.this, place)
    target = node.args["to"]
    name = target.this.name if hasattr(target.this, "name") else str(target.this)
    sizes = [int(size.name) for size in target.expressions if size.name.isdigit()]
    if name in ("UBIGINT", "UINT", "USMALLINT", "UTINYINT", "UMEDIUMINT"):
        return mine("unsigned", value), INT
    if "INT" in name or name == "YEAR":
        return mine("signed", value), INT
    if (name.startswith("U") and "DECIMAL" in name) or name == "DECIMAL":
        precision, scale = ([*sizes, 0] if len(sizes) == 1 else sizes) or (10, 0)
        return mine("to_decimal", value, literal(precision), literal(scale)), kinds.decimal(scale)
    if name in ("DOUBLE", "FLOAT"):
        return mine("double", value), DOUBLE
    if name == "DATE":
        return mine("date", value), DATE
    if name in ("DATETIME", "TIMESTAMP", "TIMESTAMPTZ", "DATETIME2", "TIMESTAMPNTZ"):
        return mine("datetime", value), DATETIME
    if name == "TIME":
        return mine("time", value), TIME
    if name in ("BINARY", "VARBINARY"):
        return collated(as_text(value, kind), "BINARY"), kinds.COLLATED
    said = as_text(value, kind)
    if sizes and "CHAR" in name:
        return mine("left", said, literal(sizes[0])), TEXT
    return (said if said is not value else mine("text", value)), TEXT


def _collate(to: Expressions, node: Any, place: Place) -> Typed:
    value, kind = to.visit(node.this, place)
    name = str(node.expression.name).lower()
    collation = "BINARY" if name.endswith(("_bin", "_cs")) or name == "binary" else to.collation
    return collated(as_text(value, kind), collation), kinds.COLLATED


def _extract(to: Expressions, node: Any, place: Place) -> Typed:
    value = to.visit(node.expression, place)[0]
    return mine("extract", text_literal(str(node.name).upper()), value), INT


def moved(to: Expressions, value: Any, interval: Any, place: Place, function: str) -> Typed:
    """A date, and an interval later or earlier."""
    start, kind = to.visit(value, place)
    unit = str(interval.args["unit"].name if interval.args.get("unit") else "DAY").upper()
    amount = interval.this
    if amount is None:
        raise faults.syntax("")
    if getattr(amount, "is_string", False) and str(amount.this).lstrip("-").isdigit():
        amount = literal(int(str(amount.this)))
    else:
        amount = to.visit(amount, place)[0]
    longer = unit in ("DAY", "WEEK", "MONTH", "QUARTER", "YEAR", "YEAR_MONTH")
    result = DATE if kind == DATE and longer else DATETIME if kind.temporal else TEXT
    return mine(function, start, amount, text_literal(unit)), result


def _interval(to: Expressions, node: Any, place: Place) -> Typed:
    if type(node.this).__name__ == "Tuple":
        return mine("interval", *(to.visit(part, place)[0] for part in node.this.expressions)), INT
    raise faults.syntax("INTERVAL")


def _moment(to: Expressions, node: Any, place: Place) -> Typed:
    return mine("now"), DATETIME


def _currentdate(to: Expressions, node: Any, place: Place) -> Typed:
    return mine("curdate"), DATE


def _currenttime(to: Expressions, node: Any, place: Place) -> Typed:
    return mine("curtime"), TIME


def _currentuser(to: Expressions, node: Any, place: Place) -> Typed:
    return text_literal("admin@%"), TEXT


def _substring(to: Expressions, node: Any, place: Place) -> Typed:
    value, kind = to.visit(node.this, place)
    parts = [to.visit(node.args[k], place)[0] for k in ("start", "length") if node.args.get(k)]
    return mine("substring", as_text(value, kind), *parts), TEXT


def _trim(to: Expressions, node: Any, place: Place) -> Typed:
    value, kind = to.visit(node.this, place)
    arguments = [as_text(value, kind)]
    unwanted, side = node.args.get("expression"), node.args.get("position")
    if unwanted is not None or side:
        part = to.visit(unwanted, place)[0] if unwanted is not None else text_literal(" ")
        arguments += [part, text_literal(str(side or "BOTH").upper())]
    return mine("trim", *arguments), TEXT


def _strposition(to: Expressions, node: Any, place: Place) -> Typed:
    value, part = (to.visit(node.args[key], place)[0] for key in ("this", "substr"))
    return mine("locate", part, value), INT


def _chr(to: Expressions, node: Any, place: Place) -> Typed:
    return mine("char", *(to.visit(code, place)[0] for code in node.expressions)), TEXT


def _concat(to: Expressions, node: Any, place: Place) -> Typed:
    parts = [to.visit(part, place) for part in node.expressions]
    return mine("concat", *(as_text(part, kind) for part, kind in parts)), TEXT


VISITS: dict[str, Callable[[Expressions, Any, Place], Typed]] = {
    "cast": _cast,
    "chr": _chr,
    "collate": _collate,
    "concat": _concat,
    "currentdate": _currentdate,
    "currentdatetime": _moment,
    "currenttime": _currenttime,
    "currenttimestamp": _moment,
    "currentuser": _currentuser,
    "extract": _extract,
    "interval": _interval,
    "localtime": _moment,
    "localtimestamp": _moment,
    "moment": _moment,
    "strposition": _strposition,
    "substring": _substring,
    "trim": _trim,
    "trycast": _cast,
}
"""By the names of sqlglot's classes in small letters."""
