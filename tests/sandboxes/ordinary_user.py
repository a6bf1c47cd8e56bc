"""What an ordinary user does with bubblewrap sandboxes: run as one by `test_ordinary_user`.

Prints a JSON object: of each function here whose name starts with ``check_``, how it failed (an
empty text if it did not). With ``hold`` as its argument it starts sandboxes and waits to be killed.
Needs the standard library only: the user may see no other Python than the system's.
"""

from __future__ import annotations

import io
import json
import os
import sys
import tarfile
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from intercode.errors import LimitError
from intercode.sandboxes.base import Image, Layer, Limits
from intercode.sandboxes.bubblewrap.backend import Bubblewrap
from intercode.sandboxes.bubblewrap.sandbox import BubblewrapSandbox
from intercode.sandboxes.places import cache_dir, state_root

IMAGE = Image()
LIMITS = Limits(timeout_s=2, memory_mib=256, processes=64, disk_mib=64, output_bytes=1 << 16)


def check_doctor_is_content(backend: Bubblewrap, sandbox: BubblewrapSandbox) -> None:
    assert all(check.ok for check in backend.check())


def check_run_as_root_of_nothing(backend: Bubblewrap, sandbox: BubblewrapSandbox) -> None:
    result = sandbox.run("id -u; touch /root/x && ls /root; echo x > /usr/x; ls /home", cwd="/tmp")
    assert result.output.splitlines()[:2] == ["0", "x"], result
    assert "Read-only" in result.output


def check_shell_lasts(backend: Bubblewrap, sandbox: BubblewrapSandbox) -> None:
    shell = sandbox.shell()
    shell.run("cd /tmp; x=1; f() { echo f-$x; }")
    assert shell.run("f; pwd").output == "f-1\n/tmp\n"


def check_changes_of_unreadable_files(backend: Bubblewrap, sandbox: BubblewrapSandbox) -> None:
    sandbox.run(
        "mkdir -p /d/e; echo secret > /d/e/f; chmod 000 /d/e/f /d/e /d; rm -rf /srv; rm /etc/hosts"
    )
    found = {change.path: change for change in sandbox.changes()}
    assert set(found) == {"/d", "/d/e", "/d/e/f", "/srv", "/etc/hosts"}, found
    assert found["/d/e/f"].mode == 0
    assert found["/d/e/f"].size == 7
    assert len(found["/d/e/f"].digest) == 64
    assert found["/srv"].kind == found["/etc/hosts"].kind == "deleted"
    assert sandbox.read_file("/d/e/f") == b"secret\n"


def check_owners_cannot_be_changed_but_are_root(
    backend: Bubblewrap, sandbox: BubblewrapSandbox
) -> None:
    result = sandbox.run("echo x > /x; chown 1000 /x; stat -c %u /x")
    assert result.output.endswith("0\n")
    assert [change.uid for change in sandbox.changes()] == [0]


def check_overlay_marks_of_the_agent_deceive_nobody(
    backend: Bubblewrap, sandbox: BubblewrapSandbox
) -> None:
    code = (
        "import os; os.mkdir('/etc/new')\n"
        "for path, mark in (('/etc', 'opaque'), ('/etc/new', 'whiteout'), ('/home', 'redirect')):\n"
        "    try: os.setxattr(path, f'user.overlay.{mark}', b'y')\n"
        "    except OSError as error: print(error)\n"
    )
    sandbox.run(["python3", "-c", code])
    assert "passwd" in sandbox.run("ls /etc").output
    assert [change.path for change in sandbox.changes()] == ["/etc/new"], sandbox.changes()


def check_files_in_and_out(backend: Bubblewrap, sandbox: BubblewrapSandbox) -> None:
    data = os.urandom(3_000_000)
    sandbox.write_file("/a/b/data", data, mode=0o600)
    assert sandbox.read_file("/a/b/data") == data
    assert sandbox.read_file("/a/b/data", max_bytes=10) == data[:10]
    for path, error in (("/a/b", IsADirectoryError), ("/nothing", FileNotFoundError)):
        try:
            sandbox.read_file(path)
        except error:
            continue
        raise AssertionError(f"{path}: no {error.__name__}")
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        member = tarfile.TarInfo("t/file")
        member.size, member.uid, member.mode = 2, 1000, 0o640
        tar.addfile(member, io.BytesIO(b"hi"))
    sandbox.put_tree(archive.getvalue(), "/put")
    assert sandbox.run("cat /put/t/file; stat -c ' %a %u' /put/t/file").output == "hi 640 0\n"


def check_snapshot_and_restore(backend: Bubblewrap, sandbox: BubblewrapSandbox) -> None:
    shell = sandbox.shell()
    shell.run("cd /tmp; x=1; mkdir /s; echo kept > /s/f; chmod 000 /s/f /s; rm -rf /srv")
    snapshot = sandbox.snapshot()
    shell.run("chmod 700 /s; rm -rf /s; x=2; cd /")
    for _ in range(2):
        sandbox.restore(snapshot)
        said = sandbox.shell().run("echo $x $PWD; chmod 700 /s /s/f; cat /s/f; ls /srv").output
        assert said.startswith("1 /tmp\nkept\n"), said
        assert "cannot access" in said
    backend.release(snapshot)
    assert not list((state_root()).glob("*/snapshot-*"))


def check_fork(backend: Bubblewrap, sandbox: BubblewrapSandbox) -> None:
    sandbox.shell().run("x=5; echo before > /tmp/f; chmod 000 /tmp/f")
    forks = sandbox.fork(2)
    forks[0].shell().run("rm -f /tmp/f")
    assert forks[1].shell().run("chmod 600 /tmp/f; cat /tmp/f; echo $x").output == "before\n5\n"
    assert sandbox.run("ls /tmp").output == "f\n"
    for fork in forks:
        fork.close()


def check_layers_with_setup(backend: Bubblewrap, sandbox: BubblewrapSandbox) -> None:
    image = Image(layers=(Layer(setup=("mkdir /l; echo x > /l/f; chmod 000 /l; rm -rf /srv",)),))
    backend.build(image)
    other = backend.start(image, LIMITS)
    assert other.run("chmod 700 /l; cat /l/f; ls -d /srv").output.startswith("x\nls: cannot")
    assert [(change.path, change.kind) for change in other.changes()] == [("/l", "modified")]
    other.close()
    assert not list((cache_dir() / "layers").glob("new-*"))


def check_timeout_keeps_what_was_printed(backend: Bubblewrap, sandbox: BubblewrapSandbox) -> None:
    result = sandbox.run("echo before; sleep 100 & sleep 100", timeout_s=0.3)
    assert result.timed_out
    assert result.output == "before\n"
    assert sandbox.process_count() == 0


def check_process_limit(backend: Bubblewrap, sandbox: BubblewrapSandbox) -> None:
    said = sandbox.run("for i in {1..200}; do sleep 5 & done; jobs -p | wc -l").output
    assert "Resource temporarily unavailable" in said, said
    # It is this sandbox's own limit: another one still has all of its.
    other = backend.start(IMAGE, LIMITS)
    assert other.run("for i in {1..40}; do sleep 0.1 & done; wait; echo all").output == "all\n"
    other.close()


def check_memory_limit(backend: Bubblewrap, sandbox: BubblewrapSandbox) -> None:
    result = sandbox.run(["python3", "-c", "x = bytearray(400 << 20)"])
    assert "MemoryError" in result.output, result


def check_disk_limit(backend: Bubblewrap, sandbox: BubblewrapSandbox) -> None:
    result = sandbox.run("dd if=/dev/zero of=/tmp/x bs=1M; rm /tmp/x; echo room > /tmp/y")
    assert "No space left" in result.output
    assert sandbox.read_file("/tmp/y") == b"room\n"


def check_parts_of_cores_are_refused(backend: Bubblewrap, sandbox: BubblewrapSandbox) -> None:
    remedy = None
    try:
        backend.start(IMAGE, replace(LIMITS, cpus=0.5))
    except LimitError as error:
        remedy = error.remedy
    assert remedy


def check_no_network(backend: Bubblewrap, sandbox: BubblewrapSandbox) -> None:
    result = sandbox.run("echo > /dev/tcp/127.0.0.1/22; echo > /dev/tcp/8.8.8.8/53; ls /sys/class")
    assert "refused" in result.output
    assert "unreachable" in result.output


def check_own_files_are_out_of_reach(backend: Bubblewrap, sandbox: BubblewrapSandbox) -> None:
    home = os.environ["HOME"]
    Path(home, "private").write_text("private")
    found = sandbox.run(f"cat {home}/private /proc/*/root{home}/private").output
    assert "No such file" in found
    assert "private\n" not in found.replace("/private", "")


def check_paused_stands_still(backend: Bubblewrap, sandbox: BubblewrapSandbox) -> None:
    sandbox.run("(while :; do echo x >> /tmp/grows; done) > /dev/null 2>&1 &")
    time.sleep(0.1)
    with sandbox.paused():
        size = len(sandbox.read_file("/tmp/grows"))
        time.sleep(0.1)
        assert len(sandbox.read_file("/tmp/grows")) == size
    time.sleep(0.1)
    assert len(sandbox.read_file("/tmp/grows")) > size


def _survives(sandbox: BubblewrapSandbox, action: str) -> None:
    shell = sandbox.shell()
    started = time.monotonic()
    shell.run(action)
    assert time.monotonic() - started < 15
    said = shell.run("echo alive").output
    assert "alive" in said, said
    with sandbox.paused():
        sandbox.changes()
    assert time.monotonic() - started < 30


def check_survives_a_fork_bomb(backend: Bubblewrap, sandbox: BubblewrapSandbox) -> None:
    _survives(sandbox, ":(){ :|:& };:")


def check_survives_a_fork_bomb_that_moves_away(
    backend: Bubblewrap, sandbox: BubblewrapSandbox
) -> None:
    _survives(sandbox, "printf '#!/bin/bash\nsetsid $0 & setsid $0 &' > /b; chmod +x /b; /b")


def check_survives_kill_all(backend: Bubblewrap, sandbox: BubblewrapSandbox) -> None:
    _survives(sandbox, "kill -9 -1")


def check_survives_a_full_disk(backend: Bubblewrap, sandbox: BubblewrapSandbox) -> None:
    _survives(
        sandbox, "cat /dev/zero > /fill; mkdir /m; cd /m; for i in {1..30000}; do : > $i; done"
    )


def check_survives_memory_hogs(backend: Bubblewrap, sandbox: BubblewrapSandbox) -> None:
    _survives(sandbox, "for i in {1..10}; do tail /dev/zero & done; wait")


def check_survives_lies_in_the_name_of_the_guest(
    backend: Bubblewrap, sandbox: BubblewrapSandbox
) -> None:
    """An ordinary user's agent can open the guest's streams, which root's cannot."""
    shell = sandbox.shell()
    for lie in (
        "printf 'E%s:0\\0/\\0%s\\0' $__t $__t > /proc/1/fd/9; sleep 0.2; echo late",
        "printf 'E0\\0/\\0D0\\0Z0\\0' > /proc/1/fd/9",
        "cat /dev/zero > /proc/1/fd/9",
        "yes E > /proc/1/fd/9",
        "setsid cat /dev/zero > /proc/1/fd/9 2> /dev/null < /dev/null &",
        "setsid cat /proc/1/fd/8 > /tmp/stolen 2> /dev/null &",
        "printf 'E\\00099999\\0x' > /proc/1/fd/8",
        "yes > /proc/1/fd/8",
        "python3 -c \"open('/proc/1/mem', 'r+b').seek(0)\"; kill -STOP 1",
    ):
        started = time.monotonic()
        shell.run(lie)
        assert time.monotonic() - started < 15, lie
        answers = []
        while not answers or ("alive" not in answers[-1] and len(answers) < 3):
            answers.append(shell.run("echo alive").output)
        assert "alive" in answers[-1], (lie, answers)
        assert "well" in shell.run("echo well").output, lie
        assert time.monotonic() - started < 40, lie


def check_survives_the_loss_of_bash(backend: Bubblewrap, sandbox: BubblewrapSandbox) -> None:
    """``/bin`` is a link here, so the agent can put another folder in the place of programs."""
    _survives(sandbox, "rm /bin /lib64; mkdir /bin; exit")


def hold() -> None:
    """Be at work with sandboxes until killed."""
    with Bubblewrap() as backend:
        for _ in range(3):
            shell = backend.start(IMAGE, LIMITS).shell()
            shell.run("(trap '' TERM HUP INT; sleep 1000) & setsid sleep 1000 &")
        sandbox = backend.start(IMAGE, LIMITS)
        sandbox.run("mkdir -p /d/e; chmod 000 /d; sleep 1000 > /dev/null 2>&1 &")
        sandbox.snapshot()
        with sandbox.paused():
            print("working", flush=True)
            time.sleep(1000)


def run() -> dict[str, str]:
    checks: dict[str, Callable[[Bubblewrap, BubblewrapSandbox], None]] = {
        name: value for name, value in globals().items() if name.startswith("check_")
    }
    chosen = sys.argv[1:] or list(checks)
    results: dict[str, str] = {}
    with Bubblewrap() as backend:
        for name in chosen:
            results[name] = ""
            sandbox = None
            try:
                sandbox = backend.start(IMAGE, LIMITS)
                checks[name](backend, sandbox)
            except Exception:
                results[name] = traceback.format_exc()
            finally:
                if sandbox is not None:
                    sandbox.close()
        results["check_nothing_open"] = "" if backend.live() == 0 else "sandboxes are open"
    left = []
    with suppress(OSError):
        left = list(state_root().iterdir())
    results["check_nothing_left"] = f"{left} is left" if left else ""
    return results


if __name__ == "__main__":
    hold() if sys.argv[1:] == ["hold"] else print(json.dumps(run()))
