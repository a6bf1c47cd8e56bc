"""The bundled programs keep their promises: each solution is really built and run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest

from intercode.envs.code_grading import judged
from intercode.envs.code_v1 import LIMITS
from intercode.envs.runtime import Runtime
from intercode.errors import ToolchainMissing
from intercode.rewards.score import Score
from intercode.sandboxes.base import Image
from intercode.sandboxes.bubblewrap.backend import Bubblewrap
from intercode.tasks import registry
from intercode.tasks.model import Task
from intercode.tasks.sources.bundled_code import LANGUAGES, load, rows
from intercode.tasks.sources.code_tests import CodeSpec

_TASKS = load().tasks
_WRONG = {row["id"]: list(row["wrong"]) for name in LANGUAGES for row in rows(name)}

Judge = Callable[[Task, str], Score]


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    backend = Bubblewrap()
    failed = [check for check in backend.check() if not check.ok]
    if failed:
        pytest.skip(f"needs bubblewrap: {failed[0].detail}")
    with Runtime(backend) as runtime:

        def fresh() -> AbstractContextManager[Any]:
            return runtime.pool.borrowed(Image(), LIMITS)

        def score(task: Task, program: str) -> Score:
            try:
                return judged(CodeSpec.from_mapping(task.reward), program.encode(), fresh)
            except ToolchainMissing as error:
                pytest.skip(str(error))

        yield score


def test_three_tasks_in_each_of_six_languages() -> None:
    found = [task.metadata["language"] for task in _TASKS]

    assert len(LANGUAGES) >= 6
    assert all(found.count(language) >= 3 for language in LANGUAGES)
    assert {task.metadata["hardness"] for task in _TASKS} == {"easy", "medium", "hard"}


def test_they_are_asked_for_by_name_only() -> None:
    assert len(registry.load("bundled:code")) == len(_TASKS)
    assert not any(task.env == "code" for task in registry.load("bundled"))
    (bundled,) = (info for info in registry.names() if info.name == "bundled")
    assert "bundled:code" in bundled.parts


@pytest.mark.parametrize("task", _TASKS, ids=lambda task: task.id)
def test_a_task_has_solutions_mistakes_and_cases_enough(task: Task) -> None:
    spec = CodeSpec.from_mapping(task.reward, task=task.id)

    assert task.gold
    assert task.alternatives
    assert _WRONG[task.id]
    assert len(spec.cases) >= 5
    assert len({case.input for case in spec.cases}) == len(spec.cases)
    assert task.sound


@pytest.mark.bubblewrap
@pytest.mark.parametrize("task", _TASKS, ids=lambda task: task.id)
def test_right_programs_pass_every_case_and_wrong_ones_do_not(task: Task, judge: Judge) -> None:
    for program in (task.gold, *task.alternatives):
        assert judge(task, program).success, program
    for program in _WRONG[task.id]:
        score = judge(task, program)
        assert score.details["compiled"], program
        assert 0 < score.reward < 1, f"{program} passes no case: nobody would submit it"
