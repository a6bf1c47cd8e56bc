"""The few system calls that Python 3.11 has no name for."""

from __future__ import annotations

import ctypes
import os

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
MNT_DETACH = 2

_PR_SET_PDEATHSIG = 1
_PR_SET_SECCOMP = 22
_PR_CAPBSET_DROP = 24
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


def _checked(result: int, what: str) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return result


def unshare(flags: int) -> None:
    _checked(_libc.unshare(ctypes.c_int(flags)), "unshare")


def clone(namespaces: int) -> int:
    """``os.fork`` into new namespaces, in a process of one thread; what a fork's hooks would do in
    the child is left to the caller."""
    # Not through a CDLL, which lets go of the interpreter's lock and takes it again in the child.
    plain = ctypes.PyDLL(None, use_errno=True)
    zero = ctypes.c_long(0)
    flags = ctypes.c_long(namespaces | _SIGCHLD)
    number = ctypes.c_long(_SYS_CLONE)
    return _checked(plain.syscall(number, flags, zero, zero, zero, zero), "clone")


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    _checked(
        _libc.mount(
            os.fsencode(source), os.fsencode(target), kind.encode(),
            ctypes.c_ulong(flags), os.fsencode(options) if options else None,
        ),
        f"mount {kind or 'bind'} at {target}",
    )  # fmt: skip


def detach(target: str) -> None:
    """Unmount it and all below it; what is still open there can be used on."""
    _checked(_libc.umount2(os.fsencode(target), MNT_DETACH), f"unmount {target}")


def enter_root(folder: str) -> None:
    """Make a mount point the root of this mount namespace, and let go of the one before."""
    os.chdir(folder)
    _checked(_libc.syscall(ctypes.c_long(_SYS_PIVOT_ROOT), b".", b"."), f"pivot_root {folder}")
    detach(".")
    os.chdir("/")


def set_hostname(name: str) -> None:
    data = os.fsencode(name)
    _checked(_libc.sethostname(data, ctypes.c_size_t(len(data))), "sethostname")


def keep_capabilities(kept: int, last: int) -> None:
    """Have no capability but those of the bits ``kept``, and never get another one again."""
    for number in range(last + 1):
        if not kept >> number & 1:
            _prctl(_PR_CAPBSET_DROP, number)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    low, high = kept & 0xFFFFFFFF, kept >> 32
    sets = (ctypes.c_uint32 * 6)(low, low, low, high, high, high)
    _checked(_libc.capset(ctypes.byref(header), ctypes.byref(sets)), "capset")


def refuse_new_privileges() -> None:
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def die_with_parent(signal_number: int) -> None:
    _prctl(_PR_SET_PDEATHSIG, signal_number)


def filter_system_calls(program: bytes) -> None:
    """``program``: an array of ``struct sock_filter``. It holds for whatever is executed too."""

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))

    _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(Program(len(program) // 8, program)))


def _prctl(option: int, argument: int, pointer: object = None) -> None:
    zero = ctypes.c_ulong(0)
    second = zero if pointer is None else pointer
    _checked(
        _libc.prctl(ctypes.c_int(option), ctypes.c_ulong(argument), second, zero, zero),
        f"prctl {option}",
    )


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
