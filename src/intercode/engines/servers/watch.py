"""Stops statements that take too long, from beside: one thread watches all of an engine's."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable

_AGAIN_S = 0.5
"""Between two attempts to stop what goes on."""


class Guard:
    """One statement under watch. ``fired``: it was told to stop."""

    def __init__(self, deadline: float, stop: Callable[[int], None]) -> None:
        self.next = deadline
        self.fired = False
        self.stop = stop
        self.attempts = 0
        self.done = False
        self.lock = threading.Lock()


class Watch:
    """Safe to use from many threads. Its own starts with the first guard."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._guards: set[Guard] = set()
        self._wakes = float("inf")
        self._thread: threading.Thread | None = None
        self._closed = False

    def start(self, timeout_s: float, stop: Callable[[int], None]) -> Guard:
        """After ``timeout_s`` ``stop(0)`` is called, then ``stop(1)``, … until `finish`."""
        guard = Guard(time.monotonic() + timeout_s, stop)
        with self._condition:
            self._guards.add(guard)
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(
                    target=self._run, name="intercode-watch", daemon=True
                )
                self._thread.start()
            if guard.next < self._wakes:
                self._condition.notify()
        return guard

    def finish(self, guard: Guard) -> bool:
        """Whether it was told to stop. No attempt comes after this returns."""
        with self._condition:
            self._guards.discard(guard)
        with guard.lock:
            guard.done = True
        return guard.fired

    def _run(self) -> None:
        while True:
            with self._condition:
                if self._closed:
                    return
                now = time.monotonic()
                due = [guard for guard in self._guards if guard.next <= now]
                if not due:
                    self._wakes = min((guard.next for guard in self._guards), default=float("inf"))
                    wait_s = self._wakes - now
                    self._condition.wait(wait_s if wait_s < 3600 else None)
                    self._wakes = float("-inf")
                    continue
            for guard in due:
                with guard.lock:
                    if guard.done:
                        continue
                    guard.fired = True
                    # What cannot be told now is told again.
                    with contextlib.suppress(Exception):
                        guard.stop(guard.attempts)
                    guard.attempts += 1
                    guard.next = time.monotonic() + _AGAIN_S

    def close(self) -> None:
        with self._condition:
            self._closed = True
            self._condition.notify()
        if self._thread is not None:
            self._thread.join(5)
