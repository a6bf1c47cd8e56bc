"""Tests of a Python submission, by two sandboxes that the agent never saw.

In one, the *box*, the agent's actions are done again, and what it submitted is called there. In the
other, the *judge*, the tests run; no agent's code ever enters it, so it can be used again. Between
them, and through us, go calls with their arguments and what came of them, as plain data. The agent
sees neither a test nor what is expected, and no verdict passes through its hands: to lie about what
a function returned is all that it can do, and that is what is being tested.

Not protected: a test that only asks an object of a class of the agent's own about itself believes
it (two such objects are equal if their class says so); arguments can be seen, and one test's can be
remembered in the next; and a test in the style ``source`` is by its nature run in one process with
the submission, which could find its way to it (`_source`).
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Sequence
from dataclasses import asdict
from functools import cache

from intercode.envs.runtime import Runtime
from intercode.rewards.python_v2 import Verdicts
from intercode.sandboxes.base import Image, Limits, Sandbox
from intercode.sandboxes.languages import Interpreter, guest_program
from intercode.tasks.sources.python_tests import StdinCase, TestSpec

TEST_S = 5.0
"""What one test may take."""
WHOLE_S = 60.0
"""What all of them together may take: those that are left then have failed."""
_REDONE_S = 1.0
"""How long an action that timed out is given when it is done again."""
_PACKAGE = "intercode.envs.python_guest"


@cache
def _programs(*names: str) -> bytes:
    return b"".join(guest_program(_PACKAGE, name) for name in ("wire.py", *names))


def box_ready(sandbox: Sandbox) -> None:
    """Ahead of time, since what the agent's actions do may be that nothing loads any more."""
    interpreter = sandbox.interpreter("python")
    interpreter.start()
    interpreter.load(_programs("box.py"))


def judge_ready(sandbox: Sandbox) -> None:
    interpreter = sandbox.interpreter("python")
    interpreter.start()
    interpreter.load(_programs("remote.py", "judge.py"))


def redo(interpreter: Interpreter, actions: Sequence[tuple[str, bool]], limit_s: float) -> None:
    """Do actions again; with each, whether it had timed out."""
    for action, timed_out in actions:
        limited = min(_REDONE_S, limit_s) if timed_out else limit_s
        interpreter.run(action, timeout_s=limited, max_output_bytes=1 << 10)


def verdicts(
    runtime: Runtime,
    image: Image,
    limits: Limits,
    spec: TestSpec,
    actions: Sequence[tuple[str, bool]],
    name: str | None,
    program: str,
    *,
    test_s: float = TEST_S,
) -> Verdicts:
    """What each test says of ``name`` as ``actions`` define it, or of ``program``, in the styles
    that test a text."""
    with runtime.pool.borrowed(image, limits, box_ready) as box:
        if spec.style == "source":
            return [_source(box, spec, program, test_s)]
        interpreter = box.interpreter("python")
        if spec.style == "stdin":
            return _printed(interpreter, spec, program, test_s)
        redo(interpreter, actions, limits.timeout_s)
        try:
            with runtime.own(image, limits, judge_ready) as judge:
                return _Trial(interpreter, judge.interpreter("python"), spec, name, test_s).held()
        except _JudgeGone as gone:
            return gone.done


class _JudgeGone(Exception):
    """A test did not let go of its own process, which had to be killed."""

    def __init__(self, done: Verdicts) -> None:
        super().__init__("the tests' process ended")
        self.done = done


class _Trial:
    """Carries questions from the judge to the box, and answers back."""

    def __init__(
        self,
        box: Interpreter,
        judge: Interpreter,
        spec: TestSpec,
        name: str | None,
        test_s: float,
    ) -> None:
        self._box, self._judge = box, judge
        self._spec, self._name, self._test_s = spec, name or spec.entry_point, test_s
        self._until = time.monotonic() + WHOLE_S
        self._test = -1
        self._test_until = 0.0

    def held(self) -> Verdicts:
        job = asdict(self._spec) | {"name": self._name}
        limit_s = self._test_s
        head, text = f"judge {round(1000 * limit_s)}\n", json.dumps(job)
        done: list[bool | None] = []
        while True:
            told = self._judge.ask(head, text, timeout_s=limit_s * (1 + self._batch)).text
            if told is None:
                raise _JudgeGone([*done, *[False] * (self._spec.count - len(done))])
            answer = json.loads(told)
            if "verdicts" in answer:
                return list(answer["verdicts"])
            done = answer["done"]
            head, text = "answer 0\n", self._answer(answer["ask"], answer["test"])

    @property
    def _batch(self) -> int:
        """How many tests the judge may go through without a question."""
        return self._spec.count if self._spec.style == "inputs" else 1

    def _answer(self, question: str, test: int) -> str:
        now = time.monotonic()
        if test != self._test:
            self._test, self._test_until = test, now + self._test_s
        left = min(self._test_until, self._until) - now
        if left <= 0:
            return "late"
        asked = self._box.ask(f"box {max(1, round(1000 * left))}\n", question, timeout_s=left)
        if asked.text is None:
            # The interpreter itself: what was defined is gone, and the tests that are left with it.
            self._until = now
            return "dead"
        return asked.text.decode("ascii", "replace")


def _printed(box: Interpreter, spec: TestSpec, program: str, test_s: float) -> Verdicts:
    found = []
    until = time.monotonic() + WHOLE_S
    for case in spec.cases:
        assert isinstance(case, StdinCase)
        left = min(test_s, until - time.monotonic())
        if left <= 0:
            found.append(False)
            continue
        job = json.dumps({"program": program, "input": case.input})
        told = box.ask(f"program {round(1000 * left)}\n", job, timeout_s=left).text
        output, well = json.loads(told) if told else ("", False)
        found.append(well is True and _lines(str(output)) == _lines(case.output))
    return found


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]


_SOURCE = """\
import json, os, sys
job = json.loads(sys.stdin.buffer.read())
out = os.dup(1)
os.dup2(2, 1)
word = job.pop("word")
space = {"__name__": "tests"}
exec(compile(job["tests"], "<tests>", "exec", dont_inherit=True), space)
for name in ("test_string", "test_execution"):
    if name in space:
        space[name](job["program"])
os.write(out, word.encode())
"""


def _source(box: Sandbox, spec: TestSpec, program: str, test_s: float) -> bool:
    """The tests execute the submission themselves, in their own process: passed is what gets to
    its end and says a word that was drawn for the occasion."""
    word = secrets.token_hex(16)
    job = json.dumps({"tests": spec.tests[0], "program": program, "word": word})
    done = box.run(["python3", "-c", _SOURCE], stdin=job.encode(), timeout_s=12 * test_s)
    return done.exit_code == 0 and word in done.output
