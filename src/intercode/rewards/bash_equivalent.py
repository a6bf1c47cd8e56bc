"""Whether two outputs are one answer in different dress: ``ls`` and ``ls -l``, ``4`` and ``4.0K``.

One may only *add* to what the gold shows, and only what cannot pass for an answer. Both outputs are
read as rows of words; the agent's rows are read in a few ways (names of a long listing, lines
without their numbers, with columns cut off at the edges, …) and one of them has to be, row for row,
what the gold shows. A column cut off must be of another kind than everything in the gold: beside a
number may stand a name, but no second number. So nobody gets by with showing everything: each row
is accounted for, and ``decoration``, the share of words that the gold lacks, is bounded.

Where the instruction wants something *only*, nothing may be added. And what may be left out is only
what is known without it: the path that the question names, the sum of the lines above.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from intercode.rewards.bash_rows import (
    Row,
    Rows,
    drawn_names,
    has_sizes,
    is_count,
    kind_of,
    listing,
    plain_word,
    rows_of,
    with_sizes,
    without_diagnostics,
    without_numbers,
    without_total,
)

MAX_DECORATION = 0.95
_MAX_LINES = 5_000
"""Longer outputs are not looked at so closely: it would take seconds."""
_EDGE = 3
"""How many columns may be cut off at the edges,"""
_MAX_CUT = 5
"""and how many words of a row in all: a path may have spaces in it."""
_ADDING = {"names of a listing", "tree", "numbered", "prefix", "matches", "more columns", "names"}
_UNITS = {"total", "lines", "words", "bytes", "files", "directories", "folders"}


@dataclass(frozen=True)
class Equivalence:
    """``form``: the reading that made them the same, None if none did. ``decoration``: the share of
    the agent's words that the gold does not have."""

    form: str | None
    decoration: float = 0.0


def compare(
    agent: str, gold: str, *, ordered: bool, bare: bool = False, question: str = ""
) -> Equivalence:
    """``ordered``: the order of lines counts; ``bare``: nothing may be added. ``question``:
    instruction and gold, whose paths and words may be left out as labels."""
    ours, theirs = _significant(agent), _significant(gold)
    if not ours or not theirs:
        return Equivalence(None if ours or theirs else "words")
    if max(len(ours), len(theirs)) > _MAX_LINES:
        return Equivalence(None)
    words = sum(len(line.split()) for line in ours), sum(len(line.split()) for line in theirs)
    decoration = max(0.0, 1 - words[1] / words[0])
    if decoration > MAX_DECORATION:
        return Equivalence(None, decoration)
    known, folders = set(map(plain_word, question.split())), _folders(question)
    for wanted_form, wanted in _gold_readings(theirs, ours, known):
        for form, rows in _agent_readings(ours, wanted, known):
            found = _same(rows, wanted, ordered and form != "matches", folders)
            if found and not (bare and _ADDING & {form, found}):
                return Equivalence(form or wanted_form or found, decoration)
    return Equivalence(None, decoration)


def _significant(text: str) -> list[str]:
    """Where there is nothing but diagnostics, they are the answer."""
    return without_diagnostics(text) or [line.strip() for line in text.splitlines() if line.strip()]


# -- readings --------------------------------------------------------------------------------------

Reading = tuple[str, Rows]


def _gold_readings(lines: list[str], agent: list[str], known: set[str]) -> Iterator[Reading]:
    """What the gold shows; then what of it is enough."""
    rows = rows_of(lines)
    yield "", rows
    if has_sizes(rows_of(agent)):
        yield "sizes", with_sizes(rows, 1024)
        yield "sizes", with_sizes(rows, 1)
    if drawn := drawn_names(lines):
        yield "tree", drawn
    if listed := listing(rows):
        yield "listing", listed[1]
        yield "listing", with_sizes(listed[1], 1)
    if parts := without_total(rows):
        yield "total", parts
    if len(rows) == 1:
        bare = tuple(word for word in rows[0] if word not in known)
        if 0 < len(bare) < len(rows[0]) and all(kind_of(word) != "text" for word in bare):
            yield "label", [bare]


def _agent_readings(lines: list[str], gold: Rows, known: set[str]) -> Iterator[Reading]:
    rows = rows_of(lines)
    yield "", rows
    if listed := listing(rows):
        yield "names of a listing", listed[0]
        yield "listing", listed[1]
        yield "listing", with_sizes(listed[1], 1)
    if drawn := drawn_names(lines):
        yield "tree", drawn
    if has_sizes(gold):
        yield "sizes", with_sizes(rows, 1024)
        yield "sizes", with_sizes(rows, 1)
    if parts := without_total(rows):
        yield "total", parts
    if (stripped := without_numbers(lines)) is not None:
        yield "numbered", rows_of(stripped)
    yield from _prefixed(lines, gold)
    yield from _columns(rows, gold, known)


def _prefixed(lines: list[str], gold: Rows) -> Iterator[Reading]:
    """``grep -H`` for ``grep -h``; and for ``grep -l``, which names each file once."""
    parts = [line.partition(":") for line in lines]
    if not all(colon and _is_place(place) for place, colon, _ in parts):
        return
    yield "prefix", rows_of(rest for _, _, rest in parts)
    if all(len(row) == 1 and kind_of(row[0]) == "text" for row in gold):
        yield "matches", rows_of(dict.fromkeys(place for place, _, _ in parts))


def _is_place(text: str) -> bool:
    """A line number, or a path without spaces."""
    return is_count(text) or ((" " not in text) and ("/" in text or "." in text))


def _columns(rows: Rows, gold: Rows, known: set[str]) -> Iterator[Reading]:
    """All but a few words at the edges, or as many words from the left as the gold has."""
    kinds = {kind_of(word) for row in gold for word in row}
    width = len(gold[0]) if len({len(row) for row in gold}) == 1 else None
    for first in range(_EDGE + 1):
        edges = [[(first, len(row) - last) for row in rows] for last in range(_EDGE + 1 - first)]
        if width is not None:
            edges.append([(first, first + width) for _ in rows])
        for edge in edges:
            cut = [row[start:end] for row, (start, end) in zip(rows, edge, strict=True)]
            off = [row[:start] + row[end:] for row, (start, end) in zip(rows, edge, strict=True)]
            if all(cut) and any(off) and _is_dress(off, kinds, None if len(rows) > 1 else known):
                yield "more columns", cut


def _is_dress(off: Sequence[Row], kinds: set[str], known: set[str] | None) -> bool:
    """Whether no word that was cut off could be an answer; one row is little to go by, so there a
    text has to be a path or a word of the question."""
    for row in off:
        if len(row) > _MAX_CUT or not kinds.isdisjoint(map(kind_of, row)):
            return False
        if known is not None and not all(
            kind_of(word) != "text" or "/" in word or word in _UNITS or word in known
            for word in row
        ):
            return False
    return True


# -- sameness --------------------------------------------------------------------------------------


def _same(ours: Rows, theirs: Rows, ordered: bool, folders: Sequence[str]) -> str | None:
    """By which name they are the same, if they are."""
    if _equal(ours, theirs, ordered):
        return "words"
    if _reflowed(ours, theirs, ordered):
        return "line breaks"
    if len(ours) != len(theirs):
        return None
    if not ordered and _equal(_by_kind(ours), _by_kind(theirs), ordered):
        return "columns"
    if any("/" in word for row in theirs for word in row):
        for folder in folders:
            if _equal(_relative(ours, folder), _relative(theirs, folder), ordered):
                return "paths"
    elif any("/" in word for row in ours for word in row):
        names = [tuple(_name(word, folders) for word in row) for row in ours]
        if _equal(names, theirs, ordered):
            return "names"
    return None


def _equal(ours: Rows, theirs: Rows, ordered: bool) -> bool:
    return ours == theirs if ordered else Counter(ours) == Counter(theirs)


def _reflowed(ours: Rows, theirs: Rows, ordered: bool) -> bool:
    """One word a line on one side, all on one line on the other."""
    if len(ours) == len(theirs) or 1 not in (len(ours), len(theirs)):
        return False
    if any(len(row) > 1 for row in (ours if len(theirs) == 1 else theirs)):
        return False
    one, other = ([word for row in rows for word in row] for rows in (ours, theirs))
    return one == other if ordered else Counter(one) == Counter(other)


def _by_kind(rows: Rows) -> Rows:
    """Each row's words in a fixed order of kinds, where no two are of one kind."""
    return [
        tuple(sorted(row, key=kind_of)) if len(set(map(kind_of, row))) == len(row) else row
        for row in rows
    ]


def _folders(question: str) -> list[str]:
    """The folders named, and those above them; a path may be told from any of them on."""
    named = set()
    for path in re.findall(r"[~\w.-]*(?:/[\w.-]+)+", question):
        parts = path.strip("/").split("/")
        named |= {"/" + "/".join(parts[:count]) for count in range(1, len(parts) + 1)}
    return ["/", *sorted(named)]


def _relative(rows: Rows, folder: str) -> Rows:
    prefix = folder.rstrip("/") + "/"
    return [
        tuple("." if word == folder else word.removeprefix(prefix) for word in row) for row in rows
    ]


def _name(word: str, folders: Sequence[str]) -> str:
    """The last part of a path below a folder that is named."""
    below = any(f"/{word.lstrip('/')}".startswith(f"{folder}/") for folder in folders[1:])
    return word.rpartition("/")[2] if below else word
