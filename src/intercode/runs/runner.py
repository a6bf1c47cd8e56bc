"""Many episodes: an agent over tasks, several at a time, each record kept as soon as it is there.

Each thread has an environment of its own and each episode a fresh agent and its own seed, so that
results do not depend on how many go at once, or on what went before. Only the calling thread writes
to the store and calls back.
"""

from __future__ import annotations

import hashlib
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from intercode.agents.base import AgentFactory
from intercode.errors import InterCodeError
from intercode.runs.episode import DEFAULT_TURNS, Environment, Stopped, play_episode
from intercode.runs.record import EpisodeRecord
from intercode.runs.store import RunStore
from intercode.tasks.model import Task


@dataclass(frozen=True)
class RunOptions:
    """What decides the results, next to tasks, agent and environment."""

    seed: int | None = 0
    max_turns: int = DEFAULT_TURNS
    max_episode_s: float | None = None
    score_each_turn: bool = False
    retries: int = 2
    """How often an episode is tried again that failed for a cause that may pass."""


@dataclass(frozen=True)
class Progress:
    """Where a run stands. ``record`` is the episode that has just ended, if one has.

    ``stopping``: the run was interrupted and waits for the turns under way.
    """

    total: int
    done: int
    running: int
    record: EpisodeRecord | None = None
    stopping: bool = False


def run(
    tasks: Sequence[Task],
    *,
    make_env: Callable[[], Environment],
    make_agent: AgentFactory,
    options: RunOptions | None = None,
    store: RunStore | None = None,
    jobs: int = 1,
    progress: Callable[[Progress], None] = lambda _: None,
) -> list[EpisodeRecord]:
    """Plays every task once and gives the records in the tasks' order.

    Tasks that the store has a reward for are not played again; those that failed are. Episodes are
    begun in the tasks' order.

    Any exception here, an interrupt from the keyboard among them, ends the run: no episode is
    begun, those under way are dropped after their turn, every environment is closed, and what was
    recorded stays. A second interrupt does not wait.

    :raises InterCodeError: no environment can be made, or a record cannot be kept.
    """
    done = {r.task_id: r for r in (store.records if store else ()) if not r.failed}
    crew = _Crew(
        [task for task in tasks if task.id not in done],
        make_env,
        make_agent,
        options or RunOptions(),
    )
    running, ended = 0, sum(task.id in done for task in tasks)
    progress(Progress(len(tasks), ended, 0))
    try:
        crew.start(jobs)
        for event in crew.events():
            if isinstance(event, BaseException):
                raise event
            if isinstance(event, EpisodeRecord):
                if store:
                    store.append(event)
                done[event.task_id] = event
                ended, running = ended + 1, running - 1
                progress(Progress(len(tasks), ended, running, event))
            else:
                running += 1
                progress(Progress(len(tasks), ended, running))
    except KeyboardInterrupt:
        crew.stop()
        progress(Progress(len(tasks), ended, running, stopping=True))
        raise
    finally:
        crew.stop()
        crew.join()
    return [done[task.id] for task in tasks]


def episode_seed(seed: int | None, task_id: str) -> int | None:
    """A task's own seed, the same whichever other tasks are played."""
    if seed is None:
        return None
    return int.from_bytes(hashlib.sha256(f"{seed}/{task_id}".encode()).digest()[:4], "big")


_Event = Task | EpisodeRecord | BaseException | None
"""A task was begun, has ended; a worker failed; a worker has gone home."""


class _Crew:
    """The workers, the tasks they share, and the queue by which they report."""

    def __init__(
        self,
        tasks: Sequence[Task],
        make_env: Callable[[], Environment],
        make_agent: AgentFactory,
        options: RunOptions,
    ) -> None:
        self.make_env = make_env
        self.make_agent = make_agent
        self.options = options
        self.reports: queue.SimpleQueue[_Event] = queue.SimpleQueue()
        self._count = len(tasks)
        self._tasks = iter(tasks)
        self._taking = threading.Lock()
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self, jobs: int) -> None:
        for n in range(min(max(1, jobs), self._count)):
            work = _Worker(self).work
            self._threads.append(threading.Thread(target=work, name=f"episodes-{n}", daemon=True))
            self._threads[-1].start()

    def events(self) -> Iterator[Task | EpisodeRecord | BaseException]:
        """What workers report, until the last has gone home."""
        at_work = len(self._threads)
        while at_work:
            event = self.reports.get()
            if event is None:
                at_work -= 1
            else:
                yield event

    def take(self) -> Task | None:
        """The next task, if there is one and work is to go on."""
        with self._taking:
            return None if self.stopped() else next(self._tasks, None)

    def stop(self) -> None:
        self._stop.set()

    def stopped(self) -> bool:
        return self._stop.is_set()

    def join(self) -> None:
        for thread in self._threads:
            thread.join()


class _Worker:
    """One thread's part: it plays task after task in an environment that it owns."""

    def __init__(self, crew: _Crew) -> None:
        self._crew = crew
        self._env: Environment | None = None

    def work(self) -> None:
        try:
            while (task := self._crew.take()) is not None:
                self._crew.reports.put(task)
                self._crew.reports.put(self._play(task))
            if self._env is not None:
                self._env.close()
        except Stopped:
            self._drop_env()
        except BaseException as error:
            self._drop_env()
            self._crew.reports.put(error)
        finally:
            self._crew.reports.put(None)

    def _play(self, task: Task) -> EpisodeRecord:
        """The record, after as many goes as it takes; a failure costs the environment."""
        attempt = 1
        while True:
            record = self._once(task, attempt)
            if not record.failed:
                return record
            self._drop_env()
            if not record.retryable or attempt > self._crew.options.retries:
                return record
            attempt += 1

    def _once(self, task: Task, attempt: int) -> EpisodeRecord:
        options, make_agent = self._crew.options, self._crew.make_agent
        if self._env is None:
            self._env = self._new_env()
        return play_episode(
            self._env,
            make_agent(),
            task,
            seed=episode_seed(options.seed, task.id),
            max_turns=options.max_turns,
            max_s=options.max_episode_s,
            score_each_turn=options.score_each_turn,
            name=make_agent.name,
            attempt=attempt,
            stopped=self._crew.stopped,
        )

    def _new_env(self) -> Environment:
        attempt = 1
        while not self._crew.stopped():
            try:
                return self._crew.make_env()
            except InterCodeError as error:
                if not error.retryable or attempt > self._crew.options.retries:
                    raise
                attempt += 1
        raise Stopped

    def _drop_env(self) -> None:
        """Closes an environment of which nothing more is expected, not even that."""
        if self._env is not None:
            with suppress(Exception):
                self._env.close()
            self._env = None
