"""What the machine is called in Bash-v1: the paper's two containers have names of their own."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from intercode.envs.bash_v1 import BashV1
from intercode.envs.runtime import Runtime
from intercode.sandboxes.bubblewrap.backend import Bubblewrap
from intercode.tasks.model import Dataset, Task

pytestmark = pytest.mark.bubblewrap

TASK = Task("named", "bash", "What is this machine called?", "hostname")
NAMES = "uname -n; printenv HOSTNAME; echo $HOSTNAME; cat /etc/hostname"


@pytest.fixture(scope="module")
def runtime() -> Iterator[Runtime]:
    with Runtime(Bubblewrap(), base="host") as shared:
        yield shared


@pytest.fixture
def env(runtime: Runtime) -> Iterator[BashV1]:
    env = BashV1(Dataset("named", (TASK,)), runtime=runtime)
    env.reset()
    yield env
    env.close()


def test_it_is_called_as_docker_calls_a_container_wherever_one_looks(env: BashV1) -> None:
    names = env.step(NAMES)[0].split()
    assert len(names) == 4
    assert len(set(names)) == 1
    assert re.fullmatch("[0-9a-f]{12}", names[0])
    assert f"172.17.0.2\t{names[0]}\n" in env.step("cat /etc/hosts")[0]


def test_it_is_called_the_same_in_every_episode(env: BashV1) -> None:
    first = env.step(NAMES)[0]
    env.reset()
    assert env.step(NAMES)[0] == first


def test_the_golds_machine_has_another_name(env: BashV1) -> None:
    env.step("hostname")
    score = env.score()
    assert (score.components["file_diff"], score.components["answer_similarity"]) == (0.33, 0.0)
