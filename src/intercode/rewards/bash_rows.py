"""What Unix programs print, taken apart: lines into rows of words, and the dress into names.

Ground for `bash_equivalent`. Each function knows one habit of many programs (a long listing, sizes
for people, a tree drawn with lines, line numbers in front, …) and gives the rows without it, or
None where the lines are not of that habit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise

Row = tuple[str, ...]
Rows = list[Row]

_DIAGNOSTIC = re.compile(
    r"(/usr)?(/bin/)?[a-z][\w.+-]*: .*(No such file or directory|Permission denied|Is a directory"
    r"|Not a directory|Operation not permitted|File exists|Directory not empty|are the same file"
    r"|omitting directory .*|Removing leading .* from .*|Treating date .*|Broken pipe)\)?"
    r"|WARNING: .*|total \d[\d.]*[KMGT]?|\d+ director(y|ies)(, \d+ files?)?|\d+ blocks"
)


def without_diagnostics(text: str) -> list[str]:
    """The lines that say something of the answer: no blanks, complaints and grand totals."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return [line for line in lines if len(line) > 500 or not _DIAGNOSTIC.fullmatch(line)]


def rows_of(lines: Iterable[str]) -> Rows:
    return [tuple(map(plain_word, line.split())) for line in lines]


def plain_word(word: str) -> str:
    """Without quotes, ``./``, a closing slash, colon or comma, and idle noughts after a point."""
    if len(word) > 2 and word[0] in "'\"`‘" and word[-1] in "'\"`’":
        word = word[1:-1]
    if len(word) > 1 and word[-1] in ":,":
        word = word[:-1]
    if re.fullmatch(r"-?\d*\.\d+", word):
        whole, _, decimals = word.partition(".")
        decimals = decimals.rstrip("0")
        return (whole or "0") + ("." + decimals if decimals else "")
    if "/" in word:
        word = re.sub(r"^(\./)+(?=.)", "", re.sub("/{2,}", "/", word))
        word = word.rstrip("/") or "/"
    return word


_KINDS = {
    "mode": re.compile(r"[-bcdlps]([-r][-w][-xsStT]){3}[.+@]?"),
    "hash": re.compile(r"[0-9a-f]{32,}"),
    "time": re.compile(r"\d{4}-\d\d-\d\d\S*|\d\d:\d\d(:\d\d(\.\d+)?)?|[-+]\d{4}"),
    "number": re.compile(r"[-+]?\d+([.,]\d+)*([KMGTP]i?B?|%|B|kB)?"),
}


def kind_of(word: str) -> str:
    """``mode`` (of a file), ``hash``, ``time``, ``number`` or ``text``."""
    return next((kind for kind, pattern in _KINDS.items() if pattern.fullmatch(word)), "text")


def listing(rows: Rows) -> tuple[Rows, Rows] | None:
    """Of ``ls -l`` and ``find -ls``: the names; and all from the mode on but the times."""
    starts = [
        next((i for i, word in enumerate(row) if kind_of(word) == "mode"), -1) for row in rows
    ]
    if any(start < 0 or len(row) < start + 9 for start, row in zip(starts, rows, strict=True)):
        return None
    facts = [row[start : start + 5] for start, row in zip(starts, rows, strict=True)]
    names = [row[start + 8 :] for start, row in zip(starts, rows, strict=True)]
    bare = [name[: name.index("->")] if "->" in name else name for name in names]
    return bare, [fact + name for fact, name in zip(facts, names, strict=True)]


_BRANCH = re.compile(r"[|`│├└\s\xa0]*(?:-- |── |___)")


def drawn_names(lines: list[str]) -> Rows | None:
    """The names in a tree drawn with lines, that of the folder at its top among them."""
    branches = [line for line in lines if _BRANCH.match(line)]
    if not branches or len(branches) < len(lines) - 1:
        return None
    names = [_BRANCH.sub("", line, count=1).partition(" -> ")[0] for line in lines]
    names[0] = names[0].rpartition("/")[2]
    return rows_of(name.replace("\\ ", " ") for name in names)


def without_total(rows: Rows) -> Rows | None:
    """Without the line in which ``wc`` and ``du -c`` add up the others."""
    totals = [row for row in rows if row[1:] == ("total",) and is_count(row[0])]
    parts = [row for row in rows if row not in totals]
    if len(totals) != 1 or not parts or not all(is_count(row[0]) for row in parts):
        return None
    return parts if sum(int(row[0]) for row in parts) == int(totals[0][0]) else None


_NUMBERED = re.compile(r"([0-9]{1,9})[:.)\t ]\s*(.*)")


def without_numbers(lines: list[str]) -> list[str] | None:
    """Without the line numbers in front, if that is what they are: ever larger."""
    matches = [match for line in lines if (match := _NUMBERED.match(line))]
    numbers = [int(match[1]) for match in matches]
    if len(matches) < len(lines) or any(b <= a for a, b in pairwise(numbers)):
        return None
    return [match[2] for match in matches] if len(lines) > 1 or ":" in lines[0] else None


def has_sizes(rows: Rows) -> bool:
    """Whether any word is a size written for people, as by ``-h``."""
    return any(re.fullmatch(r"\d+(\.\d)?[KMGT]", word) for row in rows for word in row)


def with_sizes(rows: Rows, unit: int) -> Rows:
    """All whole numbers, taken to count so many bytes, written for people."""
    return [
        tuple(human_size(int(word) * unit) if is_count(word) else word for word in row)
        for row in rows
    ]


def is_count(word: str) -> bool:
    return bool(re.fullmatch("[0-9]{1,15}", word))


def human_size(size: int) -> str:
    """A size as ``ls -h`` and ``du -h`` write it: rounded up, one decimal below ten."""
    if size < 1024:
        return str(size)
    for power, letter in enumerate("KMGTP", start=1):
        unit = 1024**power
        tenths = -(-size * 10 // unit)
        if tenths < 100:
            return f"{tenths // 10}.{tenths % 10}{letter}"
        if -(-size // unit) < 1024:
            return f"{-(-size // unit)}{letter}"
    return str(size)
