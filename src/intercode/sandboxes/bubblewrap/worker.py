"""A process that does the `chores` of an ordinary user, and those that change who does them.

Started with the first that is asked for. Each chore is done in a forked child, so that one which
takes long holds up no other. As an ordinary user it is root of a user namespace that holds this
user alone. It ends with its socket, as its owner does.
"""

from __future__ import annotations

import json
import os
import signal
import socket

from intercode.sandboxes.bubblewrap import chores
from intercode.sandboxes.bubblewrap.launcher import enter_own_namespace

_MAX_MESSAGE = 1 << 18


def main(socket_fd: int) -> None:
    requests = socket.socket(fileno=socket_fd)
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps
    if os.getuid() != 0:
        enter_own_namespace()
    while True:
        data, fds, _, _ = socket.recv_fds(requests, _MAX_MESSAGE, 8)
        if not data:
            return
        reply = socket.socket(fileno=fds[0])
        try:
            if os.fork() == 0:
                _work(data, reply, fds[1:])
        except OSError as error:
            _complain(reply, error)
        finally:
            reply.close()
            for fd in fds[1:]:
                os.close(fd)


def _work(data: bytes, reply: socket.socket, fds: list[int]) -> None:
    """In the forked child: never returns. The last descriptor is where the answer goes."""
    try:
        request = json.loads(data)
        answer = chores.do(request["name"], fds[:-1], request["arguments"])
        with os.fdopen(fds[-1], "wb") as out:
            out.write(json.dumps(answer).encode())
        reply.send(b"{}")
    except BaseException as error:
        _complain(reply, error)
    finally:
        # Also when nobody waits for the answer any more: there must never be two workers.
        os._exit(0)


def _complain(reply: socket.socket, error: BaseException) -> None:
    code = error.errno if isinstance(error, OSError) else None
    reply.send(json.dumps({"error": str(error), "errno": code}).encode())
