"""Capture the Flag behind the Gymnasium API, on real sandboxes and puzzles made here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env

import intercode
from intercode.agents.basic import GoldAgent, NoopAgent
from intercode.envs.check import check_dataset
from intercode.envs.ctf_v1 import WRONG, CtfV1
from intercode.envs.ctf_v2 import CtfV2
from intercode.envs.runtime import Runtime
from intercode.errors import TaskError, UsageError
from intercode.runs.episode import play_episode
from intercode.sandboxes.base import Limits
from intercode.sandboxes.bubblewrap.backend import Bubblewrap
from intercode.tasks.model import Dataset, FileSystem, Task

pytestmark = pytest.mark.bubblewrap

FLAG = "flag{s3sam3}"


def task(name: str, gold: str = FLAG, **facts: Any) -> Task:
    return Task(name, "ctf", f"solve {name}", gold, file_system="cave", metadata=facts)


CAVE = FileSystem(
    "cave",
    setup=("mkdir -p /ctf/cave/in; echo one > /ctf/cave/a.txt; echo two > /ctf/cave/in/b.txt",),
    cwd="/ctf/cave",
)
TASKS = Dataset(
    "handmade",
    (
        task("open"),
        task("solved", solution=("cd in", "echo 'it is flag{s3sam3}'")),
        task("unsolved", solution=("echo flag{wrong}",)),
        task("lacking", needs=("bash", "no-such-tool", "python3:no_such_module", "python3:json")),
        task("nothing", gold=""),
    ),
    {"cave": CAVE},
)


@pytest.fixture(scope="module")
def runtime() -> Iterator[Runtime]:
    backend = Bubblewrap()
    failed = [check for check in backend.check() if not check.ok]
    if failed:
        pytest.skip(f"needs bubblewrap: {failed[0].detail}")
    with Runtime(backend) as shared:
        yield shared


@pytest.fixture(params=[CtfV1, CtfV2])
def env(request: pytest.FixtureRequest, runtime: Runtime) -> Iterator[Any]:
    made = request.param(TASKS, runtime=runtime, limits=Limits(timeout_s=5))
    made.reset(options={"task": "open"})
    yield made
    made.close()


@pytest.fixture
def v1(runtime: Runtime) -> Iterator[CtfV1]:
    made = CtfV1(TASKS, runtime=runtime, limits=Limits(timeout_s=5))
    made.reset(options={"task": "open"})
    yield made
    made.close()


@pytest.fixture
def v2(runtime: Runtime) -> Iterator[CtfV2]:
    made = CtfV2(TASKS, runtime=runtime, limits=Limits(timeout_s=5))
    made.reset(options={"task": "open"})
    yield made
    made.close()


# -- both ------------------------------------------------------------------------------------------


def test_gymnasiums_checker_passes_both(env: Any) -> None:
    check_env(env, skip_render_check=True)


def test_gymnasium_makes_them_by_their_names() -> None:
    for name in ("intercode/CTF-v1", "intercode/CTF-v2"):
        assert name in gymnasium.registry
    env = intercode.make("intercode/CTF-v2", dataset=TASKS)
    try:
        assert env.reset(options={"task": "open"}) == ("solve open", {"task": "open"})
    finally:
        env.close()


def test_a_task_starts_in_its_own_folder_and_the_flag_is_not_there(env: Any) -> None:
    assert env.step("pwd; ls")[0] == "/ctf/cave\na.txt\nin\n"
    assert env.step("grep -rl s3sam3 /ctf /etc /root /tmp; env | grep s3sam3; true")[0] == ""


def test_the_right_flag_ends_the_episode_with_one(env: Any) -> None:
    env.step("ls")
    _, reward, terminated, truncated, info = env.step(f"submit {FLAG}")
    assert (reward, terminated, truncated, info["score"].success) == (1.0, True, False, True)
    with pytest.raises(UsageError, match="over"):
        env.step("ls")


def test_a_wrong_flag_is_told_counted_and_not_the_end(env: Any) -> None:
    for count in (1, 2):
        observation, reward, terminated, _, info = env.step("submit flag{guess}")
        assert (reward, terminated, info["wrong_submissions"]) == (0.0, False, count)
        assert "incorrect" in observation or "wrong flag" in observation
    assert env.step("echo still here")[0] == "still here\n"
    assert env.step(f"submit {FLAG}")[1] == 1.0


def test_the_count_starts_anew_with_each_episode(env: Any) -> None:
    env.step("submit flag{guess}")
    env.reset(options={"task": "open"})
    assert env.step("submit flag{guess}")[4]["wrong_submissions"] == 1


def test_attempts_say_how_many_wrong_flags_end_the_episode(env: Any, runtime: Runtime) -> None:
    strict = type(env)(TASKS, runtime=runtime, attempts=2)
    strict.reset(options={"task": "open"})
    assert [strict.step("submit flag{guess}")[1:3] for _ in range(2)] == [(0.0, False), (0.0, True)]
    with pytest.raises(UsageError, match="over"):
        strict.step(f"submit {FLAG}")
    patient = type(env)(TASKS, runtime=runtime, attempts=0)
    patient.reset(options={"task": "open"})
    assert not any(patient.step("submit flag{guess}")[2] for _ in range(7))
    strict.close()
    patient.close()


@pytest.mark.parametrize("attempts", [-1, 1.5, "3"])
def test_attempts_that_are_no_number_are_refused(runtime: Runtime, attempts: Any) -> None:
    with pytest.raises(UsageError, match="attempts"):
        CtfV2(TASKS, runtime=runtime, attempts=attempts)


def test_a_score_is_of_a_submission_and_changes_nothing(env: Any) -> None:
    assert env.score().reward == 0.0
    assert env.score(f"submit {FLAG}").reward == 1.0
    assert env.score("submit flag{guess}").reward == 0.0
    assert env.step("submit flag{guess}")[4]["wrong_submissions"] == 1


def test_skip_gives_up(env: Any) -> None:
    assert env.step("skip")[1:4] == (0.0, True, False)


def test_branches_count_and_stand_for_themselves(env: Any) -> None:
    env.step("submit flag{guess}")
    env.step("cd in")
    twin = env.fork()[0]
    assert twin.step("cat b.txt")[0] == "two\n"
    assert twin.step("submit flag{guess}")[4]["wrong_submissions"] == 2
    assert env.step("submit flag{guess}")[4]["wrong_submissions"] == 2
    twin.close()


def test_branches_allow_as_many_attempts(env: Any, runtime: Runtime) -> None:
    strict = type(env)(TASKS, runtime=runtime, attempts=2)
    strict.reset(options={"task": "open"})
    twin = strict.fork()[0]
    assert [twin.step("submit flag{guess}")[2] for _ in range(2)] == [False, True]
    twin.close()
    strict.close()


def test_a_moment_can_be_gone_back_to_even_from_the_end(env: Any) -> None:
    env.step("cd in")
    env.step("submit flag{guess}")
    moment = env.snapshot()
    env.step("echo three > b.txt")
    env.step(f"submit {FLAG}")
    env.restore(moment)
    assert env.step("cat b.txt")[0] == "two\n"
    assert env.step("submit flag{guess}")[4]["wrong_submissions"] == 2


def test_a_task_without_a_flag_is_no_zero(env: Any) -> None:
    env.reset(options={"task": "nothing"})
    with pytest.raises(TaskError, match="no flag"):
        env.step("submit")


def test_the_gold_agent_submits_the_flag_and_the_noop_agent_gets_nothing(env: Any) -> None:
    record = play_episode(env, GoldAgent(), TASKS["open"])
    assert (record.reward, [turn.action for turn in record.turns]) == (1.0, [f"submit {FLAG}"])
    assert play_episode(env, NoopAgent(), TASKS["open"]).reward == 0.0


def test_an_episodes_record_holds_no_solution(env: Any) -> None:
    record = play_episode(env, NoopAgent(), TASKS["solved"])
    assert "s3sam3" not in str(record.to_json())


# -- the paper's -----------------------------------------------------------------------------------


def test_v1_says_what_the_original_said(v1: CtfV1) -> None:
    v1.step("echo hello")
    assert v1.step("submit nonsense")[0] == WRONG == "Submitted flag is incorrect. Keep trying!"
    v1.step("echo hello")
    assert v1.step(f"submit {FLAG.upper()}")[0] == "hello\n"


@pytest.mark.parametrize(
    ("action", "output"),
    [
        ('echo "a   b" c', "a   b c\n"),
        ("echo 'it''s'", "its\n"),
        ("echo it\\'s", "it's\n"),
        ("printf '%s\\n' \"$PWD\"", "/ctf/cave\n"),
        ("echo one\necho two", "one\ntwo\n"),
        ("python3 -c 'print(\"x\" * 3)'", "xxx\n"),
        ("python3 -c \"print('$PWD')\"", "$PWD\n"),
        ("python3 -c 'print(1)' | cat", "1\n"),
    ],
)
def test_v1_actions_arrive_whole_but_for_pythons(v1: CtfV1, action: str, output: str) -> None:
    observation, _, _, _, info = v1.step(action)
    assert (observation, info["action_executed"]) == (output, True)


def test_v1_calls_an_open_quotation_malformed_only_where_it_splits_words(v1: CtfV1) -> None:
    assert v1.step("python3 -c 'print(1)")[0] == "Malformed command"
    assert "unexpected EOF" in v1.step("echo 'open")[0]
    assert v1.step("echo a\0b")[0] == "Malformed command"


def test_v1_keeps_the_directory_and_nothing_else(v1: CtfV1) -> None:
    v1.step("cd in; x=7")
    assert v1.step("pwd")[4]["action_executed"] is False  # no such directory: "/ctf/cave/in; x=7"
    v1.step("cd /ctf/cave/in")
    v1.step("x=7")
    assert v1.step('echo "$PWD $x"')[0] == "/ctf/cave/in \n"
    v1.step("cd ..")
    assert v1.step("cat a.txt")[0] == "one\n"
    assert v1.step("cd")[0] == "Malformed command"


def test_v1_scores_every_action_that_starts_with_submit(v1: CtfV1) -> None:
    assert v1.step("submitted my homework")[0] == WRONG
    assert v1.step("submit")[0] == WRONG


# -- ours ------------------------------------------------------------------------------------------


def test_v2_keeps_a_shell(v2: CtfV2) -> None:
    v2.step("cd in; x=7")
    assert v2.step('echo "$PWD $x"')[0] == "/ctf/cave/in 7\n"


def test_v2_finds_its_way_home_after_a_shell_was_lost(v2: CtfV2) -> None:
    v2.step("exit 3")
    assert v2.step("pwd")[0] == "/ctf/cave\n"


def test_v2_allows_three_wrong_flags_and_says_how_many_are_left(v2: CtfV2) -> None:
    said = [v2.step("submit flag{guess}")[0] for _ in range(3)]
    assert said == [f"[wrong flag, {n} of 3 submissions left]\n" for n in (2, 1, 0)]


def test_v2_tells_the_form_of_a_flag_to_those_who_miss_it(v2: CtfV2) -> None:
    assert v2.step("submit s3sam3")[0] == (
        "[wrong flag, 2 of 3 submissions left; a flag here looks like flag{...}]\n"
    )
    assert "submit FLAG" in v2.step("submit")[0]


def test_v2_wants_the_exact_flag_but_forgives_quotes(v2: CtfV2) -> None:
    assert v2.step(f"submit {FLAG.upper()}")[1] == 0.0
    assert v2.step(f'submit "{FLAG}" ')[1] == 1.0


# -- checking --------------------------------------------------------------------------------------


def test_a_check_runs_solutions_and_names_missing_programs() -> None:
    dataset = TASKS.select(["open", "solved", "unsolved", "lacking"])
    checks = check_dataset(dataset, "CTF-v2", sandbox="bubblewrap", base="host", jobs=2)
    assert {c.task.id: c.found for c in checks} == {
        "open": (),
        "solved": (),
        "unsolved": ("failing_gold",),
        "lacking": ("missing_program",),
    }
    lacking = checks[-1].measured.output
    assert "no-such-tool" in lacking
    assert "python3:no_such_module" in lacking
    assert "json" not in lacking
