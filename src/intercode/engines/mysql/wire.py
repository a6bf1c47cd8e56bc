"""How much of a result comes in before it is stopped: a row can be larger than any limit.

The connector reads whole rows; so this counts its packets, by the way in through which each comes.
"""

from __future__ import annotations

from typing import Any

_WHOLE = 0xFFFFFF
"""Bytes of a packet that another one continues."""


class TooMuch(Exception):
    """More came than may."""


class Meter:
    """On one connection of the connector's pure form."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        socket = connection._socket
        self._receive = socket.recv
        self._left: int | None = None
        self._continues = False
        socket.recv = self._metered

    def start(self, limit: int) -> None:
        """`TooMuch` is raised out of what reads more than ``limit`` bytes from now on."""
        self._left = limit

    def stop(self) -> None:
        self._left = None

    def _metered(self, *args: Any, **kwargs: Any) -> Any:
        packet = self._receive(*args, **kwargs)
        if self._left is not None:
            self._continues = int.from_bytes(packet[:3], "little") == _WHOLE
            self._left -= len(packet)
            if self._left < 0:
                raise TooMuch
        return packet

    def discard(self) -> None:
        """After `TooMuch`: read what is left of the result, and keep nothing of it."""
        self.stop()
        while True:
            packet = self._receive()
            size, first = int.from_bytes(packet[:3], "little"), packet[4:5]
            ends = first == b"\xff" or (first == b"\xfe" and size < 9)
            if ends and not self._continues:
                break
            self._continues = size == _WHOLE
        self._connection.unread_result = False
        self._connection._have_next_result = False
