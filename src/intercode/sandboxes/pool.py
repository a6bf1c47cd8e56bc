"""Sandboxes made ahead of time, so that an episode need not wait for one.

What it guarantees: at most ``max_running`` sandboxes taken from it are open at once, at most
``max_starting`` are being started at any moment (starting is the heavy part), and every one it
started is closed by `close`. What it does not: which kind is warm; it keeps the kinds asked for
last.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator

from intercode.errors import SandboxError
from intercode.sandboxes.base import Backend, Image, Limits, Sandbox

Prepare = Callable[[Sandbox], None]
"""Done to a sandbox once it is started: the same function for the same kind."""

_Kind = tuple[Image, Limits, Prepare | None]
_MAX_KINDS = 8


class Pool:
    """Fresh sandboxes of a back end it does not own. Safe to use from many threads."""

    def __init__(
        self,
        backend: Backend,
        *,
        warm: int = 2,
        max_starting: int = 2,
        max_running: int | None = None,
    ) -> None:
        """``warm``: how many of each kind to have ready; 0 starts each when it is asked for."""
        self._backend = backend
        self._warm = warm
        self._starting = threading.Semaphore(max_starting)
        self._running = threading.Semaphore(max_running) if max_running else None
        self._ready: OrderedDict[_Kind, deque[Sandbox]] = OrderedDict()
        self._planned: dict[_Kind, int] = {}
        self._lock = threading.Lock()
        self._closed = False
        self._work: queue.SimpleQueue[_Kind | Sandbox | None] = queue.SimpleQueue()
        self._workers = [
            threading.Thread(target=self._tend, name=f"pool-{n}", daemon=True)
            for n in range(max_starting)
        ]
        for worker in self._workers:
            worker.start()

    @contextlib.contextmanager
    def borrowed(
        self, image: Image, limits: Limits, prepare: Prepare | None = None
    ) -> Iterator[Sandbox]:
        """A fresh sandbox for the time of a `with` block."""
        sandbox = self.take(image, limits, prepare)
        try:
            yield sandbox
        finally:
            self.give_back(sandbox)

    def take(self, image: Image, limits: Limits, prepare: Prepare | None = None) -> Sandbox:
        """A sandbox nobody has used, after ``prepare``. Waits while ``max_running`` are out.

        :raises SandboxError: it cannot be started, or the pool is closed.
        """
        kind = (image, limits, prepare)
        # Not for ever: whoever holds the others may close the pool and never give them back.
        while self._running is not None and not self._running.acquire(timeout=0.5):
            self._refuse_if_closed()
        try:
            sandbox = self._pop(kind)
            if sandbox is None:
                with self._starting:
                    sandbox = self._start(kind)
            self._plan(kind)
            return sandbox
        except BaseException:
            if self._running is not None:
                self._running.release()
            raise

    def _start(self, kind: _Kind) -> Sandbox:
        image, limits, prepare = kind
        sandbox = self._backend.start(image, limits)
        if prepare is not None:
            try:
                prepare(sandbox)
            except BaseException:
                sandbox.close()
                raise
        return sandbox

    def give_back(self, sandbox: Sandbox) -> None:
        """Have it closed, soon and elsewhere: sandboxes are never used twice."""
        if self._running is not None:
            self._running.release()
        with self._lock:
            if not self._closed:
                return self._work.put(sandbox)
        return sandbox.close()

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise SandboxError("this pool is closed")

    def _pop(self, kind: _Kind) -> Sandbox | None:
        with self._lock:
            self._refuse_if_closed()
            waiting = self._ready.setdefault(kind, deque())
            self._ready.move_to_end(kind)
            return waiting.popleft() if waiting else None

    def _plan(self, kind: _Kind) -> None:
        """Order as many as are missing, and let go of the kind that was not asked for longest."""
        with self._lock:
            if self._closed:
                return
            # Other threads' kinds may have pushed this one out since it was asked for.
            waiting = self._ready.setdefault(kind, deque())
            missing = self._warm - len(waiting) - self._planned.get(kind, 0)
            self._planned[kind] = self._planned.get(kind, 0) + max(0, missing)
            for _ in range(missing):
                self._work.put(kind)
            while len(self._ready) > _MAX_KINDS:
                for sandbox in self._ready.popitem(last=False)[1]:
                    self._work.put(sandbox)

    def _tend(self) -> None:
        while (job := self._work.get()) is not None:
            # Whatever fails here fails again, and is told, where a sandbox is asked for. A worker
            # that ended of it would leave the others' sandboxes open.
            with contextlib.suppress(Exception):
                if isinstance(job, tuple):
                    self._prepare(job)
                else:
                    job.close()

    def _prepare(self, kind: _Kind) -> None:
        sandbox = None
        try:
            if not self._closed:
                with self._starting:
                    sandbox = self._start(kind)
        finally:
            with self._lock:
                self._planned[kind] -= 1
                kept = sandbox is not None and not self._closed and kind in self._ready
                if kept and sandbox is not None:
                    self._ready[kind].append(sandbox)
        if sandbox is not None and not kept:
            sandbox.close()

    def close(self) -> None:
        """Close what is warm and wait for what is being closed."""
        with self._lock:
            self._closed = True
            warm = [sandbox for waiting in self._ready.values() for sandbox in waiting]
            self._ready.clear()
            for job in (*warm, *(None for _ in self._workers)):
                self._work.put(job)
        for worker in self._workers:
            worker.join()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
