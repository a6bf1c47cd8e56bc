"""How bubblewrap's sandboxes come to be: what the launcher and the first process promise."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from intercode.errors import SandboxError
from intercode.sandboxes.base import Image, Layer, Limits
from intercode.sandboxes.bubblewrap.backend import Bubblewrap
from intercode.sandboxes.bubblewrap.sandbox import BubblewrapSandbox

pytestmark = pytest.mark.bubblewrap

NAMESPACES = ("user", "mnt", "pid", "net", "ipc", "uts", "cgroup")


def facts(sandbox: BubblewrapSandbox, process: str = "self") -> dict[str, str]:
    lines = sandbox.run(f"cat /proc/{process}/status").output.splitlines()
    return dict(line.split(":\t", 1) for line in lines)


@pytest.mark.parametrize("process", ["1", "self"])
def test_processes_have_four_capabilities_and_can_get_no_other(
    process: str, bubblewrap_backend: Bubblewrap
) -> None:
    sandbox = bubblewrap_backend.start(Image(), Limits())
    found = facts(sandbox, process)
    four = 1 << 0 | 1 << 1 | 1 << 3 | 1 << 4
    assert {int(found[name], 16) for name in ("CapInh", "CapPrm", "CapEff")} == {four}
    # Set-user-id programs give nothing, so those four are all there will ever be.
    assert found["NoNewPrivs"] == "1"
    assert found["Seccomp"] == "2"
    sandbox.close()


def test_every_namespace_is_of_its_own(bubblewrap_backend: Bubblewrap) -> None:
    one, other = (bubblewrap_backend.start(Image(), Limits()) for _ in range(2))
    ours = [os.readlink(f"/proc/self/ns/{name}") for name in NAMESPACES]
    asked = "; ".join(f"readlink /proc/self/ns/{name}" for name in NAMESPACES)
    theirs = [sandbox.run(asked).output.split() for sandbox in (one, other)]
    for a, b, c in zip(ours, *theirs, strict=True):
        assert len({a, b, c}) == 3
    one.close()
    other.close()


def test_nothing_of_ours_is_open_in_the_guest(bubblewrap_backend: Bubblewrap) -> None:
    sandbox = bubblewrap_backend.start(Image(), Limits())
    said = sandbox.run("readlink /proc/1/fd/*; readlink /proc/self/fd/*").output.split()
    assert {place.partition(":")[0] for place in said} <= {"/dev/null", "pipe", "/proc/2/fd"}, said
    names = [
        word.partition("=")[0] for word in sandbox.run("cat /proc/1/environ").output.split("\0")
    ]
    assert sorted(names) == ["", "HOME", "PATH", "SHELL"]
    assert "SHELL" not in sandbox.run("env").output + sandbox.shell().run("env").output
    sandbox.close()


def test_the_outside_view_holds_what_is_bound_and_nothing_live(
    bubblewrap_backend: Bubblewrap,
) -> None:
    sandbox = bubblewrap_backend.start(Image(), Limits())
    assert sandbox.read_file("/usr/bin/env", max_bytes=4) == Path("/usr/bin/env").read_bytes()[:4]
    for path in ("/proc/1/environ", "/proc/sys/kernel/hostname", "/dev/null"):
        with pytest.raises(FileNotFoundError):
            sandbox.read_file(path)
    sandbox.close()


def test_a_guest_that_cannot_be_executed_is_told(bubblewrap_backend: Bubblewrap) -> None:
    image = Image(layers=(Layer(setup=("rm /bin",)),))
    with pytest.raises(SandboxError, match="No such file"):
        bubblewrap_backend.start(image, Limits())
    bubblewrap_backend.start(Image(), Limits()).close()


def test_a_mount_that_fails_is_this_start_s_trouble_alone(tmp_path: Path) -> None:
    with Bubblewrap() as backend:
        sandbox = backend.start(Image(), Limits())
        helpers = backend._helpers()
        for _ in range(3):
            with pytest.raises(OSError, match="overlay"):
                helpers.start(
                    {"lowers": [str(tmp_path / "gone")], "binds": [], "disk_mib": 1,
                     "blocks": False, "procs": [], "network": False},
                    (0, 1, 2, 2), None,
                )  # fmt: skip
        assert sandbox.run("echo alive").output == "alive\n"
        backend.start(Image(), Limits()).close()


def test_sandboxes_die_with_their_launcher() -> None:
    with Bubblewrap() as backend:
        sandbox = backend.start(Image(), Limits())
        sandbox.run("trap '' TERM HUP; sleep 1000 > /dev/null 2>&1 &")
        guest = sandbox._live().started.pid
        os.kill(backend._helpers()._launcher._process.pid, signal.SIGKILL)
        deadline = time.monotonic() + 5
        while Path(f"/proc/{guest}").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not Path(f"/proc/{guest}").exists()
        with pytest.raises(SandboxError):
            backend.start(Image(), Limits())
        with pytest.raises(SandboxError):
            sandbox.close()
