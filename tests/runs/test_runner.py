"""Many episodes give what one at a time would, and stopping keeps what is done."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from scripted_env import ScriptedEnv, Speaker, make_task

from intercode.agents.base import AgentFactory
from intercode.agents.basic import GoldAgent
from intercode.errors import RunError, SandboxError, SandboxUnavailable
from intercode.runs.folder import read_run
from intercode.runs.record import EpisodeRecord
from intercode.runs.runner import Progress, RunOptions, episode_seed, run
from intercode.runs.store import RunStore

TASKS = [make_task(f"t{n}", gold=f"g{n}") for n in range(12)]
GOLD = AgentFactory("gold", GoldAgent)


class Makers:
    """Makes environments and remembers them."""

    def __init__(self, make: Callable[[], ScriptedEnv] = ScriptedEnv) -> None:
        self.make = make
        self.made: list[ScriptedEnv] = []

    def __call__(self) -> ScriptedEnv:
        self.made.append(self.make())
        return self.made[-1]


def speaker(*words: str) -> AgentFactory:
    return AgentFactory("speaker", lambda: Speaker(*words))


def results(records: list[EpisodeRecord]) -> list[tuple[Any, ...]]:
    return [(r.task_id, r.seed, r.reward, [(t.action, t.observation) for t in r.turns])
            for r in records]  # fmt: skip


def test_every_task_is_played_and_given_in_order() -> None:
    records = run(TASKS, make_env=Makers(), make_agent=GOLD)
    assert [r.task_id for r in records] == [t.id for t in TASKS]
    assert all(r.success and r.agent == "gold" for r in records)


def test_results_do_not_depend_on_how_many_go_at_once() -> None:
    alone = run(TASKS, make_env=Makers(), make_agent=speaker("g3"), jobs=1)
    for jobs in (2, 5, 50):
        assert results(run(TASKS, make_env=Makers(), make_agent=speaker("g3"), jobs=jobs)) == (
            results(alone)
        )


def test_each_thread_keeps_to_its_own_environment_and_closes_it() -> None:
    makers = Makers()
    run(TASKS, make_env=makers, make_agent=GOLD, jobs=4)
    assert len(makers.made) <= 4
    assert all(env.closed and len(env.threads) <= 1 for env in makers.made)


def test_episodes_are_begun_in_order() -> None:
    begun: list[str] = []

    class Noting(ScriptedEnv):
        def reset(self, **more: Any) -> tuple[str, dict[str, Any]]:
            begun.append(more["options"]["task"].id)
            return super().reset(**more)

    run(TASKS, make_env=Makers(Noting), make_agent=GOLD, jobs=1)
    assert begun == [t.id for t in TASKS]


def test_a_seed_belongs_to_its_task() -> None:
    some = run(TASKS[5:], make_env=Makers(), make_agent=GOLD)
    everything = run(TASKS, make_env=Makers(), make_agent=GOLD)
    assert [r.seed for r in some] == [r.seed for r in everything[5:]]
    assert len({r.seed for r in everything}) == len(TASKS)
    assert episode_seed(0, "a") != episode_seed(1, "a")


def test_without_a_seed_there_is_none() -> None:
    records = run(TASKS[:1], make_env=Makers(), make_agent=GOLD, options=RunOptions(seed=None))
    assert records[0].seed is None


# Trouble


class Flaky(ScriptedEnv):
    """Breaks for the first episodes of each task, then works."""

    broken: Mapping[str, int] = {"t1": 2, "t2": 9}
    tries: dict[str, int] = {}  # noqa: RUF012

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        assert self.task is not None
        if action == "submit":
            return super().step(action)
        count = Flaky.tries[self.task.id] = Flaky.tries.get(self.task.id, 0) + 1
        if count <= self.broken.get(self.task.id, 0):
            raise SandboxError("flaky")
        return super().step(action)


def test_what_may_pass_is_tried_again_in_a_new_environment() -> None:
    Flaky.tries.clear()
    makers = Makers(Flaky)
    records = run(TASKS[:4], make_env=makers, make_agent=GOLD)
    assert [(r.reward, r.attempt) for r in records] == [(1.0, 1), (1.0, 3), (None, 3), (1.0, 1)]
    assert len(makers.made) == 6
    assert all(env.closed for env in makers.made)


def test_what_will_not_pass_is_not_tried_again() -> None:
    task = make_task("bad", gold="unscorable")
    (record,) = run([task], make_env=Makers(), make_agent=GOLD)
    assert (record.cause, record.attempt) == ("task", 1)


def test_one_failure_does_not_stop_the_others() -> None:
    tasks = [make_task("bad", gold="unscorable"), *TASKS]
    records = run(tasks, make_env=Makers(), make_agent=GOLD, jobs=3)
    assert [r.failed for r in records] == [True] + [False] * len(TASKS)


def test_without_an_environment_there_is_no_run() -> None:
    def none() -> ScriptedEnv:
        raise SandboxUnavailable("no back end")

    with pytest.raises(SandboxUnavailable):
        run(TASKS, make_env=none, make_agent=GOLD, jobs=3)


def test_an_environment_that_starts_at_the_third_try_will_do() -> None:
    failures = iter([SandboxError("busy"), SandboxError("busy")])

    def busy() -> ScriptedEnv:
        for error in failures:
            raise error
        return ScriptedEnv()

    assert len(run(TASKS, make_env=busy, make_agent=GOLD)) == len(TASKS)


def test_a_record_that_cannot_be_kept_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    makers = Makers()
    with RunStore.create(tmp_path / "run", {}) as store:
        monkeypatch.setattr(store, "append", _full)
        with pytest.raises(RunError, match="full"):
            run(TASKS, make_env=makers, make_agent=GOLD, store=store, jobs=2)
    assert all(env.closed for env in makers.made)


def _full(record: EpisodeRecord) -> None:
    raise RunError("the disk is full")


# The store


def test_a_resumed_run_does_the_rest_and_what_had_failed(tmp_path: Path) -> None:
    failing = [make_task("t1", gold="unscorable") if t.id == "t1" else t for t in TASKS[:3]]
    with RunStore.create(tmp_path / "run", {}) as store:
        run(failing, make_env=Makers(), make_agent=GOLD, store=store)
    makers = Makers()
    with RunStore.resume(tmp_path / "run", {}) as store:
        records = run(TASKS[:5], make_env=makers, make_agent=GOLD, store=store)
    assert sorted(len(env.seeds) for env in makers.made) == [3]
    assert [r.reward for r in records] == [1.0] * 5
    assert len(read_run(tmp_path / "run").records) == 5


def test_a_finished_run_needs_no_environment(tmp_path: Path) -> None:
    with RunStore.create(tmp_path / "run", {}) as store:
        first = run(TASKS, make_env=Makers(), make_agent=GOLD, store=store, jobs=3)
        makers = Makers()
        assert run(TASKS, make_env=makers, make_agent=GOLD, store=store) == first
    assert makers.made == []


def test_progress_counts_to_the_end() -> None:
    seen: list[Progress] = []
    run(TASKS, make_env=Makers(), make_agent=GOLD, jobs=3, progress=seen.append)
    assert (seen[0].done, seen[0].total) == (0, len(TASKS))
    assert (seen[-1].done, seen[-1].running) == (len(TASKS), 0)
    assert max(p.running for p in seen) <= 3
    assert [p.done for p in seen] == sorted(p.done for p in seen)
    assert sum(p.record is not None for p in seen) == len(TASKS)


# Interruption


def interrupt() -> None:
    """What Ctrl-C does."""
    main = threading.main_thread().ident
    assert main is not None
    signal.pthread_kill(main, signal.SIGINT)


@pytest.mark.parametrize("jobs", [1, 3])
def test_an_interrupt_keeps_what_is_done_and_begins_nothing_new(tmp_path: Path, jobs: int) -> None:
    class Interrupting(ScriptedEnv):
        def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
            if action == "g6":
                time.sleep(0.3)  # lets the others end
                interrupt()
                time.sleep(0.2)
            return super().step(action)

    makers = Makers(Interrupting)
    seen: list[Progress] = []
    tasks = TASKS[: 6 + jobs]
    with RunStore.create(tmp_path / "run", {}) as store:
        with pytest.raises(KeyboardInterrupt):
            run(
                tasks, make_env=makers, make_agent=GOLD, store=store, jobs=jobs,
                progress=seen.append,
            )  # fmt: skip
        kept = {r.task_id for r in store.records}
    assert kept == {t.id for t in tasks} - {"t6"}
    assert seen[-1].stopping
    assert all(env.closed for env in makers.made)
    assert not [t for t in threading.enumerate() if t.name.startswith("episodes-")]


def test_an_interrupted_run_can_be_resumed(tmp_path: Path) -> None:
    def stop_at_fourth(progress: Progress) -> None:
        if progress.done == 4 and progress.record:
            raise KeyboardInterrupt

    with RunStore.create(tmp_path / "run", {}) as store:
        with pytest.raises(KeyboardInterrupt):
            run(TASKS, make_env=Makers(), make_agent=GOLD, store=store, progress=stop_at_fourth)
        assert len(store.records) == 4
        records = run(TASKS, make_env=Makers(), make_agent=GOLD, store=store)
    straight = run(TASKS, make_env=Makers(), make_agent=GOLD)
    assert results(records) == results(straight)
