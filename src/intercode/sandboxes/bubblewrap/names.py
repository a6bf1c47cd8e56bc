"""A name server for a sandbox without a network: it knows ``localhost``, and that all else is not.

Containers have a server to ask, near enough to answer at once; without any, `dig` and `host` wait
for longer than a command may take. It lives outside the agent's process namespace, in the sandbox's
network and control group, and answers one datagram after the other (RFC 1035; the local zones of
RFC 6303).
"""

from __future__ import annotations

import _socket
import os

from intercode.sandboxes import linux
from intercode.sandboxes.bubblewrap import inside

_HEADER = 12
_ANSWERS = {
    (b"\x011\x010\x010\x03127\x07in-addr\x04arpa\0", 12): b"\x09localhost\0",  # PTR
    (b"\x09localhost\0", 1): bytes((127, 0, 0, 1)),  # A
}
_RESPONSE, _NO_SUCH_NAME = 0x8180, 0x8183  # flags QR, RD, RA; response codes 0 and 3
_TIME_TO_LIVE_S = 120


def start(system_calls: linux.Filter) -> None:
    """Have a process serve port 53 of this process's network for as long as that process lives.

    To be called before the process's children are born into another namespace, and with the right
    to the port.
    """
    served = _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM)
    served.bind(("0.0.0.0", 53))  # the sandbox has no interface but the loopback
    if linux.clone(0) == 0:
        try:
            inside.give_up(system_calls)
            while True:
                question, asker = served.recvfrom(512)
                if (answer := answered(question)) is not None:
                    served.sendto(answer, asker)
        finally:
            os._exit(1)
    served.close()


def answered(question: bytes) -> bytes | None:
    """The response to a datagram; None if it asks nothing. Further records, such as those of EDNS,
    are given back as they came."""
    end = question.find(b"\0", _HEADER) + 5
    if len(question) < _HEADER + 5 or end < _HEADER + 5 or end > len(question):
        return None
    asked, kind = question[_HEADER : end - 4], int.from_bytes(question[end - 4 : end - 2])
    found = _ANSWERS.get((asked.lower(), kind))
    flags = _NO_SUCH_NAME if found is None else _RESPONSE
    record = b""
    if found is not None:
        # A pointer to the name that was asked for, kind, class IN, how long it holds, the data.
        record = b"\xc0\x0c" + kind.to_bytes(2) + b"\0\1" + _TIME_TO_LIVE_S.to_bytes(4)
        record += len(found).to_bytes(2) + found
    counts = b"\0\1" + bytes((0, found is not None)) + b"\0\0" + question[10:12]
    return (
        question[:2] + flags.to_bytes(2) + counts + question[_HEADER:end] + record + question[end:]
    )
