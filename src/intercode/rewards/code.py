"""The reward of a program: how many of its cases it passes.

All of them: 1; else their share, which is below 1. Nothing submitted: 0.
"""

from __future__ import annotations

from collections.abc import Sequence

from intercode.rewards.score import Score


def score(passed: Sequence[bool], **details: object) -> Score:
    """``passed`` says of each case, at least one, whether it passed.

    Components: ``passed``, their share in [0, 1]. Details: the positions of the others.
    """
    share = sum(passed) / len(passed)
    failed = [number for number, ok in enumerate(passed) if not ok]
    return Score(share, {"passed": share}, {"cases": len(passed), "failed": failed, **details})


def nothing(why: str) -> Score:
    """The score of what needs no test to be worth 0."""
    return Score(0.0, {"passed": 0.0}, {"why": why})


def same_output(wanted: str, printed: bytes) -> bool:
    """Whether a program printed what it should. White space at the ends of lines and of the text
    does not count."""
    try:
        return _trimmed(wanted) == _trimmed(printed.decode())
    except UnicodeDecodeError:
        return False


def _trimmed(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip().split("\n")]
