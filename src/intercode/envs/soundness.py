"""Is a task worth its reward? What can be seen of one, and the rules that judge it.

A task is sound if its gold is worth 1 and doing nothing is not; if the gold run again, a moment
later or beside another run of itself, is still worth 1; and if it ends by itself, needs no network
and leaves nothing running. A task's labels (`intercode.tasks.labels`) have the same names as what
is found: together they are why it is unsound, and where they differ somebody ought to look.

Everything here is pure; `check` does the measuring.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from intercode.tasks.commands import read_script
from intercode.tasks.labels import static_flags
from intercode.tasks.model import Task


@dataclass(frozen=True)
class Measurement:
    """What was seen of a task. A reward is None where the measuring did not come to it."""

    output: str = ""
    exit_code: int | None = None
    timed_out: bool = False
    changed: int = 0
    """How many files the gold changed, time stamps apart."""
    at_once: float | None = None
    """The gold's reward against a run of itself right after."""
    later: float | None = None
    """The same sandbox's reward against a run of the gold at another moment."""
    twin: float | None = None
    """The reward of a run at that moment, while the gold ran in another sandbox too."""
    repeats: bool = True
    """Whether two runs printed and changed the same, to the letter."""
    noop: float | None = None
    """The most that doing nothing was worth."""
    floor: float = 0.0
    """What doing nothing may be worth."""
    background: int = 0
    """Processes that still ran at the second moment."""
    error: str = ""
    """The error of ours that ended the measuring."""
    blames_task: bool = False
    """Whether that error is the task's doing."""

    @property
    def gold_reward(self) -> float | None:
        rewards = [r for r in (self.at_once, self.later, self.twin) if r is not None]
        return min(rewards, default=None)


@dataclass(frozen=True)
class TaskCheck:
    """The verdict on one task; ``found`` is what was measured, ``reasons`` has the labels too."""

    task: Task
    found: tuple[str, ...]
    measured: Measurement = field(default_factory=Measurement)
    duration_s: float = 0.0

    @property
    def reasons(self) -> tuple[str, ...]:
        return tuple(sorted({*self.found, *self.task.flags}))

    @property
    def sound(self) -> bool:
        return not self.reasons

    @property
    def new(self) -> tuple[str, ...]:
        """Found, and no label accounts for it."""
        return tuple(name for name in self.found if not _accounted(name, self.task.flags))

    @property
    def unseen(self) -> tuple[str, ...]:
        """Labelled, but all went well here. A clock that shows days does so in every check."""
        return tuple(name for name in self.task.flags if not _accounted(name, self.found))

    @property
    def gold_reward(self) -> float | None:
        return self.measured.gold_reward

    @property
    def noop_reward(self) -> float | None:
        return self.measured.noop


# Each of a kind may show as any other: a clock as two runs that differ, a missing file as a gold
# that fails.
_KINDS = (
    {"clock", "host", "network", "random", "unstable"},
    {"failing_gold", "missing_path", "missing_program", "network", "timeout", "unset_variable"},
    {"failing_gold", "mysql_full_group_by", "mysql_function_space", "mysql_reserved_word",
     "mysql_unnamed_subquery"},
)  # fmt: skip


def _accounted(name: str, others: Sequence[str]) -> bool:
    return name in others or any(kind & set(others) for kind in _KINDS if name in kind)


# -- judging ---------------------------------------------------------------------------------------

_NO_NETWORK = re.compile(
    r"could not resolve|name resolution|name or service not known|network is unreachable"
    r"|unable to resolve host|couldn't get address|no servers could be reached",
    re.IGNORECASE,
)


def judge(task: Task, seen: Measurement) -> tuple[str, ...]:
    """The reasons to distrust the task that the measurement gives, sorted."""
    reasons = _of_the_text(task, seen) | _of_the_rewards(seen)
    if seen.error:
        reasons.add("failing_gold" if seen.blames_task else "error")
    if seen.timed_out:
        reasons.add("timeout")
    if seen.background:
        reasons.add("background")
    return tuple(sorted(reasons))


def _of_the_text(task: Task, seen: Measurement) -> set[str]:
    """What the gold's words and its programs' complaints give away."""
    said = complaints(task.gold, seen.output)
    failed = seen.exit_code not in (None, 0) and not seen.timed_out
    lines = [line for line in seen.output.splitlines() if line.strip()]
    text = "\n".join(lines if failed else said)
    reasons = set(static_flags(task.gold, task.instruction)) & {"network"}
    if _NO_NETWORK.search(text):
        reasons.add("network")
    if seen.exit_code == 127 or any("command not found" in line for line in said):
        reasons.add("missing_program")
    if any(_lacks_a_file(line, task.gold, seen) for line in said):
        reasons.add("missing_path")
    # An exit code of 1 alone is how `grep` and `diff` say no.
    in_vain = len(said) == len(lines) and not seen.changed and (said or seen.exit_code != 1)
    if failed and (in_vain or (seen.exit_code or 0) > 127):
        reasons.add("failing_gold")
    return reasons


def _lacks_a_file(line: str, gold: str, seen: Measurement) -> bool:
    """Whether a path is missing; not one that the gold has itself deleted or moved away."""
    missing = re.search(r"['‘]?([^'‘’\s]+)['’]?: No such file or directory", line)
    return missing is not None and (not seen.changed or missing[1] in gold)


def _of_the_rewards(seen: Measurement) -> set[str]:
    reasons = set()
    if seen.noop is not None and (seen.noop >= 1 or seen.noop > seen.floor):
        reasons.add("empty_answer")
    worse = [reward is not None and reward < 1 for reward in (seen.at_once, seen.twin, seen.later)]
    if all(worse) and seen.repeats:
        reasons.add("failing_gold")  # always the same, and never worth 1
    elif worse == [False, False, True]:
        reasons.add("clock")
    elif any(worse):
        reasons.add("unstable")
    return reasons


def complaints(gold: str, output: str) -> list[str]:
    """The lines in which a program of the gold, or the shell, says what it cannot do."""
    speakers = {command.name for command in read_script(gold).commands} | {"bash"}
    spoken = ((line, line.partition(":")[0]) for line in output.splitlines() if ": " in line)
    return [line for line, speaker in spoken if speaker.rpartition("/")[2] in speakers]
