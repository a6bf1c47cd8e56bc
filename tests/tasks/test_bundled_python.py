"""The bundled Python tasks keep their promises: each solution is really run."""

from __future__ import annotations

from collections import Counter

import pytest
from python_judge import judge

from intercode.tasks.model import Task
from intercode.tasks.sources.bundled_python import TOPICS, load, rows
from intercode.tasks.sources.python_tests import TestSpec

_TASKS = load().tasks
_WRONG = {row["id"]: list(row["wrong"]) for topic in TOPICS for row in rows(topic)}
_EMPTY = ("", "pass", "raise SystemExit(0)")


def test_at_least_forty_tasks_over_many_matters() -> None:
    hardness = Counter(task.metadata["hardness"] for task in _TASKS)
    tags = Counter(tag for task in _TASKS for tag in task.metadata["tags"])

    assert len(_TASKS) >= 40
    assert set(hardness) == {"easy", "medium", "hard"}
    assert min(hardness.values()) >= 8
    assert tags["explore"] >= 8
    assert {"strings", "dates", "parsing", "recursion", "generators", "classes"} <= set(tags)
    assert {"numbers", "simulation", "binary", "graphs", "errors"} <= set(tags)


def test_every_id_says_what_it_is() -> None:
    assert all(task.id.startswith("python/") and task.env == "python" for task in _TASKS)


def test_no_flags_because_every_task_is_sound() -> None:
    assert [task.id for task in _TASKS if not task.sound] == []


@pytest.mark.parametrize("task", _TASKS, ids=lambda task: task.id)
def test_a_task_has_solutions_mistakes_and_tests_enough(task: Task) -> None:
    spec = TestSpec.from_mapping(task.reward, task=task.id)

    assert task.gold
    assert task.alternatives
    assert _WRONG[task.id]
    assert 4 <= spec.count <= 8
    assert f"`{spec.entry_point}" in task.instruction
    assert bool(spec.given) == ("explore" in task.metadata["tags"])
    # No test of what is asked for passes by itself: each calls it, or a helper that does.
    assert all(spec.entry_point in test or spec.setup for test in spec.tests)


@pytest.mark.parametrize("task", _TASKS, ids=lambda task: task.id)
def test_right_solutions_pass_every_test_and_wrong_ones_do_not(task: Task) -> None:
    right = [task.gold, *task.alternatives]
    *passed, empty, nothing, gone = judge(
        [(task.reward, code) for code in (*right, *_WRONG[task.id], *_EMPTY)], timeout_s=10
    )

    for code, found in zip(right, passed, strict=False):
        failed = [test for test, ok in zip(task.reward["tests"], found, strict=True) if not ok]
        assert not failed, code
    for code, found in zip(_WRONG[task.id], passed[len(right) :], strict=True):
        assert not all(found), code
        assert any(found), f"{code} passes no test: nobody would take it for a solution"
    assert not any([*empty, *nothing, *gone])
