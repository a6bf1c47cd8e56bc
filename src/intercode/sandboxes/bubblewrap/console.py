"""Process 1 as a container has it: a shell at a terminal; what is executed comes in from outside.

The guest stays in the process namespace that it was cloned into, and its children are born in one
below: the first is the shell, which does nothing, and every other has no parent that could be seen
there. So `ps` and `pstree` show what they show in a container that commands are executed in.
"""

from __future__ import annotations

import fcntl
import os

from intercode.sandboxes import linux
from intercode.sandboxes.bubblewrap import inside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_TIOCSCTTY = 0x540E  # asm-generic/ioctls.h
_OUTPUT, _TERMINAL = 6, 7
"""Where process 1 holds the guest's output, by which the guest tells who else does (init.bash), and
the terminal's other end, without which there would be none."""


class Console:
    """Process 1 of a sandbox in the making. For the process that is to become its guest."""

    def __init__(
        self, output: int, system_calls: linux.Filter, environment: Mapping[str, str]
    ) -> None:
        self._output = output
        self._filter = system_calls
        self._environment = dict(environment) | {"TERM": "xterm"}

    def mount_proc(self, proc: str) -> None:
        """Have process 1 made, which mounts ``/proc`` as its namespace sees it, and then waits."""
        mounted, done = os.pipe2(os.O_CLOEXEC)
        wait, self._go = os.pipe2(os.O_CLOEXEC)
        linux.unshare(linux.CLONE_NEWPID)
        if linux.clone(0) == 0:
            try:
                os.close(self._go)
                inside.mount_own_proc(proc)
                os.write(done, b"x")
                if os.read(wait, 1):
                    self._become_shell()
            finally:
                os._exit(1)
        os.close(done)
        if not os.read(mounted, 1):
            raise OSError("the sandbox's process 1 cannot be made")
        os.close(mounted)
        os.close(wait)

    def go(self) -> None:
        """The sandbox's root is in place: process 1 may become what it is to be."""
        os.write(self._go, b"x")
        os.close(self._go)

    def _become_shell(self) -> None:
        os.chdir("/")
        master, slave = os.openpty()
        kept = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in (self._output, master)]
        inside.give_up(self._filter)
        fcntl.ioctl(slave, _TIOCSCTTY, 0)
        for number in range(3):
            os.dup2(slave, number)
        for fd, number in zip(kept, (_OUTPUT, _TERMINAL), strict=True):
            os.dup2(fd, number)
        os.execve("/bin/bash", ["/bin/bash"], self._environment)
