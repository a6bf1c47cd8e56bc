"""The system-call filter: what it refuses it refuses for real, and work goes on untouched."""

from __future__ import annotations

import errno
import os
import platform
import re
import shutil
import signal
import struct
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from intercode.errors import LimitError
from intercode.sandboxes import seccomp

ALLOW, KILL = 0x7FFF0000, 0x80000000
EPERM = 0x50000 | errno.EPERM
ENOSYS = 0x50000 | errno.ENOSYS
EAFNOSUPPORT = 0x50000 | errno.EAFNOSUPPORT
AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
AUDIT_I386, AUDIT_ARM = 0x40000003, 0x40000028
ARCHES = list(AUDIT)


def verdict(arch: str, number: int, *args: int, audit: int | None = None) -> int:
    """What the kernel's interpreter would answer: a second, independent reading of the bytes."""
    arguments = [*args, *[0] * (6 - len(args))]
    data = struct.pack("<IIQ6Q", number, AUDIT[arch] if audit is None else audit, 0, *arguments)
    lines = list(struct.iter_unpack("=HBBI", seccomp.program(arch)))
    at, accumulator = 0, 0
    while True:
        code, if_true, if_false, k = lines[at]
        at += 1
        match code:
            case 0x20:
                assert k % 4 == 0
                (accumulator,) = struct.unpack_from("<I", data, k)
            case 0x06:
                return int(k)
            case 0x15:
                at += if_true if accumulator == k else if_false
            case 0x35:
                at += if_true if accumulator >= k else if_false
            case 0x45:
                at += if_true if accumulator & k else if_false
            case _:
                raise AssertionError(f"instruction {code:#x} is not one the filter should use")


def number(arch: str, name: str) -> int:
    found = seccomp._NUMBERS[name][ARCHES.index(arch)]
    assert found is not None
    return found


@pytest.mark.parametrize("arch", ARCHES)
def test_every_refused_call_is_refused_whatever_its_arguments(arch: str) -> None:
    for name, error in seccomp._REFUSED.items():
        if (nr := seccomp._NUMBERS[name][ARCHES.index(arch)]) is not None:
            for args in ((), (2**64 - 1,) * 6):
                assert verdict(arch, nr, *args) == 0x50000 | error, name


@pytest.mark.parametrize("arch", ARCHES)
def test_every_other_call_is_allowed(arch: str) -> None:
    column = ARCHES.index(arch)
    mentioned = {numbers[column] for numbers in seccomp._NUMBERS.values()}
    for nr in range(600):
        if nr not in mentioned:
            assert verdict(arch, nr, *(2**64 - 1,) * 6) == ALLOW, nr


HIGH = 0xDEADBEEF << 32  # the half of an argument that the kernel does not look at

LIMITED = [
    ("clone", (0x01200011,), ALLOW),  # fork
    ("clone", (0x003D0F00,), ALLOW),  # a thread
    ("clone", (0x00004111,), ALLOW),  # posix_spawn
    *[
        ("clone", (flag | 0x11,), EPERM)
        for flag in (1 << 17, 1 << 25, 1 << 26, 1 << 27, 1 << 28, 1 << 29, 1 << 30)
    ],
    ("clone", (HIGH | 0x10000011,), EPERM),
    ("ioctl", (0, 0x5401), ALLOW),
    ("ioctl", (0, 0x5412), EPERM),
    ("ioctl", (0, HIGH | 0x5412), EPERM),
    ("ioctl", (0, 0x541C), EPERM),
    *[("socket", (family, 1), ALLOW) for family in (1, 2, 10, 16)],
    *[("socket", (family, 1), EAFNOSUPPORT) for family in (0, 3, 9, 17, 29, 38, 40, 44)],
    ("socketpair", (1, 1), ALLOW),
    ("socketpair", (30, 1), EAFNOSUPPORT),
    *[("personality", (value,), ALLOW) for value in (0, 8, 0x40000, 0x40008, 0xFFFFFFFF)],
    *[("personality", (value,), EPERM) for value in (0x400000, 0x100000, 0x20000, 1, 0x440000)],
    *[
        (name, (pid, 1, 1), ALLOW if pid == 0 else EPERM)
        for name in (
            "prlimit64",
            "sched_setaffinity",
            "sched_setscheduler",
            "sched_setparam",
            "sched_setattr",
        )
        for pid in (0, 1, 77, 0xFFFFFFFF)
    ],
    ("setpriority", (0, 0, 5), ALLOW),
    ("setpriority", (0, 1, 5), EPERM),
    ("setpriority", (1, 0, 5), EPERM),
    ("setpriority", (2, 0, 5), EPERM),
    ("ioprio_set", (1, 0, 5), ALLOW),
    ("ioprio_set", (1, 1, 5), EPERM),
]


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize(("name", "args", "expected"), LIMITED)
def test_a_limited_call_is_judged_by_its_arguments(
    arch: str, name: str, args: tuple[int, ...], expected: int
) -> None:
    assert verdict(arch, number(arch, name), *args) == expected


def test_a_program_of_another_instruction_set_is_killed() -> None:
    assert verdict("x86_64", 20, audit=AUDIT_I386) == KILL
    assert verdict("aarch64", 20, audit=AUDIT_ARM) == KILL
    assert verdict("aarch64", 20, audit=AUDIT["x86_64"]) == KILL


def test_x32_numbers_do_not_exist() -> None:
    for nr in (0, 39, 165, 520, 547):
        assert verdict("x86_64", 0x40000000 | nr) == ENOSYS
    assert verdict("x86_64", 0xFFFFFFFF) == ENOSYS


def test_the_filter_fits_the_kernel_and_jumps_only_forwards_within_itself() -> None:
    for arch in ARCHES:
        lines = list(struct.iter_unpack("=HBBI", seccomp.program(arch)))
        assert len(lines) < 4096
        assert all(at + 1 + max(t, f) < len(lines) for at, (_, t, f, _) in enumerate(lines[:-1]))


def test_an_unknown_architecture_is_an_error_not_an_empty_filter() -> None:
    assert seccomp.supported("x86_64")
    assert seccomp.supported("aarch64")
    assert not seccomp.supported("riscv64")
    with pytest.raises(LimitError, match="riscv64"):
        seccomp.program("riscv64")


HEADERS = (
    Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    Path("/usr/include/asm-generic/unistd.h"),
)


@pytest.mark.parametrize("column", [0, 1], ids=ARCHES)
def test_numbers_are_those_of_the_kernels_headers(column: int) -> None:
    if not HEADERS[column].exists():
        pytest.skip(f"{HEADERS[column]} is not here (install linux-libc-dev)")
    text = HEADERS[column].read_text()
    known = dict(re.findall(r"^#define __NR(?:3264)?_(\w+)\s+(\d+)", text, re.MULTILINE))
    for name, numbers in seccomp._NUMBERS.items():
        if name != "open_tree_attr":  # younger than many headers
            expected = int(known[name]) if name in known else None
            assert numbers[column] == expected, name


# -- for real, under bubblewrap --------------------------------------------------------------------

ARCH = platform.machine()
BWRAP = shutil.which("bwrap")
WORKS = BWRAP and subprocess.run([BWRAP, "--ro-bind", "/", "/", "true"], capture_output=True)
real = pytest.mark.skipif(
    not WORKS or WORKS.returncode != 0 or ARCH not in AUDIT,
    reason="needs a bubblewrap that works, and a known machine",
)


def under_filter(
    *command: str, filtered: bool = True, extra: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    """Run ``command`` in bubblewrap, read-only but for /tmp, with the filter or without it."""
    reading, writing = os.pipe()
    with open(writing, "wb") as pipe:
        pipe.write(seccomp.program())
    args = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]
    # The Python that runs the tests may itself be somewhere below /tmp.
    args += ["--ro-bind", sys.prefix, sys.prefix]
    args += ["--unshare-pid", "--unshare-net", "--unshare-ipc", "--new-session", *extra]
    args += ["--seccomp", str(reading)] if filtered else []
    try:
        return subprocess.run(
            [*args, "--chdir", "/tmp", "--", *command],
            pass_fds=(reading,),
            capture_output=True,
            text=True,
            timeout=60,
        )
    finally:
        os.close(reading)


def errno_of(name: str, *args: int, filtered: bool = True, extra: tuple[str, ...] = ()) -> str:
    script = f"""
        import ctypes, errno, os
        call = ctypes.CDLL(None, use_errno=True).syscall
        result = call(ctypes.c_long({number(ARCH, name)}), *[ctypes.c_long(a) for a in {args!r}])
        print(errno.errorcode[ctypes.get_errno()] if result == -1 else "done")
    """
    done = under_filter(
        sys.executable, "-c", textwrap.dedent(script), filtered=filtered, extra=extra
    )
    assert done.returncode == 0, done
    return done.stdout.strip()


@real
def test_refused_calls_fail_with_their_errno() -> None:
    names = [n for n in seccomp._REFUSED if seccomp._NUMBERS[n][ARCHES.index(ARCH)] is not None]
    script = f"""
        import ctypes, errno
        call = ctypes.CDLL(None, use_errno=True).syscall
        for nr in {[number(ARCH, name) for name in names]}:
            ctypes.set_errno(0)
            call(ctypes.c_long(nr), *[ctypes.c_long(-1)] * 6)
            print(errno.errorcode[ctypes.get_errno()])
    """
    done = under_filter(sys.executable, "-c", textwrap.dedent(script))
    assert done.returncode == 0, done
    answers = dict(zip(names, done.stdout.split(), strict=True))
    assert answers == {name: errno.errorcode[seccomp._REFUSED[name]] for name in names}


@real
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to have privileges to take away")
@pytest.mark.parametrize(
    ("name", "args", "without"),
    [
        ("mount", (0, 0, 0, 0, 0), "EFAULT"),
        ("fsopen", (0, 0), "EFAULT"),
        ("unshare", (0x04000000,), "done"),
        ("setns", (-1, 0), "EBADF"),
        ("keyctl", (0, -1, 1), "done"),
        ("open_by_handle_at", (-1, 0, 0), "EFAULT"),
        ("process_vm_readv", (0, 0, 0, 0, 0, 0), "done"),
        ("kcmp", (1, 1, 0, 0, 1), "done"),
        ("syslog", (10, 0, 0), "done"),
        ("prlimit64", (1, 7, 0, 0), "done"),
        ("setpriority", (0, 1, 0), "done"),
        ("ioctl", (-1, 0x5412, 0), "EBADF"),
    ],
)
def test_it_is_the_filter_that_refuses_not_a_lack_of_privilege(
    name: str, args: tuple[int, ...], without: str
) -> None:
    privileged = ("--cap-add", "ALL")
    answer = errno_of(name, *args, filtered=False, extra=privileged)
    if answer == "ENOSYS":
        pytest.skip(f"this kernel has no {name}")
    assert answer == without
    assert errno_of(name, *args, extra=privileged) == "EPERM"


@real
def test_no_new_namespaces_however_asked() -> None:
    for command in ("unshare -Ur true", "unshare -m true", "unshare -n true"):
        assert under_filter("bash", "-c", command).returncode != 0
    assert errno_of("clone", 0x10000011, 0, 0, 0, 0) == "EPERM"
    assert errno_of("clone3", 0, 0) == "ENOSYS"


@real
def test_odd_sockets_are_unknown_and_ordinary_ones_work() -> None:
    script = """
        import errno, socket
        for family in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK):
            socket.socket(family, socket.SOCK_DGRAM).close()
        for family in (socket.AF_PACKET, socket.AF_VSOCK, socket.AF_ALG, socket.AF_TIPC, 44):
            try:
                socket.socket(family, socket.SOCK_DGRAM)
            except OSError as e:
                assert e.errno == errno.EAFNOSUPPORT, e
            else:
                raise SystemExit(f"{family} was given")
        left, right = socket.socketpair()
        server = socket.create_server(("127.0.0.1", 0))
        client = socket.create_connection(server.getsockname())
        print(socket.getaddrinfo("127.0.0.1", 80)[0][4])
    """
    done = under_filter(sys.executable, "-c", textwrap.dedent(script))
    assert (done.returncode, done.stdout) == (0, "('127.0.0.1', 80)\n"), done


@real
@pytest.mark.skipif(ARCH != "x86_64", reason="32-bit calls are x86's")
def test_a_32_bit_call_kills() -> None:
    script = r"""
        import ctypes, mmap
        page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        page.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")  # mov eax, 20 (getpid); int 0x80; ret
        at = ctypes.addressof(ctypes.c_char.from_buffer(page))
        print(ctypes.CFUNCTYPE(ctypes.c_int)(at)())
    """
    bare = under_filter(sys.executable, "-c", textwrap.dedent(script), filtered=False)
    done = under_filter(sys.executable, "-c", textwrap.dedent(script))
    expected = signal.SIGSYS if bare.returncode == 0 else signal.SIGSEGV  # no 32-bit calls here
    assert done.returncode in (128 + expected, -expected)
    assert done.stdout == ""


@real
@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("seq 1000 | sort -rn | head -1 | tr -d '\\n' | wc -c", "4"),
        ("for i in 1 2 3; do (sleep 0.01; echo $i) & done; wait; echo $((3 * 7))", "21"),
        ("mkdir d; echo x >d/f; tar cf - d | (mkdir e; tar xf - -C e); cat e/d/f", "x"),
        ("seq 30000 | sort --parallel=2 -S 1M -R | sort -n | tail -1", "30000"),
        ("nice -n 5 timeout 5 setsid env printf '%s' ok", "ok"),
        ("ulimit -n 64; ulimit -n; taskset -c 0 true; mkfifo p; (echo in >p &); cat p", "in"),
        ("find / -maxdepth 1 -name etc | xargs -P2 -n1 stat -c %n", "/etc"),
        ("echo hi | tee a b >/dev/null; truncate -s 1M s; cp --sparse=always s t; cat a b", "hi"),
    ],
)
def test_shell_work_goes_on(command: str, expected: str) -> None:
    done = under_filter("bash", "-c", command)
    assert done.returncode == 0, done
    assert done.stdout.split()[-1] == expected


@real
def test_python_processes_threads_and_event_loops_go_on() -> None:
    script = """
        import asyncio, concurrent.futures, multiprocessing, os, resource, subprocess, threading
        assert subprocess.run(["true"]).returncode == 0
        assert subprocess.check_output("echo a | cat", shell=True) == b"a\\n"
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(abs, range(100))) == 4950
        with concurrent.futures.ProcessPoolExecutor(
            2, mp_context=multiprocessing.get_context("fork")
        ) as pool:
            assert list(pool.map(abs, [-1, -2])) == [1, 2]
        async def main():
            process = await asyncio.create_subprocess_exec("echo", stdout=-1)
            return await process.communicate()
        asyncio.run(main())
        os.nice(1)
        os.sched_setaffinity(0, os.sched_getaffinity(0))
        resource.setrlimit(resource.RLIMIT_NOFILE, resource.getrlimit(resource.RLIMIT_NOFILE))
        pid = os.posix_spawn("/bin/true", ["true"], {})
        assert os.waitpid(pid, 0)[1] == 0
        print("fine")
    """
    done = under_filter(sys.executable, "-c", textwrap.dedent(script))
    assert (done.returncode, done.stdout) == (0, "fine\n"), done


@real
@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_git_goes_on() -> None:
    done = under_filter(
        "bash",
        "-ec",
        "export HOME=/tmp; git init -q r; cd r; echo 1 >f; git add f; "
        "git -c user.name=a -c user.email=a@b commit -qm m; git gc -q; git log --format=%s; "
        "git clone -q . ../s; cat ../s/f",
    )
    assert (done.returncode, done.stdout) == (0, "m\n1\n"), done


@real
@pytest.mark.skipif(shutil.which("gdb") is None, reason="needs gdb")
def test_gdb_can_run_and_inspect_a_program() -> None:
    done = under_filter(
        "gdb", "-nx", "-batch", "-ex", "starti", "-ex", "info registers", "--args", "/bin/true"
    )
    assert "rip" in done.stdout or "pc" in done.stdout, done
    assert "Error disabling address space randomization" not in done.stderr


@real
@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_strace_can_follow_and_read_arguments() -> None:
    done = under_filter("strace", "-f", "-e", "trace=execve", "bash", "-c", "/bin/true; :")
    assert 'execve("/bin/true"' in done.stderr, done
