"""One private server: its folders, its start from a prepared copy, its end.

A server's data folder is filled once for each version and kept below the user's cache folder; a
start copies it, which takes a fraction of the time. The copy lies in a folder that carries its
owner's label, so that the next start removes what a killed owner left.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import socket
import tempfile
import threading
import time
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from intercode.engines.servers.process import INSIDE, Places, Process, command, confined
from intercode.errors import EngineError, EngineUnavailable
from intercode.sandboxes.owner import new_name, owner_is_alive
from intercode.sandboxes.places import cache_dir

_START_TIMEOUT_S = 60.0
_PREPARE_TIMEOUT_S = 300.0
_END_TIMEOUT_S = 10.0
_LONGEST_SOCKET = 107
"""Bytes of a socket's path, by the kernel's own limit."""


class ServerKind(Protocol):
    """What tells one kind of server from another."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str:
        """As the server says it itself, such as ``MariaDB 10.11.6``."""
        ...

    @property
    def socket_name(self) -> str: ...

    def prepare(self, places: Places) -> Sequence[str]:
        """The command that fills an empty data folder."""
        ...

    def serve(self, places: Places) -> Sequence[str]:
        """The command of the server itself, in the foreground."""
        ...


def servers_root() -> Path:
    """The folder below which each server has one of its own, named by its owner's label."""
    path = Path(tempfile.gettempdir()) / f"intercode-servers-{os.getuid()}"
    path.mkdir(mode=0o755, exist_ok=True)
    if path.stat().st_uid != os.getuid():
        raise EngineUnavailable(
            f"{path} belongs to somebody else", remedy="set TMPDIR to a folder of your own"
        )
    return path


def sweep() -> None:
    """Remove the folders of dead owners. Their servers died with them."""
    for folder in servers_root().iterdir():
        if not owner_is_alive(folder.name):
            shutil.rmtree(folder, ignore_errors=True)


class OwnedServer:
    """Starts on the first `ensure`, and again after it died; `close` ends it and removes its files.
    Safe to use from many threads."""

    def __init__(self, kind: ServerKind) -> None:
        self.kind = kind
        self.generation = 0
        """How many times it was started: what was loaded belongs to one of them."""
        self._lock = threading.Lock()
        self._process: Process | None = None
        self._folder: Path | None = None
        self._bwrap: str | None = None
        self._end: weakref.finalize[..., OwnedServer] | None = None

    @property
    def socket(self) -> str:
        assert self._folder is not None
        return str(self._folder / "run" / self.kind.socket_name)

    @property
    def run_folder(self) -> str:
        assert self._folder is not None
        return str(self._folder / "run")

    @property
    def pid(self) -> int:
        """Of the outermost process."""
        assert self._process is not None
        return self._process.pid

    def alive(self) -> bool:
        return self._process is not None and self._process.alive()

    def ensure(self) -> int:
        """Running when it returns; the generation. :raises EngineError: it does not start."""
        with self._lock:
            if not self.alive():
                self._discard()
                self._start()
            return self.generation

    def _start(self) -> None:
        if self.generation == 0:
            self._bwrap = confined()
            sweep()
        folder = servers_root() / new_name()
        folder.mkdir(mode=0o700)
        try:
            (folder / "run").mkdir()
            path = folder / "run" / self.kind.socket_name
            if len(os.fsencode(path)) > _LONGEST_SOCKET:
                raise EngineUnavailable(
                    f"the path of the server's socket is too long: {path}",
                    remedy="set TMPDIR to a shorter folder",
                )
            argv, cwd = command(folder, self.kind.serve, self._bwrap, self._template())
            process = Process(argv, cwd)
            self._end = weakref.finalize(self, _end, process, path, folder)
            self._folder, self._process = folder, process
            self._wait(process, path)
        except BaseException:
            self._discard()
            shutil.rmtree(folder, ignore_errors=True)
            raise
        self.generation += 1

    def _wait(self, process: Process, path: Path) -> None:
        limit = time.monotonic() + _START_TIMEOUT_S
        while not _accepts(path):
            if not process.alive():
                raise EngineError(f"{self.kind.name} ended as it started: {process.said()}")
            if time.monotonic() > limit:
                raise EngineError(
                    f"{self.kind.name} did not start in {_START_TIMEOUT_S:g} s: {process.said()}"
                )
            time.sleep(0.005)

    def _template(self) -> Path:
        """The prepared data folder of this version, made where it is not there yet."""
        kind = self.kind
        recipe = repr((kind.version, kind.prepare(INSIDE), self._bwrap is None))
        key = hashlib.sha256(recipe.encode()).hexdigest()[:12]
        root = cache_dir() / "servers"
        root.mkdir(exist_ok=True)
        for left in root.iterdir():
            if left.name.startswith("making-") and not owner_is_alive(left.name[7:]):
                shutil.rmtree(left, ignore_errors=True)
        ready = root / f"{kind.name}-{key}"
        if not ready.is_dir():
            making = root / f"making-{new_name()}"
            try:
                self._prepare(making)
                # Another process may have been faster: then its folder is as good.
                with contextlib.suppress(OSError):
                    (making / "data").rename(ready)
            finally:
                shutil.rmtree(making, ignore_errors=True)
        return ready

    def _prepare(self, folder: Path) -> None:
        for name in ("data", "run"):
            (folder / name).mkdir(parents=True, mode=0o700)
        process = Process(*command(folder, self.kind.prepare, self._bwrap, None))
        status = process.wait(_PREPARE_TIMEOUT_S)
        process.kill()
        if status != 0:
            raise EngineError(f"a data folder for {self.kind.name} fails: {process.said()}")

    def _discard(self) -> None:
        if self._end is not None:
            self._end()
        self._end = self._process = self._folder = None

    def close(self) -> None:
        """Idempotent; a later `ensure` starts a fresh one."""
        with self._lock:
            self._discard()

    def kill(self) -> None:
        """End the process and nothing else: what happens to a server that crashes."""
        if self._process is not None:
            _kill(self._process, Path(self.socket))


def _kill(process: Process, path: Path) -> None:
    """What bubblewrap holds ends a moment after it."""
    process.kill()
    limit = time.monotonic() + _END_TIMEOUT_S
    while _accepts(path) and time.monotonic() < limit:
        time.sleep(0.002)


def _accepts(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return False
        return True


def _end(process: Process, path: Path, folder: Path) -> None:
    _kill(process, path)
    shutil.rmtree(folder, ignore_errors=True)
