"""Nothing is left behind: not by episodes, not by errors, not by Ctrl-C, not by ``kill -9``.

``INTERCODE_LEAK_EPISODES`` says how many episodes are played: 200, and 2,000 before a release.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from counting import alive, control_groups, counts, descendants, folders, grouped, settled
from owner import ACTIONS, DATASET, LIMITS, runtime_of

from intercode.envs.bash_v1 import BashV1
from intercode.envs.bash_v2 import BashV2
from intercode.errors import InterCodeError, SandboxError
from intercode.sandboxes.base import Backend, Image
from intercode.sandboxes.owner import owner_label
from intercode.sandboxes.registry import create

EPISODES = int(os.environ.get("INTERCODE_LEAK_EPISODES", "200"))
PATIENCE_S = 20.0
OWNER = Path(__file__).parent / "owner.py"


@pytest.fixture(
    params=[
        pytest.param(name, marks=getattr(pytest.mark, name)) for name in ("bubblewrap", "docker")
    ]
)
def name(request: pytest.FixtureRequest) -> str:
    """The name of a back end that works here."""
    chosen: str = request.param
    try:
        backend = create(chosen)
    except (ImportError, InterCodeError) as error:
        pytest.skip(f"{chosen}: {error}")
    failed = [check for check in backend.check() if not check.ok]
    backend.close()
    if chosen == "docker" and "INTERCODE_TEST_ROOTFS" not in os.environ:
        pytest.skip("INTERCODE_TEST_ROOTFS names no root file system")
    if failed:
        pytest.skip(f"{chosen}: {failed[0].detail}")
    return chosen


@pytest.fixture
def no_growth(name: str) -> Iterator[None]:
    """What there is after the test is what there was before."""
    with runtime_of(name, warm=0) as runtime:  # whatever is made once is made now
        BashV2(DATASET, runtime=runtime, limits=LIMITS).reset(options={"task": "t"})
    before = settled(counts(docker=name == "docker"), docker=name == "docker", patience_s=0)
    yield
    assert settled(before, docker=name == "docker", patience_s=PATIENCE_S) == before


def play(env: BashV1 | BashV2, end: str = "submit") -> None:
    env.reset(options={"task": "t"})
    for action in ACTIONS:
        env.step(action)
    env.step(end)


@pytest.mark.slow
@pytest.mark.timeout(60 + EPISODES)
@pytest.mark.usefixtures("no_growth")
def test_episodes_leave_nothing(name: str) -> None:
    docker = name == "docker"
    with runtime_of(name, warm=1) as runtime:
        envs = [cls(DATASET, runtime=runtime, limits=LIMITS) for cls in (BashV2, BashV1)]
        # Connections to an engine are kept, as many as are ever needed at once.
        for _ in range(12 if docker else 1):
            for env in envs:
                play(env)
        time.sleep(1)  # warm ones are being made
        before = counts(docker=docker)
        failed = 0
        for episode in range(EPISODES):
            try:
                play(envs[episode % 10 == 0], "skip" if episode % 4 == 0 else "submit")
            except SandboxError:  # an engine under load now and then refuses, to freeze above all
                failed += 1
        assert failed <= EPISODES // 100
        assert settled(before, docker=docker, patience_s=PATIENCE_S) == before
        for env in envs:
            env.close()


class Mishap(Exception):
    """Something of the caller's own."""


@pytest.mark.parametrize("moment", range(6))
@pytest.mark.usefixtures("no_growth")
def test_exceptions_in_the_middle_leave_nothing(name: str, moment: int) -> None:
    with pytest.raises(Mishap):
        interrupted_episode(name, moment)


def interrupted_episode(name: str, moment: int) -> None:
    def now(which: int) -> None:
        if which == moment:
            raise Mishap

    with runtime_of(name, warm=1) as runtime:
        env = BashV2(DATASET, runtime=runtime, limits=LIMITS)
        env.reset(options={"task": "t"})
        now(0)
        env.step(ACTIONS[0])
        snapshot = env.snapshot()
        now(1)
        forks = env.fork(2)
        now(2)
        forks[0].close()
        env.restore(snapshot)
        now(3)
        env.step("kill -9 -1; exec sleep 100 &")
        env.score()
        now(4)
        env.close()
        now(5)


@pytest.mark.usefixtures("no_growth")
def test_closing_the_back_end_closes_sandboxes_in_use(name: str) -> None:
    runtime = runtime_of(name, warm=2)
    envs = [BashV2(DATASET, runtime=runtime, limits=LIMITS) for _ in range(3)]
    for env in envs:
        env.reset(options={"task": "t"})
        env.step(ACTIONS[1])
    runtime.close()
    with pytest.raises(InterCodeError):
        envs[0].step("echo still here")
    with pytest.raises(InterCodeError):
        envs[0].reset(options={"task": "t"})
    for env in envs:
        env.close()


@pytest.mark.usefixtures("no_growth")
def test_closing_while_commands_run_ends_them(name: str) -> None:
    runtime = runtime_of(name, warm=0)
    envs = [BashV2(DATASET, runtime=runtime, limits=LIMITS) for _ in range(3)]
    for env in envs:
        env.reset(options={"task": "t"})
    ended = _in_threads([lambda env=env: env.step("sleep 4") for env in envs])
    time.sleep(0.3)
    started = time.monotonic()
    runtime.close()
    assert all(isinstance(error, InterCodeError) for error in ended())
    assert time.monotonic() - started < 3


@pytest.mark.timeout(120)
@pytest.mark.usefixtures("no_growth")
def test_closing_while_sandboxes_start_leaves_nothing(name: str) -> None:
    dice = random.Random(1)
    for _ in range(3 if name == "docker" else 15):
        runtime = runtime_of(name, warm=0)
        backend, image = runtime.backend, Image(runtime.base)
        backend.build(image)

        def start(backend: Backend = backend, image: Image = image) -> None:
            while True:
                backend.start(image, LIMITS)

        ended = _in_threads([start, start, start])
        time.sleep(dice.uniform(0, 0.1))
        runtime.close()
        assert all(isinstance(error, InterCodeError) for error in ended())


def _in_threads(tasks: list[Callable[[], object]]) -> Callable[[], list[BaseException | None]]:
    """Start them; what is given back waits for their ends and tells what each raised."""
    errors: list[BaseException | None] = [None] * len(tasks)

    def run(number: int) -> None:
        try:
            tasks[number]()
        except BaseException as error:
            errors[number] = error

    threads = [threading.Thread(target=run, args=(n,)) for n in range(len(tasks))]
    for thread in threads:
        thread.start()

    def wait() -> list[BaseException | None]:
        for thread in threads:
            thread.join(timeout=30)
            assert not thread.is_alive()
        return errors

    return wait


@pytest.fixture
def owner(name: str, request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[str]]:
    """Another process, at work, with sandboxes of its own."""
    with subprocess.Popen(
        [sys.executable, str(OWNER), name, *getattr(request, "param", ())],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "working\n"
            yield process
        finally:
            process.kill()


@pytest.mark.timeout(120)
@pytest.mark.usefixtures("no_growth")
def test_ctrl_c_leaves_nothing(name: str, owner: subprocess.Popen[str]) -> None:
    label, below = owner_label(owner.pid), descendants(owner.pid)
    assert below
    # As a terminal does it: to every process of the group.
    os.killpg(owner.pid, signal.SIGINT)
    _, said = owner.communicate(timeout=30)
    assert said.strip().endswith("KeyboardInterrupt"), said
    assert not alive(below)
    _nothing_left(label, docker=name == "docker", patience_s=0)


@pytest.mark.timeout(120)
@pytest.mark.usefixtures("no_growth")
@pytest.mark.parametrize("owner", [(), ("paused",)], ids=["at-work", "paused"], indirect=True)
def test_kill_9_leaves_nothing(name: str, owner: subprocess.Popen[str]) -> None:
    docker = name == "docker"
    label, below = owner_label(owner.pid), descendants(owner.pid)
    assert below
    owner.kill()
    owner.wait()
    # At once and by itself: nothing runs any more.
    deadline = time.monotonic() + (30 if docker else 5)
    while alive(below) or grouped(label):
        assert time.monotonic() < deadline, (alive(below), grouped(label))
        time.sleep(0.05)
    # At the next start of anybody: nothing is there any more.
    with runtime_of(name, warm=0) as runtime:
        BashV2(DATASET, runtime=runtime, limits=LIMITS).reset(options={"task": "t"})
        _nothing_left(label, docker=docker, patience_s=PATIENCE_S if docker else 0)


def _nothing_left(label: str, *, docker: bool, patience_s: float) -> None:
    wanted = counts("0-0", docker=docker)
    assert settled(wanted, label, docker=docker, patience_s=patience_s) == wanted, (
        control_groups(label),
        folders(label),
        grouped(label),
    )
