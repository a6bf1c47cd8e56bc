"""The SQL reward of ``-v2``: is it the result that was asked for, on this database and on others?

A result is right if its rows are the gold's, as often as there, in any order, or in the gold's
order where the gold sorts; values are compared as `sql_values` says. A query is right if its
results are right on the database and on copies of it with other data: of two wrong queries one is
often right by luck, and any empty result is like any other. A statement that writes is right if it
leaves the tables as the gold does.

What is not right is worth less than `DISAGREEING`, by the share of rows in common: nothing in
common, an error, or no result are worth 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from intercode.rewards.score import Score
from intercode.rewards.sql_columns import nearest, permutation, permuted
from intercode.rewards.sql_values import Classes, Key, Row

DISAGREEING = 0.9
"""What nearly everything in common would be worth."""

Columns = Literal["ordered", "permuted"]
Rows = Sequence[Row]


@dataclass(frozen=True)
class Rules:
    """How results are compared.

    ``ordered``: the rows' order counts. ``keys`` are the columns of the gold's rows that it is
    sorted by: rows equal in them may come in any order. Without them every row has its place.
    The gold's last ``hidden`` columns are there only as keys, and no part of its answer.
    ``columns``: in the gold's order, or in any.
    """

    ordered: bool = False
    keys: tuple[int, ...] | None = None
    hidden: int = 0
    columns: Columns = "ordered"


UNORDERED = Rules()


@dataclass(frozen=True)
class Results:
    """What agent and gold gave on one database. None: an error, or no result set. ``tied`` are
    rows that the gold could as well have ended with: cut off by a LIMIT, with the last row's
    keys."""

    agent: Rows | None
    gold: Rows | None
    tied: Rows = ()


def score(
    agent: Rows | None, gold: Rows | None, rules: Rules = UNORDERED, tied: Rows = ()
) -> Score:
    """The reward of one result. Components: ``iou``, the share of rows in common; ``order``, 1 if
    it is the gold's or not asked for. Details: ``why`` it is not 1, and rows that are ``missing``
    or ``extra``. ``tied``: as in `Results`."""
    if agent is None or gold is None:
        side = "the gold" if gold is None else "it"
        return Score(0.0, {"iou": 0.0}, {"why": f"{side} failed or gave no result"})
    if tied and gold and rules.keys is not None:
        gold = _settled(agent, gold, rules, tied)
    return _compared(agent, gold, rules)


def _settled(agent: Rows, gold: Rows, rules: Rules, tied: Rows) -> Rows:
    """The gold with those of the tied rows at its end that the agent has, as far as they go."""
    assert rules.keys is not None
    classes = Classes(agent, gold, tied)
    last = _key(classes.key(gold[-1]), rules.keys)
    first = len(gold)
    while first and _key(classes.key(gold[first - 1]), rules.keys) == last:
        first -= 1
    width = len(gold[0]) - rules.hidden
    left = Counter(classes.keys(agent))
    left.subtract(classes.key(row[:width]) for row in gold[:first])
    wanted: list[Row] = []
    others: list[Row] = []
    for row in (*gold[first:], *tied):
        key = classes.key(row[:width])
        (wanted if left[key] > 0 else others).append(row)
        left[key] -= 1
    return [*gold[:first], *[*wanted, *others][: len(gold) - first]]


def _key(row: Key, keys: tuple[int, ...]) -> Key:
    return tuple(row[index] for index in keys)


def suite(pristine: Results, others: Iterable[Results], rules: Rules = UNORDERED) -> Score:
    """The reward of a query by its results on the database, and on ``others`` with other data.

    It is 1 only if all are right on which the gold could be run; one on which only the agent's
    query fails is not right, or else a query could choose where it is looked at. Components: those
    of `score` on the database, and ``suite``, the share of others that are right, if there are any.
    Two empty results agree, but are no evidence: partial credit is the mean over databases on
    which there are rows, the pristine one counting as much as all others.
    """
    first = score(pristine.agent, pristine.gold, rules, pristine.tied)
    pairs = [pair for pair in others if pair.gold is not None]
    if not pairs or pristine.agent is None or pristine.gold is None:
        return first
    scores = [score(pair.agent, pair.gold, rules, pair.tied) for pair in pairs]
    wrong = [index for index, other in enumerate(scores) if not other.success]
    components = {**first.components, "suite": 1 - len(wrong) / len(scores)}
    if first.success and not wrong:
        return Score(1.0, components, first.details)
    telling = [
        other.components["iou"]
        for pair, other in zip(pairs, scores, strict=True)
        if pair.agent is None or pair.agent or pair.gold
    ]
    shares = [first.components["iou"]] if pristine.agent or pristine.gold else []
    shares += [sum(telling) / len(telling)] if telling else []
    details = dict(first.details)
    if first.success:
        details = dict(scores[wrong[0]].details)
        details["why"] = (
            f"right on this data, but not on {len(wrong)} of {len(scores)} databases with other"
            f" data: {details['why']}"
        )
    return Score(DISAGREEING * sum(shares) / len(shares), components, details)


def _compared(agent: Rows, gold: Rows, rules: Rules) -> Score:
    width = len(gold[0]) - rules.hidden if gold else 0
    answer = [tuple(row[:width]) for row in gold]
    if agent and gold and len(agent[0]) != width:
        why = f"{_count(len(agent[0]), 'column')} instead of {width}"
        return Score(0.0, {"iou": 0.0, "order": 1.0}, {"why": why})
    classes = Classes(agent, gold)
    ours, theirs = classes.keys(agent), classes.keys(answer)
    slots = _slots(gold, classes, rules)
    order = _column_order(ours, theirs, slots, rules)
    if order is not None:
        ours = permuted(ours, order)
        agent = permuted(agent, order)
    ours_counted, theirs_counted = Counter(ours), Counter(theirs)
    union = (ours_counted | theirs_counted).total()
    iou = (ours_counted & theirs_counted).total() / union if union else 1.0
    if iou < 1.0:
        missing = _examples(theirs_counted - ours_counted, theirs, answer)
        extra = _examples(ours_counted - theirs_counted, ours, agent)
        why = _why((theirs_counted - ours_counted).total(), missing, "missing")
        too_many = _why((ours_counted - theirs_counted).total(), extra, "too many")
        details = {
            "why": "; ".join(filter(None, (why, too_many))),
            "missing": missing,
            "extra": extra,
        }
        return Score(DISAGREEING * iou, {"iou": iou, "order": 1.0}, details)
    if not _same(ours, theirs, slots):
        place = _first_out_of_place(ours, theirs, slots)
        why = f"the rows are right, their order is not, first in row {place + 1}"
        return Score(DISAGREEING, {"iou": iou, "order": 0.0}, {"why": why})
    return Score(1.0, {"iou": 1.0, "order": 1.0})


def _slots(gold: Rows, classes: Classes, rules: Rules) -> list[int]:
    """Where each row may stand: anywhere, in its own place, or among those with its keys."""
    if not rules.ordered:
        return [0] * len(gold)
    if rules.keys is None:
        return list(range(len(gold)))
    slots: list[int] = []
    last: Key | None = None
    for row in gold:
        key = classes.key([row[index] for index in rules.keys])
        slots.append(slots[-1] + (key != last) if slots else 0)
        last = key
    return slots


def _column_order(
    ours: Sequence[Key], theirs: Sequence[Key], slots: Sequence[int], rules: Rules
) -> tuple[int, ...] | None:
    if rules.columns == "ordered" or not ours or not theirs or _same(ours, theirs, slots):
        return None
    if len(ours) == len(theirs):
        anywhere = [0] * len(slots)
        for places in (slots, anywhere) if rules.ordered else (slots,):
            if (found := permutation(ours, theirs, places)) is not None:
                return found
    return nearest(ours, theirs)


def _same(ours: Sequence[Key], theirs: Sequence[Key], slots: Sequence[Hashable]) -> bool:
    if len(ours) != len(theirs):
        return False
    return Counter(zip(slots, ours, strict=True)) == Counter(zip(slots, theirs, strict=True))


def _first_out_of_place(ours: Sequence[Key], theirs: Sequence[Key], slots: Sequence[int]) -> int:
    wanted = Counter(zip(slots, theirs, strict=True))
    for index, placed in enumerate(zip(slots, ours, strict=True)):
        if not wanted[placed]:
            return index
        wanted[placed] -= 1
    return 0


# -- statements that write -------------------------------------------------------------------------


class State(Protocol):
    """A table as it is, its rows in no order."""

    @property
    def columns(self) -> Sequence[str]: ...
    @property
    def rows(self) -> Rows: ...


States = Mapping[str, State | None]
"""By table; None where there is none."""

_Change = tuple[str, str, Hashable]
"""Table, kind of change, and what the change was to."""


def state(agent: States, gold: States, pristine: States) -> Score:
    """The reward of the tables that a statement leaves.

    ``agent`` and ``gold`` have the tables that each side changed, ``pristine`` those as they were,
    without the ones that were not there. Components: ``iou``, the share in common of all that was
    changed: rows put in, rows taken out, tables made, dropped or given other columns. A row that is
    updated is one taken out and one put in.
    """
    names = sorted({*agent, *gold})
    before = {name: pristine.get(name) for name in names}
    ours = {name: agent.get(name, before[name]) for name in names}
    theirs = {name: gold.get(name, before[name]) for name in names}
    sides = (before, ours, theirs)
    tables = [table for side in sides for table in side.values() if table is not None]
    classes = Classes(*(table.rows for table in tables))
    ours_changed: Counter[_Change] = Counter()
    theirs_changed: Counter[_Change] = Counter()
    for name in names:
        ours_changed += _changes(name, before[name], ours[name], classes)
        theirs_changed += _changes(name, before[name], theirs[name], classes)
    union = (ours_changed | theirs_changed).total()
    iou = (ours_changed & theirs_changed).total() / union if union else 1.0
    if iou == 1.0:
        return Score(1.0, {"iou": 1.0})
    missing, extra = theirs_changed - ours_changed, ours_changed - theirs_changed
    reasons = (_told(missing, "not made"), _told(extra, "too many"))
    return Score(DISAGREEING * iou, {"iou": iou}, {"why": "; ".join(filter(None, reasons))})


def _changes(
    name: str, before: State | None, after: State | None, classes: Classes
) -> Counter[_Change]:
    """What was done to a table, each as often as it was."""
    done: Counter[_Change] = Counter()
    if _columns(before) != _columns(after):
        done[name, "columns", _columns(after)] = 1
    old = Counter(classes.keys(before.rows)) if before else Counter()
    new = Counter(classes.keys(after.rows)) if after else Counter()
    for row, times in (new - old).items():
        done[name, "row put in", row] = times
    for row, times in (old - new).items():
        done[name, "row taken out", row] = times
    return done


def _columns(table: State | None) -> tuple[str, ...] | None:
    """Engines differ in whether the case of a name is kept."""
    return None if table is None else tuple(column.casefold() for column in table.columns)


def _told(changes: Counter[_Change], what: str) -> str:
    if not changes:
        return ""
    name, kind, _ = next(iter(changes))
    return f"{_count(changes.total(), 'change')} {what}, e.g. a {kind} of {name}"


# -- words -----------------------------------------------------------------------------------------

_EXAMPLES = 3
_LONGEST = 200


def _examples(counted: Counter[Key], keys: Sequence[Key], rows: Rows) -> list[str]:
    """The first rows of those counted, shortened."""
    left = dict(counted)
    chosen: list[str] = []
    for key, row in zip(keys, rows, strict=True):
        if len(chosen) == _EXAMPLES:
            break
        if left.get(key, 0):
            left[key] -= 1
            chosen.append(shortened(tuple(row)))
    return chosen


def shortened(row: tuple[Any, ...]) -> str:
    try:
        text = repr(row)
    except ValueError:  # A whole number of more digits than Python prints.
        return "…"
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _why(number: int, examples: Sequence[str], what: str) -> str:
    return f"{_count(number, 'row')} {what}, e.g. {examples[0]}" if number else ""


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
