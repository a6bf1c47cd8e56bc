"""`intercode/Python-v1`: the paper's Python environment, quirks included.

Values are shown by putting an action into ``print(…)``, which makes many statements syntax errors;
``action_executed`` is true when there was an error; the first function of the gold is the one that
is scored; and a scoring leaves the gold in the interpreter, where a later submission can find it:
such a score says ``leaked`` in its details. Where the original ends with an exception there is an
ordinary answer here, and no episode sees another.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any, ClassVar

from intercode.envs.python import OBSERVATION_BYTES, PythonEnv
from intercode.rewards import python_v1
from intercode.rewards.score import Score
from intercode.sandboxes.base import Sandbox
from intercode.sandboxes.languages import guest_program
from intercode.sandboxes.pool import Prepare
from intercode.tasks.sources.mbpp import v1_name


def _ready(sandbox: Sandbox) -> None:
    interpreter = sandbox.interpreter("python")
    interpreter.start()
    interpreter.load(_program())


@cache
def _program() -> bytes:
    return guest_program("intercode.envs.python_guest", "published.py")


class PythonV1(PythonEnv):
    """See the module, and `InteractiveEnv` for the interface; but `score` is what the paper's was,
    and so does change what the agent sees: its own definitions are gone after it."""

    idle: ClassVar[str] = "_ = 0"

    def _prepare(self) -> Prepare:
        return _ready

    def _execute(self, action: str) -> tuple[str, dict[str, Any]]:
        self._history.append(("act", action))
        if "\0" in action:
            words = "source code string cannot contain null bytes"
            return f"Error executing action: {words}", {"action_executed": False}
        answer = self._ask("act", action)
        if answer is None:
            return "{'error': 'Error: the interpreter ended'}", {"action_executed": True}
        if "failed" in answer:
            return f"Error executing action: {answer['failed']}", {"action_executed": False}
        result = answer["result"]
        return str(result)[:OBSERVATION_BYTES], {"action_executed": bool(result["error"])}

    def _ask(self, verb: str, text: str, seconds: float | None = None) -> Any:
        """The interpreter's answer; None where it ended of the question, and is another one now."""
        limit_s = self.limits.timeout_s
        interpreter = self._interpreter()
        head = f"{verb} {round(1000 * limit_s)}\n"
        told = interpreter.ask(head, text, timeout_s=seconds or limit_s)
        if told.text is None:
            interpreter.load(_program())
            return None
        return json.loads(told.text)

    def _judged(self, submission: str) -> Score:
        self._history.append(("score", submission))
        name, bound = python_v1.submitted(submission), v1_name(self.task.gold)
        if name is None or bound is None:
            # † Exceptions, both, before anything is run.
            whose = "the submission" if name is None else "the gold"
            return Score(0.0, details={"error": f"{whose} names no function"})
        spec = self._spec
        job = {
            "bound": bound,
            "name": name,
            "setup": spec.setup,
            "tests": list(spec.tests),
            "gold": self.task.gold,
        }
        seconds = self.limits.timeout_s * (2 * len(spec.tests) + 4)
        found = self._ask("score", json.dumps(job), seconds)
        if found is None:
            return Score(0.0, details={"function": name, "error": "the interpreter ended"})
        return python_v1.score(
            spec.tests, found["agent"], found["gold"], function=name, leaked=found["leaked"]
        )

    def _again(self, done: Any) -> None:
        kind, text = done
        if kind == "act":
            self._execute(text)
        else:
            self._judged(text)
