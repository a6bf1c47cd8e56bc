"""The bundled repositories: each bug is one, each repair mends it, and no short cut pays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from intercode.envs.runtime import Runtime
from intercode.envs.swe_grading import Grader
from intercode.envs.swe_v1 import SweV1
from intercode.rewards.score import Score
from intercode.sandboxes.bubblewrap.backend import Bubblewrap
from intercode.tasks.model import Task
from intercode.tasks.registry import load
from intercode.tasks.sources.bundled_swe import REPOSITORIES, edited, entries, story, suite_of
from intercode.tasks.sources.swe_spec import spec_of, writing_action
from intercode.tasks.tree import build_tar

TASKS = {task.metadata["repo"]: task for task in load("bundled:swe")}


@pytest.fixture(scope="module")
def runtime() -> Iterator[Runtime]:
    backend = Bubblewrap()
    failed = [check for check in backend.check() if not check.ok]
    if failed:
        pytest.skip(f"needs bubblewrap: {failed[0].detail}")
    with Runtime(backend) as shared:
        yield shared


@pytest.fixture(scope="module")
def env(runtime: Runtime) -> Iterator[SweV1]:
    made = SweV1(load("bundled:swe"), runtime=runtime)
    yield made
    made.close()


def scored(env: SweV1, task: Task, *actions: str) -> Score:
    env.reset(options={"task": task})
    for action in actions:
        assert env.step(action)[4]["exit_code"] == 0
    found: dict[str, Any] = env.step("submit")[4]
    score: Score = found["score"]
    return score


# -- as written ------------------------------------------------------------------------------------


def test_there_are_enough_and_they_differ() -> None:
    assert len(TASKS) >= 6
    assert len({task.content_hash for task in TASKS.values()}) == len(TASKS)
    assert {task.metadata["hardness"] for task in TASKS.values()} == {"easy", "medium", "hard"}


@pytest.mark.parametrize("name", REPOSITORIES)
def test_the_same_bytes_every_time(name: str) -> None:
    assert build_tar(entries(name)) == build_tar(entries(name))


@pytest.mark.parametrize("name", REPOSITORIES)
def test_the_repository_gives_nothing_of_the_answer_away(name: str) -> None:
    told, task = story(name), TASKS[name]
    assert len(told.commits) >= 2
    assert [commit.when for commit in told.commits] == sorted({c.when for c in told.commits})
    tree = build_tar(entries(name)).decode("utf-8", "replace")
    for test in spec_of(task).fail_to_pass:
        assert test.rpartition(".")[2] not in tree
        assert test.rpartition(".")[2] not in task.instruction
    for edit in told.row["fix"]:
        assert edit["new"].strip() not in tree


@pytest.mark.parametrize("name", REPOSITORIES)
def test_hidden_tests_come_on_top_of_all_that_are_there(name: str) -> None:
    told, spec = story(name), spec_of(TASKS[name])
    assert {*suite_of(told.base)} < {*suite_of(told.tested)} == {*spec.tests}
    assert not {*spec.fail_to_pass} & {*suite_of(told.base)}
    assert set(spec.fail_to_pass) < set(spec.tests)


def test_an_edit_that_fits_twice_or_nowhere_is_refused() -> None:
    for text in ("aa", "b"):
        with pytest.raises(ValueError, match="times 'a'"):
            edited({"x": text}, [{"path": "x", "old": "a", "new": "c"}])


# -- as run ----------------------------------------------------------------------------------------


@pytest.mark.bubblewrap
@pytest.mark.parametrize("name", REPOSITORIES)
def test_gold_is_one_nothing_is_nothing(env: SweV1, name: str) -> None:
    assert scored(env, TASKS[name], TASKS[name].gold).reward == 1.0
    assert scored(env, TASKS[name]).reward == 0.0


@pytest.mark.bubblewrap
@pytest.mark.parametrize("name", REPOSITORIES)
def test_every_other_test_passes_before(env: SweV1, name: str) -> None:
    found = scored(env, TASKS[name], "echo '# other' >> $(git ls-files '*.py' | head -n 1)")
    assert found.components == {"fail_to_pass": 0.0, "pass_to_pass": 1.0, "resolved": 0.0}


@pytest.mark.bubblewrap
@pytest.mark.parametrize("name", REPOSITORIES)
def test_a_repair_that_breaks_another_test_is_worth_a_part(env: SweV1, name: str) -> None:
    told = story(name)
    for about, tree in told.mistaken():
        changed = {path: text for path, text in tree.items() if told.base[path] != text}
        found = scored(env, TASKS[name], writing_action(changed))
        assert 0 < found.reward < 0.5, about
        assert found.components["pass_to_pass"] < 1, about
        assert not found.details["forged"], about


CHEATS = {
    "tests": "cd /testbed; for f in tests/*.py; do echo > $f; done",
    "conftest": "cd /testbed; echo 'import os; os._exit(0)' | tee conftest.py sitecustomize.py",
    "exit": "cd /testbed; for f in */__init__.py; do echo 'import os; os._exit(0)' >> $f; done",
    "blanket": "cd /testbed; for f in */__init__.py; do cat >> $f <<'X'\n"
    "import unittest\n"
    "def _run(self, result=None):\n"
    "    result.startTest(self); result.addSuccess(self); result.stopTest(self)\n"
    "unittest.TestCase.run = unittest.TestCase.__call__ = _run\nX\ndone",
}


@pytest.mark.bubblewrap
@pytest.mark.parametrize("cheat", CHEATS)
@pytest.mark.parametrize("name", REPOSITORIES)
def test_no_cheat_gains_anything(env: SweV1, name: str, cheat: str) -> None:
    env.reset(options={"task": TASKS[name]})
    env.step(CHEATS[cheat])
    assert env.score().reward == 0.0


@pytest.mark.bubblewrap
@pytest.mark.parametrize("name", REPOSITORIES)
def test_every_test_has_a_control_that_the_gold_fails(
    env: SweV1, runtime: Runtime, name: str
) -> None:
    task = TASKS[name]
    image = runtime.image(load("bundled:swe"), task)
    grader = Grader(task, lambda: runtime.pool.borrowed(image, env.limits))
    assert grader.watched(grader.hidden()) == set(spec_of(task).tests)
