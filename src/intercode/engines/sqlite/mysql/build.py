"""Small trees of sqlglot's."""

from __future__ import annotations

from typing import Any

from intercode.engines.sqlite.mysql.functions import PREFIX
from intercode.engines.sqlite.mysql.functions.values import number
from intercode.engines.sqlite.mysql.kinds import Kind


def call(name: str, *arguments: Any) -> Any:
    from sqlglot import exp

    return exp.Anonymous(this=name, expressions=list(arguments))


def mine(name: str, *arguments: Any) -> Any:
    """A call of a function of ours."""
    return call(PREFIX + name, *arguments)


def literal(value: float) -> Any:
    from sqlglot import exp

    return exp.Literal.number(value)


def text_literal(value: str) -> Any:
    from sqlglot import exp

    return exp.Literal.string(value)


def collated(node: Any, collation: str) -> Any:
    from sqlglot import exp

    inner = exp.Paren(this=node) if isinstance(node, exp.Binary | exp.Case) else node
    return exp.Collate(this=inner, expression=exp.Var(this=collation))


def numeric(node: Any, kind: Kind) -> Any:
    """As a number, by what its text begins with."""
    if kind.numeric:
        return node
    if getattr(node, "is_string", False):
        return literal(number(str(node.this)) or 0)
    return mine("packed" if kind.temporal else "num", node)


def as_text(node: Any, kind: Kind) -> Any:
    """As an argument that MySQL makes text of."""
    if kind.family == "decimal":
        return mine("dec_text", node, literal(kind.scale))
    if kind.family == "float" and kind.fixed is not None:
        return mine("dec_text", node, literal(kind.fixed))
    if kind.single:
        return mine("single_text", node)
    return node
