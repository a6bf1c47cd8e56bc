"""An agent of one's own: two methods, no base class, no model.

    intercode eval bundled --agent examples/my_agent.py:RuleAgent --limit 10

It knows a handful of phrasings, looks at what came back, and submits. Put a language model where
the rules are, and everything around it stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from intercode.agents.base import SUBMIT
from intercode.tasks.model import Task

_STATUS = re.compile(r"How many requests in (\S+) were answered with status (\d+)")
_BROKEN_LINKS = re.compile(r"broken symbolic links under (\S+)")


class RuleAgent:
    """A fresh one is made for each episode."""

    def start(self, task: Task) -> None:
        """A task knows its gold; whoever wants to be measured reads ``task.instruction`` only."""
        self._plan: list[str] | None = None

    def act(self, observation: str, reward: float, info: Mapping[str, Any]) -> str:
        if self._plan is None:  # the first observation is the instruction
            self._plan = _plan(observation)
        return self._plan.pop(0) if self._plan else SUBMIT


def _plan(instruction: str) -> list[str]:
    if found := _STATUS.search(instruction):
        return [f"awk '$9 == {found[2]}' {found[1]} | wc -l"]
    if found := _BROKEN_LINKS.search(instruction):
        return [f"find {found[1]} -xtype l | LC_ALL=C sort"]
    return ["ls -F /"]


if __name__ == "__main__":
    agent = RuleAgent()
    agent.start(Task("example", "bash", "…", gold="true"))
    question = "How many requests in /var/log/web.log were answered with status 500?"
    print(agent.act(question, 0.0, {}))
    print(agent.act("3\n", 0.0, {}))
