"""An episode ends as it should, and its record says how."""

from __future__ import annotations

import math
from typing import Any

import pytest
from scripted_env import ScriptedEnv, Speaker, make_task

from intercode.errors import ModelError
from intercode.rewards.score import Score
from intercode.runs.episode import Stopped, play_episode
from intercode.runs.record import EpisodeRecord

TASK = make_task()


def play(*words: str, **options: Any) -> EpisodeRecord:
    return play_episode(ScriptedEnv(), Speaker(*words), TASK, **options)


def test_submitting_ends_and_scores() -> None:
    record = play("look", "good", seed=7)
    assert (record.reward, record.success, record.end) == (1.0, True, "submit")
    assert record.components == {"base": 0.5, "answer": 0.5}
    assert [(t.action, t.observation, t.executed) for t in record.turns] == [
        ("look", "ran look", True),
        ("good", "ran good", True),
        ("submit", "", None),
    ]
    assert (record.seed, record.task_id, record.instruction) == (7, "t", "do t")
    assert record.task_hash == TASK.content_hash


def test_giving_up_is_worth_nothing_and_is_no_failure() -> None:
    record = play("good", "skip")
    assert (record.reward, record.end, record.failed) == (0.0, "skip", False)


def test_the_turn_limit_scores_as_if_submitted() -> None:
    record = play("a", "good", "b", max_turns=2)
    assert (record.reward, record.end, len(record.turns)) == (1.0, "turns", 2)


def test_the_time_limit_scores_as_if_submitted() -> None:
    record = play("a", max_s=0.0)
    assert (record.reward, record.end, record.turns) == (0.5, "time", ())


def test_the_environment_may_cut_an_episode_short() -> None:
    record = play("cut")
    assert (record.reward, record.end) == (0.5, "env")


def test_an_invalid_action_is_recorded_as_such() -> None:
    turn = play("fail now").turns[0]
    assert (turn.executed, turn.exit_code) == (False, 1)


def test_the_agent_sees_the_instruction_first_and_then_what_was_printed() -> None:
    agent = Speaker("a")
    play_episode(ScriptedEnv(), agent, TASK)
    assert agent.seen == [("do t", 0.0), ("ran a", 0.0)]


# Scoring every turn


def test_when_each_turn_is_scored_the_first_success_ends_the_episode() -> None:
    agent = Speaker("a", "good", "never")
    record = play_episode(ScriptedEnv(), agent, TASK, score_each_turn=True)
    assert (record.reward, record.end) == (1.0, "solved")
    assert [turn.reward for turn in record.turns] == [0.5, 1.0]
    assert agent.seen == [("do t", 0.0), ("ran a", 0.5)]


class FallingEnv(ScriptedEnv):
    def score(self) -> Score:
        return Score(0.8 if self.last == "first" else 0.3)


def test_when_each_turn_is_scored_the_best_one_counts() -> None:
    for words in (("first", "second"), ("first", "second", "submit")):
        record = play_episode(
            FallingEnv(), Speaker(*words), TASK, score_each_turn=True, max_turns=len(words)
        )
        assert record.reward == 0.8


# Failures


def test_trouble_of_the_sandbox_is_no_score() -> None:
    record = play("a", "break")
    assert (record.reward, record.cause, record.retryable) == (None, "sandbox", True)
    assert record.message == "the sandbox broke"
    assert [turn.action for turn in record.turns] == ["a"]


def test_a_task_that_cannot_be_set_up_is_no_score() -> None:
    record = play_episode(ScriptedEnv(), Speaker(), make_task(gold="unscorable"))
    assert (record.reward, record.cause, record.retryable) == (None, "task", False)


def test_a_fault_of_the_environment_is_named_with_its_place() -> None:
    record = play("bug")
    assert (record.reward, record.cause) == (None, "internal")
    assert record.message is not None
    assert record.message.startswith("ZeroDivisionError: in the environment (")
    assert "scripted_env.py:" in record.message


class Raising(Speaker):
    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    def act(self, *_: Any) -> str:
        raise self.error


@pytest.mark.parametrize(
    ("error", "cause", "retryable"),
    [(KeyError("x"), "agent", False), (ModelError("no answer"), "model", True)],
)
def test_a_fault_of_the_agent_is_told_from_one_of_its_model(
    error: Exception, cause: str, retryable: bool
) -> None:
    record = play_episode(ScriptedEnv(), Raising(error), TASK)
    assert (record.reward, record.cause, record.retryable) == (None, cause, retryable)


def test_an_action_that_is_not_text_is_the_agents_fault() -> None:
    record = play(None)  # type: ignore[arg-type]
    assert (record.cause, record.message) == ("agent", "the agent's action is NoneType, not text")


class NanEnv(ScriptedEnv):
    def score(self) -> Score:
        return Score(math.nan)


def test_a_reward_that_is_no_number_is_a_failure() -> None:
    assert play_episode(NanEnv(), Speaker(), TASK).cause == "task"


def test_an_episode_that_is_called_off_leaves_no_record() -> None:
    with pytest.raises(Stopped):
        play("a", stopped=lambda: True)


# The record


def test_a_record_is_the_same_after_a_trip_through_json() -> None:
    task = make_task(metadata={"tags": ("x", "y"), "hardness": "easy", "flags": ("clock",)})
    record = play_episode(ScriptedEnv(), Speaker("a", "fail"), task, seed=3)
    assert record.labels == {
        "tags": ["x", "y"],
        "hardness": "easy",
        "env": "bash",
        "flags": ["clock"],
    }
    assert EpisodeRecord.from_json(record.to_json()) == record
