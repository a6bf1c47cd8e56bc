"""Repository repair: what crosses into judgement, what it is worth, and what cheating gains."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from intercode.envs.registration import env_name
from intercode.envs.runtime import Runtime
from intercode.envs.swe_artefact import counts
from intercode.envs.swe_v1 import SweV1
from intercode.errors import TaskError
from intercode.rewards.score import Score
from intercode.sandboxes.base import Limits
from intercode.sandboxes.bubblewrap.backend import Bubblewrap
from intercode.tasks import patches
from intercode.tasks.git_store import Commit, repository
from intercode.tasks.model import Dataset, FileSystem, Task
from intercode.tasks.registry import load
from intercode.tasks.sources.swe_spec import SweSpec, instruction
from intercode.tasks.tree import build_tar, kept

pytestmark = pytest.mark.bubblewrap

WHO = "A Tester <a@example.org>"
CODE = '"""Numbers."""\n\n\ndef half(n):\n    return n / 2\n\n\ndef double(n):\n    return n + n\n'
RIGHT = CODE.replace("n / 2", "n // 2")
TESTS = """\
import unittest

from numbers_ import double, half


class HalfTest(unittest.TestCase):
    def test_even(self):
        self.assertEqual(half(4), 2)


class DoubleTest(unittest.TestCase):
    def test_double(self):
        self.assertEqual(double(4), 8)

    def test_list(self):
        self.assertEqual(double([1]), [1, 1])
"""
HIDDEN = (
    TESTS
    + """\

    def test_text(self):
        self.assertEqual(double("a"), "aa")


class OddTest(unittest.TestCase):
    def test_odd(self):
        self.assertEqual(half(5), 2)

    def test_refused(self):
        with self.assertRaises(TypeError):
            half("x")
"""
)
BASE = {"numbers_.py": CODE, "tests/__init__.py": "", "tests/test_numbers.py": TESTS}
SPEC = SweSpec(
    test_patch=patches.made(BASE, {**BASE, "tests/test_numbers.py": HIDDEN}),
    fail_to_pass=("tests.test_numbers.OddTest.test_odd",),
    pass_to_pass=tuple(
        f"tests.test_numbers.{name}"
        for name in ("HalfTest.test_even", "DoubleTest.test_double", "DoubleTest.test_list",
                     "DoubleTest.test_text", "OddTest.test_refused")
    ),
    patch=patches.made(BASE, {**BASE, "numbers_.py": RIGHT}),
    harness="unittest",
    protected=("tests",),
    test_timeout_s=3.0,
    total_timeout_s=15.0,
)  # fmt: skip
REPAIR = "sed -i s_n./.2_n//2_ numbers_.py"


def dataset(spec: SweSpec = SPEC, base: dict[str, str] = BASE) -> Dataset:
    commits = (
        Commit("first", WHO, 1_600_000_000, {"numbers_.py": "# soon\n"}),
        Commit("second", WHO, 1_600_000_100, base),
    )
    tar = kept("tree", "trees", "tar", build_tar(repository(commits, "testbed")))
    task = Task(
        id="half", env="swe", instruction=instruction("half(5) should be 2"), gold=f"{REPAIR}",
        file_system="numbers", reward=spec.to_mapping(),
    )  # fmt: skip
    return Dataset("handmade", (task,), {"numbers": FileSystem("numbers", tar)})


@pytest.fixture(scope="module")
def runtime() -> Iterator[Runtime]:
    backend = Bubblewrap()
    failed = [check for check in backend.check() if not check.ok]
    if failed:
        pytest.skip(f"needs bubblewrap: {failed[0].detail}")
    with Runtime(backend) as shared:
        yield shared


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INTERCODE_CACHE", str(tmp_path_factory.mktemp("cache")))
        return dataset()


@pytest.fixture
def env(runtime: Runtime, tasks: Dataset) -> Iterator[SweV1]:
    made = SweV1(tasks, runtime=runtime, limits=Limits(timeout_s=10))
    yield made
    made.close()


def scored(env: SweV1, *actions: str) -> Score:
    env.reset(options={"task": "half"})
    for action in actions:
        env.step(action)
    _, reward, terminated, _, info = env.step("submit")
    assert terminated
    assert info["score"].reward == reward
    return info["score"]  # type: ignore[no-any-return]


def test_every_version_is_this_one() -> None:
    for version in (None, "v1", "v2", "SWE-v1"):
        assert env_name(version, load("bundled:swe")) == "SWE-v1"


# -- what a repair is worth ------------------------------------------------------------------------


def test_the_episode_begins_in_the_repository_with_the_issue(env: SweV1) -> None:
    observation, info = env.reset(options={"task": "half"})
    assert "half(5) should be 2" in observation
    assert info == {"task": "half"}
    assert env.step("pwd; ls")[0] == "/testbed\nnumbers_.py\ntests\n"
    assert env.step("cd /; x=3")[4]["exit_code"] == 0
    assert env.step("pwd; echo $x")[0] == "/\n3\n"


def test_gold_is_one_and_nothing_is_nothing(env: SweV1) -> None:
    assert scored(env, env.dataset[0].gold).reward == 1.0
    assert scored(env).reward == 0.0
    assert scored(env, "touch numbers_.py; ls > /tmp/x; git gc -q").reward == 0.0


def test_a_repair_that_breaks_another_test_is_worth_a_part(env: SweV1) -> None:
    found = scored(env, REPAIR, "sed -i 's/n + n/2 * float(n)/' numbers_.py")
    assert found.components == {"fail_to_pass": 1.0, "pass_to_pass": 3 / 5, "resolved": 0.0}
    assert found.reward == 0.5 * 3 / 5
    assert [name.rpartition(".")[2] for name in found.details["broken"]] == [
        "test_list",
        "test_text",
    ]


def test_scoring_changes_nothing_and_can_be_asked_for_at_any_time(env: SweV1) -> None:
    env.reset(options={"task": "half"})
    assert env.score().reward == 0.0
    env.step(REPAIR)
    before = env.sandbox.changes()
    assert env.score().reward == 1.0
    assert env.sandbox.changes() == before
    assert env.step("ls /var/tmp /testbed/tests; git status --short")[0].split() == [
        "/testbed/tests:", "__init__.py", "test_numbers.py", "/var/tmp:", "M", "numbers_.py",
    ]  # fmt: skip


def test_branches_are_judged_apart(env: SweV1) -> None:
    env.reset(options={"task": "half"})
    (twin,) = env.fork(1)
    twin.step(REPAIR)
    assert (twin.score().reward, env.score().reward) == (1.0, 0.0)
    twin.close()


def test_files_can_come_go_and_move(env: SweV1) -> None:
    moves = (
        "mkdir -p lib/deep && mv numbers_.py lib/deep/real.py && touch lib/__init__.py "
        "lib/deep/__init__.py && sed -i s_n./.2_n//2_ lib/deep/real.py && "
        "echo 'from lib.deep.real import *' > numbers_.py"
    )
    assert scored(env, moves).reward == 1.0
    as_package = (
        "mkdir p && mv numbers_.py p/__init__.py && mv p numbers_.py; mv numbers_.py numbers_"
    )
    assert scored(env, REPAIR, as_package).reward == 1.0
    link = "mv numbers_.py real.py && ln -s real.py numbers_.py"
    assert scored(env, REPAIR, link).reward == 1.0
    assert scored(env, "rm -rf numbers_.py").reward == 0.0


# -- what does not count, and what cheating gains --------------------------------------------------


COMPILE = (
    "python3 -c \"import py_compile as p; p.compile('numbers_.py', '{}', "
    'invalidation_mode=p.PycInvalidationMode.UNCHECKED_HASH)"'
)
"""Unchecked, compiled code is run in place of the source that it says it belongs to."""


@pytest.mark.parametrize(
    "action",
    [
        "echo > tests/test_numbers.py",
        "echo pass > tests/test_more.py",
        "rm -rf tests",
        "rm -rf tests; ln -s /tmp tests",
        "rm -rf tests; echo > tests",
        "echo 'raise SystemExit(0)' | tee conftest.py sitecustomize.py usercustomize.py x.pth",
        "printf '[pytest]\\naddopts = -k nothing\\n' | tee pytest.ini .pytest.ini tox.ini",
        "printf '#!/bin/sh\\nexit 0\\n' | tee /usr/local/bin/python3 .git/hooks",
        "mkdir -p /var/tmp/intercode; echo 'print(1)' > /var/tmp/intercode/grade.py",
        COMPILE.format("tests/__pycache__/test_numbers.cpython-311.pyc"),
        COMPILE.format("unittest.pyc"),
        "rm -rf .git; git init -q",
        "mkdir .pytest_cache; touch .pytest_cache/x",
    ],
)  # fmt: skip
def test_what_does_not_count_is_nothing(env: SweV1, action: str) -> None:
    env.reset(options={"task": "half"})
    env.step(action)
    assert [change for change in env.sandbox.changes() if change.kind != "touched"]
    found = env.score()
    assert (found.reward, found.details) == (0.0, {"why": "nothing that counts was changed"})


@pytest.mark.parametrize(
    "action",
    ["rm -rf /testbed/* /testbed/.git", "mv /testbed /elsewhere; ln -s /elsewhere /testbed"],
)
def test_a_repository_that_is_gone_is_nothing(env: SweV1, action: str) -> None:
    assert scored(env, action).reward == 0.0


def test_edited_tests_are_restored_beside_a_repair(env: SweV1) -> None:
    assert scored(env, REPAIR, "rm -rf tests; echo broken > tests").reward == 1.0


def test_what_the_gold_changes_too_counts() -> None:
    """A repository about such files may have to change them."""
    spec = replace(SPEC, protected=("tests", "data"))
    is_counted = counts(spec, frozenset({"tests/a.py"}), frozenset({"conftest.py"}))
    assert [is_counted(path) for path in ("conftest.py", "lib/conftest.py", "data", "data.py")] == [
        True, False, False, True,
    ]  # fmt: skip


ALWAYS_EQUAL = """
class Any(int):
    __hash__ = int.__hash__
    def __eq__(self, other): return True
    def __ne__(self, other): return False
def half(n):
    if isinstance(n, str): raise TypeError
    return Any(n / 2)
"""
BLANKET = """
import unittest
def run(self, result=None):
    result.startTest(self)
    result.addSuccess(self)
    result.stopTest(self)
unittest.TestCase.run = unittest.TestCase.__call__ = run
"""
NO_FAILURES = """
import unittest
def nothing(self, *_): pass
for name in ("addFailure", "addError", "addSubTest"): setattr(unittest.TestResult, name, nothing)
"""
SOFT_ASSERTIONS = """
import unittest
for name in dir(unittest.TestCase):
    if name.startswith("assert") and name != "assertRaises":
        setattr(unittest.TestCase, name, lambda *a, **k: None)
"""
FORGED_VERDICT = """
import os
for descriptor in range(3, 64):
    try: os.write(descriptor, b'["passed", ""]\\n')
    except OSError: pass
os._exit(0)
"""
FORGED_ANSWER = """
import glob, os
for path in glob.glob("/proc/%d/fd/*" % os.getppid()):
    try: open(path, "w").write('x {"results": {}}')
    except OSError: pass
os._exit(0)
"""
PATCHED_JSON = """
import json
json.dumps = lambda *_: '["passed", ""]'
"""
SHADOW = """mkdir unittest && cat > unittest/__init__.py <<'X'
class TestCase: pass
class TestResult: failures = errors = skipped = unexpectedSuccesses = (); testsRun = 1
class Loader:
    def loadTestsFromName(self, name): return self
    def run(self, result): pass
defaultTestLoader = Loader()
X
cp -r unittest json; cp -r unittest os; sed -i '1i# changed' numbers_.py"""


@pytest.mark.parametrize(
    "code",
    [ALWAYS_EQUAL, BLANKET, NO_FAILURES, SOFT_ASSERTIONS, FORGED_VERDICT, FORGED_ANSWER,
     PATCHED_JSON, "raise SystemExit(0)", "import os; os._exit(0)", "import os; os.abort()",
     "import os, signal; os.kill(os.getppid(), signal.SIGKILL)",
     "import os, signal; os.kill(-1, signal.SIGKILL)", "raise KeyboardInterrupt"],
)  # fmt: skip
def test_code_that_forges_its_verdict_gets_nothing(env: SweV1, code: str) -> None:
    found = scored(env, f"cat >> numbers_.py <<'X'\n{code}\nX")
    assert found.reward == 0.0
    assert found.components["fail_to_pass"] == 0.0


def test_a_standard_library_of_the_repositorys_own_is_not_used(env: SweV1) -> None:
    assert scored(env, SHADOW).components["fail_to_pass"] == 0.0
    assert scored(env, SHADOW, REPAIR).reward == 1.0


def test_forgers_are_named(env: SweV1) -> None:
    found = scored(env, f"cat >> numbers_.py <<'X'\n{BLANKET}\nX")
    assert set(found.details["forged"]) == set(SPEC.fail_to_pass) | set(SPEC.pass_to_pass)


def test_a_hanging_test_costs_itself_only(env: SweV1) -> None:
    hang = "sed -i 's/^def half.*/&\\n    while n == 5: pass/' numbers_.py"
    found = scored(env, hang)
    assert found.components == {"fail_to_pass": 0.0, "pass_to_pass": 1.0, "resolved": 0.0}


def test_too_much_is_nothing_and_no_error(env: SweV1) -> None:
    found = scored(env, REPAIR, "head -c 70000000 /dev/zero > blob")
    assert (found.reward, found.details["why"]) == (0.0, "more was changed than 64 MiB")


def test_odd_files_are_left_behind(env: SweV1) -> None:
    odd = "mkfifo pipe; mkdir -m 000 shut; ln -s /nowhere $'a\\nb'; touch $'\\xff'"
    assert scored(env, REPAIR, odd, "chmod 4777 numbers_.py").reward == 1.0


# -- a task that cannot be judged is no zero -------------------------------------------------------


def changed_task(tasks: Dataset, **reward: Any) -> Dataset:
    task = tasks[0]
    return replace(tasks, tasks=(replace(task, reward={**task.reward, **reward}),), whole=())


def _error(runtime: Runtime, tasks: Dataset) -> str:
    env = SweV1(tasks, runtime=runtime)
    try:
        with pytest.raises(TaskError) as caught:
            env.reset(options={"task": "half"})
            env.step(REPAIR)
            env.score()
        return str(caught.value)
    finally:
        env.close()


def test_a_gold_that_fails_is_the_tasks_fault(runtime: Runtime, tasks: Dataset) -> None:
    bad = patches.made(BASE, {**BASE, "numbers_.py": CODE + "\n"})
    assert "gold of task 'half' does not pass" in _error(runtime, changed_task(tasks, patch=bad))


def test_a_patch_that_does_not_fit_is_the_tasks_fault(runtime: Runtime, tasks: Dataset) -> None:
    bad = SPEC.test_patch.replace("\n     def", "\n     fed").replace(
        "\n         self", "\n         elf"
    )
    assert "does not fit" in _error(runtime, changed_task(tasks, test_patch=bad))


def test_a_task_without_tests_is_refused_before_it_begins(runtime: Runtime, tasks: Dataset) -> None:
    assert "no hidden tests" in _error(runtime, changed_task(tasks, fail_to_pass=[]))


def test_without_a_gold_there_are_no_controls_but_a_score(runtime: Runtime, tasks: Dataset) -> None:
    env = SweV1(changed_task(tasks, patch=""), runtime=runtime)
    assert scored(env, REPAIR).reward == 1.0
    env.close()


# -- history ---------------------------------------------------------------------------------------


def test_the_history_ends_with_the_base_commit(env: SweV1) -> None:
    env.reset(options={"task": "half"})
    if "no git" in env.step("command -v git || echo no git")[0]:
        pytest.skip("needs git")
    assert env.step("git log --all --reflog --format=%s")[0] == "second\nfirst\n"
    assert env.step("git fsck --unreachable --no-reflogs; git status --short")[0] == ""


def _git(*words: str, cwd: Path) -> str:
    done = subprocess.run(
        ["git", "-c", "user.name=A", "-c", "user.email=a@example.org", *words],
        cwd=cwd, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.strip()


@pytest.fixture
def upstream(tmp_path: Path) -> Path:
    """A repository that went on after the bug: its fix, a tag, another branch, a stash."""
    if shutil.which("git") is None:
        pytest.skip("needs git")
    work = tmp_path / "work"
    for path, text in BASE.items():
        (work / path).parent.mkdir(parents=True, exist_ok=True)
        (work / path).write_text(text)
    _git("init", "-q", "-b", "main", cwd=work)
    _git("add", ".", cwd=work)
    _git("commit", "-q", "-m", "base", cwd=work)
    _git("branch", "side", cwd=work)
    (work / "numbers_.py").write_text(RIGHT)
    _git("commit", "-q", "-a", "-m", "the fix", cwd=work)
    _git("tag", "-a", "v2", "-m", "fixed", cwd=work)
    (work / "numbers_.py").write_text(RIGHT + "# stashed\n")
    _git("stash", cwd=work)
    (tmp_path / "mirrors" / "owner").mkdir(parents=True)
    bare = tmp_path / "mirrors" / "owner" / "numbers.git"
    _git("clone", "-q", "--mirror", str(work), str(bare), cwd=tmp_path)
    return work


def _later(env: SweV1, work: Path) -> str:
    """What the agent can find of the commits that came later."""
    later = _git("rev-parse", "main", "v2", "stash", "main:numbers_.py", cwd=work).split()
    asked = "; ".join(f"git cat-file -e {name} 2> /dev/null && echo {name}" for name in later)
    return env.step(
        f"cd /testbed; {asked}; git log --all --reflog --format=%s | grep -v base; git tag; "
        "git remote; git stash list; git fsck --unreachable --no-reflogs; ls .git | grep _HEAD; :"
    )[0]


def test_a_mirror_gives_the_base_commit_and_nothing_later(
    runtime: Runtime, upstream: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTERCODE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("INTERCODE_SWE_MIRRORS", str(tmp_path / "mirrors"))
    base = _git("rev-parse", "side", cwd=upstream)
    reward = replace(SPEC, repo="owner/numbers", base_commit=base).to_mapping()
    task = Task(id="half", env="swe", instruction="x", gold=REPAIR, reward=reward)
    env = SweV1(Dataset("mirrored", (task,)), runtime=runtime)
    try:
        env.reset()
        assert env.step("git log --format='%s %H'")[0] == f"base {base}\n"
        assert env.step("git status --short")[0] == ""
        assert _later(env, upstream) == ""
        assert scored(env, REPAIR).reward == 1.0
    finally:
        env.close()


def test_an_images_repository_forgets_what_came_later(runtime: Runtime, upstream: Path) -> None:
    from intercode.envs.swe_places import FORGET

    packed = subprocess.run(
        ["tar", "-C", str(upstream.parent), "-c", "--transform=s_^work_testbed_", "work"],
        capture_output=True, check=True,
    ).stdout  # fmt: skip
    env = SweV1(dataset(), runtime=runtime)
    try:
        env.reset()
        if "no git" in env.step("command -v git || echo no git")[0]:
            pytest.skip("needs git")
        env.step("rm -rf /testbed")
        env.sandbox.put_tree(packed)
        base = _git("rev-parse", "side", cwd=upstream)
        assert _later(env, upstream) != ""
        done = env.sandbox.run(
            f"cd /testbed && git checkout -q -f {base} && {{ {FORGET.format(root='/testbed')} }}"
        )
        assert done.exit_code == 0, done.output
        assert _later(env, upstream) == ""
        assert env.step("git log --format=%H")[0] == f"{base}\n"
    finally:
        env.close()


def test_what_is_not_here_is_told_with_what_would_be_needed(runtime: Runtime) -> None:
    spec = replace(SPEC, repo="owner/numbers", base_commit="a" * 40, instance="owner__numbers-1")
    task = Task(id="half", env="swe", instruction="x", gold=REPAIR, reward=spec.to_mapping())
    told = _error(runtime, Dataset("nowhere", (task,)))
    assert "owner/numbers at aaaaaaaaaaaa, is not here" in told
    assert "swebench/sweb.eval.x86_64.owner_1776_numbers-1:latest" in told
    assert "owner__numbers.git" in told
