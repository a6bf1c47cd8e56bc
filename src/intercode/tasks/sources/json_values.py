"""Python values that were squeezed into JSON, given their types back by example.

JSON has neither tuples nor sets nor complex numbers. Where the same values are also written down in
Python, the types at each place are seen there, and hold for other values at that place:

>>> shape = seen([[1, 2], [3]], [(1, 2), (3,)])
>>> shaped([[4], [5, 6]], shape)
[(4,), (5, 6)]

Members of one list share one shape. A tuple that holds both plain values and tuples is taken to
nest as deep as it likes. An empty set is ``{}``, as those who count on literals write it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Shape:
    """What stands at a place: ``kind`` is what a JSON list means (None: it stays one), ``members``
    the shape of what is inside, also of what is inside that if it ``nests``. Numbers were seen
    there (``number``), or text that means text."""

    kind: type[tuple[Any, ...]] | type[set[Any]] | None = None
    members: Shape | None = None
    nests: bool = False
    number: bool = False
    text: bool = False


def seen(value: Any, meant: Any) -> Shape:
    """The shape that turns ``value``, out of JSON, into ``meant``."""
    if isinstance(value, dict) and isinstance(meant, dict):
        return Shape(members=_within(value.values(), meant.values()))
    if isinstance(value, list) and isinstance(meant, set):
        return Shape(kind=set)
    if isinstance(value, list) and isinstance(meant, list | tuple):
        members = _within(value, meant)
        if isinstance(meant, list):
            return Shape(members=members)
        mixed = len({isinstance(item, list) for item in value}) == 2
        nests = mixed and members is not None and members.kind is tuple
        return Shape(tuple, members, nests)
    if isinstance(meant, str):
        return Shape(text=True)
    return Shape(number=isinstance(meant, int | float | complex) and not isinstance(meant, bool))


def _within(values: Iterable[Any], meant: Iterable[Any]) -> Shape | None:
    """Numbers are told from text only where each has a place of its own, so not in here."""
    whole = merged(seen(a, b) for a, b in zip(values, meant, strict=False))
    return whole and replace(whole, number=False)


def merged(shapes: Iterable[Shape]) -> Shape | None:
    """One shape for all of them; None for none."""
    whole: Shape | None = None
    for shape in shapes:
        if whole is None:
            whole = shape
            continue
        inner = merged(part for part in (whole.members, shape.members) if part is not None)
        whole = Shape(
            whole.kind or shape.kind,
            inner,
            whole.nests or shape.nests,
            whole.number or shape.number,
            whole.text or shape.text,
        )
    return whole


def shaped(value: Any, shape: Shape | None) -> Any:
    """A JSON value with the types that ``shape`` knows of; other things stay as they are."""
    if shape is None:
        return value
    if isinstance(value, dict):
        return {key: shaped(item, shape.members) for key, item in value.items()}
    if isinstance(value, list):
        within = shape if shape.nests else shape.members
        items = [shaped(item, within) for item in value]
        if shape.kind is set and not items:
            return {}
        return shape.kind(items) if shape.kind else items
    if isinstance(value, str) and shape.number and not shape.text:
        return _number(value)
    return value


def _number(text: str) -> Any:
    for kind in (float, complex):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def expression(value: Any) -> str:
    """Text that evaluates to ``value`` where ``inf``, ``nan`` and ``set`` are known."""
    if isinstance(value, list | tuple | set):
        return _display(value)
    if isinstance(value, dict):
        inner = ", ".join(f"{expression(k)}: {expression(v)}" for k, v in value.items())
        return f"{{{inner}}}"
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return ascii(value)


def _display(value: list[Any] | tuple[Any, ...] | set[Any]) -> str:
    inner = ", ".join(
        sorted(map(expression, value)) if isinstance(value, set) else map(expression, value)
    )
    if isinstance(value, list):
        return f"[{inner}]"
    if isinstance(value, set):
        return f"{{{inner}}}" if value else "set()"
    return f"({inner},)" if len(value) == 1 else f"({inner})"
