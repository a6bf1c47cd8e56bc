"""Every hand-made probe of the original's Bash environment, against Bash-v1.

Left out, by name, are those that show how the original lets one episode spoil the next, or that
concern its process and not an episode; where it crashes (†) an ordinary answer stands instead.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from intercode.envs.bash_v1 import BashV1
from intercode.envs.runtime import Runtime
from intercode.sandboxes.base import Limits
from intercode.sandboxes.bubblewrap.backend import Bubblewrap
from intercode.tasks.model import Dataset, Task
from intercode.tasks.registry import load

pytestmark = [pytest.mark.data, pytest.mark.bubblewrap]

BETWEEN_EPISODES = {
    "ignored_persist", "git_commit_persist", "exclude_persist", "nested_persist", "bg_persist",
    "gitignore_agent", "immediate_submit_fs1",
}  # fmt: skip
ABOUT_THE_PROCESS = {"thread", "two_envs_same_container", "timeout", "submit_prefix", "cd_bare"}


@pytest.fixture(scope="module")
def dataset(data: Path) -> Dataset:
    return load("nl2bash", path=data)


@pytest.fixture(scope="module")
def runtime() -> Iterator[Runtime]:
    rootfs = os.environ.get("INTERCODE_TEST_ROOTFS")
    if not rootfs:
        pytest.skip("needs a root file system like the original's: set INTERCODE_TEST_ROOTFS")
    with Runtime(Bubblewrap(), base=f"tar:{rootfs}") as shared:
        yield shared


def probes() -> list[Any]:
    path = Path(os.environ.get("INTERCODE_DATA", ""), "oracle/probes_bash.jsonl")
    if not path.is_file():
        return [pytest.param(None, marks=pytest.mark.skip("needs INTERCODE_DATA"))]
    found = [json.loads(line) for line in path.read_text().splitlines()]
    return [
        pytest.param(probe, id=probe["name"])
        for probe in found
        if probe["name"] not in BETWEEN_EPISODES | ABOUT_THE_PROCESS
    ]


def environment(runtime: Runtime, dataset: Dataset, gold: Any, **more: Any) -> BashV1:
    first = dataset[0]
    text = ";".join(gold) if isinstance(gold, list) else gold
    task = Task("probe", "bash", "a probe", text or first.gold, file_system=first.file_system)
    env = BashV1(dataset, runtime=runtime, **more)
    env.reset(options={"task": task})
    return env


def same_text(original: str, ours: str) -> bool:
    """Up to the recorder's cut at 160 characters, the host's year, and process numbers."""
    if re.fullmatch(r"20\d\d\n", original):
        return re.fullmatch(r"20\d\d\n", ours) is not None
    return ours == original or (len(original) >= 160 and ours.startswith(original))


@pytest.mark.parametrize("probe", probes())
def test_a_probe_is_answered_as_by_the_original(
    runtime: Runtime, dataset: Dataset, probe: dict[str, Any]
) -> None:
    env = environment(runtime, dataset, probe["inputs"].get("gold"))
    for answer in probe["original"]:
        action = answer[0]
        if action == "submit":
            reward = env.step("submit")[1]
            # † An exception there: the score it had computed, or 0, here.
            assert reward == (0.0 if isinstance(answer[1], str) else answer[1])
            continue
        observation, _, _, _, info = env.step(action)
        if str(answer[1]).startswith("EXC"):
            assert (observation, info["action_executed"]) == ("Malformed command", False)
            continue
        assert same_text(answer[1], observation)
        assert info["action_executed"] is answer[2]
        assert env._cwd == answer[3]
    env.close()


def test_a_command_that_takes_too_long_is_timed_out_and_gone(
    runtime: Runtime, dataset: Dataset
) -> None:
    env = environment(runtime, dataset, None, limits=Limits(timeout_s=0.5))
    observation, _, _, _, info = env.step("sleep 15")
    assert (observation, info["action_executed"]) == ("Command timed out", False)
    assert env.step("pgrep -c sleep")[0] == "0\n"
    env.close()


def test_whatever_starts_with_submit_ends_the_episode(runtime: Runtime, dataset: Dataset) -> None:
    env = environment(runtime, dataset, "true")
    assert env.step("submitted my homework")[2]
    env.close()


def test_files_of_an_earlier_episode_are_nowhere(runtime: Runtime, dataset: Dataset) -> None:
    env = environment(runtime, dataset, "true")
    env.step(
        "echo x > /etc/agentfile; rm -f /root/.bashrc; echo '*' >> /.gitignore; git init /nest"
    )
    env.reset(options={"task": env.task})
    assert env.step("ls -d /etc/agentfile /nest 2>/dev/null; ls -A /root; wc -l < /.gitignore")[
        0
    ] == (".bashrc\n.profile\n17\n")
    env.close()
