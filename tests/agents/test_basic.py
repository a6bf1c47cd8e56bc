"""The agents that need no model do exactly what they say."""

from __future__ import annotations

import pytest

from intercode.agents.base import Agent
from intercode.agents.basic import GoldAgent, NoopAgent, ReplayAgent
from intercode.errors import TaskError
from intercode.tasks.model import Task

TASK = Task(id="1", env="bash", instruction="count", gold="ls | wc -l")


def acts(agent: Agent, count: int) -> list[str]:
    return [agent.act("", 0.0, {}) for _ in range(count)]


def test_gold_is_sent_and_then_submitted() -> None:
    agent = GoldAgent()
    agent.start(TASK)
    assert acts(agent, 3) == ["ls | wc -l", "submit", "submit"]


def test_noop_submits_at_once() -> None:
    agent = NoopAgent()
    agent.start(TASK)
    assert acts(agent, 1) == ["submit"]


def test_replay_sends_what_was_recorded_and_then_submits() -> None:
    agent = ReplayAgent(lambda task: ["a", "b"])
    agent.start(TASK)
    assert acts(agent, 3) == ["a", "b", "submit"]


def test_starting_again_begins_anew() -> None:
    agent = ReplayAgent(lambda task: ["a", "b"])
    agent.start(TASK)
    acts(agent, 1)
    agent.start(TASK)
    assert acts(agent, 1) == ["a"]


def test_a_task_without_recorded_actions_is_refused() -> None:
    with pytest.raises(TaskError, match="'1'"):
        ReplayAgent(lambda task: None).start(TASK)


@pytest.mark.parametrize("agent", [GoldAgent(), NoopAgent(), ReplayAgent(lambda task: None)])
def test_they_keep_the_contract(agent: object) -> None:
    assert isinstance(agent, Agent)
