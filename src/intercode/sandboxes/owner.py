"""Who owns what: names that tell whether the process which made a thing still lives."""

from __future__ import annotations

import itertools
import os
from functools import cache
from pathlib import Path

_counter = itertools.count()


def _start_ticks(pid: int) -> str:
    """When the process started, in clock ticks: tells it from a later one with the same number."""
    stat = Path(f"/proc/{pid}/stat").read_text()
    return stat.rpartition(")")[2].split()[19]


def owner_label(pid: int | None = None) -> str:
    """This process's name as an owner, such as ``4711-889120``."""
    pid = os.getpid() if pid is None else pid
    return f"{pid}-{_start_ticks(pid)}"


def new_name() -> str:
    """A fresh name that starts with this process's label."""
    return f"{_label_of(os.getpid())}-{next(_counter)}"


@cache
def _label_of(pid: int) -> str:
    """Of ourselves, which stays the same as long as the number does."""
    return owner_label(pid)


def owner_is_alive(name: str) -> bool:
    """Whether the owner in a name made by `new_name` still runs. Foreign names count as alive."""
    pid, dash, rest = name.partition("-")
    if not dash or not pid.isdigit():
        return True
    try:
        return _start_ticks(int(pid)) == rest.partition("-")[0]
    except OSError:
        return False
