"""A sandbox whose process 1 is a shell at a terminal, and whose commands come in from outside."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from intercode.sandboxes.base import Image, Limits, Sandbox
from intercode.sandboxes.bubblewrap.backend import Bubblewrap

pytestmark = pytest.mark.bubblewrap

LIMITS = Limits(timeout_s=2.0, processes=16)


@pytest.fixture
def sandbox(bubblewrap_backend: Bubblewrap) -> Iterator[Sandbox]:
    sandbox = bubblewrap_backend.start(Image(console=True), LIMITS)
    yield sandbox
    sandbox.close()


def said(sandbox: Sandbox, command: str) -> str:
    return sandbox.run(["/bin/bash", "-c", command], until_silent=True).output


def test_a_command_has_no_parent_and_process_1_is_a_shell_at_a_terminal(sandbox: Sandbox) -> None:
    assert said(sandbox, "echo $PPID") == "0\n"
    assert said(sandbox, "tr '\\0' ' ' < /proc/1/cmdline; readlink /proc/1/fd/0") == (
        "/bin/bash /dev/pts/0\n"
    )
    assert said(sandbox, "cd /proc; echo [0-9]*; :").split()[0] == "1"
    assert len(said(sandbox, "cd /proc; echo [0-9]*; :").split()) == 2


def test_a_command_is_over_when_all_that_it_left_is_silent(sandbox: Sandbox) -> None:
    began = time.monotonic()
    assert said(sandbox, "(sleep 0.3; echo late) & echo soon") == "soon\nlate\n"
    assert 0.3 <= time.monotonic() - began < 1.5
    began = time.monotonic()
    assert said(sandbox, "sleep 9 > /dev/null 2>&1 & echo soon") == "soon\n"
    assert time.monotonic() - began < 1.5
    assert sandbox.process_count() == 1


def test_a_time_limit_ends_all_of_a_command(sandbox: Sandbox) -> None:
    assert sandbox.run("sleep 60 | sleep 61").timed_out
    deadline = time.monotonic() + 5  # what is killed is gone a moment later
    while sandbox.process_count() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert sandbox.process_count() == 0


def test_killing_everything_in_sight_reaches_neither_process_1_nor_us(sandbox: Sandbox) -> None:
    sandbox.run("kill -KILL -1; kill -KILL 1; kill -USR1 -1; kill -USR1 1")
    result = sandbox.run("echo on; readlink /proc/1/fd/0")
    assert (result.output, result.restarted) == ("on\n/dev/pts/0\n", None)


def test_as_many_processes_as_allowed_can_run(sandbox: Sandbox) -> None:
    sandbox.run(f"for i in {{1..{LIMITS.processes}}}; do sleep 9 & done > /dev/null 2>&1")
    assert sandbox.process_count() == LIMITS.processes


def test_without_its_process_1_it_is_started_again_with_its_files(sandbox: Sandbox) -> None:
    sandbox.write_file("/kept", b"yes")
    # As if an agent had found a way to end it.
    sandbox._live().group.kill()  # type: ignore[attr-defined]
    sandbox.run("true")
    assert sandbox.run("cat /kept; echo $PPID").output == "yes0\n"


def test_a_fork_has_one_of_its_own(sandbox: Sandbox) -> None:
    (fork,) = sandbox.fork()  # type: ignore[attr-defined]
    assert said(fork, "echo $PPID; readlink /proc/1/fd/0") == "0\n/dev/pts/0\n"
    fork.close()


def test_a_name_server_answers_out_of_sight(sandbox: Sandbox) -> None:
    asked = (
        "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(1); "
        "s.connect(('127.0.0.1', 53)); "
        "s.send(bytes.fromhex('abcd01000001000000000000') + b'\\x09localhost\\0\\0\\1\\0\\1'); "
        "print(s.recv(512)[-4:])"
    )
    result = sandbox.run(["python3", "-c", asked])
    assert result.output == "b'\\x7f\\x00\\x00\\x01'\n"
    assert sandbox.run("cat /etc/resolv.conf").output == "nameserver 127.0.0.1\n"
    assert sandbox.process_count() == 0
