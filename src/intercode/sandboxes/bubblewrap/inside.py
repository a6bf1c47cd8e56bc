"""How a fresh process of a new sandbox becomes its guest: the last steps, taken inside.

The launcher has cloned it into user, mount, process, IPC, host-name and network namespaces of its
own. Here it makes its root the overlay that the launcher has mounted, with ``/proc`` and ``/dev``
of its own, gives up whatever it may do, and executes the guest. These are the steps that
``bwrap`` takes, in one process and without a look at options.

Everything here runs before the agent's first file is so much as opened.
"""

from __future__ import annotations

import _socket
import fcntl
import os
import resource
import select
import signal
from collections.abc import Mapping
from typing import Any

from intercode.sandboxes import linux

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
_SIOCSIFFLAGS, _IFF_UP, _IFF_RUNNING = 0x8914, 0x1, 0x40


def settle(request: Mapping[str, Any], room: str, *, privileged: bool) -> tuple[int, int]:
    """Make the sandbox's world this process's; give descriptors of its upper folder and root."""
    linux.unshare(linux.CLONE_NEWCGROUP)
    if privileged:
        os.setgroups([])
        os.setresgid(0, 0, 0)
        os.setresuid(0, 0, 0)
    root = f"{room}/root"
    folders = _folder(f"{room}/upper"), _folder(root)
    # Mounted again on itself: what the launcher mounted is locked in place, and stays as it is,
    # without /proc and /dev, for those who look at the sandbox's files from outside.
    linux.mount(root, root, "", linux.MS_BIND | linux.MS_REC)
    _mount_proc(f"{root}/proc")
    _mount_dev(f"{root}/dev")
    linux.enter_root(root)
    linux.set_hostname(request["hostname"])
    if not request["network"]:
        _raise_loopback()
    return folders


def give_up(request: Mapping[str, Any], pid: int, last_capability: int, program: bytes) -> None:
    """Let go of every right that a guest does not need, and be bound to what it may use."""
    for name, value in request["rlimits"]:
        hard = resource.getrlimit(name)[1]
        least = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(name, (least, least))
    if request["cores"]:
        own = sorted(os.sched_getaffinity(0))
        first = pid % len(own)
        os.sched_setaffinity(0, (own + own)[first : first + request["cores"]])
    os.setsid()
    linux.refuse_new_privileges()
    linux.keep_capabilities(_CAPABILITIES, last_capability)
    linux.filter_system_calls(program)


def stay_with(launcher: int) -> None:
    """Die when the launcher does; ``launcher``: a pipe that ends with it."""
    linux.die_with_parent(signal.SIGKILL)
    watch = select.poll()
    watch.register(launcher, 0)
    if watch.poll(0):
        os._exit(1)


def _folder(path: str) -> int:
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY)


def _mount_proc(proc: str) -> None:
    linux.mount("proc", proc, "proc", _SAFE | linux.MS_NOEXEC)
    # Settings of the machine. They are not ours to change, but where the machine is itself a
    # container their files may be.
    for name in _CHANGEABLE:
        if os.access(f"{proc}/{name}", os.W_OK):
            linux.mount(f"{proc}/{name}", f"{proc}/{name}", "", linux.MS_BIND | linux.MS_REC)
            flags = _SAFE | linux.MS_NOEXEC | linux.MS_REMOUNT | linux.MS_BIND | linux.MS_RDONLY
            linux.mount("none", f"{proc}/{name}", "", flags)
    # Root may look in here on a real machine, and `find /` of ours shall not complain.
    linux.mount("tmpfs", f"{proc}/tty/driver", "tmpfs", _SAFE, "mode=755")


def _mount_dev(dev: str) -> None:
    linux.mount("tmpfs", dev, "tmpfs", _SAFE, "mode=755")
    for name in _DEVICES:
        os.close(os.open(f"{dev}/{name}", os.O_CREAT | os.O_WRONLY, 0o666))
        linux.mount(f"/dev/{name}", f"{dev}/{name}", "", linux.MS_BIND)
    for name, target in _LINKS.items():
        os.symlink(target, f"{dev}/{name}")
    os.mkdir(f"{dev}/pts", 0o755)
    options = "newinstance,ptmxmode=0666,mode=620"
    linux.mount("devpts", f"{dev}/pts", "devpts", linux.MS_NOSUID | linux.MS_NOEXEC, options)
    os.mkdir(f"{dev}/shm", 0o755)
    linux.mount("tmpfs", f"{dev}/shm", "tmpfs", _SAFE, f"size={_SHM_MIB}m,mode=755")
    flags = _SAFE | linux.MS_REMOUNT | linux.MS_BIND | linux.MS_RDONLY
    linux.mount("none", dev, "", flags)


def _raise_loopback() -> None:
    """The kernel gives it its addresses when it comes up."""
    up = b"lo".ljust(16, b"\0") + (_IFF_UP | _IFF_RUNNING).to_bytes(2, "little") + bytes(22)
    device = _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM)
    fcntl.ioctl(device.fileno(), _SIOCSIFFLAGS, up)
    device.close()
