"""A disk limit for engines whose storage keeps none: look now and then, and stop what is too much.

Guaranteed: no single file grows beyond the limit (a limit of each process, kept by the kernel).
Once a command has run for half a second, what the sandbox has written is looked at twice a second,
and the command is killed when it is more than the limit; what runs between commands is looked at in
turn, two sandboxes each half second, and frozen until the next command. Not guaranteed: that the
limit is never passed. A fast disk takes a gigabyte in the time between two looks, and a command of
less than half a second is not looked at, but the next is. Sizes are the files' own, holes included;
the number of empty files is not limited. ``/etc/hosts``, ``/etc/hostname`` and ``/etc/resolv.conf``
are the engine's files, and count for nothing but the limit of each single file.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence

from intercode.errors import SandboxError
from intercode.sandboxes.docker.engine import Engine, Refused
from intercode.sandboxes.guest import KILL_SIGNAL

_TICK_S = 0.5
_PATIENCE_S = 0.5
_IDLE_A_TICK = 2
_LEAST_BYTES = 16 << 20
"""What a sandbox may write that started with more than its limit: it must be able to tidy up."""


class DiskMeter:
    """What one sandbox writes. Its container may be replaced."""

    def __init__(self, engine: Engine, limit_mib: int) -> None:
        self._engine = engine
        self._limit = limit_mib << 20
        self._lock = threading.Lock()
        self._name: str | None = None
        self._allowed = 0
        self._busy_since: float | None = None
        self._over = False
        self._frozen = False
        self._used = False
        self.hit = False
        """Whether the last command was stopped for writing too much."""

    def allowed_bytes(self, already: int) -> int:
        """What may be written on top of so much."""
        return max(_LEAST_BYTES, self._limit - already)

    def follow(self, name: str, already: int) -> None:
        """From now on, look at this container, whose files held so much when it started."""
        with self._lock:
            self._name, self._allowed = name, self.allowed_bytes(already)
            self._over = self._frozen = False

    def leave(self) -> None:
        """The container is about to go."""
        with self._lock:
            self._name = None

    @contextlib.contextmanager
    def command(self) -> Iterator[None]:
        """While a command runs."""
        with self._lock:
            self.hit = False
            self._used = True
            self._busy_since = time.monotonic()
            if self._frozen and self._name is not None:
                self._engine.unpause(self._name)
                self._frozen = False
        try:
            yield
        finally:
            with self._lock:
                self._busy_since = None

    @property
    def idle(self) -> bool:
        return self._busy_since is None and self._used and not self._frozen

    def is_due(self) -> bool:
        """Whether a command runs that has run for long enough."""
        since = self._busy_since
        return since is not None and (self._over or time.monotonic() - since > _PATIENCE_S)

    def look(self) -> None:
        """Stop what runs, if the container has written more than it may."""
        name = self._name
        if name is None:
            return
        written = self._engine.written_bytes(name)
        with self._lock:
            if name != self._name:
                return
            self._over = written > self._allowed
            if not self._over:
                return
            if self._busy_since is not None:
                self.hit = True
                self._engine.kill(name, KILL_SIGNAL.name)
            elif not self._frozen:
                with contextlib.suppress(Refused):
                    self._engine.pause(name)
                    self._frozen = True


class DiskWatch:
    """One thread for all sandboxes of a back end."""

    def __init__(self, meters: Callable[[], Sequence[DiskMeter]]) -> None:
        self._meters = meters
        self._stop = threading.Event()
        self._turn = 0
        self._thread = threading.Thread(target=self._run, name="disk-watch", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.wait(_TICK_S):
            meters = self._meters()
            idle = [meter for meter in meters if meter.idle]
            first = self._turn % len(idle) if idle else 0
            self._turn += _IDLE_A_TICK
            due = [meter for meter in meters if meter.is_due()]
            for meter in due + (idle + idle)[first : first + min(_IDLE_A_TICK, len(idle))]:
                # An engine that fails here fails where somebody is waiting for it, and is told.
                with contextlib.suppress(SandboxError):
                    meter.look()

    def close(self) -> None:
        self._stop.set()
        self._thread.join()
