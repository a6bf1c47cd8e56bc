"""The system-call filter every sandbox runs under, as bytes for the kernel.

A sandbox without privileges still reaches the whole kernel, and kernel bugs live in the corners
that shells, compilers, interpreters and debuggers never visit. The filter closes those corners and
leaves all else alone: allow by default, refuse by name. What is refused, and why, is the table
``_REFUSED`` and, where a call is refused only for some of its arguments, ``_LIMITED``.

Calls are refused with an errno that programs already know how to live with; only code for another
instruction set (a 32-bit program, whose call numbers mean other calls) is killed. ``ptrace`` stays,
because debuggers need it: whoever starts a sandbox must keep its own processes out of its reach.

The filter is classic BPF, assembled here: an array of ``struct sock_filter`` that the kernel runs
over ``struct seccomp_data`` (number, architecture, address, six 64-bit arguments). Only the low
half of an argument is looked at, as the kernel itself does for every ``int`` argument tested here.
"""

from __future__ import annotations

import errno
import platform
import struct
from collections.abc import Sequence
from functools import cache

from intercode.errors import LimitError

_X86_64, _AARCH64 = "x86_64", "aarch64"
_AUDIT_ARCH = {_X86_64: 0xC000003E, _AARCH64: 0xC00000B7}  # linux/audit.h


def supported(arch: str | None = None) -> bool:
    """Whether there is a filter for ``arch``, by default this machine's."""
    return (arch or platform.machine()) in _AUDIT_ARCH


@cache
def program(arch: str | None = None) -> bytes:
    """The filter for ``arch``, by default this machine's.

    :raises LimitError: no filter is known for that architecture.
    """
    arch = arch or platform.machine()
    if not supported(arch):
        raise LimitError(
            f"there is no system-call filter for the architecture {arch!r}",
            remedy=f"use a machine of one of these kinds: {', '.join(_AUDIT_ARCH)}",
        )
    column = list(_AUDIT_ARCH).index(arch)
    code = [_load(_ARCH), _skip_if(_JEQ, _AUDIT_ARCH[arch], 1), _RETURN_KILL, _load(_NUMBER)]
    if arch == _X86_64:
        code += [_skip_unless(_JGE, _X32_BIT, 1), _refuse(errno.ENOSYS)]
    for name, tests in _LIMITED.items():
        number = _NUMBERS[name][column]
        assert number is not None
        body = [line for test in tests for line in test] + [_RETURN_ALLOW]
        code += [_skip_unless(_JEQ, number, len(body)), *body]
    for name, error in _REFUSED.items():
        if (number := _NUMBERS[name][column]) is not None:
            code += [_skip_unless(_JEQ, number, 1), _refuse(error)]
    return b"".join([*code, _RETURN_ALLOW])


# -- a tiny assembler (linux/bpf_common.h, linux/filter.h, linux/seccomp.h) ------------------------

_LD_W_ABS, _JEQ, _JGE, _JSET, _RET = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCH, _ARGS = 0, 4, 16  # offsets into struct seccomp_data


def _line(code: int, k: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, k)


def _load(offset: int) -> bytes:
    return _line(_LD_W_ABS, offset)


def _skip_if(test: int, k: int, lines: int) -> bytes:
    return _line(test, k, lines, 0)


def _skip_unless(test: int, k: int, lines: int) -> bytes:
    return _line(test, k, 0, lines)


def _refuse(error: int) -> bytes:
    return _line(_RET, 0x00050000 | error)


_RETURN_KILL = _line(_RET, 0x80000000)
_RETURN_ALLOW = _line(_RET, 0x7FFF0000)


def _load_arg(index: int) -> bytes:
    return _load(_ARGS + 8 * index)  # both architectures are little-endian: the low half is first


# Each test is code that refuses, or goes on to the line after it.


def _must_be(arg: int, *values: int, error: int = errno.EPERM) -> list[bytes]:
    accept = [_skip_if(_JEQ, value, len(values) - i) for i, value in enumerate(values)]
    return [_load_arg(arg), *accept, _refuse(error)]


def _must_not_be(arg: int, *values: int) -> list[bytes]:
    reject = [(_skip_unless(_JEQ, value, 1), _refuse(errno.EPERM)) for value in values]
    return [_load_arg(arg), *(line for pair in reject for line in pair)]


def _must_not_have(arg: int, bits: int) -> list[bytes]:
    return [_load_arg(arg), _skip_unless(_JSET, bits, 1), _refuse(errno.EPERM)]


# -- what is refused -------------------------------------------------------------------------------

_X32_BIT = 0x40000000  # the x32 ABI: the same kernel entry, the numbers of _NUMBERS plus this bit

# linux/sched.h: CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. (CLONE_NEWTIME
# shares its bit with clone's exit signal and can only be asked of unshare and clone3.)
_CLONE_NEW = 0x7E020000
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C  # asm-generic/ioctls.h
_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK = 1, 2, 10, 16  # linux/socket.h
_PER_LINUX, _PER_LINUX32, _PER_QUERY = 0, 8, 0xFFFFFFFF  # linux/personality.h
_ADDR_NO_RANDOMIZE = 0x0040000
_PRIO_PROCESS = 0  # linux/resource.h

_SELF = _must_be(0, 0)
_FAMILY = _must_be(
    0, _AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK, error=errno.EAFNOSUPPORT
)  # netlink: `ip`, and the C library's look-up of addresses

_LIMITED: dict[str, Sequence[list[bytes]]] = {
    # A new namespace, a user namespace above all, opens most of the kernel to an ordinary user.
    "clone": (_must_not_have(0, _CLONE_NEW),),
    # Typing into a terminal that somebody outside may read from.
    "ioctl": (_must_not_be(1, _TIOCSTI, _TIOCLINUX),),
    "socket": (_FAMILY,),
    "socketpair": (_FAMILY,),
    # gdb switches address randomisation off; setarch asks for 32-bit names. The rest weaken memory
    # protection (READ_IMPLIES_EXEC) or are emulations of other systems.
    "personality": (
        _must_be(
            0,
            _PER_LINUX,
            _PER_LINUX32,
            _ADDR_NO_RANDOMIZE,
            _ADDR_NO_RANDOMIZE | _PER_LINUX32,
            _PER_QUERY,
        ),
    ),
    # A process sets its own limits and priority, and nobody else's.
    "prlimit64": (_SELF,),
    "sched_setaffinity": (_SELF,),
    "sched_setscheduler": (_SELF,),
    "sched_setparam": (_SELF,),
    "sched_setattr": (_SELF,),
    "setpriority": (_must_be(0, _PRIO_PROCESS), _must_be(1, 0)),
    "ioprio_set": (_must_be(1, 0),),
}

_MOUNTS = (
    "mount umount2 pivot_root open_tree open_tree_attr move_mount fsopen fsconfig fsmount fspick "
    "mount_setattr"
)
_NAMESPACES = "setns unshare"
_KEYRINGS = "add_key request_key keyctl"  # keyrings are not confined by every namespace
_ENGINES = "bpf perf_event_open userfaultfd io_uring_setup io_uring_enter io_uring_register"
_ADMINISTRATION = (
    "kexec_load kexec_file_load init_module finit_module delete_module reboot swapon swapoff "
    "quotactl quotactl_fd acct syslog iopl ioperm fanotify_init"
)
_HANDLES = "open_by_handle_at"  # name_to_handle_at stays: a handle is no use without this one
_OTHERS = (  # reaching into another process, perhaps the sandbox's own supervisor, past ptrace
    "process_vm_readv process_vm_writev pidfd_getfd move_pages migrate_pages kcmp"
)
_RELICS = (
    "lookup_dcookie nfsservctl uselib modify_ldt create_module get_kernel_syms query_module _sysctl"
)

_REFUSED: dict[str, int] = dict.fromkeys(
    " ".join(
        (_MOUNTS, _NAMESPACES, _KEYRINGS, _ENGINES, _ADMINISTRATION, _HANDLES, _OTHERS, _RELICS)
    ).split(),
    errno.EPERM,
) | {
    # Its flags lie in memory, where a filter cannot look: say that there is no such call, and
    # every C library falls back to clone.
    "clone3": errno.ENOSYS,
    # Used only to save a copy; who finds it missing writes instead.
    "vmsplice": errno.ENOSYS,
}

# Numbers on x86_64 and aarch64, from Linux's own headers: asm/unistd_64.h of x86, and
# asm-generic/unistd.h, which is aarch64's. Calls from 424 on have one number everywhere;
# open_tree_attr came with Linux 6.15. None: that architecture never had the call.
_NUMBERS: dict[str, tuple[int | None, int | None]] = {
    "_sysctl": (156, None),
    "acct": (163, 89),
    "add_key": (248, 217),
    "bpf": (321, 280),
    "clone": (56, 220),
    "clone3": (435, 435),
    "create_module": (174, None),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "get_kernel_syms": (177, None),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioctl": (16, 29),
    "ioperm": (173, None),
    "iopl": (172, None),
    "ioprio_set": (251, 30),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "lookup_dcookie": (212, 18),
    "migrate_pages": (256, 238),
    "modify_ldt": (154, None),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "move_pages": (279, 239),
    "nfsservctl": (180, 42),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "open_tree_attr": (467, 467),
    "perf_event_open": (298, 241),
    "personality": (135, 92),
    "pidfd_getfd": (438, 438),
    "pivot_root": (155, 41),
    "prlimit64": (302, 261),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "query_module": (178, None),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "sched_setaffinity": (203, 122),
    "sched_setattr": (314, 274),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "setns": (308, 268),
    "setpriority": (141, 140),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "uselib": (134, None),
    "userfaultfd": (323, 282),
    "vmsplice": (278, 75),
}
