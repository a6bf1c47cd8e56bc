"""Warm sandboxes: never used twice, never more than allowed, all closed at the end."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from intercode.errors import SandboxError
from intercode.sandboxes.base import Image, Limits
from intercode.sandboxes.pool import Pool


class FakeSandbox:
    def __init__(self, backend: FakeBackend) -> None:
        self._backend = backend
        self.closed = False

    def close(self) -> None:
        self.closed = True
        with self._backend.lock:
            self._backend.open -= 1


class FakeBackend:
    """Counts what is open and what is being started."""

    name = "fake"

    def __init__(self, start_s: float = 0.0, fails: bool = False) -> None:
        self.start_s, self.fails = start_s, fails
        self.lock = threading.Lock()
        self.open = self.starting = self.most_starting = 0
        self.made: list[FakeSandbox] = []

    def start(self, image: Image, limits: Limits, **_: Any) -> FakeSandbox:
        with self.lock:
            self.starting += 1
            self.most_starting = max(self.most_starting, self.starting)
        time.sleep(self.start_s)
        with self.lock:
            self.starting -= 1
            if self.fails:
                raise SandboxError("no")
            self.open += 1
            self.made.append(FakeSandbox(self))
            return self.made[-1]


IMAGE, LIMITS = Image(), Limits()


def settled(condition: Any, within_s: float = 5.0) -> bool:
    end = time.monotonic() + within_s
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.005)
    return False


def test_no_sandbox_is_given_out_twice() -> None:
    backend = FakeBackend()
    with Pool(backend, warm=3) as pool:  # type: ignore[arg-type]
        taken = []
        for _ in range(50):
            sandbox = pool.take(IMAGE, LIMITS)
            taken.append(sandbox)
            pool.give_back(sandbox)
    assert len({id(one) for one in taken}) == 50


def test_closing_leaves_nothing_open_whatever_was_under_way() -> None:
    backend = FakeBackend(start_s=0.02)
    pool = Pool(backend, warm=4, max_starting=3)  # type: ignore[arg-type]
    for _ in range(5):
        pool.give_back(pool.take(IMAGE, LIMITS))
    pool.close()
    assert backend.open == 0
    assert all(sandbox.closed for sandbox in backend.made)
    with pytest.raises(SandboxError, match="closed"):
        pool.take(IMAGE, LIMITS)


def test_the_next_one_is_ready_before_it_is_asked_for() -> None:
    backend = FakeBackend(start_s=0.05)
    with Pool(backend, warm=2) as pool:  # type: ignore[arg-type]
        pool.take(IMAGE, LIMITS).close()
        assert settled(lambda: backend.open >= 2)
        started = time.perf_counter()
        pool.take(IMAGE, LIMITS).close()
        assert time.perf_counter() - started < 0.04


def test_starting_and_running_have_caps_of_their_own() -> None:
    backend = FakeBackend(start_s=0.02)
    with Pool(backend, warm=0, max_starting=2, max_running=3) as pool:  # type: ignore[arg-type]
        running = peak = 0
        lock = threading.Lock()

        def episode() -> None:
            nonlocal running, peak
            with pool.borrowed(IMAGE, LIMITS):
                with lock:
                    running += 1
                    peak = max(peak, running)
                time.sleep(0.03)
                with lock:
                    running -= 1

        threads = [threading.Thread(target=episode) for _ in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert backend.most_starting == 2
    assert peak == 3
    assert backend.open == 0


def test_a_start_that_fails_is_told_to_who_asks_and_frees_its_place() -> None:
    backend = FakeBackend(fails=True)
    with Pool(backend, warm=1, max_running=1) as pool:  # type: ignore[arg-type]
        for _ in range(3):
            with pytest.raises(SandboxError, match="no"):
                pool.take(IMAGE, LIMITS)
        backend.fails = False
        pool.give_back(pool.take(IMAGE, LIMITS))


def test_only_the_kinds_asked_for_last_stay_warm() -> None:
    backend = FakeBackend()
    with Pool(backend, warm=1) as pool:  # type: ignore[arg-type]
        for number in range(20):
            pool.give_back(pool.take(Image(base=f"dir:/{number}"), LIMITS))
        assert settled(lambda: backend.open <= 9)
    assert backend.open == 0
