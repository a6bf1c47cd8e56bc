"""What a person types becomes one action, as typed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from intercode.agents.human import HumanAgent, read_action
from intercode.tasks.model import Task


def typed(*lines: str) -> Callable[[str], str]:
    left = list(lines)

    def read_line(prompt: str) -> str:
        if not left:
            raise EOFError
        return left.pop(0)

    return read_line


@pytest.mark.parametrize(
    ("lines", "action"),
    [
        (["ls -l"], "ls -l"),
        (["find . \\", "  -name x"], "find . \\\n  -name x"),
        (["<<<", "for i in 1 2", "do echo $i; done", ">>>"], "for i in 1 2\ndo echo $i; done"),
        (["<<<", ">>>"], ""),
        (["cat <<< text"], "cat <<< text"),
    ],
)
def test_lines_make_an_action(lines: list[str], action: str) -> None:
    assert read_action(typed(*lines)) == action


@pytest.mark.parametrize("lines", [[], ["a \\"], ["<<<", "a"]])
def test_the_end_of_the_input_drops_what_was_begun(lines: list[str]) -> None:
    with pytest.raises(EOFError):
        read_action(typed(*lines))


def test_the_human_agent_shows_and_asks(capsys: pytest.CaptureFixture[str]) -> None:
    agent = HumanAgent(typed("ls"))
    agent.start(Task(id="t/1", env="bash", instruction="x", gold="y"))
    assert agent.act("look around", 0.0, {}) == "ls"
    assert capsys.readouterr().out == "-- t/1\nlook around\n"


def test_the_human_agent_gives_up_at_the_end_of_the_input() -> None:
    assert HumanAgent(typed()).act("", 0.0, {}) == "skip"
