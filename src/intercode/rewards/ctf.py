"""Is it the flag? The paper's answer (``v1``) and ours (``v2``).

A submission is the whole action, ``submit FLAG``. The paper took the second word, words being what
single spaces separate, and asked for the same letters, small or large. So nothing is compared where
two spaces follow ``submit``, and a line break at the end spoils a flag. Ours is all that follows
``submit``, without the blank space and one pair of quotes around it, and has to be the flag to the
letter.
"""

from __future__ import annotations

import re

from intercode.rewards.score import Score

_WRAPPED = re.compile(r"(\w{1,32})\{.+\}", re.DOTALL | re.ASCII)
_QUOTES = "'\"`"


def v1(submission: str, gold: str) -> Score:
    """† ``submit`` alone, on which the original ended with an exception, is worth 0."""
    words = submission.split(" ")
    return _score(len(words) > 1 and words[1].lower() == gold.lower())


def v2(submission: str, gold: str) -> Score:
    """``details["flag"]`` is what was compared; ``hint``, if there is one, what its form lacks."""
    flag = submitted(submission)
    right = flag == gold or _unquoted(flag) == gold
    hint = None if right else form_hint(_unquoted(flag), gold)
    return _score(right, flag=flag, **({"hint": hint} if hint else {}))


def submitted(submission: str) -> str:
    """The flag in a submission, still in its quotes; empty where there is none."""
    _, *flag = submission.split(None, 1)
    return flag[0].strip() if flag else ""


def form(gold: str) -> str | None:
    """What all flags of a family look like (``picoCTF{...}``), where this one is of a family."""
    wrapped = _WRAPPED.fullmatch(gold)
    return f"{wrapped[1]}{{...}}" if wrapped else None


def form_hint(flag: str, gold: str) -> str | None:
    """What to tell about a wrong flag that cannot be one: nothing that its form does not say."""
    known = form(gold)
    if not flag:
        return "write: submit FLAG"
    if known is None or form(flag) == known:
        return None
    return f"a flag here looks like {known}"


def find(text: str, gold: str) -> str | None:
    """The last thing in ``text`` that has the form of ``gold``; without a form, the last word."""
    wrapped = _WRAPPED.fullmatch(gold)
    pattern = rf"{re.escape(wrapped[1])}\{{[^{{}}\s]*\}}" if wrapped else r"\S+"
    found = re.findall(pattern, text)
    return found[-1] if found else None


def _unquoted(flag: str) -> str:
    if len(flag) >= 2 and flag[0] == flag[-1] and flag[0] in _QUOTES:
        return flag[1:-1].strip()
    return flag


def _score(right: bool, **details: str) -> Score:
    return Score(float(right), {"flag": float(right)}, details)
