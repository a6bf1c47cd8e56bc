"""Whether two commands printed the same: exactly, up to spacing, or as lines in any order.

Spacing and order are let go only where they are not asked for, and that is read off the question:
the instruction's words, and where the gold's lines come from. A listing of a directory tree has no
order of its own; the lines of a file have, and so has what was sorted last.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from intercode.rewards.bash_rows import without_diagnostics
from intercode.rewards.bash_state import DISAGREEING

How = Literal["exact", "whitespace", "lines", "not asked", "partial"]


@dataclass(frozen=True)
class OutputMatch:
    """``how`` they agree, or ``partial``; ``share`` is 1 only if they do."""

    how: How
    share: float
    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()

    @property
    def agrees(self) -> bool:
        return self.share == 1.0


def compare(agent: str, gold: str, *, ordered: bool, spaced: bool) -> OutputMatch:
    """``ordered``: the order of lines counts; ``spaced``: so does every space and line break."""
    if agent == gold:
        return OutputMatch("exact", 1.0)
    if agent.rstrip("\n") == gold.rstrip("\n"):
        return OutputMatch("whitespace", 1.0)
    ours, theirs = lines_of(agent), lines_of(gold)
    if ours == theirs and not spaced:
        return OutputMatch("whitespace", 1.0)
    if Counter(ours) == Counter(theirs) and not (spaced or ordered):
        return OutputMatch("lines", 1.0)
    missing, extra = Counter(theirs) - Counter(ours), Counter(ours) - Counter(theirs)
    alike = (_overlap(ours, theirs) + _overlap(agent.split(), gold.split())) / 2
    share = DISAGREEING * alike
    return OutputMatch("partial", share, tuple(missing.elements()), tuple(extra.elements()))


def lines_of(text: str) -> list[str]:
    """The lines that are not blank, each run of white space in them as one space."""
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


def _overlap(ours: Sequence[str], theirs: Sequence[str]) -> float:
    """Twice what both have, over what each has (Dice): 0 for nothing, 1 for the same items."""
    total = len(ours) + len(theirs)
    return 2 * (Counter(ours) & Counter(theirs)).total() / total if total else 0.0


# -- what is asked for -----------------------------------------------------------------------------

_SPACING_WORDS = re.compile(
    r"\b(white ?-?spaces?|spaces?|tabs?|newlines?|line ?breaks?|(empty|blank) lines?|indent\w*"
    r"|align\w*|wrap\w*|table|tabular|columns? \w*format\w*|trim\w*|squeez\w*)\b",
    re.IGNORECASE,
)
_ORDER_WORDS = re.compile(
    r"\b(sort(s|ed|ing)?|order(s|ed|ing)?|(ascend|descend)ing|alphabetic\w*|revers\w+|first|top"
    r"|followed by|backwards?)\b"
    # Neither "in the last 2 days" nor "last modified".
    r"|(?<!in the )(?<!within the )\blast\b(?! (\d+ )?(minute|hour|day|week|month|year))"
    r"(?! (modif|access|chang|updat|logged))",
    re.IGNORECASE,
)


_PRINTING_WORDS = re.compile(
    r"\b(print|show|display|list|output|echo|count|find|search|calculate|compute|report|view|dump"
    r"|see|tell|get|retrieve|identify|determine|check|what|which|how|console|terminal|messages?"
    r"|verbose)(s|ed|ing|ly)?\b",
    re.IGNORECASE,
)


def printing_asked(instruction: str, gold: str) -> bool:
    """Whether what a gold prints that also changes files is an answer, not a mere report of it."""
    return bool(_PRINTING_WORDS.search(instruction) and without_diagnostics(gold))


def spacing_asked(instruction: str) -> bool:
    """Whether the instruction is about spaces or line breaks, as in "remove trailing spaces".

    Space on a disk is another thing.
    """
    text = re.sub(r"\b(disk|swap|free|used|available|user) space\b", "", instruction, flags=re.I)
    return bool(_SPACING_WORDS.search(re.sub(r"\bspaces? (used|left|usage)\b", "", text)))


def bareness_asked(instruction: str) -> bool:
    """Whether the instruction wants something and nothing else, as in "the names only"."""
    return bool(re.search(r"\b(only|just|without|exclud\w+|omit\w*|nothing)\b", instruction, re.I))


def order_asked(instruction: str, command: str, *, sorting_asks: bool = True) -> bool:
    """Whether the order of the output's lines is part of the answer.

    ``sorting_asks``: a gold that sorts asks for it, even if its instruction does not.
    """
    if _ORDER_WORDS.search(instruction):
        return True
    looped = bool(re.search(r"\bdo\b", command))
    return any(_is_ordered(p, not looped, sorting_asks) for p in _pipelines(command))


# Programs that go through a tree or a glob, or print a set: their order is nobody's wish.
_LISTING = {
    "find", "ls", "du", "tree", "env", "printenv", "set", "alias", "locate", "xargs", "for",
    "while", "md5sum", "sha1sum", "sha256sum", "sha512sum", "stat", "file", "dirname", "realpath",
    "ps", "lsof", "df", "mount", "who", "ip", "cksum",
}  # fmt: skip
_ORDERING = {"tac", "head", "tail", "nl"}
_KEYWORDS = {"do", "then", "else", "{", "!", "time", "done", "fi", "}"}


def _is_ordered(pipeline: Sequence[Sequence[str]], ordered: bool, sorting_asks: bool) -> bool:
    """Follows the lines from the first program to the last: does their order mean something?"""
    for index, stage in enumerate(pipeline):
        name = stage[0].rpartition("/")[2]
        options = _letters(stage)
        operands = [word for word in stage[1:] if not word.startswith("-")]
        if name == "sort":
            following = pipeline[index + 1][0] if index + 1 < len(pipeline) else ""
            # Sorting is how equal lines are found: then it is a means, and not the end.
            means = "u" in options or following in ("uniq", "comm", "join")
            ordered = sorting_asks and not means
        elif name in _ORDERING:
            ordered = True
        elif name == "ls":
            ordered = bool(options & set("tSXvU"))
        elif name in _LISTING or (name == "wc" and len(operands) > 1):
            ordered = False
        elif name == "grep" and index == 0:
            ordered = not options & set("rRl")
    return ordered


def _letters(words: Iterable[str]) -> set[str]:
    return {letter for word in words if re.fullmatch("-[A-Za-z]+", word) for letter in word[1:]}


def _pipelines(command: str) -> list[list[list[str]]]:
    """The programs with their words, by pipeline; substitutions as if they stood alone."""
    text = re.sub(r"\\[;()|&]", "_", command).replace("\n", ";")
    lexer = shlex.shlex(text, posix=True, punctuation_chars="|;&()`")
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        tokens = list(lexer)
    except ValueError:
        tokens = re.findall(r"[|;&()`]+|[^\s|;&()`]+", text)
    pipelines: list[list[list[str]]] = [[[]]]
    for token in tokens:
        if token in ("|", "|&"):
            pipelines[-1].append([])
        elif set(token) <= set("|;&()`"):
            pipelines.append([[]])
        elif pipelines[-1][-1] or token not in _KEYWORDS:
            pipelines[-1][-1].append(token)
    stages = ([stage for stage in pipeline if stage] for pipeline in pipelines)
    return [pipeline for pipeline in stages if pipeline]
