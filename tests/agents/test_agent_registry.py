"""Agents are found by name, and a wrong name is answered with the right one."""

from __future__ import annotations

import json
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from intercode.agents import registry
from intercode.agents.basic import GoldAgent
from intercode.agents.registry import agent_factory
from intercode.errors import UsageError
from intercode.tasks.model import Task

TASKS = (
    Task(id="0", env="bash", instruction="first", gold="a"),
    Task(id="1", env="bash", instruction="second", gold="b"),
)


def recording(path: Path, *instructions: str) -> Path:
    body = {
        str(n): {"task_id": n, "query": text, "turn_history": {"actions": [f"echo {text}"]}}
        for n, text in enumerate(instructions)
    }
    path.write_text(json.dumps(body))
    return path


def module(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_each_call_makes_a_fresh_agent() -> None:
    factory = agent_factory("gold")
    assert isinstance(factory(), GoldAgent)
    assert factory() is not factory()


def test_a_typing_error_is_answered_with_the_likely_name() -> None:
    with pytest.raises(UsageError) as error:
        agent_factory("glod")
    assert "gold" in str(error.value.remedy)


def test_a_replay_sends_the_recorded_actions(tmp_path: Path) -> None:
    path = recording(tmp_path / "r.json", "first", "second")
    agent = agent_factory(f"replay:{path}", tasks=TASKS)()
    agent.start(TASKS[1])
    assert agent.act("", 0.0, {}) == "echo second"


def test_a_replay_that_lacks_a_task_is_refused_before_it_begins(tmp_path: Path) -> None:
    path = recording(tmp_path / "r.json", "first")
    with pytest.raises(UsageError, match="1 of 2 tasks: 1"):
        agent_factory(f"replay:{path}", tasks=TASKS)


def test_a_replay_without_a_file_is_refused() -> None:
    with pytest.raises(UsageError, match="recording"):
        agent_factory("replay:")


def test_a_changed_file_has_another_digest(tmp_path: Path) -> None:
    before = agent_factory(f"replay:{recording(tmp_path / 'r.json', 'first')}").digest
    after = agent_factory(f"replay:{recording(tmp_path / 'r.json', 'second')}").digest
    assert before != after


GOOD = """
class Mine:
    def start(self, task): self.task = task
    def act(self, observation, reward, info): return "submit"
"""


def test_an_agent_is_taken_from_a_file(tmp_path: Path) -> None:
    path = module(tmp_path / "mine.py", GOOD)
    agent = agent_factory(f"{path}:Mine")()
    agent.start(TASKS[0])
    assert agent.act("", 0.0, {}) == "submit"


def test_a_file_may_use_its_neighbours_and_dataclasses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.path", sys.path[:])
    module(tmp_path / "neighbour_of_mine.py", "WORD = 'skip'")
    path = module(
        tmp_path / "mine.py",
        "from __future__ import annotations\nfrom dataclasses import dataclass\n"
        "from neighbour_of_mine import WORD\n@dataclass\nclass Mine:\n"
        "    word: str = WORD\n    def start(self, task): pass\n"
        "    def act(self, observation, reward, info): return self.word\n",
    )
    assert agent_factory(f"{path}:Mine")().act("", 0.0, {}) == "skip"


@pytest.mark.parametrize(
    ("text", "name", "problem"),
    [
        (GOOD, "Mien", "has no 'Mien'"),
        ("import nothing_of_that_name", "Mine", "ModuleNotFoundError"),
        ("class Mine: pass", "Mine", "no methods start and act"),
        ("class Mine:\n    def __init__(self, x): pass", "Mine", "cannot be made"),
    ],
)
def test_a_file_without_a_good_agent_is_refused(
    tmp_path: Path, text: str, name: str, problem: str
) -> None:
    path = module(tmp_path / "mine.py", text)
    with pytest.raises(UsageError, match=problem):
        agent_factory(f"{path}:{name}")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no file .*gone\.py"):
        agent_factory(f"{tmp_path}/gone.py:Mine")


def test_a_package_may_bring_agents(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("theirs", "intercode.agents.basic:NoopAgent", registry.ENTRY_POINTS)
    monkeypatch.setattr(registry, "_plugins", lambda: [point])
    assert agent_factory("theirs")().act("", 0.0, {}) == "submit"
    assert "theirs" in registry.agent_names()
