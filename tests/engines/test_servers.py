"""Owned servers: started, ended, and swept with their owners."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import intercode
from intercode.engines.servers import process as process_module
from intercode.engines.servers.mariadb import MariaDB
from intercode.engines.servers.owned import OwnedServer, servers_root, sweep
from intercode.engines.servers.postgres import PostgreSQL
from intercode.engines.servers.watch import Watch
from intercode.errors import EngineError, EngineUnavailable
from intercode.sandboxes.owner import owner_label

ORDINARY = 64_321
KINDS = {"mariadb": MariaDB, "postgres": PostgreSQL}


@pytest.fixture(params=KINDS)
def kind(request):  # type: ignore[no-untyped-def]
    try:
        return KINDS[request.param].find()
    except EngineUnavailable as error:
        pytest.skip(str(error))


@pytest.fixture
def server(kind) -> Iterator[OwnedServer]:  # type: ignore[no-untyped-def]
    made = OwnedServer(kind)
    yield made
    made.close()


def accepts(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(path) == 0


def descendants(pid: int) -> set[int]:
    found: set[int] = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            if parent == pid:
                found |= {int(entry.name)} | descendants(int(entry.name))
    return found


def own_folders() -> set[Path]:
    """Those of this process: others may have servers of theirs meanwhile."""
    return {path for path in servers_root().iterdir() if path.name.startswith(owner_label())}


def wait_until(condition, timeout_s: float = 15) -> None:  # type: ignore[no-untyped-def]
    limit = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < limit, "it did not come to pass"
        time.sleep(0.02)


def test_it_starts_once_and_leaves_nothing(server) -> None:  # type: ignore[no-untyped-def]
    before = own_folders()
    assert server.ensure() == 1
    assert server.ensure() == 1
    path, folder = server.socket, Path(server.run_folder).parent
    assert accepts(path)
    processes = descendants(os.getpid())
    server.close()
    server.close()
    assert not folder.exists()
    assert own_folders() == before
    wait_until(lambda: not processes & descendants(os.getpid()))


def test_it_listens_on_its_socket_alone(server) -> None:  # type: ignore[no-untyped-def]
    if process_module.confined() is None:
        pytest.skip("needs bubblewrap")
    server.ensure()
    assert Path(server.run_folder).parent.stat().st_mode & 0o077 == 0
    inside = [
        pid for pid in descendants(server.pid)
        if os.readlink(f"/proc/{pid}/ns/net") != os.readlink("/proc/self/ns/net")
    ]  # fmt: skip
    assert inside
    for pid in inside:
        for table in ("tcp", "tcp6", "udp"):
            assert " 0A " not in Path(f"/proc/{pid}/net/{table}").read_text()


def test_after_its_death_it_starts_again(server) -> None:  # type: ignore[no-untyped-def]
    server.ensure()
    server.kill()
    assert not server.alive()
    assert server.ensure() == 2
    assert accepts(server.socket)


def test_it_outlives_the_thread_that_started_it(server) -> None:  # type: ignore[no-untyped-def]
    starter = threading.Thread(target=server.ensure)
    starter.start()
    starter.join()
    time.sleep(0.3)
    assert server.alive()
    assert accepts(server.socket)


def test_without_bubblewrap(kind, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr("intercode.engines.servers.owned.confined", lambda: None)
    server = OwnedServer(kind)
    try:
        server.ensure()
        assert accepts(server.socket)
        pid = server.pid
        if os.getuid() == 0:
            assert Path(f"/proc/{pid}").stat().st_uid == process_module._NOBODY
    finally:
        server.close()
    assert not Path(f"/proc/{pid}").exists()


OWNER = """
import sys, time
from intercode.engines.servers.{module} import {kind}
from intercode.engines.servers.owned import OwnedServer
server = OwnedServer({kind}.find())
server.ensure()
print(server.socket, flush=True)
time.sleep(600)
"""


@pytest.fixture
def own_temporary_folder(monkeypatch) -> Iterator[str]:  # type: ignore[no-untyped-def]
    """Where nobody else sweeps. Its path is short, as a socket's must be."""
    folder = tempfile.mkdtemp(prefix="own-", dir="/tmp")
    monkeypatch.setattr(tempfile, "tempdir", folder)
    yield folder
    shutil.rmtree(folder)


def test_a_killed_owner_takes_it_along_and_the_next_sweeps(kind, own_temporary_folder) -> None:  # type: ignore[no-untyped-def]
    program = OWNER.format(module=kind.name, kind=type(kind).__name__)
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        env={**os.environ, "TMPDIR": own_temporary_folder},
    ) as owner:
        assert owner.stdout is not None
        path = owner.stdout.readline().decode().strip()
        assert accepts(path)
        processes = descendants(owner.pid)
        assert processes
        owner.send_signal(signal.SIGKILL)
    wait_until(lambda: not accepts(path))
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in processes))
    folder = Path(path).parent.parent
    assert folder.exists()
    sweep()
    assert not folder.exists()


def test_for_an_ordinary_user(kind) -> None:  # type: ignore[no-untyped-def]
    python = shutil.which("python3", path="/usr/bin:/bin")
    if os.getuid() != 0 or python is None:
        pytest.skip("no test: needs more than one user, or all tests here are an ordinary user's")
    home = Path(tempfile.mkdtemp(prefix="ordinary-", dir="/tmp"))
    shutil.chown(home, ORDINARY, ORDINARY)
    program = OWNER.format(module=kind.name, kind=type(kind).__name__)
    env = {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": str(home),
        "TMPDIR": str(home),
        "PYTHONPATH": str(Path(intercode.__file__).parents[1]),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    try:
        with subprocess.Popen(
            [python, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env,
            cwd=home, user=ORDINARY, group=ORDINARY, extra_groups=[],
        ) as owner:  # fmt: skip
            assert owner.stdout is not None
            assert owner.stderr is not None
            path = owner.stdout.readline().decode().strip()
            if not path and b"No module named" in owner.stderr.read():
                pytest.skip("no test: this user's Python cannot see the package")
            assert accepts(path)
            processes = descendants(owner.pid)
            owner.kill()
        wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in processes))
    finally:
        shutil.rmtree(home)


def test_a_server_that_does_not_start_says_why(tmp_path) -> None:  # type: ignore[no-untyped-def]
    class Broken:
        name = "broken"
        version = "Broken 1"
        socket_name = "x"

        def prepare(self, places):  # type: ignore[no-untyped-def]
            return ["/bin/sh", "-c", "echo all is lost >&2; exit 3"]

        serve = prepare

    before = own_folders()
    with pytest.raises(EngineError, match="all is lost"):
        OwnedServer(Broken()).ensure()
    assert own_folders() == before


def test_the_watch_stops_what_is_late_and_nothing_else() -> None:
    watch = Watch()
    stopped: list[tuple[str, int]] = []
    late = watch.start(0.05, lambda attempt: stopped.append(("late", attempt)))
    quick = watch.start(0.05, lambda attempt: stopped.append(("quick", attempt)))
    slow = watch.start(60, lambda attempt: stopped.append(("slow", attempt)))
    assert watch.finish(quick) is False
    wait_until(lambda: len(stopped) >= 2)
    assert watch.finish(late) is True
    assert watch.finish(slow) is False
    assert stopped[:2] == [("late", 0), ("late", 1)]
    seen = len(stopped)
    time.sleep(0.6)
    assert len(stopped) == seen
    watch.close()
