"""The paper's Bash reward: what ``git status`` and the last output say of agent and gold.

A reward is 0.01 and three parts of at most 0.33: the same entries changed (``file_diff``), new
ones with the same content (``file_changes``), the same output (``answer_similarity``). Everything
here is pure; whoever scores runs ``STATUS_COMMAND`` on both sides, asks ``paths_to_hash`` which
files to compare, runs ``checksum_argv`` of each on both sides from ``/``, and hands over two
``Outcome``s.

The quirks are the paper's and wanted here: a path with a space confuses the parsing, contents of
modified files are never looked at, and neither are those of paths without a dot (their checksum
program is missing from the images, and equal error texts count as equal).
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from intercode.rewards.score import Score
from intercode.rewards.tfidf import cosine

STATUS_COMMAND = "git status --short;"
"""What is run, as an action is, to get an ``Outcome.status``."""

WEIGHT = 0.33
BASE = 0.01

Variant = Literal["whole", "cut"]
VARIANTS: tuple[Variant, ...] = ("whole", "cut")
"""What of the gold's output was compared. The released code takes the whole of it. Some published
runs have only its end, as long as the agent's output (all of it where that is empty): there, the
``eval_obs`` recorded for the same gold differ from run to run, and are nowhere longer."""

_NEW = frozenset({"A", "??", "C"})

Entry = tuple[str, str]
"""A path, relative to ``/`` and quoted as git quotes it, and its status."""


class StatusError(ValueError):
    """A status that the paper's code cannot score: it ended with an exception."""


@dataclass(frozen=True)
class Outcome:
    """What one side left behind.

    ``observation`` is None where there is none to compare (a gold whose output is not text).
    ``hashes`` has, for each of ``paths_to_hash``, what ``checksum_argv`` printed, errors included.
    """

    status: str
    observation: str | None
    hashes: Mapping[str, str] = field(default_factory=dict)


def score(agent: Outcome, gold: Outcome) -> Score:
    """The reward of what the agent left, measured against what the gold left.

    Details are named as in the paper's records; ``answer_similarity`` is there before weighting.

    :raises StatusError: a status that cannot be parsed.
    :raises KeyError: a checksum that ``paths_to_hash`` asks for is missing.
    """
    changed, wanted = parse_status(agent.status), parse_status(gold.status)
    miss, extra = _without(wanted, changed), _without(changed, wanted)
    common = _new_on_both_sides(changed, wanted)
    correct = [path for path, _ in common if agent.hashes[path] == gold.hashes[path]]
    alike = similarity(agent.observation, gold.observation)

    parts = {
        "file_diff": file_diff(len(miss) + len(extra)),
        "file_changes": file_changes(len(correct), len(common)),
        "answer_similarity": answer_similarity(alike),
    }
    details = {
        "diff_miss": miss,
        "diff_extra": extra,
        "diff_same": (
            {"files": common, "correct": len(correct), "total": len(common)} if common else None
        ),
        "answer_similarity": alike,
        "agent_obs": agent.observation,
        "eval_obs": gold.observation,
    }
    return Score(total(**parts), parts, details)


def in_variant(score: Score, variant: Variant) -> float:
    """The reward that another variant gives for the same two outcomes."""
    details = score.details
    agent, gold = details.get("agent_obs"), details.get("eval_obs")
    if variant == "whole" or not agent or gold is None or len(gold) <= len(agent):
        return score.reward
    parts = score.components
    alike = answer_similarity(similarity(agent, gold[-len(agent) :]))
    return total(parts["file_diff"], parts["file_changes"], alike)


def total(file_diff: float, file_changes: float, answer_similarity: float) -> float:
    """The reward of these parts, added in the paper's order (0.6900000000000001 is one of them)."""
    return BASE + file_diff + file_changes + answer_similarity


def file_diff(differences: int) -> float:
    """The part for changing the same entries: 0.33 for no difference, 0.05 for one, else 0."""
    return round(WEIGHT * (1 - math.erf(differences)), 2)


def file_changes(correct: int, common: int) -> float:
    """The part for the share of common new entries that are equal; all of it if there are none."""
    return round(WEIGHT * (correct / common), 2) if common else WEIGHT


def answer_similarity(alike: float) -> float:
    """The part for a ``similarity`` of the two outputs."""
    return round(WEIGHT * alike, 2)


def similarity(agent: str | None, gold: str | None) -> float:
    """How alike two outputs are; plain equality where they have no words to compare."""
    if agent is not None and gold is not None:
        try:
            return cosine(agent, gold)
        except ValueError:
            pass
    return 1.0 if agent == gold else 0.0


def parse_status(text: str) -> list[Entry]:
    """The entries of ``git status --short``, read as alternating statuses and paths.

    White space is all that separates, so a path with a space shifts every pair behind it.

    :raises StatusError: an odd number of words.
    """
    words = text.split()
    if len(words) % 2:
        raise StatusError(f"git status gave {len(words)} words, which do not pair: {text[:200]!r}")
    return list(zip(words[1::2], words[::2], strict=True))


def paths_to_hash(agent_status: str, gold_status: str) -> list[str]:
    """The paths whose checksums decide ``file_changes``: new on both sides.

    :raises StatusError: a status that cannot be parsed.
    """
    common = _new_on_both_sides(parse_status(agent_status), parse_status(gold_status))
    return list(dict.fromkeys(path for path, _ in common))


def checksum_argv(path: str) -> list[str]:
    """The checksum command of a path, which stands in it unquoted and is split into words again.

    :raises StatusError: the path has half of a pair of quotes (from a name with a space).
    """
    program = "md5sum" if "." in path else "md5deep -r"
    try:
        return shlex.split(f"{program} {path}")
    except ValueError as error:
        raise StatusError(f"no checksum command can be made for {path!r}: {error}") from None


def _new_on_both_sides(agent: Sequence[Entry], gold: Sequence[Entry]) -> list[Entry]:
    shared = set(agent) & set(gold)
    return sorted(entry for entry in shared if entry[1] in _NEW)


def _without(entries: Sequence[Entry], others: Sequence[Entry]) -> list[Entry]:
    """Each entry once, in alphabetical order: the paper's own order changed from run to run."""
    return sorted(set(entries) - set(others))
