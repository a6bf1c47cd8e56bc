"""The host's end of a guest's streams: send a message, wait for its end, collect what it printed.

Knows nothing of how the streams come about. `PipeStreams` are four pipes; the Docker back end
brings its own.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import select
import termios
import time
from dataclasses import dataclass
from functools import cache
from typing import Protocol

from intercode.errors import SandboxError
from intercode.sandboxes.capture import Capture
from intercode.sandboxes.guest import boot_message, message

_CHUNK = 1 << 16
_FURTHER_PARTS = {b"E": 2, b"Q": 1, b"V": 1}
_MAX_STATUS = 1 << 24
_MAX_STRAY = 1 << 14
_TICK_S = 0.02
_TAGS = 64


boot_program = cache(boot_message)
"""`boot_message`, its files read once and not for every guest."""


class GuestGone(SandboxError):
    """The guest died, or cannot be reached any more. ``partial``: what was printed before."""

    def __init__(self, message: str, *, partial: Reply | None = None) -> None:
        super().__init__(message)
        self.partial = partial

    @property
    def begun(self) -> bool:
        """Whether it had taken the command up. If not, the command can be given to another one."""
        return self.partial is not None and self.partial.begun_at is not None


class Streams(Protocol):
    """Bytes to and from a guest."""

    def send(self, data: bytes) -> None: ...

    def receive(self, timeout_s: float) -> tuple[bytes, bytes]:
        """(output, status) bytes that are there, waiting at most so long for some.

        :raises GuestGone: the guest is no more, and all it wrote has been read.
        """

    def flush(self) -> bytes:
        """The output bytes written before now and not yet received."""

    def state(self) -> bytes:
        """What has been told of the shell's state, where that has a stream of its own."""

    def close(self) -> None: ...


class PipeStreams:
    """Streams over four pipes; owns the host's ends."""

    def __init__(self, control: int, output: int, status: int, state: int) -> None:
        self._control, self._output, self._status, self._state = control, output, status, state
        self._told = bytearray()
        for fd in (control, output, status, state):
            os.set_blocking(fd, False)
        self._poll = select.poll()
        self._poll.register(output, select.POLLIN)
        self._poll.register(status, select.POLLIN)
        self._room = select.poll()  # not select(), which refuses descriptors above 1023
        self._room.register(control, select.POLLOUT)
        self._closed = False

    def send(self, data: bytes) -> None:
        view = memoryview(data)
        deadline = time.monotonic() + 10.0
        while view:
            try:
                view = view[os.write(self._control, view) :]
            except BlockingIOError:
                self._room.poll(max(0.0, 1000 * (deadline - time.monotonic())))
                if time.monotonic() > deadline:
                    raise GuestGone("the sandbox's guest takes no messages") from None
            except BrokenPipeError:
                raise GuestGone("the sandbox's guest is gone") from None

    def receive(self, timeout_s: float) -> tuple[bytes, bytes]:
        output = status = b""
        ended = False
        # The state is not waited for: it is there when the status says so. But where it is more
        # than a pipe holds, the shell waits for us.
        ready = self._poll.poll(max(0, int(min(timeout_s, _TICK_S) * 1000 + 0.999)))
        if not ready:
            self._drain_state()
        for fd, events in ready:
            if events & select.POLLIN:
                data = os.read(fd, _CHUNK)
                if fd == self._output:
                    output = data
                else:
                    status = data
            elif fd == self._status:
                ended = True
        if ended and not output:
            raise GuestGone("the sandbox's guest is gone")
        return output, status

    def flush(self) -> bytes:
        waiting = int.from_bytes(fcntl.ioctl(self._output, termios.FIONREAD, b"\0\0\0\0"), "little")
        return os.read(self._output, waiting) if waiting else b""

    def state(self) -> bytes:
        self._drain_state()
        told = bytes(self._told)
        self._told.clear()
        return told

    def _drain_state(self) -> None:
        try:
            while data := os.read(self._state, _CHUNK):
                self._told += data
                if len(data) < _CHUNK:
                    return
                if len(self._told) > _MAX_STATUS:
                    raise GuestGone("the guest's state stream is flooded")
        except BlockingIOError:
            return

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            for fd in (self._control, self._output, self._status, self._state):
                os.close(fd)


@dataclass(frozen=True)
class Reply:
    """What the guest said, and what was printed until then.

    ``status`` and ``notes`` are messages: a letter, a code, and whatever else there is. ``status``
    is None at a timeout. ``begun_at``: when the guest took up the command, if it has.
    """

    status: tuple[bytes, ...] | None
    raw: bytes
    cut_bytes: int
    notes: tuple[tuple[bytes, ...], ...] = ()
    begun_at: float | None = None


class Channel:
    """One guest's conversation: one message at a time, each with one final status.

    Each message has a tag, and only what comes back with that tag is an answer to it.
    """

    def __init__(self, streams: Streams) -> None:
        self._streams = streams
        self._pending = bytearray()
        self._tags: list[str] = []
        self._tag = b""
        self._begun_at: float | None = None
        self._stray = 0

    def boot(self, timeout_s: float) -> None:
        """Send the guest its program and wait until it is ready."""
        self._streams.send(boot_program()[1])
        reply = self.wait(b"H", Capture(1 << 16), time.monotonic() + timeout_s)
        if reply.status is None:
            raise SandboxError(f"the sandbox's guest did not start within {timeout_s:g} s")

    def send(self, verb: str, body: bytes, slot: str = "") -> None:
        if not self._tags:
            self._tags = re.findall("." * 8, secrets.token_hex(4 * _TAGS))
        tag = self._tags.pop()
        self._tag, self._begun_at, self._stray = tag.encode("ascii"), None, 0
        self._streams.send(message(verb, body, tag, slot))

    def ask(
        self, verb: str, body: bytes, ends: bytes, limit: int, deadline: float, slot: str = ""
    ) -> Reply:
        """Send a message and wait for a status that starts with one of ``ends``."""
        self.send(verb, body, slot)
        return self.wait(ends, Capture(limit), deadline)

    def wait(
        self, ends: bytes, capture: Capture, deadline: float, *, timeout_s: float | None = None
    ) -> Reply:
        """Collect until one of ``ends``, the deadline, or the guest's death (GuestGone).

        ``timeout_s``: the deadline is that to begin, and this the time there is from then on.
        """
        notes: list[tuple[bytes, ...]] = []

        def reply(status: tuple[bytes, ...] | None) -> Reply:
            output, cut = capture.value(), capture.cut_bytes
            return Reply(status, output, cut, tuple(notes), self._begun_at)

        while True:
            while (message_ := self._next_message()) is not None:
                if message_[0] in ends:
                    try:
                        capture.feed(self._streams.flush())
                        notes += self._state()
                    except GuestGone as gone:
                        raise GuestGone(str(gone), partial=reply(None)) from None
                    return reply(message_)
                if message_[0] == b"B":
                    self._begun_at = time.monotonic()
                    if timeout_s is not None:
                        deadline = self._begun_at + timeout_s
                else:
                    notes.append(message_)
            left = deadline - time.monotonic()
            if left <= 0:
                return reply(None)
            try:
                output, status = self._streams.receive(left)
            except GuestGone as gone:
                raise GuestGone(str(gone), partial=reply(None)) from None
            if output:
                capture.feed(output)
            self._pending += status
            if len(self._pending) > _MAX_STATUS or self._stray > _MAX_STRAY:
                raise GuestGone("the guest's status stream is flooded", partial=reply(None))

    def _state(self) -> list[tuple[bytes, ...]]:
        told = bytearray(self._streams.state())
        found = []
        while (parts := _take_parts(told)) is not None:
            if message_ := self._addressed(parts):
                found.append(message_)
        return found

    def _next_message(self) -> tuple[bytes, ...] | None:
        """Take messages off the pending status bytes up to one that belongs to our tag."""
        while (parts := _take_parts(self._pending)) is not None:
            if message_ := self._addressed(parts):
                return message_
            self._stray += 1
        return None

    def _addressed(self, parts: tuple[bytes, ...]) -> tuple[bytes, ...] | None:
        """A message, if it is an answer to ours."""
        letter, tag, code = parts[0][:1], *parts[0][1:].partition(b":")[::2]
        if letter and tag == self._tag and (letter != b"E" or parts[2] == tag):
            return letter, code, *parts[1:]
        return None

    def close(self) -> None:
        self._streams.close()


def _take_parts(pending: bytearray) -> tuple[bytes, ...] | None:
    """Take one whole message off the bytes that are there."""
    if pending.startswith(b"\0"):
        pending[:] = pending.lstrip(b"\0")
    end = pending.find(b"\0")
    if end < 0:
        return None
    for _ in range(_FURTHER_PARTS.get(bytes(pending[:1]), 0)):
        end = pending.find(b"\0", end + 1)
        if end < 0:
            return None
    parts = tuple(bytes(pending[:end]).split(b"\0"))
    del pending[: end + 1]
    return parts
