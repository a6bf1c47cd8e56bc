"""The few system calls that Python 3.11 has no name for."""

from __future__ import annotations

import ctypes
import os
from ctypes import c_char_p, c_int, c_long, c_size_t, c_ulong, c_ushort, c_void_p

CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000
MS_RDONLY = 1
MS_NOSUID = 2
MS_NODEV = 4
MS_NOEXEC = 8
MS_REMOUNT = 32
MS_BIND = 4096
MS_REC = 16384
MS_PRIVATE = 1 << 18

_MNT_DETACH = 2
_PR_SET_PDEATHSIG = 1
_PR_SET_SECCOMP = 22
_PR_SET_NO_NEW_PRIVS = 38
_SECCOMP_MODE_FILTER = 2
_CAPABILITY_VERSION_3 = 0x20080522
_SIGCHLD = 17
_RESOLVE_NO_MAGICLINKS = 0x02
_RESOLVE_IN_ROOT = 0x10
_SYS_OPENAT2 = 437
# clone and pivot_root, which C libraries give no plain name: x86_64, aarch64.
_SYS_CLONE, _SYS_PIVOT_ROOT = (56, 155) if os.uname().machine == "x86_64" else (220, 41)

_libc = ctypes.CDLL(None, use_errno=True)
# Looked up here, once: a process cloned off the launcher would do so anew each time.
_unshare, _mount, _umount, _prctl = _libc.unshare, _libc.mount, _libc.umount2, _libc.prctl
_sethostname, _capset, _syscall = _libc.sethostname, _libc.capset, _libc.syscall
_mount.argtypes = (c_char_p, c_char_p, c_char_p, c_ulong, c_char_p)
_umount.argtypes = (c_char_p, c_int)
_prctl.argtypes = (c_int, c_ulong, c_void_p, c_ulong, c_ulong)
_sethostname.argtypes = (c_char_p, c_size_t)
_capset.argtypes = (c_void_p, c_void_p)
# Unlike those of a CDLL, this one keeps the interpreter's lock, which a child could not take again.
_forking_syscall = ctypes.PyDLL(None, use_errno=True).syscall
_forking_syscall.argtypes = (c_long,) * 6
_Sets = ctypes.c_uint32 * 6
_Header = ctypes.c_uint32 * 2


def _checked(result: int, what: str) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return result


def unshare(flags: int) -> None:
    _checked(_unshare(flags), "unshare")


def clone(namespaces: int) -> int:
    """``os.fork`` into new namespaces, in a process of one thread; what a fork's hooks would do in
    the child is left to the caller."""
    return _checked(_forking_syscall(_SYS_CLONE, namespaces | _SIGCHLD, 0, 0, 0, 0), "clone")


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    result = _mount(
        os.fsencode(source), os.fsencode(target), kind.encode(),
        flags, os.fsencode(options) if options else None,
    )  # fmt: skip
    _checked(result, f"mount {kind or 'bind'} at {target}")


def detach(target: str) -> None:
    """Unmount it and all below it; what is still open there can be used on."""
    _checked(_umount(os.fsencode(target), _MNT_DETACH), f"unmount {target}")


def enter_root(folder: str) -> None:
    """Make a mount point the root of this mount namespace, and let go of the one before."""
    os.chdir(folder)
    _checked(_syscall(c_long(_SYS_PIVOT_ROOT), b".", b"."), "pivot_root")
    detach(".")
    os.chdir("/")


def set_hostname(name: str) -> None:
    data = os.fsencode(name)
    _checked(_sethostname(data, len(data)), "sethostname")


def keep_capabilities(kept: int) -> None:
    """Have no capability but those of the bits ``kept``, across executions too."""
    low, high = kept & 0xFFFFFFFF, kept >> 32
    header, sets = _Header(_CAPABILITY_VERSION_3, 0), _Sets(low, low, low, high, high, high)
    _checked(_capset(ctypes.addressof(header), ctypes.addressof(sets)), "capset")


def refuse_new_privileges() -> None:
    _checked(_prctl(_PR_SET_NO_NEW_PRIVS, 1, None, 0, 0), "no new privileges")


def die_with_parent(signal_number: int) -> None:
    _checked(_prctl(_PR_SET_PDEATHSIG, signal_number, None, 0, 0), "signal of the parent's death")


class Filter(ctypes.Structure):
    """A system-call filter: an array of ``struct sock_filter``, as the kernel is told of it."""

    _fields_ = (("length", c_ushort), ("code", c_char_p))

    def __init__(self, program: bytes) -> None:
        super().__init__(len(program) // 8, program)

    def install(self) -> None:
        """It holds for whatever is executed too."""
        result = _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(self), 0, 0)
        _checked(result, "system-call filter")


def open_in_root(root: int, path: str, flags: int, mode: int = 0) -> int:
    """``openat2`` with every link, absolute or upward, held inside the directory ``root``."""
    how = (ctypes.c_uint64 * 3)(
        flags | os.O_CLOEXEC, mode, _RESOLVE_IN_ROOT | _RESOLVE_NO_MAGICLINKS
    )
    return _checked(
        _syscall(
            c_long(_SYS_OPENAT2), c_int(root), os.fsencode(path), ctypes.byref(how), c_size_t(24)
        ),
        f"open {path}",
    )
