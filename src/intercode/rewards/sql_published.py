"""Results that are published without the query behind them, as Spider 2's are.

A result is right if every column that counts is found among the answer's, with the same values in
the same rows; further columns do no harm, since analysts are not told how many to show. This is how
Spider 2's own evaluation compares (xlang-ai/Spider2, evaluation of the "lite" setting), but for
rows: there each column is sorted by itself where order does not count, here rows stay whole.
"""

from __future__ import annotations

import csv
import io
import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from intercode.rewards.score import Score
from intercode.rewards.sql_v2 import DISAGREEING

_DIGITS = 2
"""Published results are rounded now and then; Spider 2 takes what differs by less than 0.01."""
_MOST_CHOICES = 1000
"""Ways of finding columns that are tried: only columns with the same values are alternatives."""


def score(rows: Sequence[Sequence[Any]] | None, published: Mapping[str, Any]) -> Score:
    """``published`` has ``result_csv`` (texts with a header, any one of which is right),
    ``condition_cols`` (for each, the columns that count; none: all) and ``ignore_order``.
    Components: ``columns``, the share of columns that are found."""
    if rows is None:
        return Score(0.0, {"columns": 0.0}, {"why": "it failed or gave no result"})
    ordered = not published.get("ignore_order", True)
    texts = published["result_csv"]
    columns = published.get("condition_cols") or [()] * len(texts)
    scores = [
        _compared(rows, _read(text), tuple(chosen), ordered)
        for text, chosen in zip(texts, columns, strict=True)
    ]
    return max(scores, key=lambda found: found.reward)


def _compared(
    rows: Sequence[Sequence[Any]],
    wanted: list[list[str]],
    chosen: tuple[int, ...],
    ordered: bool,
) -> Score:
    width = len(wanted[0]) if wanted else 0
    gold = [_column(wanted, at) for at in (chosen or range(width))]
    ours = [_column(rows, at) for at in range(len(rows[0]) if rows else 0)]
    alike = [[at for at, column in enumerate(ours) if _same(column, want)] for want in gold]
    share = sum(map(bool, alike)) / len(gold) if gold else float(not rows)
    for picked in itertools.islice(_choices(alike), _MOST_CHOICES):
        found = [ours[at] for at in picked]
        same = found == gold if ordered else _rows(found) == _rows(gold)
        if same:
            return Score(1.0, {"columns": 1.0})
    why = f"{sum(map(bool, alike))} of {len(gold)} columns are there"
    why += ", the rows are others or in another order" if share == 1 else ""
    return Score(DISAGREEING * share, {"columns": share}, {"why": why})


def _choices(alike: list[list[int]]) -> Iterator[tuple[int, ...]]:
    """The same column may stand for two of the gold's."""
    return itertools.product(*alike) if alike else iter(())


def _same(column: list[Any], want: list[Any]) -> bool:
    return len(column) == len(want) and Counter(column) == Counter(want)


def _rows(columns: list[list[Any]]) -> Counter[tuple[Any, ...]]:
    return Counter(zip(*columns, strict=True))


def _column(rows: Sequence[Sequence[Any]], at: int) -> list[Any]:
    return [_plain(row[at]) if at < len(row) else None for row in rows]


def _plain(value: Any) -> Any:
    """A CSV has no types: what reads as a number is one, and nothing is NULL."""
    text = "" if value is None else str(value).strip()
    try:
        number = float(text)
    except ValueError:
        return text or None
    return round(number, _DIGITS) + 0.0 if math.isfinite(number) else text


def _read(text: str) -> list[list[str]]:
    """The rows below the header."""
    return [row for row in csv.reader(io.StringIO(text)) if row][1:]
