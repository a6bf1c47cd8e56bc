"""How a fresh process of a new sandbox becomes its guest: the last steps, taken inside.

The launcher has cloned it into user, mount, process, IPC, host-name and network namespaces of its
own. Here it makes its root the overlay that the launcher has mounted, with ``/proc`` and ``/dev``
of its own, gives up whatever it may do, and executes the guest. These are the steps that
``bwrap`` takes, in one process and without a look at options.

Everything here runs before the agent's first file is so much as opened. It runs in a copy of the
launcher's memory, of which each page that is touched costs microseconds. So what can be done
beforehand is: `furnish` makes, once for a launcher, what all sandboxes see alike.
"""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]
import _socket
import fcntl
import os
import select

from intercode.sandboxes import linux

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

# CHOWN, DAC_OVERRIDE, FOWNER, FSETID (linux/capability.h): what root needs to be root over its own
# files, and nothing else. They hold inside the sandbox's user namespace only.
_CAPABILITIES = 1 << 0 | 1 << 1 | 1 << 3 | 1 << 4
_SHM_MIB = 16
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_LINKS = {
    "fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1",
    "stderr": "/proc/self/fd/2", "core": "/proc/kcore", "ptmx": "pts/ptmx",
}  # fmt: skip
_CHANGEABLE = ("sys", "sysrq-trigger", "irq", "bus")
_SAFE = linux.MS_NOSUID | linux.MS_NODEV
_READ_ONLY = _SAFE | linux.MS_REMOUNT | linux.MS_BIND | linux.MS_RDONLY
_SIOCSIFFLAGS = 0x8914
_LOOPBACK_UP = b"lo".ljust(16, b"\0") + (0x1 | 0x40).to_bytes(2, "little") + bytes(22)


def furnish(folder: str, owner: int) -> None:
    """Make the parts that sandboxes only look at: ``dev``, a read-only ``/dev``, and ``empty``."""
    dev, empty = f"{folder}/dev", f"{folder}/empty"
    os.mkdir(dev)
    os.mkdir(empty)
    linux.mount(empty, empty, "", linux.MS_BIND)
    linux.mount("none", empty, "", _READ_ONLY)
    linux.mount("tmpfs", dev, "tmpfs", _SAFE, f"mode=755,uid={owner},gid={owner}")
    for name in _DEVICES:
        os.close(os.open(f"{dev}/{name}", os.O_CREAT | os.O_WRONLY, 0o666))
        linux.mount(f"/dev/{name}", f"{dev}/{name}", "", linux.MS_BIND)
    for name, target in _LINKS.items():
        os.symlink(target, f"{dev}/{name}")
    for name in ("pts", "shm"):
        os.mkdir(f"{dev}/{name}", 0o755)
    for name in ("pts", "shm", *_LINKS):
        os.chown(f"{dev}/{name}", owner, owner, follow_symlinks=False)
    linux.mount("none", dev, "", _READ_ONLY)


def become_root() -> None:
    """Where the launcher is the machine's root: be that of the sandbox's ids instead."""
    os.setgroups([])
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)


def mount_own_proc(proc: str) -> None:
    linux.mount("proc", proc, "proc", _SAFE | linux.MS_NOEXEC)


def settle(
    request: Mapping[str, Any],
    room: str,
    parts: str,
    mount_proc: Callable[[str], None] | None = None,
) -> tuple[int, int]:
    """Make the sandbox's world this process's; give descriptors of its upper folder and root.

    ``parts``: what `furnish` made.
    """
    linux.unshare(linux.CLONE_NEWCGROUP)
    root = f"{room}/root"
    folders = _folder(f"{room}/upper"), _folder(root)
    # Mounted again on itself: what the launcher mounted is locked in place, and stays as it is,
    # without /proc and /dev, for those who look at the sandbox's files from outside.
    linux.mount(root, root, "", linux.MS_BIND | linux.MS_REC)
    proc, dev = f"{root}/proc", f"{root}/dev"
    (mount_proc or mount_own_proc)(proc)
    if os.access(f"{proc}/sys", os.W_OK):
        _cover_settings(proc)
    # Root may look in here on a real machine, and `find /` of ours shall not complain.
    linux.mount(f"{parts}/empty", f"{proc}/tty/driver", "", linux.MS_BIND)
    linux.mount(f"{parts}/dev", dev, "", linux.MS_BIND | linux.MS_REC)
    options = "newinstance,ptmxmode=0666,mode=620"
    linux.mount("devpts", f"{dev}/pts", "devpts", linux.MS_NOSUID | linux.MS_NOEXEC, options)
    linux.mount("tmpfs", f"{dev}/shm", "tmpfs", _SAFE, f"size={_SHM_MIB}m,mode=755")
    linux.enter_root(root)
    linux.set_hostname(request["hostname"])
    if not request["network"]:
        # The kernel gives it its addresses when it comes up.
        device = _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM)
        fcntl.ioctl(device.fileno(), _SIOCSIFFLAGS, _LOOPBACK_UP)
        device.close()
    return folders


def give_up(system_calls: linux.Filter) -> None:
    """Let go of every right that a guest does not need."""
    os.setsid()
    linux.refuse_new_privileges()
    linux.keep_capabilities(_CAPABILITIES)
    system_calls.install()


def stay_with(launcher: int) -> None:
    """Die when the launcher does; ``launcher``: a pipe that ends with it."""
    linux.die_with_parent(signal.SIGKILL)
    watch = select.poll()
    watch.register(launcher, 0)
    if watch.poll(0):
        os._exit(1)


def _folder(path: str) -> int:
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY)


def _cover_settings(proc: str) -> None:
    """Where the machine is itself a container, its settings may be this user's to change."""
    for name in _CHANGEABLE:
        linux.mount(f"{proc}/{name}", f"{proc}/{name}", "", linux.MS_BIND | linux.MS_REC)
        linux.mount("none", f"{proc}/{name}", "", _READ_ONLY | linux.MS_NOEXEC)
