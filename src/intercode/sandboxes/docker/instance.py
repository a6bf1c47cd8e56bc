"""One running container with its guest, and who has to let go of it."""

from __future__ import annotations

import contextlib
import threading
from dataclasses import dataclass, field

from intercode.sandboxes.channel import Channel
from intercode.sandboxes.docker.engine import Engine
from intercode.sandboxes.docker.snapshots import Origin, SnapshotStore
from intercode.sandboxes.docker.streams import AttachStreams


@dataclass(frozen=True)
class Instance:
    """Owns its container, the connection to it, and a hold on the files it started from."""

    name: str
    origin: Origin
    channel: Channel
    streams: AttachStreams
    engine: Engine
    snapshots: SnapshotStore
    in_use: threading.Lock = field(default_factory=threading.Lock)
    """Held while a command runs: only then may the connection not be closed."""

    def kill(self) -> None:
        """Its files stay."""
        self.streams.hang_up()
        self.engine.kill(self.name)

    def end(self, *, in_use: bool = False) -> None:
        """Remove it and let go of all of it. ``in_use``: by the caller."""
        with contextlib.ExitStack() as stack:
            stack.callback(self.snapshots.drop, self.origin)
            stack.callback(self._close, in_use)
            self.streams.hang_up()
            self.engine.remove(self.name)

    def _close(self, in_use: bool) -> None:
        # A command that another thread waits for ends at once.
        waited = not in_use and self.in_use.acquire(timeout=10.0)
        self.channel.close()
        if waited:
            self.in_use.release()
