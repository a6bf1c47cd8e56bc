"""The host's side of the spawner: start, stop, and chores, each one request with one reply."""

from __future__ import annotations

import base64
import contextlib
import json
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

_START_TIMEOUT_S = 30.0


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
    """A new sandbox as its spawner left it: its outer process, the guest's process, two folders."""

    pid: int
    guest_pid: int
    upper: int
    root: int


class SpawnerClient:
    """Owns one spawner process. Safe to use from many threads."""

    def __init__(self, mount_point: Path) -> None:
        self.privileged = os.getuid() == 0
        self.id_base = ID_BASE if self.privileged else 0
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        source = str(Path(__file__).resolve().parents[3])
        program = (
            f"import sys; sys.path.insert(0, {source!r}); "
            "from intercode.sandboxes.bubblewrap.spawner import main; "
            f"main({theirs.fileno()}, {str(mount_point)!r}, {self.id_base})"
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
        self._socket = ours
        self._lock = threading.Lock()

    def start(self, request: dict[str, Any], fds: Sequence[int]) -> Started:
        """``fds``: the guest's stdin, stdout, stderr, and the seccomp program."""
        with self._send({"op": "start", **request}, fds) as reply:
            answer, folders = self._receive(reply)
            pid, (upper, root) = answer["pid"], folders
            try:
                return Started(pid, self._guest_pid(reply), upper, root)
            except BaseException:
                os.close(upper)
                os.close(root)
                self.stop(pid)
                raise

    def _guest_pid(self, reply: socket.socket) -> int:
        """bwrap itself writes this one, piece by piece: a JSON object about its child."""
        text = b""
        while not text.rstrip().endswith(b"}"):
            piece = reply.recv(1 << 12)
            if not piece:
                raise SandboxError("bubblewrap ended before the sandbox was up")
            text += piece
        answer = json.loads(text)
        if "error" in answer:
            raise SandboxError(answer["error"])
        return int(answer["child-pid"])

    def stop(self, pid: int) -> None:
        """Kill a sandbox's outer process, and so all of it; return when it is reaped."""
        with self._send({"op": "stop", "pid": pid}, ()) as reply:
            self._receive(reply)

    def chore(self, name: str, fds: Sequence[int], **arguments: Any) -> Any:
        read_fd, write_fd = os.pipe()
        with os.fdopen(read_fd, "rb") as result:
            try:
                request = {"op": "chore", "name": name, "arguments": arguments}
                reply = self._send(request, (*fds, write_fd))
            finally:
                os.close(write_fd)
            with reply:
                data = result.read()
                self._receive(reply, timeout_s=600.0)
        return json.loads(data)

    def scan(self, upper: int, lowers: Sequence[Path]) -> list[Change]:
        if self.privileged:
            return chores.scan(upper, lowers, self.id_base)
        names = [str(lower) for lower in lowers]
        found = self.chore("scan", [upper], lowers=names, base=self.id_base)
        return [Change(**change) for change in found]

    def copy_upper(self, upper: int, target: Path) -> None:
        if self.privileged:
            chores.copy_upper(upper, str(target))
        else:
            self.chore("copy_upper", [upper], target=str(target))

    def read(self, root: int, path: str, max_bytes: int | None) -> bytes:
        if self.privileged:
            return chores.read(root, path, max_bytes)
        return base64.b64decode(self.chore("read", [root], path=path, max_bytes=max_bytes))

    def write(self, root: int, path: str, data: bytes, mode: int) -> None:
        if self.privileged:
            chores.write(root, path, data, mode, self.id_base)
        else:
            # Not in the request itself, which has a largest size.
            with memory_file("write", data) as content:
                self.chore("write", [root, content], path=path, mode=mode, base=self.id_base)

    def unpack(self, root: int, archive: int, path: str) -> None:
        self.chore("unpack", [root, archive], path=path, base=self.id_base)

    def remove(self, path: Path) -> None:
        """Remove a tree that may hold what only the sandbox's root may touch."""
        if path.exists():
            self.chore("remove", [], path=str(path))

    def _send(self, request: dict[str, Any], fds: Sequence[int]) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            try:
                with self._lock:
                    socket.send_fds(
                        self._socket, [json.dumps(request).encode()], [theirs.fileno(), *fds]
                    )
            except OSError as error:
                ours.close()
                raise SandboxError(f"the sandbox spawner is gone: {error}") from None
        return ours

    def _receive(
        self, reply: socket.socket, timeout_s: float = _START_TIMEOUT_S
    ) -> tuple[dict[str, Any], list[int]]:
        reply.settimeout(timeout_s)
        try:
            data, fds, _, _ = socket.recv_fds(reply, 1 << 16, 4)
        except TimeoutError:
            raise SandboxError(f"the sandbox spawner did not answer in {timeout_s:g} s") from None
        if not data:
            raise SandboxError("bubblewrap ended before the sandbox was up")
        answer = json.loads(data)
        if "error" in answer:
            if answer["errno"] is not None:
                raise OSError(answer["errno"], answer["error"])
            raise SandboxError(answer["error"])
        return answer, fds

    def close(self) -> None:
        """End the spawner and everything it started."""
        with self._lock:
            self._socket.close()
        try:
            self._process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
