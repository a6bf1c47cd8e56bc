"""Keeping the first and the last part of an output of any length, in bounded memory."""

from __future__ import annotations


class Capture:
    """Takes bytes as they come; keeps at most ``limit`` of them, half from either end."""

    def __init__(self, limit: int) -> None:
        self._head_limit = limit - limit // 2
        self._tail_limit = limit // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0

    def feed(self, data: bytes) -> None:
        self._total += len(data)
        room = self._head_limit - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if data:
            self._tail += data
            # Trim now and then, not at each feed: trimming moves the whole tail.
            if len(self._tail) > 2 * self._tail_limit + 65536:
                del self._tail[: len(self._tail) - self._tail_limit]

    @property
    def cut_bytes(self) -> int:
        return max(0, self._total - self._head_limit - self._tail_limit)

    def value(self) -> bytes:
        """What was kept; where something is missing, a line between says how much."""
        if not self.cut_bytes:
            return bytes(self._head + self._tail)
        tail = self._tail[len(self._tail) - self._tail_limit :]
        return bytes(self._head) + b"\n[... %d bytes cut ...]\n" % self.cut_bytes + bytes(tail)
