"""`intercode/Bash-v1`: the paper's Bash environment, quirks included.

Each action is a process of its own, quoted and split as the paper's code did; the file system is a
git work tree, whose ``git status`` is what is compared. Where the original crashes, an ordinary
error observation or the score it had computed stands in its place.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import lru_cache
from typing import ClassVar, Literal

from intercode.envs.published_shell import MALFORMED, TIMED_OUT, PublishedShell, observed
from intercode.errors import TaskError
from intercode.rewards import bash_v1, v1_action
from intercode.rewards.score import Score
from intercode.sandboxes.base import Image, Sandbox
from intercode.tasks.labels import static_flags
from intercode.tasks.model import Task

IGNORED = (
    "bin", "boot", "dev", "etc", "home", "lib", "media", "opt", "proc", "root", "run", "sbin",
    "srv", "sys", "usr", "var", ".dockerenv",
)  # fmt: skip
"""What git is told not to see, at any depth; neither compared nor restored."""

# The original resets with `git reset --hard; git clean -fd` before the first action, which takes
# every empty directory away, `/tmp` among them.
GIT_SETUP = (
    "set -e; command -v git > /dev/null || { echo 'this base image has no git'; exit 1; }; cd /; "
    f"printf '%s\\n' {' '.join(IGNORED)} > .gitignore; "
    "export GIT_AUTHOR_DATE='2023-05-31T00:00:00Z' GIT_COMMITTER_DATE='2023-05-31T00:00:00Z'; "
    "git -c init.defaultBranch=master init -q; git config user.email intercode@localhost; "
    "git config user.name intercode; git config gc.auto 0; git add -A; git commit -qm 'Start'; "
    "git reset -q --hard; git clean -qfd"
)
# A refreshed index would be a change that the agent can see.
_STATUS_ENV = {"GIT_OPTIONAL_LOCKS": "0"}
VOLATILE = frozenset({"clock", "host", "network", "random", "unstable"})
"""Flags of golds whose outcome is computed anew at each scoring."""

Role = Literal["agent", "gold"]
_ADDRESSES: dict[Role, str] = {"agent": "172.17.0.2", "gold": "172.17.0.3"}
"""Where Docker puts the first two containers."""

_static_flags = lru_cache(maxsize=4096)(static_flags)  # parsing a gold anew at each scoring costs


def is_volatile(task: Task, gold: str) -> bool:
    """Whether a gold of the task has to be run anew at each scoring."""
    return bool(VOLATILE & {*task.flags, *_static_flags(gold, task.instruction)})


class BashV1(PublishedShell):
    """See the module, and `InteractiveEnv` for the interface."""

    kind: ClassVar[str] = "bash"

    def _image(self, task: Task, role: Role = "agent") -> Image:
        image = self._runtime.image(self.dataset, task, GIT_SETUP)
        name = _container_id(role, task.file_system or "")
        return replace(
            image, env=(*image.env, ("HOSTNAME", name)), hostname=name, address=_ADDRESSES[role]
        )

    def _open(self, task: Task) -> Sandbox:
        return self._runtime.sandbox(self._image(task), self.limits)

    def _argv(self, action: str) -> list[str] | None:
        return v1_action.argv(action)

    def _scored(self) -> Score:
        agent, gold = self._outcome(self.sandbox, self._last), self._gold()
        try:
            wanted = bash_v1.paths_to_hash(agent.status, gold.status)
            hashed = bash_v1.Outcome(
                agent.status, agent.observation, self._hashes(self.sandbox, wanted)
            )
            return bash_v1.score(hashed, gold)
        except bash_v1.StatusError as error:
            # † The original ends with an exception: no reward, and the run with it.
            return Score(0.0, details={"error": str(error)})

    def _outcome(self, sandbox: Sandbox, observation: str | None) -> bash_v1.Outcome:
        with sandbox.paused():
            changed = any(_seen_by_git(change.path) for change in sandbox.changes())
        if not changed:
            return bash_v1.Outcome("", observation)
        argv = v1_action.argv(bash_v1.STATUS_COMMAND)
        assert argv is not None
        return bash_v1.Outcome(sandbox.query(argv, env=_STATUS_ENV).output, observation)

    def _hashes(self, sandbox: Sandbox, paths: list[str]) -> dict[str, str]:
        return {path: sandbox.query(bash_v1.checksum_argv(path)).output for path in paths}

    def _gold(self) -> bash_v1.Outcome:
        task, image = self.task, self._image(self.task, "gold")
        if is_volatile(task, task.gold):
            return self._run_gold(task, image)
        key = ("bash-v1", task.content_hash, image, self.limits)
        return self._runtime.gold(key, lambda: self._run_gold(task, image))

    def _run_gold(self, task: Task, image: Image) -> bash_v1.Outcome:
        with self._runtime.pool.borrowed(image, self.limits) as sandbox:
            return self._gold_outcome(sandbox, task)

    def _gold_outcome(self, sandbox: Sandbox, task: Task) -> bash_v1.Outcome:
        home = self._home(task)
        result = self._run(sandbox, task.gold, home)
        if result is not None and result.restarted:
            raise TaskError(f"the gold of task {task.id!r} takes its sandbox down")
        text, executed = observed(result, home)
        readable = executed or (result is not None and text not in (MALFORMED, TIMED_OUT))
        outcome = self._outcome(sandbox, text if readable else None)
        try:
            wanted = bash_v1.paths_to_hash(outcome.status, outcome.status)
            hashes = self._hashes(sandbox, wanted)
        except bash_v1.StatusError:
            hashes = {}
        return bash_v1.Outcome(outcome.status, outcome.observation, hashes)


def _container_id(role: Role, file_system: str) -> str:
    """What the machine is called: the paper's are two containers, and Docker names each by the
    first twelve digits of its id. The same on every run, and never the same for both."""
    return hashlib.sha256(f"{role} {file_system}".encode()).hexdigest()[:12]


def _seen_by_git(path: str) -> bool:
    return path.split("/", 2)[1] not in IGNORED
