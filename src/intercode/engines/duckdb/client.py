"""Worker processes, seen from this one."""

from __future__ import annotations

import os
import pickle
import select
import subprocess
import sys
import threading
import time
from typing import Any

from intercode.engines.duckdb.worker import LENGTH
from intercode.errors import EngineError

_START_S = 60.0
_ANSWER_S = 120.0
"""For what is not a statement: copying a database, comparing it, describing it."""
_IDLE = 8


class Stuck(Exception):
    """No answer in time. The process is gone."""


class Died(Exception):
    """The process ended before it answered. ``killed``: by somebody, and not by what it did."""

    def __init__(self, killed: bool) -> None:
        super().__init__("a DuckDB process ended")
        self.killed = killed


class Process:
    """One worker. For one thread at a time."""

    def __init__(self) -> None:
        environment = {**os.environ, "TZ": "UTC", "PYTHONDONTWRITEBYTECODE": "1"}
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "intercode.engines.duckdb.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,
            bufsize=0,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self._out = self._process.stdin.fileno(), self._process.stdout.fileno()
        try:
            self._receive(_START_S)
        except (Stuck, Died) as error:
            raise EngineError(
                "a DuckDB process did not start", remedy="is duckdb whole?"
            ) from error

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, name: str, *arguments: Any, timeout_s: float = _ANSWER_S) -> Any:
        """:raises Stuck: :raises Died: the process is gone. :raises EngineError: it failed."""
        data = pickle.dumps((name, arguments), protocol=5)
        try:
            self._write(LENGTH.pack(len(data)) + data)
        except OSError:
            self.kill()
            raise Died(killed=True) from None
        good, value = self._receive(timeout_s)
        if not good:
            raise EngineError(f"DuckDB: {value}")
        return value

    def kill(self) -> None:
        """Idempotent."""
        process = self._process
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._in, view) :]

    def _receive(self, timeout_s: float) -> Any:
        deadline = time.monotonic() + timeout_s
        head = self._read(LENGTH.size, deadline)
        return pickle.loads(self._read(LENGTH.unpack(head)[0], deadline))

    def _read(self, size: int, deadline: float) -> bytes:
        data = bytearray()
        poll = select.poll()
        poll.register(self._out, select.POLLIN)
        while len(data) < size:
            left = deadline - time.monotonic()
            if left <= 0 or not poll.poll(left * 1000):
                self.kill()
                raise Stuck
            piece = os.read(self._out, min(size - len(data), 1 << 20))
            if not piece:
                code = self._process.wait()
                self.kill()
                raise Died(killed=code == -9)
            data += piece
        return bytes(data)


class Pool:
    """Processes between sessions. Safe to use from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[Process] = []
        self._closed = False

    def take(self) -> Process:
        while True:
            with self._lock:
                if self._closed:
                    raise EngineError("the engine is closed")
                process = self._idle.pop() if self._idle else None
            if process is None:
                return Process()
            if process.alive:
                return process
            process.kill()

    def give_back(self, process: Process) -> None:
        with self._lock:
            if not self._closed and len(self._idle) < _IDLE:
                self._idle.append(process)
                return
        process.kill()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for process in idle:
            process.kill()
