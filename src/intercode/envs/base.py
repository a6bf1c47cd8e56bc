"""The environment all others are made of: an episode behind the Gymnasium API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import gymnasium

from intercode.envs.runtime import Runtime
from intercode.envs.spaces import UnicodeText
from intercode.errors import SandboxError, UsageError
from intercode.rewards.score import Score
from intercode.sandboxes.base import Limits, Sandbox
from intercode.tasks.model import Dataset, Task


class InteractiveEnv(gymnasium.Env[str, str]):
    """One episode at a time: an instruction, actions and observations, a reward at the end.

    `reset` gives the instruction. Each `step` executes an action and gives what it printed, with
    reward 0; an action that starts with ``submit`` ends the episode and scores it, ``skip`` ends
    it with 0. ``info`` holds nothing but what seed and actions decide.

    A subclass says how an action is executed and how an outcome is scored. Errors of ours (any
    `InterCodeError`) leave `step` as exceptions: they are no observation and no reward.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012
        "render_modes": ["ansi"]
    }

    kind: ClassVar[str]
    """What a task's ``env`` must be to be played here."""

    def __init__(
        self,
        dataset: str | Dataset = "bundled",
        *,
        sandbox: str | None = None,
        base: str | None = None,
        limits: Limits | None = None,
        runtime: Runtime | None = None,
        render_mode: str | None = None,
    ) -> None:
        """``runtime`` is shared and not closed here; without one the environment has its own,
        with the back end named ``sandbox`` (default: the first that works) and the image ``base``.
        """
        self.dataset = _loaded(dataset)
        if not len(self.dataset):
            raise UsageError(f"dataset {self.dataset.name!r} has no tasks")
        self.limits = limits or Limits()
        self.render_mode = render_mode
        self.action_space = UnicodeText()
        self.observation_space = UnicodeText()
        self._owned = runtime is None
        self._runtime = runtime or own_runtime(sandbox, base)
        self._task: Task | None = None
        self._sandbox: Sandbox | None = None
        self._last = ""
        self._transcript: list[str] = []

    @property
    def task(self) -> Task:
        """The task of the running episode."""
        if self._task is None:
            raise UsageError("there is no episode yet", remedy="call reset() first")
        return self._task

    @property
    def sandbox(self) -> Sandbox:
        """The running episode's sandbox, for those who want to look behind the curtain."""
        if self._sandbox is None:
            raise UsageError("there is no episode running", remedy="call reset() first")
        return self._sandbox

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
        self._drop_sandbox()
        self._task = task
        self._sandbox = self._open(task)
        self._last = task.instruction
        self._transcript = [task.instruction]
        return task.instruction, {"task": task.id}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Execute an action. See the class for ``submit`` and ``skip``."""
        if not isinstance(action, str):
            raise UsageError(f"an action is a string, not {type(action).__name__}")
        if self._sandbox is None:
            raise UsageError("the episode is over", remedy="call reset() to start another")
        self._transcript.append(f"> {action}")
        if action.startswith("skip"):
            self._drop_sandbox()
            return "", 0.0, True, False, {"action_executed": True}
        if action.startswith("submit"):
            score = self._scored()
            self._drop_sandbox()
            info = {"action_executed": True, "score": score}
            return self._last, score.reward, True, False, info
        observation, info = self._execute(action)
        self._last = observation
        self._transcript.append(observation)
        return observation, 0.0, False, False, info

    def score(self) -> Score:
        """What submitting now would give. Changes nothing that the agent could see."""
        _ = self.sandbox
        return self._scored()

    def fork(self, count: int = 1) -> list[InteractiveEnv]:
        """``count`` environments that go on from here, independent of this one and each other.

        They share this one's runtime and have to be closed before it.
        """
        sandbox = self.sandbox
        if not hasattr(sandbox, "fork"):
            raise SandboxError("this back end cannot fork a sandbox")
        return [self._branch(branch) for branch in sandbox.fork(count)]

    def _branch(self, sandbox: Sandbox) -> InteractiveEnv:
        twin = type(self)(self.dataset, limits=self.limits, runtime=self._runtime)
        twin._task, twin._sandbox, twin._last = self._task, sandbox, self._last
        twin._transcript = list(self._transcript)
        self._hand_over(twin)
        return twin

    def snapshot(self) -> EnvSnapshot:
        """This moment, to come back to with `restore`, any number of times."""
        sandbox = self.sandbox
        if not hasattr(sandbox, "snapshot"):
            raise SandboxError("this back end cannot take snapshots")
        return EnvSnapshot(
            self.task, self._last, tuple(self._transcript), sandbox.snapshot(), self._memory()
        )

    def restore(self, snapshot: EnvSnapshot) -> None:
        """Go back to a snapshot of an episode on the same task, whatever has been done since."""
        if snapshot.task != self.task:
            raise UsageError("the snapshot belongs to another task")
        if self._sandbox is None:
            self._sandbox = self._open(self.task)
        self._sandbox.restore(snapshot.sandbox)  # type: ignore[attr-defined]
        self._last = snapshot.last
        self._transcript = list(snapshot.transcript)
        self._recall(snapshot.memory)

    def render(self) -> str | None:
        """With ``render_mode="ansi"``: the episode so far, as text."""
        return "\n".join(self._transcript) if self.render_mode == "ansi" else None

    def close(self) -> None:
        try:
            self._drop_sandbox()
        finally:
            if self._owned:
                self._runtime.close()
        super().close()

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

    def _drop_sandbox(self) -> None:
        sandbox, self._sandbox = self._sandbox, None
        if sandbox is not None:
            self._runtime.pool.give_back(sandbox)

    def _open(self, task: Task) -> Sandbox:
        """A fresh sandbox for the task."""
        raise NotImplementedError

    def _execute(self, action: str) -> tuple[str, dict[str, Any]]:
        """(observation, info) of an action."""
        raise NotImplementedError

    def _scored(self) -> Score:
        raise NotImplementedError

    def _memory(self) -> Any:
        """What the environment itself remembers of the episode, beyond the sandbox."""
        return None

    def _recall(self, memory: Any) -> None:
        """Take back what `_memory` gave."""

    def _hand_over(self, twin: InteractiveEnv) -> None:
        twin._recall(self._memory())


class EnvSnapshot:
    """One moment of an episode."""

    def __init__(
        self, task: Task, last: str, transcript: tuple[str, ...], sandbox: Any, memory: Any
    ) -> None:
        self.task = task
        self.last = last
        self.transcript = transcript
        self.sandbox = sandbox
        self.memory = memory


def own_runtime(sandbox: str | None, base: str | None, *, warm: int = 1) -> Runtime:
    from intercode.sandboxes.registry import choose

    return Runtime(choose(sandbox), base=base, warm=warm)


def _loaded(dataset: str | Dataset) -> Dataset:
    if isinstance(dataset, Dataset):
        return dataset
    from intercode.tasks.registry import load

    return load(dataset)
