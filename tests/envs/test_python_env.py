"""Python-v1 and -v2 on real sandboxes: interpreter, submission, branching."""

# ruff: noqa: E501, ISC004 (programs)
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env

from intercode.envs.python_v1 import PythonV1
from intercode.envs.python_v2 import PythonV2
from intercode.envs.runtime import Runtime
from intercode.errors import SandboxError, TaskError, UsageError
from intercode.sandboxes.base import Image, Limits
from intercode.sandboxes.bubblewrap.backend import Bubblewrap
from intercode.tasks.model import Dataset, Task
from intercode.tasks.sources.python_tests import CallCase, StdinCase, TestSpec

pytestmark = pytest.mark.bubblewrap


def task(name: str, gold: str, style: Any = "asserts", **spec: Any) -> Task:
    return Task(name, "python", f"write {name}", gold, reward=TestSpec(style, **spec).to_mapping())


ADD = "def add(a, b):\n    return a + b"
TASKS = Dataset(
    "handmade",
    (
        task("add", ADD, entry_point="add",
             tests=("assert add(1, 2) == 3", "assert add('a', '') == 'a'")),
        task("helped", "def helper(x):\n  return x\ndef main(x):\n  return helper(x) + 1",
             entry_point="main", tests=("assert main(1) == 2",)),
        task("given", "def total():\n  return sum(stock.values())", entry_point="total",
             given="class Order:\n  def __init__(self, n): self.n = n\nstock = {'nail': 3, 'nut': 4}\n"
                   "orders = [Order(5)]", tests=("assert total() == 7", "assert orders[0].n == 5")),
        task("stack", "class Stack:\n  def __init__(self): self.items = []\n"
             "  def push(self, x): self.items.append(x)\n"
             "  def pop(self):\n    if not self.items: raise Empty('nothing')\n"
             "    return self.items.pop()\n  def __len__(self): return len(self.items)\n"
             "  def __eq__(self, other): return self.items == other.items\n"
             "class Empty(LookupError): pass", entry_point="Stack",
             setup="def raised(f, kind):\n  try: f()\n  except kind as e: return str(e)",
             tests=("s = Stack(); s.push(1); s.push([2]); assert s.pop() == [2] and len(s) == 1",
                    "assert raised(lambda: Stack().pop(), Empty) == 'nothing'",
                    "assert Stack() == Stack() and isinstance(Stack(), Stack) and Stack() != 0",
                    "assert raised(Stack().pop, LookupError) == 'nothing'")),
        task("sorter", "def sort(xs, key):\n  xs.sort(key=key)\n  return iter(xs)", entry_point="sort",
             tests=("xs = [1, 3, 2]; assert list(sort(xs, lambda x: -x)) == [3, 2, 1] == xs",)),
        task("called", "class Solution:\n  def pair(self, a): return (a, [a])", "call",
             entry_point="pair", class_name="Solution", unwraps=True,
             cases=(CallCase((1,), [1, [1]]), CallCase((2,), [[2, [2]]]))),
        task("program", "n = int(input())\nprint(n * 2, ' ')", "stdin",
             cases=(StdinCase("4\n", "8\n"), StdinCase("5", "10"))),
        task("checked", "def half(x): return x / 2", "check", entry_point="half",
             tests=("def check(candidate):\n  assert abs(candidate(3) - 1.5) < 1e-9",)),
        task("inputs", "def root(x): return x ** .5", "inputs", entry_point="root", base=("[4]", "[2.0]"),
             plus=("['no']", "[inf]"), reference="import math\ndef root(x): return math.sqrt(x)"),
        task("source", "result = 6 * 7", "source",
             tests=("def test_execution(solution):\n  space = {}\n  exec(solution, space)\n"
                    "  assert space['result'] == 42",)),
        task("nothing", "def f(): pass", entry_point=None, tests=("assert True",)),
    ),
)  # fmt: skip


@pytest.fixture(scope="module")
def runtime() -> Iterator[Runtime]:
    backend = Bubblewrap()
    failed = [check for check in backend.check() if not check.ok]
    if failed:
        pytest.skip(f"needs bubblewrap: {failed[0].detail}")
    with Runtime(backend) as shared:
        yield shared
        assert shared.live() == 0


@pytest.fixture
def v1(runtime: Runtime) -> Iterator[PythonV1]:
    made = PythonV1(TASKS, runtime=runtime, limits=Limits(timeout_s=2))
    made.reset(options={"task": "add"})
    yield made
    made.close()


@pytest.fixture
def v2(runtime: Runtime) -> Iterator[PythonV2]:
    made = PythonV2(TASKS, runtime=runtime, limits=Limits(timeout_s=2))
    made.reset(options={"task": "add"})
    yield made
    made.close()


# -- the interpreter -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "shown"),
    [
        ("1 + 1", "2\n"),
        ("None", ""),
        ("x = 5\nx * 2", "10\n"),
        ("'a'; 'b'", "'b'\n"),
        ("for i in range(2): i", ""),
        ("print('a'); 3", "a\n3\n"),
        ("", ""),
        ("# a comment", ""),
        ("import sys\nprint('o')\nprint('e', file=sys.stderr)\nprint('p')", "o\ne\np\n"),
        ("import os\nprint(1)\nos.system('echo 2')\nprint(3)", "1\n2\n3\n"),
        ("__name__", "'__main__'\n"),
        ("é = '漢🙂'\né", "'漢🙂'\n"),
        ("def f(): return 1", ""),
        ("[name for name in dir() if not name.startswith('__')]", "[]\n"),
        ("async def f(): return 4\nimport asyncio\nasyncio.run(f())", "4\n"),
    ],
)
def test_a_last_expression_is_shown_and_streams_are_in_order(
    v2: PythonV2, action: str, shown: str
) -> None:
    assert v2.step(action)[0] == shown


def test_state_lasts_between_actions(v2: PythonV2) -> None:
    v2.step("import math\nclass A:\n  n = 2\nit = iter('abc')")
    assert v2.step("math.floor(A.n + .5), next(it)")[0] == "(2, 'a')\n"
    assert v2.step("next(it), _")[0] == "('b', (2, 'a'))\n"


def test_a_traceback_is_the_real_one_without_our_frames(v2: PythonV2) -> None:
    v2.step("def f(n):\n    return 1 / n")
    observation, _, _, _, info = v2.step("f(0)")
    lines = [line for line in observation.splitlines() if "^" not in line]
    assert lines == [
        "Traceback (most recent call last):",
        '  File "<action 2>", line 1, in <module>',
        "    f(0)",
        '  File "<action 1>", line 2, in f',
        "    return 1 / n",
        "ZeroDivisionError: division by zero",
    ]
    assert info["action_executed"] is False
    assert v2.step("x = = 1")[0].endswith("SyntaxError: invalid syntax\n")


def test_chained_exceptions_are_shown_without_our_frames(v2: PythonV2) -> None:
    observation = v2.step("try:\n  1/0\nexcept Exception as e:\n  raise KeyError('k') from e")[0]
    assert "direct cause" in observation
    assert "interpreter" not in observation


def test_a_loop_is_interrupted_and_what_was_defined_stays(v2: PythonV2) -> None:
    v2.step("x = 5")
    observation, _, _, _, info = v2.step("while True: pass")
    assert observation.endswith("KeyboardInterrupt\n[timed out after 2 s]\n")
    assert "interpreter" not in observation
    assert info["timed_out"] is True
    assert v2.step("x")[0] == "5\n"


def test_an_end_of_the_interpreter_is_told_and_what_is_given_is_there_again(v2: PythonV2) -> None:
    v2.reset(options={"task": "given"})
    v2.step("x = 5")
    observation = v2.step("import os; os._exit(3)")[0]
    assert observation == (
        "[it ended with exit code 3: the interpreter was started again, and what was defined is "
        "gone]\n"
    )
    assert "NameError" in v2.step("x")[0]
    assert v2.step("stock")[0] == "{'nail': 3, 'nut': 4}\n"
    v2.step("def total(): return sum(stock.values())")
    assert v2.score().reward == 1.0


def test_a_nul_is_refused(v2: PythonV2, v1: PythonV1) -> None:
    assert v2.step("'\0'")[0] == "[an action cannot hold a NUL byte]\n"
    assert v1.step("'\0'")[0].startswith("Error executing action: ")


def test_a_source_can_be_looked_at(v2: PythonV2) -> None:
    v2.step("import inspect")
    v2.step("def f():\n    return 1")
    assert v2.step("print(inspect.getsource(f), end='')")[0] == "def f():\n    return 1\n"


# -- submissions -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [task.id for task in TASKS if task.id != "nothing"])
def test_golds_of_every_style_are_worth_1_and_nothing_is_worth_0(v2: PythonV2, name: str) -> None:
    v2.reset(options={"task": name})
    assert v2.score().reward == 0.0 or name == "given"
    v2.step(v2.task.gold)
    assert v2.score().reward == 1.0
    _, reward, over, _, info = v2.step("submit")
    assert (reward, over) == (1.0, True)
    assert info["score"].success


@pytest.mark.parametrize(
    ("name", "wrong", "reward"),
    [
        ("add", "def add(a, b): return 3", 0.5),
        ("stack", "class Stack:\n  def push(self, x): self.x = x\n  def pop(self): return self.x\n"
                  "  def __len__(self): return 1", 0.25),
        ("sorter", "def sort(xs, key): return sorted(xs, key=key)", 0.0),
        ("called", "class Solution:\n  def pair(self, a): return (1, [1])", 0.5),
        ("program", "print(8)", 0.5),
        ("program", "n = int(input())\nprint(2 * n)\nraise SystemExit(1)", 0.0),
        ("checked", "def half(x): return x // 2", 0.0),
        ("inputs", "def root(x): return x / 2", 2 / 3),
        ("source", "result = 41", 0.0),
    ],
)  # fmt: skip
def test_a_share_of_the_tests_is_a_share_of_the_reward(
    v2: PythonV2, name: str, wrong: str, reward: float
) -> None:
    v2.reset(options={"task": name})
    v2.step(wrong)
    assert v2.score().reward == pytest.approx(reward)


def test_any_name_can_be_submitted(v2: PythonV2) -> None:
    v2.step("def mine(a, b): return a + b\nclass Tools:\n  plus = staticmethod(mine)")
    assert v2.score("submit mine").reward == 1.0
    assert v2.score("submit Tools.plus").reward == 1.0
    assert v2.score("submit").reward == 0.0
    assert "not a name" in v2.score("submit lambda a, b: a + b").details["error"]


def test_what_failed_later_in_an_action_has_been_defined(v2: PythonV2) -> None:
    v2.step(ADD + "\nassert add(1, 1) == 3")
    v2.step("count = [0]")
    assert v2.score().reward == 1.0


def test_files_and_imports_that_a_function_needs_are_there_when_it_is_tested(v2: PythonV2) -> None:
    v2.step("open('/numbers', 'w').write('1')")
    v2.step(
        "import operator\ndef add(a, b):\n  open('/numbers').read()\n  return operator.add(a, b)"
    )
    assert v2.score().reward == 1.0


def test_scoring_leaves_no_trace_in_the_episode(v2: PythonV2) -> None:
    v2.step("calls = []\ndef add(a, b):\n  calls.append(1)\n  open('/tmp/x', 'a')\n  return a + b")
    before = v2.aftermath()
    assert v2.score().reward == 1.0
    assert v2.step("calls")[0] == "[]\n"
    assert v2.aftermath() == before


def test_a_task_without_an_entry_point_wants_a_name(v2: PythonV2) -> None:
    v2.reset(options={"task": "nothing"})
    v2.step("def f(): pass")
    assert v2.score("submit").details["error"] == "no function is named"


def test_a_task_that_does_not_say_how_it_is_tested_is_refused(v2: PythonV2) -> None:
    with pytest.raises(TaskError, match="style"):
        v2.reset(options={"task": Task("x", "python", "do", "pass")})


# -- branching -------------------------------------------------------------------------------------


def test_forks_go_on_from_here_with_any_object_and_with_files(v2: PythonV2) -> None:
    v2.step("import threading\nlock = threading.Lock()\ngen = (n * n for n in range(9))\nnext(gen)")
    v2.step("next(gen); open('/f', 'w').write('one'); f = lambda: 'kept'")
    left, right = v2.fork(2)
    try:
        assert left.step("next(gen), f(), lock.locked()")[0] == "(4, 'kept', False)\n"
        assert left.step("open('/f', 'a').write('two')")[0] == "3\n"
        assert right.step("open('/f').read(), next(gen)")[0] == "('one', 4)\n"
        assert v2.step("next(gen)")[0] == "4\n"
        right.step(ADD)
        assert right.score().reward == 1.0
        assert v2.score().reward == 0.0
    finally:
        left.close()
        right.close()


def test_a_snapshot_can_be_come_back_to(v2: PythonV2) -> None:
    v2.step("x = [1]")
    there = v2.snapshot()
    v2.step("x.append(2)\nopen('/later', 'w').close()")
    v2.restore(there)
    assert v2.step("x, __import__('os').path.exists('/later')")[0] == "([1], False)\n"
    v2.step(ADD)
    v2.restore(there)
    assert v2.score().reward == 0.0


def test_sets_have_the_same_order_in_every_fork(v2: PythonV2) -> None:
    v2.step("s = {str(n) for n in range(50)}")
    (twin,) = v2.fork()
    try:
        assert twin.step("s")[0] == v2.step("s")[0]
    finally:
        twin.close()


def test_the_published_environment_can_be_forked_too(v1: PythonV1) -> None:
    v1.step("z = 7")
    (twin,) = v1.fork()
    try:
        assert twin.step("z")[0] == "{'output': '7', 'error': ''}"
    finally:
        twin.close()


# -- the published environment ---------------------------------------------------------------------


def test_a_scoring_leaves_the_gold_behind_and_says_so(v1: PythonV1) -> None:
    v1.step("def bad(*a): return None")
    first = v1.score("submit bad")
    second = v1.score("submit add")
    assert (first.reward, first.details["leaked"]) == (0.0, False)
    assert (second.reward, second.details["leaked"]) == (1.0, True)
    v1.step(ADD)
    third = v1.score("submit add")
    assert (third.reward, third.details["leaked"]) == (1.0, False)


def test_the_published_environment_rebinds_the_first_function_of_the_gold(v1: PythonV1) -> None:
    v1.reset(options={"task": "helped"})
    v1.step(v1.task.gold)
    assert v1.score("submit main").reward == 0.0  # it calls itself now
    v1.step(v1.task.gold)
    assert v1.score("submit helper").reward == 1.0


def test_valid_means_that_there_was_an_error(v1: PythonV1) -> None:
    assert v1.step("1/0")[4] == {"action_executed": True}
    assert v1.step("1+1")[4] == {"action_executed": False}


def test_a_published_episode_survives_its_interpreter(v1: PythonV1) -> None:
    assert "Error" in v1.step("import os; os._exit(1)")[0]
    assert "timed out" in v1.step("x = sum(1 for _ in iter(int, 1))")[0]
    v1.step(ADD)
    assert v1.score("submit add").reward == 1.0


# -- places ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["Python-v1", "Python-v2"])
def test_gymnasium_makes_and_checks_it(name: str) -> None:
    env = gymnasium.make(f"intercode/{name}", dataset="bundled:python")
    try:
        check_env(env.unwrapped, skip_render_check=True)
    finally:
        env.close()


def test_an_image_without_python_is_named_at_once(runtime: Runtime) -> None:
    sandbox = runtime.backend.start(Image(env=(("PATH", "/nowhere"),)), Limits())
    try:
        interpreter = sandbox.interpreter("python")
        with pytest.raises(SandboxError, match="does not start"):
            interpreter.start()
        assert interpreter.run("1").failure == "exec"
        with pytest.raises(UsageError, match="no interpreter 'cobol'"):
            sandbox.interpreter("cobol")
    finally:
        sandbox.close()


def test_shell_and_interpreter_stand_side_by_side(runtime: Runtime) -> None:
    sandbox = runtime.backend.start(Image(), Limits())
    try:
        shell, python = sandbox.shell(), sandbox.interpreter("python")
        shell.run("cd /tmp; x=5")
        python.run("x = 7; open('/tmp/f', 'w').write('hi')")
        assert shell.run("cat f; echo $x").output == "hi5\n"
        assert python.run("x").output == "7\n"
        assert python.run("import os; os._exit(1)").restarted
        assert shell.run("pwd; echo $x").output == "/tmp\n5\n"
        assert shell.run("exit 3").restarted
        assert python.run("2").output == "2\n"
        assert not shell.run("true").restarted
        assert sandbox.process_count() == 0
    finally:
        sandbox.close()
