"""The few system calls that Python 3.11 has no name for."""

from __future__ import annotations

import ctypes
import os

CLONE_NEWNS = 0x00020000
CLONE_NEWUSER = 0x10000000
MS_RDONLY = 1
MS_NOSUID = 2
MS_NODEV = 4
MS_REMOUNT = 32
MS_BIND = 4096
MS_REC = 16384
MS_PRIVATE = 1 << 18

_PR_SET_CHILD_SUBREAPER = 36
_RESOLVE_NO_MAGICLINKS = 0x02
_RESOLVE_IN_ROOT = 0x10
_SYS_OPENAT2 = 437

_libc = ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: str) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return result


def unshare(flags: int) -> None:
    _checked(_libc.unshare(ctypes.c_int(flags)), "unshare")


def setns(fd: int, kind: int) -> None:
    _checked(_libc.setns(ctypes.c_int(fd), ctypes.c_int(kind)), "setns")


def adopt_orphans() -> None:
    """Become the parent of every process below us whose own parent dies."""
    _checked(_libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "prctl")


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    _checked(
        _libc.mount(
            os.fsencode(source), os.fsencode(target), kind.encode(),
            ctypes.c_ulong(flags), os.fsencode(options) if options else None,
        ),
        f"mount {kind or 'bind'} at {target}",
    )  # fmt: skip


def open_in_root(root: int, path: str, flags: int, mode: int = 0) -> int:
    """``openat2`` with every link, absolute or upward, held inside the directory ``root``."""
    how = (ctypes.c_uint64 * 3)(
        flags | os.O_CLOEXEC, mode, _RESOLVE_IN_ROOT | _RESOLVE_NO_MAGICLINKS
    )
    return _checked(
        _libc.syscall(
            ctypes.c_long(_SYS_OPENAT2), ctypes.c_int(root), os.fsencode(path),
            ctypes.byref(how), ctypes.c_size_t(24),
        ),
        f"open {path}",
    )  # fmt: skip
