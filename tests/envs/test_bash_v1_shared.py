"""Bash-v1 in the paper's two containers: what one episode leaves for the next, and what not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from intercode.envs.bash_v1 import BashV1
from intercode.envs.bash_v1_shared import BashV1Shared
from intercode.envs.runtime import Runtime
from intercode.errors import UsageError
from intercode.sandboxes.base import Limits
from intercode.sandboxes.bubblewrap.backend import Bubblewrap
from intercode.tasks.model import Dataset, FileSystem, Task

pytestmark = pytest.mark.bubblewrap

OLD = "mkdir -p /box; echo one > /box/old.txt; touch -d 2001-01-01 /box/old.txt"


def task(name: str, gold: str, file_system: str = "box") -> Task:
    return Task(name, "bash", f"do {name}", gold, file_system=file_system)


TASKS = Dataset(
    "handmade",
    (
        task("link", "ln -s /box/old.txt ~/link"),
        task("remove", "find /box -mtime +9 -delete"),
        task("elsewhere", "true", "other"),
    ),
    {name: FileSystem(name, setup=(OLD,)) for name in ("box", "other")},
)


@pytest.fixture(scope="module")
def runtime() -> Iterator[Runtime]:
    with Runtime(Bubblewrap(), base="host", warm=0) as shared:
        yield shared


@pytest.fixture
def env(runtime: Runtime) -> Iterator[BashV1Shared]:
    env = BashV1Shared(TASKS, runtime=runtime, limits=Limits(disk_mib=16))
    yield env
    env.close()


def begin(env: BashV1, name: str) -> None:
    env.reset(options={"task": name})


def rewards(env: BashV1, name: str, *actions: str) -> list[float]:
    begin(env, name)
    found = []
    for action in actions:
        env.step(action)
        found.append(env.score().reward)
    return found


def test_what_git_ignores_stays_and_all_else_is_put_back(env: BashV1Shared) -> None:
    begin(env, "link")
    env.step("touch /root/kept /box/gone; echo two > /box/old.txt; cd /box")
    begin(env, "remove")
    assert env.step("ls /root /box; cat /box/old.txt")[0] == "/box:\nold.txt\n\n/root:\nkept\none\n"
    assert env.step("pwd")[0] == "/\n"


def test_a_file_that_was_put_back_is_a_new_one(env: BashV1Shared) -> None:
    begin(env, "link")
    assert env.step("find /box -mtime +9")[0] == "/box/old.txt\n"
    env.step("rm /box/old.txt")
    begin(env, "link")
    assert env.step("find /box -type f -mtime +9")[0] == ""


def test_a_gold_meets_its_own_traces(env: BashV1Shared, runtime: Runtime) -> None:
    assert rewards(env, "link", "ln -s /box/old.txt ~/link", "true") == [1.0, 0.67]
    with_clean_starts = BashV1(TASKS, runtime=runtime)
    assert rewards(with_clean_starts, "link", "ln -s /box/old.txt ~/link", "true") == [1.0, 1.0]
    with_clean_starts.close()


def test_a_gold_finds_no_old_file_twice(env: BashV1Shared) -> None:
    # It deletes the old file, which git puts back as a new one. The agent's is left alone.
    assert rewards(env, "remove", "true", "true") == [0.39 + 0.33, 1.0]


def test_room_is_made_on_a_full_disk(env: BashV1Shared) -> None:
    begin(env, "link")
    env.step("touch /root/kept; head -c 1G /dev/zero > /big")
    begin(env, "link")
    assert (
        env.step("ls /root; ls /big")[0]
        == "kept\nls: cannot access '/big': No such file or directory\n"
    )


def test_a_container_that_git_cannot_clean_is_replaced(env: BashV1Shared) -> None:
    begin(env, "link")
    env.step("touch /root/kept; rm -rf /.git")
    begin(env, "link")
    assert env.step("ls /root; ls -d /.git")[0] == "/.git\n"


def test_another_file_system_is_another_pair_of_containers(env: BashV1Shared) -> None:
    begin(env, "link")
    env.step("touch /root/kept")
    begin(env, "elsewhere")
    assert env.step("ls /root")[0] == ""


def test_an_episode_can_be_neither_forked_nor_saved(env: BashV1Shared) -> None:
    begin(env, "link")
    with pytest.raises(UsageError, match="cannot be forked"):
        env.fork()
    with pytest.raises(UsageError, match="cannot be saved"):
        env.snapshot()


def test_nothing_is_left_when_it_is_closed() -> None:
    with Runtime(Bubblewrap(), base="host", warm=0) as own:
        env = BashV1Shared(TASKS, runtime=own)
        rewards(env, "link", "true")
        assert own.backend.live() == 2  # type: ignore[attr-defined]
        env.close()
        assert own.live() == 0
