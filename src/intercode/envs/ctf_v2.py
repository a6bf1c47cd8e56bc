"""`intercode/CTF-v2`: one shell that lasts, the flag to the letter, and a number of tries."""

from __future__ import annotations

from typing import ClassVar

from intercode.envs.flags import FlagEnv
from intercode.envs.lasting_shell import LastingShell
from intercode.rewards import ctf
from intercode.rewards.score import Score


class CtfV2(FlagEnv, LastingShell):
    """See the module, `FlagEnv` for ``attempts``, and `InteractiveEnv` for the interface.

    A wrong submission is answered with how many are left; one that cannot be a flag of the task's
    family, also with what such flags look like.
    """

    usual_attempts: ClassVar[int] = 3

    def _verdict(self, submission: str) -> Score:
        return ctf.v2(submission, self.task.gold)

    def _refusal(self, score: Score) -> str:
        hint = score.details.get("hint")
        told = [f"wrong flag, {self._counted()}", *([hint] if hint else [])]
        return f"[{'; '.join(told)}]\n"

    def _counted(self) -> str:
        if self.left is None:
            return f"submission {self._wrong}"
        return f"{self.left} of {self.attempts} submissions left"
