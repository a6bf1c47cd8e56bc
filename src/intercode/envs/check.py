"""Measures whether the tasks of a dataset are worth their reward; `soundness` has the rules.

Each gold is run at two moments, the second time beside another run of itself, and every run is
scored by the environment against a gold run anew. So what counts as the same outcome is what the
environment's own reward takes for the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from intercode.envs.base import InteractiveEnv, Shared
from intercode.envs.once import Anew
from intercode.envs.registration import Environments
from intercode.envs.soundness import Measurement, TaskCheck, judge
from intercode.errors import InterCodeError, SandboxError, TaskError
from intercode.tasks.model import Dataset, Task

__all__ = ["Measurement", "TaskCheck", "check_dataset", "judge"]

APART_S = 1.1
"""Between a gold's two moments: enough for a clock that shows seconds."""
_HELD = 32
"""Tasks whose sandboxes stay open from their first moment to their second."""

Progress = Callable[[int, int], None]
"""Takes how many tasks are done, and of how many."""


def check_dataset(
    dataset: Dataset,
    env_id: str | None = None,
    *,
    sandbox: str | None = None,
    base: str | None = None,
    engine: str | None = None,
    jobs: int = 1,
    progress: Progress = lambda done, total: None,
    **options: Any,
) -> list[TaskCheck]:
    """Checks every task, in the dataset's order; ``jobs`` at once. ``options`` are further ones of
    the environment's class.

    An error on a task is that task's verdict, and no end of the check.

    :raises InterCodeError: no such environment, no back end that works, or one that leaks.
    """
    trials: list[_Trial] = []
    shared = Shared(sandbox=sandbox, base=base, engine=engine, jobs=jobs, outcomes=Anew())
    with (
        Environments(env_id, dataset, shared, **options) as envs,
        ThreadPoolExecutor(jobs) as workers,
    ):
        for start in range(0, len(dataset), _HELD):
            held = [
                _Trial(task, envs.make, _floor(envs.name))
                for task in dataset.tasks[start : start + _HELD]
            ]
            for _ in _done(workers, [trial.first for trial in held]):
                pass
            for number in _done(workers, [trial.second for trial in held]):
                progress(start + number, len(dataset))
            trials += held
        if left := envs.live():
            # Every one has been given back, so this is a defect of ours.
            raise SandboxError(f"{left} are still open after all have been given back")
        return [trial.verdict() for trial in trials]


def _floor(env_id: str) -> float:
    """The paper's reward gives something for nothing: there all that counts is that it is not 1."""
    return 1.0 if env_id.endswith("v1") else 0.0


def _done(workers: ThreadPoolExecutor, jobs: Sequence[Callable[[], None]]) -> Iterator[int]:
    """Has the jobs done, and counts; an interruption lets go of those that have not begun."""
    futures = [workers.submit(job) for job in jobs]
    try:
        for number, future in enumerate(as_completed(futures), 1):
            future.result()
            yield number
    except BaseException:
        workers.shutdown(wait=False, cancel_futures=True)
        raise


class _Trial:
    """One task on its way through both moments. Its first sandbox stays open between them."""

    def __init__(self, task: Task, make_env: Callable[[], Any], floor: float) -> None:
        self._task = task
        self._make_env = make_env
        self._seen = Measurement(floor=floor)
        self._spent_s = 0.0
        self._began = 0.0
        self._open: list[Callable[[], bool]] = []
        self._first: Any = None
        self._outcome: Any = None
        self._submission = ""

    def first(self) -> None:
        with self._timed():
            self._began = time.monotonic()
            env = self._first = self._make_env()
            self._outcome, info, self._submission = self._run_gold(env)
            output, after = self._outcome
            self._note(
                output=output,
                exit_code=info.get("exit_code"),
                timed_out=info.get("timed_out", False),
                changed=after.changed,
            )
            if not self._seen.timed_out:
                self._note(at_once=env.score(self._submission).reward)

    def second(self) -> None:
        time.sleep(max(0.0, self._began + APART_S - time.monotonic()))
        try:
            if not self._seen.timed_out and not self._seen.error:
                with self._timed():
                    self._once_more(self._first)
        finally:
            if self._first is not None:
                self._first.close()

    def _once_more(self, env: Any) -> None:
        self._note(background=env.aftermath().background)
        with ThreadPoolExecutor(1) as beside:
            twin = beside.submit(self._run_twin)
            self._note(later=env.score(self._submission).reward)
            outcome, reward = twin.result()
        self._note(twin=reward, repeats=outcome == self._outcome, noop=self._do_nothing())

    def _run_gold(self, env: InteractiveEnv) -> tuple[Any, Mapping[str, Any], str]:
        """((output, aftermath), info, submission) of a fresh episode in which the gold was run."""
        self._reset(env)
        done = env.rehearse()
        outcome = (done.observation, replace(env.aftermath(), background=0))
        return outcome, done.info, done.submission

    def _run_twin(self) -> tuple[Any, float]:
        env = self._make_env()
        try:
            outcome, _, submission = self._run_gold(env)
            return outcome, env.score(submission).reward
        finally:
            env.close()

    def _do_nothing(self) -> float:
        """Without an action; and with an idle one, where that can be what the gold comes to."""
        env = self._make_env()
        try:
            self._reset(env)
            reward: float = env.score().reward
            if not self._seen.output.strip():
                env.step(env.idle)
                reward = max(reward, env.score().reward)
            return reward
        finally:
            env.close()

    def _reset(self, env: InteractiveEnv) -> None:
        env.reset(options={"task": self._task})
        self._open.append(env.still_open())

    def _note(self, **facts: Any) -> None:
        self._seen = replace(self._seen, **facts)

    @contextmanager
    def _timed(self) -> Iterator[None]:
        began = time.monotonic()
        try:
            yield
        except InterCodeError as error:
            self._note(error=str(error), blames_task=isinstance(error, TaskError))
        finally:
            self._spent_s += time.monotonic() - began

    def verdict(self) -> TaskCheck:
        """To be asked for when the pool has closed what was given back to it."""
        if any(is_open() for is_open in self._open) and not self._seen.error:
            self._note(error="its sandbox outlives its closing")
        seen = self._seen
        return TaskCheck(self._task, judge(self._task, seen), seen, self._spent_s)
