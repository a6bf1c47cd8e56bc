"""Why a replayed turn came out otherwise than recorded: the named causes, most certain first.

A cause is told from the task, the actions so far and the two observations, by rules that know no
task and no file by name. ``unexplained`` is what nobody wants to see.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import takewhile

from intercode.agents.recording import RecordedTurn
from intercode.rewards.bash_v1 import WEIGHT
from intercode.tasks.commands import read_script
from intercode.tasks.labels import static_flags
from intercode.tasks.model import Task

CAUSES = {
    "clock": "the task or an action asks for the time, or for files by their age",
    "host": "the task or an action shows the machine: its name, processes, environment, disk, or "
    "searches all of it",
    "network": "the task or an action needs a network",
    "random": "the task or an action is random",
    "unstable": "the gold's own output differs from run to run",
    "files missing when recorded": "the recording ran without files that the task has",
    "places never reset": "earlier runs of the original left things where it does not clean",
    "time limit": "it timed out on one side only",
    "archive time stamps": "a compressed file's bytes hold the time at which it was made",
    "disk usage": "sizes on disk depend on the file system underneath",
    "error wording": "another version of a program words its error otherwise",
    "listing order": "files were taken in the order in which the file system lists them",
    "other base image": "the output shows programs or files of the base image, not of the task",
    "gold came out otherwise": "the same observation, so the gold's outcome was another then; some "
    "published runs lack the beginning of its output",
    "unexplained": "no rule knows why",
}
_VOLATILE = ("clock", "host", "network", "random", "unstable")
_UNRESET = re.compile(
    r"(?:^|[\s'\"=({:/])(?:~(?:[/\s'\"]|$)|\$HOME|/?(?:root|home|etc|var|opt|srv|media)(?:[/\s'\"]|$))"
)
_ARCHIVE = re.compile(r"\b(?:tar|gzip|zip|bzip2|xz|cpio|compress)\b|\.gz\b")
_DISK = re.compile(r"\b(?:du|df|stat|blocks?)\b|\bls\b[^|;]*\s-\w*[ls]|-printf|-size")
_BASE = re.compile(
    r"(?:^|[\s./])(?:usr|etc|bin|sbin|lib|proc|sys|dev|var|boot|opt)(?:[/\s]|$)", re.M
)
_KERNEL = re.compile(r"(?:^|[\s/`'‘])(?:proc|sys)/\w", re.M)
_NAMED = re.compile(r"(?<=['‘])/[^'’\n]+(?=['’])")
_AT_ONCE = re.compile(r"\bfind\b.*(?:-exec(?:dir)?\b.*\+|\bxargs\b)")
"""One program gets all files that were found, and its output may depend on which comes first."""
_VARIABLE = re.compile(r"\$\{?[A-Z_]+\}?$")
_RECURSIVE = re.compile(r"-[A-Za-z]*[rR]|--(?:dereference-)?recursive")
_TIMED_OUT = "Command timed out"


@dataclass(frozen=True)
class Comparison:
    """All there is to judge by: ``actions`` are those of the episode up to this turn, ``earlier``
    the observations (theirs, ours) before it, ``components`` the parts of our reward, if known."""

    task: Task
    actions: tuple[str, ...]
    recorded: RecordedTurn
    observation: str
    reward: float
    components: Mapping[str, float] = field(default_factory=dict)
    earlier: tuple[tuple[str, str], ...] = ()


def cause_of(compared: Comparison) -> str:
    """One of ``CAUSES``."""
    task, theirs, ours = compared.task, compared.recorded.observation, compared.observation
    flags = {*task.flags, *static_flags(task.gold, task.instruction)}
    for action in compared.actions:
        flags |= set(static_flags(action, ""))
    if (
        _searches_all(task.gold)
        or _searches_all(compared.actions[-1])
        or (theirs != ours and (_KERNEL.search(theirs) or _KERNEL.search(ours)))
    ):
        flags.add("host")
    elif any(_lacks_files(*pair) for pair in (*compared.earlier, (theirs, ours))):
        return "files missing when recorded"
    for flag in _VOLATILE:
        if flag in flags:
            return flag
    if (theirs == _TIMED_OUT) != (ours == _TIMED_OUT) or "timeout" in flags:
        return "time limit"
    texts = (task.gold, *compared.actions)
    if any(_ARCHIVE.search(text) for text in texts) and _may_be_content(compared):
        return "archive time stamps"
    if any(_UNRESET.search(text) for text in texts):
        return "places never reset"
    if theirs != ours:
        return _difference(theirs, ours, (task.gold, compared.actions[-1]))
    # What the agent saw is the same, so what it is compared with is not: listing order, sizes on
    # disk, another version of a program, or of the gold itself.
    return "disk usage" if _DISK.search(task.gold) else "gold came out otherwise"


def _searches_all(action: str) -> bool:
    """Whether it goes through all files from where it stands: at the root, unless it went
    elsewhere, those of the base image, of ``/proc`` and of ``/sys`` are among them."""
    for command in read_script(action).commands:
        words = list(command.args)
        if command.name == "find":
            starts = list(takewhile(lambda word: word[0] not in "-(!", filter(None, words)))
        elif command.name == "grep" and any(_RECURSIVE.match(word) for word in words):
            starts = [word for word in words if not word.startswith("-")][1:]
        else:
            continue
        # What an unset variable names is nothing.
        if {start.rstrip("/") for start in starts if not _VARIABLE.match(start)} <= {".", "*"}:
            return True
    return False


def _may_be_content(compared: Comparison) -> bool:
    """Whether equal checksums, where ours differ, or the reverse would make up the difference."""
    if not compared.components or compared.recorded.reward is None:
        return True
    ours = compared.components["file_changes"]
    return -0.005 < ours + compared.recorded.reward - compared.reward < WEIGHT + 0.005


def _lacks_files(theirs: str, ours: str) -> bool:
    """The recording misses a file that is there for us."""
    missing = re.findall(r"['‘]?(/[^\s'’:]+)['’]?: No such file or directory", theirs)
    return any(f"{path}: No such" not in ours and f"{path}': No such" not in ours
               for path in missing)  # fmt: skip


def _difference(theirs: str, ours: str, texts: tuple[str, ...]) -> str:
    if sorted(theirs.split("\n")) == sorted(ours.split("\n")):
        return "listing order"
    if _NAMED.sub("", theirs) == _NAMED.sub("", ours):
        return "listing order"
    if any(_DISK.search(text) for text in texts):
        return "disk usage"
    if _errors(theirs) != _errors(ours) and _without_errors(theirs) == _without_errors(ours):
        return "error wording"
    if any(_BASE.search(text) for text in (theirs, ours)):
        return "other base image"
    if _AT_ONCE.search(texts[-1]) and not re.search(r"\bsort\b", texts[-1]):
        return "listing order"
    return "unexplained"


def _errors(text: str) -> list[str]:
    return [line for line in text.split("\n") if re.match(r"[\w./$ {}\"'|-]+: ", line)]


def _without_errors(text: str) -> list[str]:
    return sorted(set(text.split("\n")) - set(_errors(text)))
