"""What an agent is: something that, shown an observation, answers with an action.

An agent lives for one episode at a time. It knows nothing of sandboxes and rewards' making; what
plays it (``intercode.runs``) knows nothing of how it thinks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from intercode.tasks.model import Task

SUBMIT = "submit"
"""The action that ends an episode and has it scored."""

SKIP = "skip"
"""The action that gives an episode up: it ends with a reward of 0."""


@runtime_checkable
class Agent(Protocol):
    """The whole surface. One thread at a time; each episode gets an agent of its own."""

    def start(self, task: Task) -> None:
        """Get ready for ``task``, forgetting whatever came before.

        A task holds its gold. An agent that is to be measured reads only the instruction.
        """

    def act(self, observation: str, reward: float, info: Mapping[str, Any]) -> str:
        """The next action. The first observation is the instruction, its reward 0."""


@dataclass(frozen=True)
class AgentFactory:
    """Makes a fresh agent for each episode, and says what it makes.

    ``digest`` stands for the content of the file that an agent comes from, if it comes from one: a
    run is not gone on with after that file changed.
    """

    name: str
    make: Callable[[], Agent]
    digest: str | None = None

    def __call__(self) -> Agent:
        return self.make()
