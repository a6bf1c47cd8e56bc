"""A guest's streams over one attached connection to a container.

The engine carries all three on one connection: what is sent is the container's stdin, and what
comes is cut into frames, each an eight-byte head (which stream, how many bytes) and its bytes. Two
copiers in the engine fill it independently, so frames of the two streams come in no fixed order.
"""

from __future__ import annotations

import contextlib
import secrets
import select
import socket
import ssl
import time
from typing import Any

from intercode.sandboxes.channel import GuestGone
from intercode.sandboxes.guest import message

_CHUNK = 1 << 16
_HEAD = 8
_STDOUT, _STDERR = 1, 2
_SEND_TIMEOUT_S = 10.0
_FLUSH_TIMEOUT_S = 10.0
_MAX_FLUSH = 1 << 26
"""Far more than the engine buffers: what comes in a flush was printed before it, or never ends."""


class FrameReader:
    """Takes frames apart as their bytes come, however they are cut; keeps no more than a head."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._kind = 0
        self._left = 0

    def feed(self, data: bytes) -> tuple[bytes, bytes]:
        """What ``data`` brings of stdout and of stderr.

        :raises GuestGone: these are no frames.
        """
        output, status = bytearray(), bytearray()
        view = memoryview(data)
        while view:
            if self._left:
                part, view = view[: self._left], view[self._left :]
                self._left -= len(part)
                if self._kind == _STDOUT:
                    output += part
                else:
                    status += part
                continue
            missing = _HEAD - len(self._head)
            self._head += view[:missing]
            view = view[missing:]
            if len(self._head) == _HEAD:
                self._kind, self._left = self._head[0], int.from_bytes(self._head[4:], "big")
                if self._kind not in (_STDOUT, _STDERR) or any(self._head[1:4]):
                    raise GuestGone("the engine's stream cannot be understood")
                self._head.clear()
        return bytes(output), bytes(status)


class AttachStreams:
    """See `Streams`. Owns the connection."""

    def __init__(self, attached: Any) -> None:
        """``attached``: what `Engine.attach` gave: a socket, or a wrapper around one."""
        self._attached = attached
        self._socket: socket.socket = getattr(attached, "_sock", attached)
        self._socket.setblocking(False)
        self._poll = select.poll()
        self._poll.register(self._socket, select.POLLIN)
        self._frames = FrameReader()
        self._held = (b"", b"")
        self._closed = False

    def send(self, data: bytes) -> None:
        view = memoryview(data)
        deadline = time.monotonic() + _SEND_TIMEOUT_S
        while view:
            try:
                view = view[self._socket.send(view) :]
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                select.select([], [self._socket], [], max(0.0, deadline - time.monotonic()))
                if time.monotonic() > deadline:
                    raise GuestGone("the sandbox's guest takes no messages") from None
            except OSError:
                raise GuestGone("the sandbox's guest is gone") from None

    def receive(self, timeout_s: float) -> tuple[bytes, bytes]:
        output, status = self._held
        if output or status:
            self._held = (b"", b"")
            return output, status
        return self._read(timeout_s)

    def state(self) -> bytes:
        return b""  # it comes with the status

    def flush(self) -> bytes:
        """Have the guest print a word nobody can know, and read up to there: the engine promises no
        order between stdout and stderr, so a status alone does not say that all output has come.
        """
        mark = secrets.token_hex(16).encode()
        self.send(message("F", mark))
        deadline = time.monotonic() + _FLUSH_TIMEOUT_S
        output, status = (bytearray(part) for part in self._held)
        self._held = (b"", b"")
        searched = 0
        while (found := output.find(mark, searched)) < 0:
            searched = max(0, len(output) - len(mark) + 1)
            left = deadline - time.monotonic()
            if left <= 0 or len(output) + len(status) > _MAX_FLUSH:
                raise GuestGone("the sandbox's guest does not answer")
            more_output, more_status = self._read(left)
            output += more_output
            status += more_status
        self._held = (bytes(output[found + len(mark) :]), bytes(status))
        return bytes(output[:found])

    def _read(self, timeout_s: float) -> tuple[bytes, bytes]:
        data = self._receive_now()
        if data is None:
            self._poll.poll(max(0, int(timeout_s * 1000 + 0.999)))
            data = self._receive_now()
        if data is None:
            return b"", b""
        if not data:
            raise GuestGone("the sandbox's guest is gone")
        return self._frames.feed(data)

    def _receive_now(self) -> bytes | None:
        """None where nothing is there. Comes before polling, which cannot see what TLS holds."""
        try:
            return self._socket.recv(_CHUNK)
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return None
        except OSError:
            return b""

    def hang_up(self) -> None:
        """End the conversation; who waits in another thread for the guest learns that it is gone.
        An engine whose output nobody takes can neither kill nor remove the container."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self.hang_up()
        # The HTTP response that the connection grew from hangs on the wrapper, and closes it all.
        response = getattr(self._attached, "_response", None)
        if response is not None:
            response.close()
        self._attached.close()
