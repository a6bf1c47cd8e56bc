"""`intercode/BashShared-v1`: Bash-v1 in two containers for all episodes, as the paper's runs were.

The paper's code has one container for the agent and one for the golds, for all tasks of a file
system one after the other, and cleans them by git alone. So what an episode leaves in places that
git ignores is there in the next; files that were changed and put back are new ones; and a gold that
finds its own work done, from the turn before, may come out otherwise. All that is part of the
published rewards, and this environment is for comparing with them. Agents are better judged in
Bash-v1, where each episode starts clean and how one went says nothing of the next.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

from intercode.envs.base import InteractiveEnv
from intercode.envs.bash_v1 import BashV1, Role
from intercode.errors import SandboxError, UsageError
from intercode.rewards import bash_v1
from intercode.sandboxes.base import Image, Sandbox
from intercode.tasks.model import Task

# The paper's two commands; the first needs room on the disk, which the second may have to make.
_CLEAN = "git reset --hard || { git clean -fd; git reset --hard; } && git clean -fd"
_CLEAN_S = 60.0


class BashV1Shared(BashV1):
    """See the module. Episodes are to be played in order, every turn of them, and scored when the
    paper scored them: golds leave their traces, too."""

    consecutive: ClassVar[bool] = True

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._containers: dict[Role, tuple[Image, Sandbox]] = {}

    def close(self) -> None:
        kept, self._containers = self._containers, {}
        with contextlib.ExitStack() as stack:
            stack.callback(super().close)
            for _, sandbox in kept.values():
                stack.callback(self._runtime.pool.give_back, sandbox)

    def _open(self, task: Task) -> Sandbox:
        return self._cleaned("agent", task)

    def _end(self) -> None:
        self._sandbox = None  # but it is kept for the next episode

    def _gold(self) -> bash_v1.Outcome:
        return self._gold_outcome(self._cleaned("gold", self.task), self.task)

    def _cleaned(self, role: Role, task: Task) -> Sandbox:
        """The container of that role, as far as git can put it back; a new one for another image,
        and where git cannot clean it any more."""
        # Most directories have been written to by some earlier episode, and `du` shall not tell.
        image = replace(self._image(task, role), blocks=True, console=True)
        if role in self._containers:
            of, sandbox = self._containers[role]
            if of == image and _is_clean(sandbox):
                return sandbox
            del self._containers[role]
            self._runtime.pool.give_back(sandbox)
        sandbox = self._runtime.sandbox(image, self.limits)
        self._containers[role] = (image, sandbox)
        return sandbox

    def _forked(self, count: int) -> Sequence[InteractiveEnv]:
        raise _cannot("forked")

    def _saved(self) -> Any:
        raise _cannot("saved")


def _is_clean(sandbox: Sandbox) -> bool:
    try:
        return sandbox.run(_CLEAN, timeout_s=_CLEAN_S).exit_code == 0
    except SandboxError:
        return False


def _cannot(what: str) -> UsageError:
    return UsageError(
        f"an episode in shared containers cannot be {what}", remedy="play it in Bash-v1"
    )
