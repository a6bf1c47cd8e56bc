"""The programs that run tests inside, here without a sandbox, and what other runners print."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

from intercode.envs.swe_grading import _is_passed
from intercode.envs.swe_logs import verdicts

GUEST = Path(str(files("intercode.envs.swe_guest")))


def graded(root: Path, sources: dict[str, str], **request: Any) -> Any:
    """The answer of our program for a repository that holds ``sources``."""
    for path, text in sources.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    asked = {
        "root": str(root), "source_paths": ["."], "tests": [], "files": sorted(sources),
        "command": [], "test_timeout_s": 5.0, "total_timeout_s": 30.0, **request,
    }  # fmt: skip
    place = root.parent / "request.json"
    place.write_text(json.dumps(asked))
    done = subprocess.run(
        [sys.executable, "-I", "-B", str(GUEST / "grade.py"), str(place)],
        input="secret\n", capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    word, _, answer = done.stdout.splitlines()[-1].partition(" ")
    assert word == "secret"
    return json.loads(answer)


PYTEST = """\
import os, time, unittest
import pytest

def test_passes(): print("PASSED test_x.py::test_fails")
def test_fails(): assert 1 == 2
@pytest.mark.skip(reason="not now")
def test_skipped(): pass
@pytest.mark.xfail
def test_expected(): assert 0
@pytest.fixture
def broken_before(): raise KeyError
@pytest.fixture
def broken_after():
    yield
    raise KeyError
def test_setup(broken_before): pass
def test_teardown(broken_after): pass
@pytest.mark.parametrize("text", ["a b", "c"])
def test_many(text): pass
class ClassTest(unittest.TestCase):
    def test_method(self): self.assertEqual(1, 1)
def test_slow(): time.sleep(30)
def test_after(): pass
"""


def test_pytest_tells_each_verdict(tmp_path: Path) -> None:
    found = graded(tmp_path / "r", {"test_x.py": PYTEST}, harness="pytest", test_timeout_s=1.0)
    short = {name.partition("::")[2]: verdict for name, (verdict, _) in found["results"].items()}
    assert short == {
        "test_passes": "passed", "test_fails": "failed", "test_skipped": "skipped",
        "test_expected": "passed", "test_setup": "failed", "test_teardown": "failed",
        "test_many[a b]": "passed", "test_many[c]": "passed", "ClassTest::test_method": "passed",
        "test_slow": "failed", "test_after": "passed",
    }  # fmt: skip
    assert "longer than 1 s" in found["results"]["test_x.py::test_slow"][1]


def test_a_pytest_that_ends_early_passes_nothing_more(tmp_path: Path) -> None:
    code = "import os\ndef test_a(): pass\ndef test_b(): os._exit(0)\ndef test_c(): pass\n"
    found = graded(tmp_path / "r", {"test_x.py": code}, harness="pytest")
    assert found["results"] == {"test_x.py::test_a": ["passed", ""]}


def test_a_pytest_that_hangs_is_stopped(tmp_path: Path) -> None:
    code = "import time\ntime.sleep(60)\n"
    found = graded(tmp_path / "r", {"test_x.py": code}, harness="pytest", total_timeout_s=1.0)
    assert found["results"] == {}


UNITTEST = """\
import os, threading, time, unittest

class T(unittest.TestCase):
    def test_passes(self): pass
    def test_fails(self): self.fail("why")
    def test_raises(self): raise KeyError("what")
    @unittest.skip("not now")
    def test_skipped(self): pass
    @unittest.expectedFailure
    def test_unexpected(self): pass
    def test_exits(self): os._exit(0)
    def test_killed(self): os.kill(os.getpid(), 9)
    def test_slow(self): time.sleep(30)
    def test_thread(self): threading.Thread(target=time.sleep, args=(30,)).start()
    def test_forks(self):
        if os.fork() == 0: time.sleep(30)
"""


def test_unittest_tells_each_verdict(tmp_path: Path) -> None:
    names = [f"t.T.test_{n}" for n in (
        "passes", "fails", "raises", "skipped", "unexpected", "exits", "killed", "slow", "thread",
        "forks", "missing",
    )]  # fmt: skip
    found = graded(
        tmp_path / "r", {"t.py": UNITTEST}, harness="unittest", tests=names, test_timeout_s=1.0
    )["results"]
    assert [found[name][0] for name in names] == [
        "passed", "failed", "error", "skipped", "error", "error", "error", "timeout", "passed",
        "passed", "error",
    ]  # fmt: skip
    assert "why" in found["t.T.test_fails"][1]


def test_no_time_is_left_after_the_limit_for_all(tmp_path: Path) -> None:
    found = graded(
        tmp_path / "r", {"t.py": UNITTEST}, harness="unittest",
        tests=["t.T.test_slow", "t.T.test_passes"], total_timeout_s=0.5,
    )["results"]  # fmt: skip
    assert [found[name][0] for name in found] == ["timeout", "timeout"]


def test_what_a_runner_prints_comes_back(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import sys; print(1); sys.stderr.write('2'); sys.exit(3)"]
    found = graded(tmp_path / "r", {"x": ""}, harness="django", command=command)
    assert sorted(found["log"].split()) == ["1", "2"] or sorted(found["log"].split()) == ["12"]


DJANGO = """\
Testing against Django installed in '/testbed/django'
test_a (app.tests.ATests) ... ok
test_b (app.tests.ATests)
A sentence about it. ... ok
test_c (app.tests.ATests) ... FAIL
test_d (app.tests.ATests) ... skipped 'no database'
test_e (app.tests.ATests) ... System check identified no issues
ok
test_f (app.tests.ATests) ... expected failure
test_g (app.tests.ATests) ... ok

======================================================================
ERROR: test_g (app.tests.ATests)
----------------------------------------------------------------------
"""


def test_djangos_words() -> None:
    found = verdicts("django", DJANGO)
    assert found == {
        "test_a (app.tests.ATests)": "passed",
        "A sentence about it.": "passed",
        "test_c (app.tests.ATests)": "failed",
        "test_d (app.tests.ATests)": "skipped",
        "test_e (app.tests.ATests)": "passed",
        "test_f (app.tests.ATests)": "passed",
        "test_g (app.tests.ATests)": "failed",
    }


SYMPY = """\
============================= test process starts ==============================
sympy/printing/tests/test_ccode.py[4]
test_printmethod ok
test_ccode_sqrt F
test_slow_one w
test_twice ok
test_later ok                                                             [FAIL]

________________________________________________________________________________
_________ sympy/printing/tests/test_ccode.py:test_twice __________
"""


def test_sympys_words() -> None:
    assert verdicts("sympy", SYMPY) == {
        "test_printmethod": "passed",
        "test_ccode_sqrt": "failed",
        "test_slow_one": "skipped",
        "test_twice": "failed",
        "test_later": "passed",
    }


def test_names_that_were_cut_at_a_space_mean_all_that_begin_so() -> None:
    found = {"t.py::t[a b]": "passed", "t.py::t[a c]": "failed", "t.py::u[a b]": "passed"}
    assert not _is_passed("t.py::t[a", found, "pytest")
    assert _is_passed("t.py::u[a", found, "pytest")
    assert not _is_passed("t.py::v[a", found, "pytest")
    assert not _is_passed("t.py::u[a", found, "django")
