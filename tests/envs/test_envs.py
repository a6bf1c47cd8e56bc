"""The Bash environments behind the Gymnasium API, on real sandboxes and the bundled suite."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env

import intercode
from intercode.envs.bash_v1 import BashV1
from intercode.envs.bash_v2 import BashV2
from intercode.envs.runtime import Runtime
from intercode.envs.spaces import UnicodeText
from intercode.errors import UsageError
from intercode.sandboxes.base import Limits
from intercode.sandboxes.bubblewrap.backend import Bubblewrap
from intercode.tasks.model import Dataset, FileSystem, Task
from intercode.tasks.registry import load

pytestmark = pytest.mark.bubblewrap

FILES = FileSystem(
    "small", setup=("mkdir -p /box/in; echo one > /box/a.txt; echo two > /box/in/b",)
)


def task(name: str, gold: str, **more: Any) -> Task:
    return Task(
        id=name, env="bash", instruction=f"do {name}", gold=gold, file_system="small", **more
    )


TASKS = Dataset(
    "handmade",
    (
        task("answer", "cat /box/a.txt"),
        task("change", "echo three > /box/c.txt"),
        task("twice", "echo three > /box/c.txt", alternatives=("printf 'three\\n' > /box/d.txt",)),
        task("date", "date +%N"),
    ),
    {"small": FILES},
)


@pytest.fixture(scope="module")
def runtime() -> Iterator[Runtime]:
    backend = Bubblewrap()
    failed = [check for check in backend.check() if not check.ok]
    if failed:
        pytest.skip(f"needs bubblewrap: {failed[0].detail}")
    with Runtime(backend) as shared:
        yield shared


@pytest.fixture(params=[BashV1, BashV2])
def env(request: pytest.FixtureRequest, runtime: Runtime) -> Iterator[Any]:
    made = request.param(TASKS, runtime=runtime, limits=Limits(timeout_s=3))
    yield made
    made.close()


def test_gymnasiums_checker_passes_both(env: Any) -> None:
    check_env(env, skip_render_check=True)


def test_gymnasium_makes_them_by_their_names() -> None:
    for name in ("intercode/Bash-v1", "intercode/Bash-v2"):
        assert name in gymnasium.registry
    env = intercode.make("intercode/Bash-v2", dataset=TASKS)
    try:
        observation, info = env.reset(options={"task": "answer"})
        assert observation == "do answer"
        assert info == {"task": "answer"}
    finally:
        env.close()


@pytest.mark.parametrize("name", ["answer", "change", "date"])
def test_the_gold_scores_one_where_it_does_not_tell_the_time(env: Any, name: str) -> None:
    env.reset(options={"task": name})
    env.step(env.task.gold)
    _, reward, terminated, truncated, info = env.step("submit")
    assert (reward == 1.0) is (name != "date")
    assert terminated
    assert not truncated
    assert info["score"].reward == reward


def test_doing_nothing_scores_the_floor(runtime: Runtime) -> None:
    for cls, floor in ((BashV1, 0.67), (BashV2, 0.0)):
        env = cls(TASKS, runtime=runtime)
        env.reset(options={"task": "answer"})
        assert env.step("submit")[1] == floor
        env.close()


def test_a_second_gold_counts_as_well(runtime: Runtime) -> None:
    env = BashV2(TASKS, runtime=runtime)
    env.reset(options={"task": "twice"})
    env.step("printf 'thr'  > /box/d.txt; echo ee >> /box/d.txt")
    assert env.step("submit")[1] == 1.0
    env.close()


def test_skip_ends_an_episode_with_nothing(env: Any) -> None:
    env.reset(options={"task": "answer"})
    assert env.step("skip")[1:4] == (0.0, True, False)
    with pytest.raises(UsageError, match="over"):
        env.step("echo more")


def test_every_episode_starts_clean(env: Any) -> None:
    env.reset(options={"task": "answer"})
    env.step("echo spoilt > /box/a.txt; touch /box/new")
    env.reset(options={"task": "answer"})
    assert env.step("cat /box/a.txt; ls /box")[0] == "one\na.txt\nin\n"


def test_scoring_in_the_middle_changes_nothing_the_agent_sees(env: Any) -> None:
    env.reset(options={"task": "change"})
    env.step("echo three > /box/c.txt; touch -d 2020-01-01 /box/c.txt")
    look = "find / -xdev -newermt 2019-12-31 ! -newermt 2020-01-02; ls -A / /box"
    before = env.step(look)[0]
    first = env.score()
    assert env.score() == first
    assert env.step(look)[0] == before


def test_v2_keeps_directory_variables_and_functions(runtime: Runtime) -> None:
    env = BashV2(TASKS, runtime=runtime)
    env.reset(options={"task": "answer"})
    env.step("cd /box; x=7; f() { echo f:$x; }")
    assert env.step('echo "$PWD  $x"; f')[0] == "/box  7\nf:7\n"
    env.close()


def test_v2_says_when_a_command_timed_out_and_goes_on(runtime: Runtime) -> None:
    env = BashV2(TASKS, runtime=runtime, limits=Limits(timeout_s=0.4))
    env.reset(options={"task": "answer"})
    env.step("cd /box; x=7")
    observation, _, _, _, info = env.step("echo before; sleep 60")
    assert observation.startswith("before\n[timed out")
    assert info["timed_out"]
    assert env.step("echo $x $PWD")[0] == "7 /box\n"
    env.close()


def test_v1_runs_each_action_in_a_process_of_its_own(runtime: Runtime) -> None:
    env = BashV1(TASKS, runtime=runtime)
    env.reset(options={"task": "answer"})
    assert env.step("x=7; echo [$x]")[0] == "[7]\n"
    assert env.step("echo [$x]")[0] == "[]\n"
    env.step("cd /box/in")
    assert env.step("pwd; cat b")[0] == "/box/in\ntwo\n"
    assert env.step('echo "a   b" c')[0] == "a\n"
    assert env.step('echo "open')[0] == "Malformed command"
    env.close()


def test_v1_waits_for_what_prints_in_the_background(runtime: Runtime) -> None:
    env = BashV1(TASKS, runtime=runtime)
    env.reset(options={"task": "answer"})
    assert env.step("(sleep 0.2; echo late) &")[0] == "late\n"
    assert env.step("sleep 60 > /dev/null 2>&1 &")[0] == ""
    env.close()


def test_a_snapshot_brings_files_shell_and_answer_back(runtime: Runtime) -> None:
    env = BashV2(TASKS, runtime=runtime)
    env.reset(options={"task": "answer"})
    env.step("cd /box; x=1; cat a.txt")
    moment = env.snapshot()
    env.step("rm -r /box; x=2; echo gone")
    env.restore(moment)
    assert env.score().reward == 1.0
    assert env.step("echo $x $PWD; ls")[0] == "1 /box\na.txt\nin\n"
    env.close()


def test_forks_go_their_own_ways(runtime: Runtime) -> None:
    env = BashV2(TASKS, runtime=runtime)
    env.reset(options={"task": "change"})
    env.step("cd /box; x=1")
    left, right = env.fork(2)
    left.step("echo three > c.txt")
    right.step("x=2; echo other > c.txt")
    assert left.step("echo $x; cat c.txt")[0] == "1\nthree\n"
    assert env.step("ls")[0] == "a.txt\nin\n"
    assert (left.score().reward, right.score().reward < 1) == (1.0, True)
    for one in (left, right, env):
        one.close()


def test_same_seed_draws_the_same_task(runtime: Runtime) -> None:
    env = BashV2(TASKS, runtime=runtime)
    drawn = [env.reset(seed=seed)[1]["task"] for seed in range(12)]
    assert drawn == [env.reset(seed=seed)[1]["task"] for seed in range(12)]
    assert len(set(drawn)) > 1
    env.close()


def test_wrong_tasks_and_options_are_refused_with_what_fits(env: Any) -> None:
    for options in ({"task": "none"}, {"task": 99}, {"tasks": 1}, {"task": 1.5}):
        with pytest.raises(UsageError):
            env.reset(options=options)


def test_a_space_of_texts_takes_any_text() -> None:
    space = UnicodeText(seed=3)
    assert all(space.contains(text) for text in ("", "a" * 10_000, "漢\0\n🙂", space.sample()))
    assert not space.contains(b"bytes")
    assert UnicodeText(seed=3).sample() == UnicodeText(seed=3).sample()


def test_the_bundled_suite_is_the_default() -> None:
    assert len(load("bundled")) >= 40
