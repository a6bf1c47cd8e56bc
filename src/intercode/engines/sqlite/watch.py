"""A watch over running statements: SQLite itself looks at the clock only every few thousand
instructions, and one instruction may be a long function call."""

from __future__ import annotations

import os
import sqlite3
import threading
import time

_TICK_S = 0.05
_REST_S = 1.0
"""Without a statement for so long the thread sleeps until there is one."""


class Watch:
    """Interrupts connections whose statement is late. Its thread begins with the first statement
    and ends with `close`."""

    def __init__(self) -> None:
        self._running: dict[sqlite3.Connection, float] = {}
        self._lock = threading.Lock()
        self._awake = threading.Event()
        self._thread: threading.Thread | None = None
        self._process = 0
        self._closed = False

    def begin(self, connection: sqlite3.Connection, deadline: float) -> None:
        """A statement begins, to be over by that time of `time.monotonic`."""
        self._running[connection] = deadline
        if self._process != os.getpid():
            self._start()
        elif not self._awake.is_set():
            self._awake.set()

    def end(self, connection: sqlite3.Connection) -> None:
        """It is over: from here on it is not interrupted."""
        with self._lock:
            self._running.pop(connection, None)

    def close(self) -> None:
        self._closed = True
        self._awake.set()
        if self._thread is not None and self._process == os.getpid():
            self._thread.join()

    def _start(self) -> None:
        with self._lock:
            if self._process == os.getpid():
                return
            self._process = os.getpid()
            self._awake.set()
            self._thread = threading.Thread(target=self._look, name="sqlite-watch", daemon=True)
            self._thread.start()

    def _look(self) -> None:
        idle_since = time.monotonic()
        while not self._closed:
            time.sleep(_TICK_S)
            now = time.monotonic()
            if self._running:
                idle_since = now
                self._interrupt(now)
            elif now - idle_since > _REST_S:
                self._awake.clear()
                if not self._running and not self._closed:
                    self._awake.wait()
                idle_since = time.monotonic()

    def _interrupt(self, now: float) -> None:
        with self._lock:
            for connection, deadline in list(self._running.items()):
                if now > deadline:
                    connection.interrupt()
