"""Hostile Python ends in bounded observations, and is worth no more than it does."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
import python_cases

from intercode.envs.python_v2 import PythonV2
from intercode.envs.runtime import Runtime
from intercode.sandboxes.base import Limits
from intercode.sandboxes.bubblewrap.backend import Bubblewrap
from intercode.tasks.model import Dataset, Task
from intercode.tasks.sources.python_tests import TestSpec

pytestmark = pytest.mark.bubblewrap

LIMITS = Limits(timeout_s=1.0, memory_mib=256, processes=64, disk_mib=32)
PATIENCE_S = 60.0
TESTS = (
    "assert double(21) == 42",
    "assert [double(n) for n in (1, 2)] == [2, 4]",
    "assert abs(double(2.5) - 5) < 1e-9 and not double(0) and double('ab') == 'abab'",
)
TASK = Task(
    id="double",
    env="python",
    instruction="Write double(n).",
    gold="def double(n):\n    return 2 * n",
    reward=TestSpec("asserts", entry_point="double", tests=TESTS).to_mapping(),
)


@pytest.fixture(scope="module")
def env() -> Iterator[PythonV2]:
    backend = Bubblewrap()
    failed = [check for check in backend.check() if not check.ok]
    if failed:
        pytest.skip(f"needs bubblewrap: {failed[0].detail}")
    with Runtime(backend) as runtime:
        made = PythonV2(Dataset("double", (TASK,)), runtime=runtime, limits=LIMITS)
        yield made
        made.close()
        assert runtime.live() == 0


@pytest.mark.parametrize("case", python_cases.ACTIONS, ids=lambda case: case.name)
def test_action(env: PythonV2, case: python_cases.Action) -> None:
    env.reset(options={"task": "double"})
    env.step("mark = 41")
    began = time.monotonic()
    observation, reward, over, _, _ = env.step(case.code)
    assert time.monotonic() - began < PATIENCE_S
    assert (reward, over) == (0.0, False)
    assert case.says in observation
    assert len(observation) < 1 << 20
    said = python_cases.GONE in observation
    if case.keeps is not None:
        assert said is not case.keeps, observation
        found = env.step("mark")
        assert ("41" in found[0]) is case.keeps, (observation, found)
    # Whatever state it is in, the episode goes on, and can be scored.
    env.step("def double(n): return 2 * n")
    reward = env.score().reward
    assert reward == 1.0 or case.keeps is None


@pytest.mark.parametrize("case", python_cases.SUBMISSIONS, ids=lambda case: case.name)
def test_submission(env: PythonV2, case: python_cases.Submission) -> None:
    env.reset(options={"task": "double"})
    env.step(case.code)
    began = time.monotonic()
    score = env.score(case.submit)
    assert time.monotonic() - began < PATIENCE_S
    assert score.reward <= case.reward, score
    assert "assert" not in repr(score)
    # The judge has not been harmed: the right function is still right.
    env.reset(options={"task": "double"})
    env.step(TASK.gold)
    assert env.step("submit double")[1] == 1.0


def test_there_are_enough() -> None:
    assert len(python_cases.ACTIONS) >= 50
    assert len(python_cases.SUBMISSIONS) >= 30
