"""A person as the agent, and how an action is read from one.

A line is an action. One that ends in a backslash goes on in the next, and both are sent as they
were typed. ``<<<`` alone on a line opens a block that ``>>>`` alone closes: what stands between is
sent as one action.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from intercode.agents.base import SKIP
from intercode.tasks.model import Task

BLOCK_START = "<<<"
BLOCK_END = ">>>"

ReadLine = Callable[[str], str]
"""Shows a prompt and gives a line without its end, as ``input`` does; EOFError at the end."""


def read_action(read_line: ReadLine, prompt: str = "> ") -> str:
    """One action, which may stretch over several lines.

    :raises EOFError: nothing more to read; what was begun is dropped.
    """
    line = read_line(prompt)
    if line.strip() == BLOCK_START:
        return "\n".join(_block(read_line))
    lines = [line]
    while lines[-1].endswith("\\"):
        lines.append(read_line("… "))
    return "\n".join(lines)


def _block(read_line: ReadLine) -> list[str]:
    lines: list[str] = []
    while (line := read_line("… ")).strip() != BLOCK_END:
        lines.append(line)
    return lines


class HumanAgent:
    """Shows observations on standard output and reads actions; at the end of the input it skips."""

    def __init__(self, read_line: ReadLine = input) -> None:
        self._read_line = read_line

    def start(self, task: Task) -> None:
        print(f"-- {task.id}", flush=True)

    def act(self, observation: str, reward: float, info: Mapping[str, Any]) -> str:
        sys.stdout.write(observation if observation.endswith("\n") else f"{observation}\n")
        try:
            return read_action(self._read_line)
        except EOFError:
            return SKIP
