"""The environment all others are made of: an episode behind the Gymnasium API."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import gymnasium

from intercode.envs.once import Outcomes
from intercode.envs.spaces import UnicodeText
from intercode.errors import UsageError
from intercode.rewards.score import Score
from intercode.tasks.model import Dataset, Task


class InteractiveEnv(gymnasium.Env[str, str]):
    """One episode at a time: an instruction, actions and observations, a reward at the end.

    `reset` gives the instruction. Each `step` executes an action and gives what it printed, with
    reward 0; an action that starts with ``submit`` ends the episode and scores it (where a wrong
    answer may be tried again, perhaps not yet), ``skip`` ends it with 0. ``info`` holds nothing but
    what seed and actions decide.

    A subclass says where an episode takes place, how an action is executed and how an outcome is
    scored. Errors of ours (any `InterCodeError`) leave `step` as exceptions: they are no
    observation and no reward.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012
        "render_modes": ["ansi"]
    }

    kind: ClassVar[str]
    """What a task's ``env`` must be to be played here."""

    options: ClassVar[tuple[str, ...]] = ()
    """Parameters of the class that decide observations or rewards; the command line knows them."""

    consecutive: ClassVar[bool] = False
    """Whether an episode starts from what the one before it left. Then they are played in their
    order, by one environment."""

    def __init__(
        self, dataset: str | Dataset = "bundled", *, render_mode: str | None = None
    ) -> None:
        """Of a dataset with tasks of several kinds, those that are played here are taken."""
        whole = _loaded(dataset)
        self.dataset = whole.of_kind(self.kind)
        if not len(self.dataset):
            what = f"{self.kind} tasks" if len(whole) else "tasks"
            raise UsageError(f"dataset {whole.name!r} has no {what}")
        self.render_mode = render_mode
        self.action_space = UnicodeText()
        self.observation_space = UnicodeText()
        self._task: Task | None = None
        self._running = False
        self._last = ""
        self._transcript: list[str] = []

    @property
    def task(self) -> Task:
        """The task of the running episode."""
        if self._task is None:
            raise UsageError("there is no episode yet", remedy="call reset() first")
        return self._task

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Start an episode on ``options["task"]`` (an id, a position or a `Task`), else on one
        drawn with the seed."""
        super().reset(seed=seed)
        unknown = set(options or ()) - {"task"}
        if unknown:
            raise UsageError(f"reset: unknown option {sorted(unknown)[0]!r}", remedy="task")
        task = self._chosen((options or {}).get("task"))
        self._stop()
        self._task = task
        self._begin(task)
        self._running = True
        self._last = task.instruction
        observation = self._greeting(task)
        self._transcript = [observation]
        return observation, {"task": task.id}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Execute an action. See the class for ``submit`` and ``skip``."""
        if not isinstance(action, str):
            raise UsageError(f"an action is a string, not {type(action).__name__}")
        if not self._running:
            raise UsageError("the episode is over", remedy="call reset() to start another")
        self._transcript.append(f"> {action}")
        if action.startswith("skip"):
            self._stop()
            return "", 0.0, True, False, {"action_executed": True}
        if action.startswith("submit"):
            return self._submitted(action)
        observation, info = self._execute(action)
        self._last = observation
        self._transcript.append(observation)
        return observation, 0.0, False, False, info

    def score(self, submission: str = "submit") -> Score:
        """What ``submission`` would give now. Changes nothing that the agent could see."""
        self._refuse_unless_running()
        return self._judged(submission)

    def fork(self, count: int = 1) -> list[InteractiveEnv]:
        """``count`` environments that go on from here, independent of this one and each other.

        They share what this one has started and have to be closed before it.
        """
        self._refuse_unless_running()
        return [self._hand_over(twin) for twin in self._forked(count)]

    def _hand_over(self, twin: InteractiveEnv) -> InteractiveEnv:
        twin._task, twin._running, twin._last = self._task, True, self._last
        twin._transcript = list(self._transcript)
        twin._recall(self._memory())
        return twin

    def snapshot(self) -> EnvSnapshot:
        """This moment, to come back to with `restore`, any number of times."""
        self._refuse_unless_running()
        return EnvSnapshot(
            self.task, self._last, tuple(self._transcript), self._saved(), self._memory()
        )

    def restore(self, snapshot: EnvSnapshot) -> None:
        """Go back to a snapshot of an episode on the same task, whatever has been done since."""
        if snapshot.task != self.task:
            raise UsageError("the snapshot belongs to another task")
        if not self._running:
            self._begin(self.task)
            self._running = True
        self._go_back(snapshot.state)
        self._last = snapshot.last
        self._transcript = list(snapshot.transcript)
        self._recall(snapshot.memory)

    def render(self) -> str | None:
        """With ``render_mode="ansi"``: the episode so far, as text."""
        return "\n".join(self._transcript) if self.render_mode == "ansi" else None

    def close(self) -> None:
        self._stop()
        super().close()

    def _refuse_unless_running(self) -> None:
        if not self._running:
            raise UsageError("there is no episode running", remedy="call reset() first")

    def _stop(self) -> None:
        self._running = False
        self._end()

    def _chosen(self, key: Any) -> Task:
        if key is None:
            key = int(self.np_random.integers(len(self.dataset)))
        if isinstance(key, Task):
            task = key
        elif isinstance(key, str):
            task = self.dataset[key]
        elif isinstance(key, int) and 0 <= key < len(self.dataset):
            task = self.dataset.tasks[key]
        else:
            raise UsageError(
                f"no task {key!r}", remedy=f"an id, or a position below {len(self.dataset)}"
            )
        if task.env != self.kind:
            raise UsageError(f"task {task.id!r} is for the {task.env} environment, not {self.kind}")
        return task

    # -- what a subclass says ----------------------------------------------------------------------

    def _begin(self, task: Task) -> None:
        """Have a fresh place for an episode on the task."""
        raise NotImplementedError

    def _end(self) -> None:
        """Let go of the episode's place. Idempotent; also after a `_begin` that failed."""
        raise NotImplementedError

    def _greeting(self, task: Task) -> str:
        """The first observation."""
        return task.instruction

    def _execute(self, action: str) -> tuple[str, dict[str, Any]]:
        """(observation, info) of an action."""
        raise NotImplementedError

    def _submitted(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """What `step` answers to a submission: its score, and the episode is over."""
        score = self._judged(action)
        self._stop()
        return self._last, score.reward, True, False, {"action_executed": True, "score": score}

    def _judged(self, submission: str) -> Score:
        """The score of a submission; here, what was done decides, whatever follows ``submit``."""
        return self._scored()

    def _scored(self) -> Score:
        raise NotImplementedError

    def _forked(self, count: int) -> Sequence[InteractiveEnv]:
        """New environments, each with a copy of the episode's place as it is now."""
        raise NotImplementedError

    def _saved(self) -> Any:
        """The episode's place as it is now."""
        raise NotImplementedError

    def _go_back(self, state: Any) -> None:
        """Take the episode's place back to what `_saved` gave."""
        raise NotImplementedError

    def _memory(self) -> Any:
        """What the environment itself remembers of the episode, beyond its place."""
        return None

    def _recall(self, memory: Any) -> None:
        """Take back what `_memory` gave."""

    def rehearse(self) -> Rehearsal:
        """Does what the task's author would do, up to submitting, for those who check tasks."""
        observation, _, _, _, info = self.step(self.task.gold)
        return Rehearsal(observation, info)

    def aftermath(self) -> Aftermath:
        """What the last action came to, for those who check tasks."""
        raise NotImplementedError

    def still_open(self) -> Callable[[], bool]:
        """Tells, later on too, whether this episode's place is open."""
        raise NotImplementedError

    idle: ClassVar[str] = ""
    """An action that neither prints nor changes anything."""

    @classmethod
    def shared(cls, wanted: Shared) -> Any:
        """What environments of this class share: passed to each as ``runtime``; it has ``live()``
        (how many places are open) and ``close()``."""
        raise NotImplementedError


@dataclass(frozen=True)
class Shared:
    """What is asked of something that ``jobs`` environments are to share."""

    sandbox: str | None = None
    base: str | None = None
    engine: str | None = None
    jobs: int = 1
    outcomes: Outcomes | None = None


@dataclass(frozen=True)
class Rehearsal:
    """The last observation of an author's work, its info, and the submission that it leads to."""

    observation: str
    info: Mapping[str, Any]
    submission: str = "submit"


@dataclass(frozen=True)
class Aftermath:
    """What can be seen of an episode from outside. ``changes`` are the same for the same outcome;
    ``background`` counts processes that still run."""

    changes: tuple[Any, ...]
    changed: int
    background: int = 0


class EnvSnapshot:
    """One moment of an episode."""

    def __init__(
        self, task: Task, last: str, transcript: tuple[str, ...], state: Any, memory: Any
    ) -> None:
        self.task = task
        self.last = last
        self.transcript = transcript
        self.state = state
        self.memory = memory


def _loaded(dataset: str | Dataset) -> Dataset:
    if isinstance(dataset, Dataset):
        return dataset
    from intercode.tasks.registry import load

    return load(dataset)
