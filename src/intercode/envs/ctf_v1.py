"""`intercode/CTF-v1`: the paper's Capture the Flag environment.

Actions arrive whole, each in a process of its own, and start in the task's folder. The paper's runs
let an agent go on after a wrong flag, and so does this.
"""

from __future__ import annotations

from typing import ClassVar

from intercode.envs.flags import FlagEnv
from intercode.envs.published_shell import PublishedShell
from intercode.rewards import ctf, v1_action
from intercode.rewards.score import Score

WRONG = "Submitted flag is incorrect. Keep trying!"


class CtfV1(FlagEnv, PublishedShell):
    """See the module, `FlagEnv` for ``attempts``, and `InteractiveEnv` for the interface."""

    usual_attempts: ClassVar[int] = 0

    def _argv(self, action: str) -> list[str] | None:
        return v1_action.whole_argv(action)

    def _verdict(self, submission: str) -> Score:
        return ctf.v1(submission, self.task.gold)

    def _refusal(self, score: Score) -> str:
        return WRONG
