"""How the second versions execute: as written, in one shell that lasts."""

from __future__ import annotations

from typing import Any

from intercode.envs.sandboxed import SandboxedEnv
from intercode.sandboxes.base import CommandResult, Sandbox, Shell, ShellState
from intercode.tasks.model import Task

OBSERVATION_BYTES = 1 << 16


class LastingShell(SandboxedEnv):
    """Directory, variables and functions stay from one action to the next."""

    _output = ""

    def _begin(self, task: Task) -> None:
        self._output = ""
        super()._begin(task)
        self._fresh_shell(self.sandbox, task)

    def _fresh_shell(self, sandbox: Sandbox, task: Task) -> Shell:
        """A new sandbox's shell, in the directory that the task starts in."""
        home = self._home(task)
        return sandbox.shell(None if home == "/" else ShellState(cwd=home))

    def _execute(self, action: str) -> tuple[str, dict[str, Any]]:
        if "\0" in action:
            self._output = ""
            return "[an action cannot hold a NUL byte]\n", {"action_executed": False}
        result = self.sandbox.shell().run(action, max_output_bytes=OBSERVATION_BYTES)
        self._output = result.output
        return observed(result), {
            "action_executed": result.exit_code == 0,
            "exit_code": result.exit_code,
            "timed_out": result.timed_out,
            "truncated": result.truncated,
        }

    def _memory(self) -> Any:
        return self._output

    def _recall(self, memory: Any) -> None:
        self._output = memory


def observed(result: CommandResult) -> str:
    """What the agent sees: the output, and what it could not know from it."""
    notes = []
    if result.timed_out:
        notes.append(f"timed out after {result.duration_s:.0f} s and was killed")
    if result.restarted:
        notes.append(_RESTARTED.get(result.restarted, result.restarted))
    if not notes:
        return result.output
    newline = "" if not result.output or result.output.endswith("\n") else "\n"
    return f"{result.output}{newline}[{'; '.join(notes)}]\n"


_RESTARTED = {"it timed out": "the shell was started again with its directory and variables"}
