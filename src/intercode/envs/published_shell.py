"""How the paper's environments execute: a process an action, in a directory that is kept track of.

What a process is made of an action differs between them, and so a subclass says it. A ``cd`` is
worked out as text (`intercode.rewards.v1_action`); neither variables nor functions last.
"""

from __future__ import annotations

from typing import Any

from intercode.envs.sandboxed import SandboxedEnv
from intercode.rewards import v1_action
from intercode.sandboxes.base import CommandResult, Sandbox
from intercode.tasks.model import Task

MALFORMED = "Malformed command"
TIMED_OUT = "Command timed out"


class PublishedShell(SandboxedEnv):
    """See the module. What the original crashed on is answered like a malformed command."""

    _cwd = "/"

    def _begin(self, task: Task) -> None:
        self._cwd = self._home(task)
        super()._begin(task)

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

    def _argv(self, action: str) -> list[str] | None:
        """The program and arguments that an action becomes; None for a malformed one."""
        raise NotImplementedError

    def _run(self, sandbox: Sandbox, action: str, cwd: str) -> CommandResult | None:
        argv = self._argv(action)
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

    def _memory(self) -> Any:
        return self._cwd

    def _recall(self, memory: Any) -> None:
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
