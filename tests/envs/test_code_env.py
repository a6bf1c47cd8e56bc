"""Programs in other languages behind the Gymnasium API: what an action does, what counts, and
what cheating gains."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import pytest
from gymnasium.utils.env_checker import check_env

from intercode.agents.basic import GoldAgent, NoopAgent
from intercode.envs.code_grading import judged
from intercode.envs.code_toolchain import prove, toolchain
from intercode.envs.code_v1 import MAX_SOURCE_BYTES, CodeV1
from intercode.envs.registration import env_name
from intercode.envs.runtime import Runtime
from intercode.errors import InterCodeError, TaskError, ToolchainMissing
from intercode.rewards.code import same_output
from intercode.runs.episode import play_episode
from intercode.sandboxes.base import Image, Limits, Sandbox
from intercode.sandboxes.bubblewrap.backend import Bubblewrap
from intercode.sandboxes.recipes import RECIPES
from intercode.tasks.languages import LANGUAGE_SPECS, language_spec
from intercode.tasks.model import Dataset, Task
from intercode.tasks.sources.code_tests import CodeSpec
from intercode.tasks.sources.python_tests import StdinCase

pytestmark = pytest.mark.bubblewrap

Fresh = Callable[[], AbstractContextManager[Sandbox]]
LIMITS = Limits(timeout_s=3, processes=64)

CASES = (StdinCase("2\n", "4\n"), StdinCase("-3\n", "-6\n"), StdinCase("0\n", "0\n"))
PERL = CodeSpec("perl", CASES, timeout_s=3)
RIGHT = 'while (<STDIN>) { print 2 * $_, "\\n" }\n'
C_RIGHT = """\
#include <stdio.h>
int main(void) { int n; while (scanf("%d", &n) == 1) printf("%d\\n", 2 * n); return 0; }
"""
TESTED = CodeSpec(
    "perl",
    prompt="# Twice as much.\nsub twice {\n    my ($n) = @_;\n",
    tests="""
sub eq_deeply { return $_[0] eq $_[1] }
sub testhumaneval {
    my $candidate = \\&twice;
    if(eq_deeply($candidate->(2),4)) { print "ok!" }else{ exit 1; }
    if(eq_deeply($candidate->(5),10)) { print "ok!" }else{ exit 1; }
}
testhumaneval();
""",
    stop_tokens=("\nsub", "\n#"),
    timeout_s=3,
)
TASKS = Dataset(
    "handmade",
    (
        Task("double", "code", "double it", RIGHT, reward=PERL.to_mapping()),
        Task("named", "code", "x.pl", RIGHT, reward=replace(PERL, file="x.pl").to_mapping()),
        Task("c", "code", "double it", C_RIGHT, reward=replace(PERL, language="c").to_mapping()),
        Task("tested", "code", "", "    return 2 * $n;\n}\n", reward=TESTED.to_mapping()),
    ),
)


@pytest.fixture(scope="module")
def runtime() -> Iterator[Runtime]:
    backend = Bubblewrap()
    failed = [check for check in backend.check() if not check.ok]
    if failed:
        pytest.skip(f"needs bubblewrap: {failed[0].detail}")
    with Runtime(backend) as shared:
        yield shared


@pytest.fixture
def fresh(runtime: Runtime) -> Fresh:
    return lambda: runtime.pool.borrowed(Image(), LIMITS)


@pytest.fixture
def env(runtime: Runtime) -> Iterator[CodeV1]:
    made = CodeV1(TASKS, runtime=runtime, limits=LIMITS)
    made.reset(options={"task": "double"})
    yield made
    made.close()


@pytest.fixture
def c(env: CodeV1) -> CodeV1:
    try:
        env.reset(options={"task": "c"})
    except ToolchainMissing as error:
        pytest.skip(str(error))
    return env


# -- actions ---------------------------------------------------------------------------------------


def test_a_program_is_run_and_what_it_prints_is_seen(env: CodeV1) -> None:
    observation, reward, terminated, _, info = env.step('print "hello\\n";')

    assert (observation, reward, terminated) == ("hello\n", 0.0, False)
    assert info["exit_code"] == 0


def test_an_exit_code_is_told(env: CodeV1) -> None:
    assert env.step('print "x"; exit 3;')[0] == "x\n[the program ended with exit code 3]\n"


def test_a_program_that_does_not_end_is_killed(env: CodeV1) -> None:
    observation, *_, info = env.step('$| = 1; print "on"; while (1) {}')

    assert observation == "on\n[the program timed out after 3 s and was killed]\n"
    assert info["timed_out"]
    assert env.step("print 1;")[0] == "1"


@pytest.mark.parametrize("first", ["# file: a/b.txt", "// file: a/b.txt", "/* file: a/b.txt */"])
def test_a_named_file_is_written_and_lasts(env: CodeV1, first: str) -> None:
    observation, *_ = env.step(f"{first}\none\ntwo\n")

    assert observation == "[wrote 8 bytes to /work/a/b.txt]\n"
    assert env.step('open F, "a/b.txt"; print <F>;')[0] == "one\ntwo\n"


def test_what_a_program_writes_lasts(env: CodeV1) -> None:
    env.step('open F, ">kept"; print F "here";')

    assert env.step('open F, "kept"; print <F>;')[0] == "here"


def test_input_txt_is_the_standard_input(env: CodeV1) -> None:
    assert env.step(RIGHT)[0] == ""
    env.step("# file: input.txt\n21\n")
    assert env.step(RIGHT)[0] == "42\n"


@pytest.mark.parametrize("name", ["main.pl/x", "x" * 300, "."])
def test_a_file_that_cannot_be_written_is_an_observation(env: CodeV1, name: str) -> None:
    env.step("print 1;")
    observation, *_, info = env.step(f"# file: {name}\nx")

    assert "cannot be written" in observation
    assert not info["action_executed"]


def test_a_program_that_blocks_its_own_place_does_not_block_the_next(env: CodeV1) -> None:
    env.step('unlink "main.pl"; mkdir "main.pl"; mkdir "main.pl/in";')

    assert env.step("print 1;")[0] == "1"


def test_a_blank_action_does_nothing(env: CodeV1) -> None:
    env.step(RIGHT)

    assert env.step(" \n")[0] == ""
    assert env.score().reward == 1


def test_compilers_say_what_is_wrong(c: CodeV1) -> None:
    observation, *_, info = c.step("int main(void) { return x; }")

    assert "'x' undeclared" in observation
    assert observation.endswith("[the compiler ended with exit code 1]\n")
    assert info["exit_code"] == 1
    assert c.step('#include <stdio.h>\nint main(void) { puts("hi"); }')[0] == "hi\n"


# -- scoring ---------------------------------------------------------------------------------------


def test_the_last_program_is_scored(env: CodeV1) -> None:
    env.step("print 1;")
    env.step(RIGHT)
    _, reward, terminated, _, info = env.step("submit")

    assert (reward, terminated) == (1.0, True)
    assert info["score"].details["failed"] == []


def test_some_cases_are_worth_their_share(env: CodeV1) -> None:
    env.step("my $n = <STDIN>; print abs(2 * $n);")
    score = env.score()

    assert score.reward == pytest.approx(2 / 3)
    assert score.details["failed"] == [1]


def test_what_goes_to_standard_error_does_not_count(env: CodeV1) -> None:
    env.step(f'print STDERR "working\\n"; {RIGHT}')

    assert env.score().reward == 1


def test_a_case_wants_an_exit_code_of_0(env: CodeV1) -> None:
    env.step(f"{RIGHT} exit 3;")

    assert env.score().reward == 0


@pytest.mark.parametrize("action", ["submit", "submit none.pl", "submit .", "submit /dev/zero"])
def test_nothing_is_worth_nothing(env: CodeV1, action: str) -> None:
    assert env.step(action)[1] == 0


def test_a_named_file_can_be_submitted(env: CodeV1) -> None:
    env.step(f"# file: mine.pl\n{RIGHT}")

    assert env.score().reward == 0
    assert env.score("submit mine.pl").reward == 1


def test_a_task_may_ask_for_a_file(env: CodeV1) -> None:
    env.reset(options={"task": "named"})
    env.step("print 1;")
    assert env.score().reward == 0
    env.step(f"# file: x.pl\n{RIGHT}")
    assert env.score().reward == 1


def test_a_program_may_not_be_endless(env: CodeV1) -> None:
    env.step(f"# file: x.pl\n{RIGHT}#{'x' * MAX_SOURCE_BYTES}")

    assert env.score("submit x.pl").details["why"] == "a program may have 1 MiB"


def test_compiled_programs_are_scored(c: CodeV1) -> None:
    c.step(C_RIGHT)
    assert c.score().reward == 1
    c.step("int main(void) {")
    assert c.score().details["compiled"] is False
    assert c.score().reward == 0


def test_scoring_changes_nothing_that_the_agent_sees(env: CodeV1) -> None:
    env.step(RIGHT)
    before = env.aftermath()
    env.score()

    assert env.aftermath() == before


def test_the_gold_is_worth_1_and_nothing_0(runtime: Runtime) -> None:
    env = CodeV1(TASKS, runtime=runtime, limits=LIMITS)

    for task in (TASKS["double"], TASKS["tested"]):
        assert play_episode(env, GoldAgent(), task).reward == 1
        assert play_episode(env, NoopAgent(), task).reward == 0
    env.close()


def test_a_branch_remembers_the_program(env: CodeV1) -> None:
    env.step(RIGHT)
    there = env.snapshot()
    (twin,) = env.fork()
    env.step("print 1;")

    assert twin.step("submit")[1] == 1
    assert env.score().reward == 0
    env.restore(there)
    assert env.score().reward == 1
    twin.close()


# -- cheating --------------------------------------------------------------------------------------

HOSTILE = {
    "ends at once": "exit 0;",
    "kills everything": "kill 9, -1; sleep 1;",
    "has many children": "fork while 1;",
    "floods": 'print "4\\n" x 1000 while 1;',
    "deletes everything": 'system "rm -rf /work /tmp /var"; print 4;',
    "looks for answers": 'print `grep -rhs "^-6" /work /tmp /var /root /home`;',
    "leaves a process": "exit if fork; while (1) { sleep 1 }",
    "stops its parent": "kill 19, getppid; kill 9, getppid;",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_programs_gain_nothing(name: str, fresh: Fresh) -> None:
    assert judged(PERL, HOSTILE[name].encode(), fresh).reward < 0.5


def test_files_of_the_agent_do_not_cross(env: CodeV1) -> None:
    env.step("# file: helper.pl\nsub twice { 2 * $_[0] } 1;\n")
    env.step('require "./helper.pl"; print twice(21);')

    assert env.score().reward == 0
    env.step("sub twice { 2 * $_[0] } print twice(scalar <STDIN>);")
    assert env.score().reward == 1


def test_tests_after_the_program(fresh: Fresh) -> None:
    def reward(program: str) -> float:
        return judged(TESTED, program.encode(), fresh).reward

    assert reward("    return 2 * $n;\n}\n") == 1
    assert reward(TESTED.prompt + "    return $n + $n;\n}\n") == 1
    assert reward("    return $n * $n;\n}\n") == 0
    assert reward("    return 2 * $n;\n}\nsub more { is cut off") == 1


FORGED = {
    "ends before the tests": "    return 0;\n}\nexit 0;\n",
    "ends in the first test": "    exit 0;\n}\n",
    "compares as it likes": "    return 0;\n}\nBEGIN { *eq = sub { 1 } }\nEND { $? = 0 }\n",
    "reads the tests": """\
    open my $own, "<", $0;
    for (<$own>) { return $1 if /candidate->\\($n\\),(\\d+)/ }
}
""",
}


@pytest.mark.parametrize("name", FORGED)
def test_an_exit_code_that_does_not_come_from_computing_is_worth_nothing(
    name: str, fresh: Fresh
) -> None:
    score = judged(TESTED, FORGED[name].encode(), fresh)

    assert score.reward == 0
    assert score.details["forged"] is True


# -- languages -------------------------------------------------------------------------------------

DEBIAN = ("javascript", "ruby", "perl", "lua", "c", "cpp")


@pytest.mark.parametrize("name", DEBIAN)
def test_what_a_language_says_is_how_it_is_run(name: str, fresh: Fresh) -> None:
    with fresh() as sandbox:
        try:
            toolchain(sandbox, language_spec(name))
        except ToolchainMissing as error:
            pytest.skip(str(error))
        prove(sandbox, language_spec(name))


@pytest.mark.parametrize(
    "change",
    [{"run": ("/bin/false",)}, {"compile": ("/bin/false",)}, {"run": ("/no/such/program",)}],
)
def test_a_language_that_does_not_work_is_no_agents_fault(
    change: dict[str, Any], fresh: Fresh
) -> None:
    with (
        fresh() as sandbox,
        pytest.raises(ToolchainMissing, match="Perl does not work in the image"),
    ):
        prove(sandbox, replace(language_spec("perl"), **change))


def test_a_program_is_worth_nothing_only_where_its_language_works(
    env: CodeV1, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = replace(language_spec("perl"), run=("/bin/false",))
    env.step(RIGHT)
    monkeypatch.setattr("intercode.envs.code_grading.language_spec", lambda name: broken)
    monkeypatch.setattr("intercode.envs.code_v1.language_spec", lambda name: broken)
    env.reset(options={"task": "named"})
    env.step(f"# file: x.pl\n{RIGHT}")

    # Another limit: whether this language works has been asked for the usual one.
    env.limits = replace(LIMITS, timeout_s=4)
    with pytest.raises(ToolchainMissing):
        env.step("submit")


def test_the_recipe_has_every_language() -> None:
    packages = {name for spec in LANGUAGE_SPECS.values() for name in spec.package.split()}

    assert packages <= set(RECIPES["code"].packages)


def test_there_are_ten_languages_and_no_two_share_a_name() -> None:
    names = [name for spec in LANGUAGE_SPECS.values() for name in (spec.name, *spec.names)]

    assert len(LANGUAGE_SPECS) == 10
    assert len(set(names)) == len(names)
    assert all("hello" in spec.hello for spec in LANGUAGE_SPECS.values())


def test_a_missing_language_is_told_with_its_package(fresh: Fresh) -> None:
    spec = replace(language_spec("r"), programs=("no-such-Rscript",))
    with fresh() as sandbox, pytest.raises(ToolchainMissing) as told:
        toolchain(sandbox, spec)

    assert "no no-such-Rscript, which R needs" in str(told.value)
    assert "apt-get install r-base-core" in str(told.value)
    assert not told.value.retryable


@pytest.mark.parametrize(("name", "meant"), [("js", "javascript"), ("C++", "cpp"), ("rs", "rust")])
def test_data_sets_have_names_of_their_own_for_languages(name: str, meant: str) -> None:
    assert language_spec(name).name == meant


# -- odds and ends ---------------------------------------------------------------------------------


def test_gymnasium_finds_nothing_to_complain_about(env: CodeV1) -> None:
    check_env(env, skip_render_check=True)


def test_it_plays_its_kind_in_any_version() -> None:
    assert env_name(None, TASKS) == env_name("v1", TASKS) == "Code-v1"


@pytest.mark.parametrize(
    ("wanted", "printed", "same"),
    [
        ("a\nb\n", b"a \nb", True),
        ("a", b"a\n\n", True),
        ("a", b" a", False),
        ("a\nb", b"a\n\nb", False),
        ("", b" \n", True),
        ("\xe9", b"\xe9", False),
    ],
)
def test_white_space_at_the_ends_does_not_count(wanted: str, printed: bytes, same: bool) -> None:
    assert same_output(wanted, printed) is same


@pytest.mark.parametrize(
    "change",
    [
        {"language": "cobol"},
        {"language": 3},
        {"cases": [{"input": "x"}]},
        {"cases": []},
        {"cases": "x"},
        {"tests": "exit 0"},
        {"timeout_s": 0},
        {"stop_tokens": "x"},
        {"colour": "red"},
    ],
)
def test_a_reward_of_another_shape_is_the_tasks_fault(change: dict[str, Any]) -> None:
    with pytest.raises(TaskError, match="task 't': its reward"):
        CodeSpec.from_mapping({**PERL.to_mapping(), **change}, task="t")


def test_a_reward_is_read_as_it_is_written() -> None:
    for spec in (PERL, TESTED, replace(PERL, file="x")):
        assert CodeSpec.from_mapping(spec.to_mapping()) == spec
    assert issubclass(ToolchainMissing, InterCodeError)
