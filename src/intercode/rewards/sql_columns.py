"""Which column of one result is which of another, where their order is not asked for.

Rows are tuples of classes (`sql_values`). A row's slot says where it may stand: two results are
equal if every slot has the same rows as often.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

from intercode.rewards.sql_values import Key

Permutation = tuple[int, ...]
"""For each column of the gold, the agent's."""

_BUDGET = 2_000_000
"""Values looked at, in all, before the search is given up. Results that are not made to be hard
have few columns that are alike in their values and unlike in their rows, and need a share of it."""
_WIDEST = 64
"""Columns. Those of wider results that are not equal are taken as they stand."""


def permutation(
    agent: Sequence[Key], gold: Sequence[Key], slots: Sequence[Hashable]
) -> Permutation | None:
    """One that makes the agent's rows the gold's, slot by slot; None if there is none, or if none
    was found within the budget. Both have as many rows and columns, ``slots`` is that of each row
    on both sides."""
    theirs = list(zip(*gold, strict=True))
    ours = list(zip(*agent, strict=True))
    alike: dict[object, list[int]] = {}
    for index, column in enumerate(ours):
        alike.setdefault(_contents(column, slots), []).append(index)
    candidates = [alike.get(_contents(column, slots), []) for column in theirs]
    if not all(candidates):
        return None
    # Those with the least choice first: they bind the rows of the others.
    order = sorted(range(len(theirs)), key=lambda index: len(candidates[index]))
    budget = max(_BUDGET, 4 * len(agent) * len(order))
    chosen: list[int] = []
    tries = [iter(_distinct(candidates[order[0]], ours, ()))] if order else []
    partial = [(_numbered(slots), _numbered(slots))]
    while len(chosen) < len(order):
        column = theirs[order[len(chosen)]]
        for index in tries[-1]:
            budget -= 2 * len(agent)
            if budget < 0:
                return None
            pair = _extended(*partial[-1], ours[index], column)
            if pair is not None:
                chosen.append(index)
                partial.append(pair)
                if len(chosen) < len(order):
                    tries.append(iter(_distinct(candidates[order[len(chosen)]], ours, chosen)))
                break
        else:
            tries.pop()
            if not chosen:
                return None
            chosen.pop()
            partial.pop()
    found = dict(zip(order, chosen, strict=True))
    return tuple(found[index] for index in range(len(order)))


def nearest(agent: Sequence[Key], gold: Sequence[Key]) -> Permutation:
    """One that gives each of the gold's columns, in turn, the free one with most values in common,
    and of those the one in its place: for rows that cannot all be equal."""
    width = len(gold[0])
    if width > _WIDEST:
        return tuple(range(width))
    ours = [Counter(column) for column in zip(*agent, strict=True)]
    free = dict.fromkeys(range(width))
    chosen = []
    for place, column in enumerate(zip(*gold, strict=True)):
        theirs = Counter(column)
        best = max(free, key=lambda index: ((ours[index] & theirs).total(), index == place, -index))
        del free[best]
        chosen.append(best)
    return tuple(chosen)


def permuted(rows: Sequence[Sequence[Any]], order: Permutation) -> list[tuple[Any, ...]]:
    return [tuple(row[index] for index in order) for row in rows]


def _contents(column: Sequence[Hashable], slots: Sequence[Hashable]) -> object:
    return frozenset(Counter(zip(slots, column, strict=True)).items())


def _distinct(
    candidates: Sequence[int], columns: Sequence[Key], chosen: Sequence[int]
) -> list[int]:
    """Those not chosen, but of columns that are equal row by row only one: the others would fail
    as it did."""
    first: dict[Key, int] = {}
    for index in candidates:
        if index not in chosen:
            first.setdefault(columns[index], index)
    return list(first.values())


def _numbered(values: Sequence[Hashable]) -> list[int]:
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(value, len(numbers)) for value in values]


def _extended(
    ours: Sequence[int], theirs: Sequence[int], our_column: Key, their_column: Key
) -> tuple[list[int], list[int]] | None:
    """The rows so far, each a number, with one more column; None if they are no longer equal."""
    numbers: dict[tuple[int, Hashable], int] = {}
    extended = []
    for rows, column in ((ours, our_column), (theirs, their_column)):
        pairs = zip(rows, column, strict=True)
        extended.append([numbers.setdefault(pair, len(numbers)) for pair in pairs])
    agent, gold = extended
    return (agent, gold) if Counter(agent) == Counter(gold) else None
