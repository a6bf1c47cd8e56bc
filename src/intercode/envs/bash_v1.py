"""`intercode/Bash-v1`: the paper's Bash environment, quirks included.

Each action is a process of its own, quoted and split as the paper's code did; the file system is a
git work tree, whose ``git status`` is what is compared. Where the original crashes, an ordinary
error observation or the score it had computed stands in its place.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import lru_cache
from typing import Any, ClassVar, Literal

from intercode.envs.sandboxed import SandboxedEnv
from intercode.errors import TaskError
from intercode.rewards import bash_v1, v1_action
from intercode.rewards.score import Score
from intercode.sandboxes.base import CommandResult, Image, Sandbox
from intercode.tasks.labels import static_flags
from intercode.tasks.model import Task

MALFORMED = "Malformed command"
TIMED_OUT = "Command timed out"

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


class BashV1(SandboxedEnv):
    """See the module, and `InteractiveEnv` for the interface."""

    kind: ClassVar[str] = "bash"

    _cwd = "/"

    def _image(self, task: Task, role: Role = "agent") -> Image:
        image = self._runtime.image(self.dataset, task, GIT_SETUP)
        name = _container_id(role, task.file_system or "")
        return replace(
            image, env=(*image.env, ("HOSTNAME", name)), hostname=name, address=_ADDRESSES[role]
        )

    def _open(self, task: Task) -> Sandbox:
        self._cwd = "/"
        return self._runtime.sandbox(self._image(task), self.limits)

    def _execute(self, action: str) -> tuple[str, dict[str, Any]]:
        if not v1_action.is_cd(action):
            return self._observed(self._run(self.sandbox, action, self._cwd))
        target = v1_action.cd_target(self._cwd, action)
        if target is None:
            return self._observed(None)
        result = self._run(self.sandbox, v1_action.cd_command(target), v1_action.CD_CWD)
        if result is not None and result.exit_code == 0:
            self._cwd = target
        return self._observed(result)

    def _run(self, sandbox: Sandbox, action: str, cwd: str) -> CommandResult | None:
        argv = v1_action.argv(action)
        return None if not argv else sandbox.run(argv, cwd=cwd, until_silent=True)

    def _observed(self, result: CommandResult | None) -> tuple[str, dict[str, Any]]:
        text, executed = observed(result, self._cwd)
        info: dict[str, Any] = {"action_executed": executed}
        if result is not None:
            info |= {
                "exit_code": result.exit_code,
                "timed_out": result.timed_out,
                "truncated": result.truncated,
            }
        return text, info

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
        if VOLATILE & {*task.flags, *_static_flags(task.gold, task.instruction)}:
            return self._run_gold(task, image)
        key = ("bash-v1", task.content_hash, image, self.limits)
        return self._runtime.gold(key, lambda: self._run_gold(task, image))

    def _run_gold(self, task: Task, image: Image) -> bash_v1.Outcome:
        with self._runtime.pool.borrowed(image, self.limits) as sandbox:
            return self._gold_outcome(sandbox, task)

    def _gold_outcome(self, sandbox: Sandbox, task: Task) -> bash_v1.Outcome:
        result = self._run(sandbox, task.gold, "/")
        if result is not None and result.restarted:
            raise TaskError(f"the gold of task {task.id!r} takes its sandbox down")
        text, executed = observed(result, "/")
        readable = executed or (result is not None and text not in (MALFORMED, TIMED_OUT))
        outcome = self._outcome(sandbox, text if readable else None)
        try:
            wanted = bash_v1.paths_to_hash(outcome.status, outcome.status)
            hashes = self._hashes(sandbox, wanted)
        except bash_v1.StatusError:
            hashes = {}
        return bash_v1.Outcome(outcome.status, outcome.observation, hashes)

    def _memory(self) -> str:
        return self._cwd

    def _recall(self, memory: str) -> None:
        self._cwd = memory


def observed(result: CommandResult | None, cwd: str) -> tuple[str, bool]:
    """(observation, whether the action counts as executed), as the paper's code words it."""
    if result is None:
        return MALFORMED, False
    if result.timed_out:
        return TIMED_OUT, False
    if result.failure == "cwd":
        return (
            "OCI runtime exec failed: exec failed: unable to start container process: chdir to "
            f'cwd ("{cwd}") set in config.json failed: no such file or directory: unknown'
        ), False
    if result.failure == "exec":
        return (
            "OCI runtime exec failed: exec failed: unable to start container process: exec: "
            '"/bin/bash": stat /bin/bash: no such file or directory: unknown'
        ), False
    try:
        return result.raw.decode("utf-8"), result.exit_code == 0
    except UnicodeDecodeError:
        return MALFORMED, False


def _container_id(role: Role, file_system: str) -> str:
    """What the machine is called: the paper's are two containers, and Docker names each by the
    first twelve digits of its id. The same on every run, and never the same for both."""
    return hashlib.sha256(f"{role} {file_system}".encode()).hexdigest()[:12]


def _seen_by_git(path: str) -> bool:
    return path.split("/", 2)[1] not in IGNORED
