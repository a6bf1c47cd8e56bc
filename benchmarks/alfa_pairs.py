"""Labelled pairs for `alfa_classifier`: commands that do a task, and commands that do not.

Positive is the task's second gold. Negative are golds of other tasks on the same files, and the
task's own gold with one thing changed. A change may turn out to change nothing (``-r`` where there
is no directory); what came of it decides, not the text, so that is for the caller to find out.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from intercode.tasks.model import Task

OTHERS = 4
MUTANTS = 3


@dataclass(frozen=True)
class Pair:
    """A task, a command tried on it, and whether that does the task. ``kind``: where it is from."""

    task: Task
    command: str
    kind: str

    @property
    def positive(self) -> bool:
        return self.kind == "gold2"


def is_development(task: Task) -> bool:
    """The half that the rules were made on; the other one was only measured."""
    return hashlib.sha256(task.id.encode()).digest()[0] % 2 == 0


def pairs(tasks: Sequence[Task]) -> list[Pair]:
    return [pair for task in tasks for pair in _pairs(task, tasks)]


def _pairs(task: Task, tasks: Sequence[Task]) -> Iterator[Pair]:
    golds = {_squeezed(task.gold), *map(_squeezed, task.alternatives)}
    for gold in task.alternatives:
        yield Pair(task, gold, "gold2")
    here = [t for t in tasks if t.file_system == task.file_system]
    strangers = [
        t for t in here if golds.isdisjoint(_squeezed(g) for g in (t.gold, *t.alternatives))
    ]
    chance = random.Random(f"others of {task.id}")
    for other in chance.sample(strangers, min(OTHERS, len(strangers))):
        yield Pair(task, other.gold, "other")
    vocabulary = [t.gold for t in here if t.id != task.id]
    for kind, command in _mutants(task, vocabulary):
        if _squeezed(command) not in golds:
            yield Pair(task, command, kind)


def _mutants(task: Task, vocabulary: Sequence[str]) -> list[tuple[str, str]]:
    chance = random.Random(f"mutants of {task.id}")
    found = []
    for kind in chance.sample(sorted(_MUTATIONS), len(_MUTATIONS)):
        mutant = _MUTATIONS[kind](task.gold, vocabulary, chance)
        if mutant is not None and mutant.strip() and _squeezed(mutant) != _squeezed(task.gold):
            found.append((kind, mutant))
    return found[:MUTANTS]


def _squeezed(command: str) -> str:
    return " ".join(command.split())


# -- mutations: the command with one word changed, or None where it has no such word ---------------

_WORD = re.compile(r"""(?:[^\s"'\\|;&<>()]|\\.|"(?:\\.|[^"\\])*"|'[^']*')+""")
_FLAG = re.compile(r"-{1,2}[A-Za-z][\w-]*")
_VALUED = re.compile(  # options whose value is the next word
    r"-(name|iname|path|ipath|type|size|perm|maxdepth|mindepth|user|group|newer|[acm](time|min)"
    r"|regex|iregex|n|c|k|d|f|F|t|I|L|w)"
)
_NUMBER = re.compile(r"(?<![\w.$/-])[-+]?\d+(?![\w./])|(?<=\{)\d+|(?<=[-+])\d+(?=[kMG]?\b)")
_PATH = re.compile(r"(?:\.{1,2}|~|/?[\w.-]+)?(?:/[\w.*-]+)+/?")

Mutation = Callable[[str, Sequence[str], random.Random], str | None]


def _drop_flag(command: str, vocabulary: Sequence[str], chance: random.Random) -> str | None:
    words = list(_WORD.finditer(command))
    flags = [i for i, word in enumerate(words) if i and _FLAG.fullmatch(word[0])]
    if not flags:
        return None
    first = chance.choice(flags)
    last = first
    if _VALUED.fullmatch(words[first][0]) and first + 1 < len(words):
        last += not words[first + 1][0].startswith("-")
    return command[: words[first].start()] + command[words[last].end() :].lstrip()


def _change_number(command: str, vocabulary: Sequence[str], chance: random.Random) -> str | None:
    def changed(found: str) -> str:
        sign, digits = (found[0], found[1:]) if found[0] in "+-" else ("", found)
        return sign + str(int(digits) + chance.choice((1, 2, 7)))

    return _replace_one(_NUMBER, command, changed, chance)


def _change_path(command: str, vocabulary: Sequence[str], chance: random.Random) -> str | None:
    found = {path for text in vocabulary for path in _PATH.findall(text)}
    known = sorted(path for path in found if path.startswith(("/", "~")))

    def changed(found: str) -> str:
        others = [path for path in known if path != found]
        return chance.choice(others) if others else found

    return _replace_one(_PATH, command, changed, chance)


def _swap_pattern(command: str, vocabulary: Sequence[str], chance: random.Random) -> str | None:
    known = sorted({p for text in vocabulary for p in _patterns(text)})
    here = sorted(_patterns(command))
    if not here or not known:
        return None
    old = chance.choice(here)
    new = chance.choice([p for p in known if p != old] or known)
    return command.replace(old, new, 1)


def _patterns(text: str) -> set[str]:
    """What is looked for: plain words in quotes, and globs' endings."""
    quoted = {q[1:-1] for q in re.findall(r"\"[\w .*]{2,30}\"|'[\w .*]{2,30}'", text)}
    return quoted | set(re.findall(r"\*\.\w+", text))


def _drop_stage(command: str, vocabulary: Sequence[str], chance: random.Random) -> str | None:
    bare = re.sub(r"\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"|\$\([^)]*\)", _blank, command, flags=re.DOTALL)
    bars = [m.start() for m in re.finditer(r"(?<!\|)\|(?!\|)", bare)]
    return command[: bars[-1]].rstrip() if bars else None


def _blank(found: re.Match[str]) -> str:
    return "_" * len(found[0])


def _replace_one(
    what: re.Pattern[str], command: str, change: Callable[[str], str], chance: random.Random
) -> str | None:
    found = list(what.finditer(command))
    if not found:
        return None
    one = chance.choice(found)
    return command[: one.start()] + change(one[0]) + command[one.end() :]


_MUTATIONS: dict[str, Mutation] = {
    "drop_flag": _drop_flag,
    "change_number": _change_number,
    "change_path": _change_path,
    "swap_pattern": _swap_pattern,
    "drop_stage": _drop_stage,
}
