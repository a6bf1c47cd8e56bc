"""The host's side of the launcher and of the worker: each request is one with one reply."""

from __future__ import annotations

import base64
import contextlib
import json
import marshal
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from intercode.errors import SandboxError
from intercode.sandboxes.base import Change
from intercode.sandboxes.bubblewrap import chores

ID_BASE = 1_900_000_000
"""First of the 65,536 ids that sandboxes of root use; far from those of people and services."""
ID_COUNT = 65536

_START_TIMEOUT_S = 30.0
_CHORE_TIMEOUT_S = 600.0


@contextlib.contextmanager
def memory_file(name: str, data: bytes) -> Iterator[int]:
    """A descriptor to read ``data`` from, in another process too."""
    fd = os.memfd_create(name, os.MFD_CLOEXEC)
    try:
        with os.fdopen(os.dup(fd), "wb") as file:
            file.write(data)
        os.lseek(fd, 0, os.SEEK_SET)
        yield fd
    finally:
        os.close(fd)


@dataclass(frozen=True)
class Started:
    """A new sandbox as its launcher left it: the guest's process, two folders."""

    pid: int
    upper: int
    root: int
    reply: socket.socket
    """Ends when the guest is being executed; holds an error if it cannot be."""

    def complaint(self) -> str:
        """Why the guest could not be executed, if that is so."""
        with contextlib.suppress(OSError):
            self.reply.settimeout(0)
            data = self.reply.recv(1 << 16)
            return str(marshal.loads(data)["error"]) if data else ""
        return ""


class Helpers:
    """Owns one launcher and, once there is work for it, one worker. Safe to use from many threads.

    ``program``: the filter that sandboxes run under.
    """

    def __init__(self, mount_point: Path, program: bytes) -> None:
        self.privileged = os.getuid() == 0
        self.id_base = ID_BASE if self.privileged else 0
        count = ID_COUNT if self.privileged else 1
        self._launcher = _Helper("launcher", f"{str(mount_point)!r}, {self.id_base}, {count}")
        self._launcher.send(program)
        self._lock = threading.Lock()
        self._worker: _Helper | None = None

    def start(
        self, request: dict[str, Any], streams: Sequence[int], seed: int | Path | None
    ) -> Started:
        """``streams``: the guest's stdin, stdout, stderr. ``seed``: the files it starts with."""
        room = None if seed is None else self._room(request, seed)
        reply = self._ask({"op": "start", "room": room, **request}, streams)
        try:
            answer, (upper, root) = self._answer(reply)
        except BaseException:
            reply.close()
            raise
        return Started(answer["pid"], upper, root, reply)

    def _room(self, request: dict[str, Any], seed: int | Path) -> str:
        """A folder for a sandbox to come, with its files."""
        wanted = {name: request[name] for name in ("disk_mib", "blocks")}
        with self._ask({"op": "room", **wanted}, ()) as reply:
            answer, (upper,) = self._answer(reply)
        room: str = answer["room"]
        try:
            if isinstance(seed, int):
                self.copy_upper(seed, upper)
            else:
                folder = os.open(seed, os.O_RDONLY | os.O_DIRECTORY)
                try:
                    self.copy_upper(folder, upper)
                finally:
                    os.close(folder)
        except BaseException:
            self._ask({"op": "leave", "room": room}, ()).close()
            raise
        finally:
            os.close(upper)
        return room

    def stop(self, pid: int) -> None:
        """Kill a sandbox's first process, and so all of it; return when it is reaped."""
        with self._ask({"op": "stop", "pid": pid}, ()) as reply:
            self._answer(reply)

    def _ask(self, request: dict[str, Any], fds: Sequence[int]) -> socket.socket:
        return self._launcher.ask(marshal.dumps(request), fds)

    def _answer(self, reply: socket.socket) -> tuple[dict[str, Any], list[int]]:
        data, fds = _received(reply, _START_TIMEOUT_S)
        if not data:
            raise SandboxError("the sandbox ended before it was up")
        answer: dict[str, Any] = marshal.loads(data)
        _raise_if_failed(answer)
        return answer, fds

    def scan(self, upper: int, lowers: Sequence[Path]) -> list[Change]:
        if self.privileged:
            return chores.scan(upper, lowers, self.id_base)
        names = [str(lower) for lower in lowers]
        found = self._chore("scan", [upper], lowers=names, base=self.id_base)
        return [Change(**change) for change in found]

    def copy_upper(self, upper: int, target: int | Path) -> None:
        """``target``: a path, or a descriptor of an empty directory."""
        if self.privileged:
            chores.copy_upper(upper, target)
        elif isinstance(target, Path):
            self._chore("copy_upper", [upper], target=str(target))
        else:
            self._chore("copy_upper", [upper, target], target=None)

    def read(self, root: int, path: str, max_bytes: int | None) -> bytes:
        if self.privileged:
            return chores.read(root, path, max_bytes)
        return base64.b64decode(self._chore("read", [root], path=path, max_bytes=max_bytes))

    def write(self, root: int, path: str, data: bytes, mode: int) -> None:
        if self.privileged:
            chores.write(root, path, data, mode, self.id_base)
        else:
            # Not in the request itself, which has a largest size.
            with memory_file("write", data) as content:
                self._chore("write", [root, content], path=path, mode=mode, base=self.id_base)

    def unpack(self, root: int, archive: int, path: str) -> None:
        self._chore("unpack", [root, archive], path=path, base=self.id_base)

    def remove(self, path: Path) -> None:
        """Remove a tree that may hold what only the sandbox's root may touch."""
        if path.exists():
            self._chore("remove", [], path=str(path))

    def _chore(self, name: str, fds: Sequence[int], **arguments: Any) -> Any:
        with self._lock:
            worker = self._worker = self._worker or _Helper("worker", "")
        read_fd, write_fd = os.pipe()
        with os.fdopen(read_fd, "rb") as result:
            try:
                request = json.dumps({"name": name, "arguments": arguments}).encode()
                reply = worker.ask(request, (*fds, write_fd))
            finally:
                os.close(write_fd)
            with reply:
                data = result.read()
                answer, _ = _received(reply, _CHORE_TIMEOUT_S)
        if not answer:
            raise SandboxError(f"{name}: the sandboxes' worker is gone")
        _raise_if_failed(json.loads(answer))
        return json.loads(data)

    def close(self) -> None:
        """End both, and everything that was started."""
        with self._lock:
            worker, self._worker = self._worker, None
        try:
            self._launcher.close()
        finally:
            if worker is not None:
                worker.close()


class _Helper:
    """A process of ours that takes requests over a socket and ends with it."""

    def __init__(self, module: str, arguments: str) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        source = str(Path(__file__).resolve().parents[2])
        program = (
            # Not by the package's own beginning, whose imports every clone would pay for.
            "import sys; package = type(sys)('intercode'); "
            f"package.__path__ = [{source!r}]; sys.modules['intercode'] = package; "
            f"from intercode.sandboxes.bubblewrap.{module} import main; "
            f"main({theirs.fileno()}, {arguments})"
        )
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", program],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                # Its own session: Ctrl-C is for the host, which then closes in order.
                start_new_session=True,
                env={},
                cwd="/",
            )
        self._name = module
        self._socket = ours
        self._lock = threading.Lock()

    def send(self, data: bytes) -> None:
        self._socket.send(data)

    def ask(self, data: bytes, fds: Sequence[int]) -> socket.socket:
        """Send a request; what is given back is where its answer comes."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            try:
                with self._lock:
                    socket.send_fds(self._socket, [data], [theirs.fileno(), *fds])
            except OSError as error:
                ours.close()
                raise SandboxError(f"the sandboxes' {self._name} is gone: {error}") from None
        return ours

    def close(self) -> None:
        with self._lock:
            self._socket.close()
        try:
            self._process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _received(reply: socket.socket, timeout_s: float) -> tuple[bytes, list[int]]:
    reply.settimeout(timeout_s)
    try:
        data, fds, _, _ = socket.recv_fds(reply, 1 << 16, 4)
    except TimeoutError:
        raise SandboxError(f"no answer about a sandbox within {timeout_s:g} s") from None
    return data, fds


def _raise_if_failed(answer: dict[str, Any]) -> None:
    if "error" in answer:
        if answer["errno"] is not None:
            raise OSError(answer["errno"], answer["error"])
        raise SandboxError(answer["error"])
