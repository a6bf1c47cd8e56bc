"""Promises of what an agent cannot break, and of how much it can use up."""

from __future__ import annotations

import time
from dataclasses import replace

from intercode.errors import SandboxError
from intercode.sandboxes.base import Backend, Image, Limits
from intercode.sandboxes.conformance.tools import expect, fresh, same, still_works

_FORK_BOMB = "bomb() { bomb | bomb & }; bomb"


def killing_everything_kills_the_agent_only(backend: Backend, image: Image, limits: Limits) -> None:
    with fresh(backend, image, limits) as sandbox:
        sandbox.write_file("/kept", b"kept")
        for command in ("kill -9 -1", "kill -9 1", "kill -STOP 1", "kill -USR1 1", "kill -KILL 0"):
            sandbox.run(command, timeout_s=5)
            still_works(sandbox)
            sandbox.shell().run(command, timeout_s=5)
            still_works(sandbox)
        same("content", sandbox.read_file("/kept"), b"kept")


def a_command_that_stops_itself_ends(backend: Backend, image: Image, limits: Limits) -> None:
    with fresh(backend, image, limits) as sandbox:
        for ask in (sandbox.run, sandbox.shell().run):
            started = time.monotonic()
            ask("kill -STOP $$; echo woke", timeout_s=2)
            expect(time.monotonic() - started < 10, "it was waited for much too long")
            still_works(sandbox)


def deleting_everything_is_survived(backend: Backend, image: Image, limits: Limits) -> None:
    with fresh(backend, image, limits) as sandbox:
        shell = sandbox.shell()
        shell.run("here=remembered; echo kept > /dev/shm/kept")
        result = shell.run("rm -rf --no-preserve-root / 2> /dev/null; echo $here", timeout_s=60)
        expect(result.raw.endswith(b"remembered\n"), f"the shell printed {result.raw[-200:]!r}")
        for read in (
            lambda: sandbox.run(["/usr/bin/no-such-program"]),
            lambda: sandbox.run("echo gone"),
            lambda: shell.run("ls", timeout_s=5),
            lambda: shell.run("exit", timeout_s=5),
            lambda: shell.run("echo here", timeout_s=5),
            lambda: sandbox.read_file("/etc/passwd"),
        ):
            try:
                read()
            except (SandboxError, OSError):
                # Nothing is left to run. What counts is that this was said in a polite way.
                continue
    with fresh(backend, image, limits) as sandbox:
        still_works(sandbox)


def a_fork_bomb_is_bounded(backend: Backend, image: Image, limits: Limits) -> None:
    few = replace(limits, processes=32)
    with fresh(backend, image, few) as sandbox:
        sandbox.write_file("/kept", b"kept")
        started = time.monotonic()
        sandbox.run(_FORK_BOMB, timeout_s=2)
        expect(sandbox.process_count() <= 32 + 3, f"{sandbox.process_count()} processes are alive")
        # It bombs on in the background: the agent's own doing, and nobody else's trouble.
        sandbox.run("kill -9 -1", timeout_s=5)
        for _ in range(3):
            sandbox.run("kill -9 -1", timeout_s=5)
        expect(time.monotonic() - started < 60, "it could not be ended")
        same("content", sandbox.read_file("/kept"), b"kept")
    with fresh(backend, image, few) as sandbox:
        still_works(sandbox)


def too_much_memory_is_refused(backend: Backend, image: Image, limits: Limits) -> None:
    little = replace(limits, memory_mib=64, disk_mib=16, timeout_s=30)
    with fresh(backend, image, little) as sandbox:
        sandbox.write_file("/kept", b"kept")
        result = sandbox.run("head -c 1G /dev/zero | tail -c 900M | wc -c")
        expect(b"943718400" not in result.raw, "900 MiB were held with a limit of 64 MiB")
        still_works(sandbox)
        result = sandbox.shell().run("x=$(head -c 600M /dev/zero | tr '\\0' x); echo ${#x}")
        expect(b"629145600" not in result.raw, "600 MiB were held with a limit of 64 MiB")
        still_works(sandbox)
        same("content", sandbox.read_file("/kept"), b"kept")


def too_many_bytes_on_disk_are_refused(backend: Backend, image: Image, limits: Limits) -> None:
    little = replace(limits, disk_mib=32, timeout_s=60)
    with fresh(backend, image, little) as sandbox:
        result = sandbox.run("head -c 100M /dev/zero > /one; code=$?; stat -c %s /one; exit $code")
        expect(result.exit_code != 0, "a file of 100 MiB was written with a limit of 32 MiB")
        expect(int(result.raw.split()[-1]) <= 32 << 20, f"its size is {result.output}")
        sandbox.run("rm /one")
        # 20 MiB each: a back end that looks now and then has the time to notice.
        many = "for i in {1..100}; do head -c 20M /dev/zero > /many$i || exit 1; sleep 0.1; done"
        result = sandbox.run(many)
        expect(result.exit_code != 0, "2,000 MiB were written with a limit of 32 MiB")
        sandbox.run("rm -f /many*")
        still_works(sandbox)
        same("exit code", sandbox.run("head -c 1M /dev/zero > /few; sleep 1.2").exit_code, 0)


def endless_output_is_bounded(backend: Backend, image: Image, limits: Limits) -> None:
    with fresh(backend, image, limits) as sandbox:
        for ask in (sandbox.run, sandbox.shell().run):
            result = ask("yes", timeout_s=1, max_output_bytes=10_000)
            same("timed out, exit code", (result.timed_out, result.exit_code), (True, 137))
            expect(result.raw.startswith(b"y\ny\n"), f"the head is {result.raw[:20]!r}")
            expect(len(result.raw) < 11_000, f"{len(result.raw)} bytes kept of a limit of 10000")
            still_works(sandbox)
        # In the background, it mixes with other commands' output, and holds none of them up.
        sandbox.run("yes &")
        started = time.monotonic()
        for _ in range(5):
            result = sandbox.run("exit 4", max_output_bytes=1000)
            same("exit code", result.exit_code, 4)
        expect(time.monotonic() - started < 20, "commands are held up by a process that prints")


PROMISES = (
    killing_everything_kills_the_agent_only,
    a_command_that_stops_itself_ends,
    deleting_everything_is_survived,
    a_fork_bomb_is_bounded,
    too_much_memory_is_refused,
    too_many_bytes_on_disk_are_refused,
    endless_output_is_bounded,
)
