"""What is Docker's own in the Docker back end; what it has in common is in test_conformance."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intercode.errors import ImageError, LimitError, SandboxError, SandboxUnavailable
from intercode.sandboxes.base import Backend, Image, Layer, Limits, SupportsSnapshots
from intercode.sandboxes.channel import GuestGone
from intercode.sandboxes.conformance import changes, snapshots
from intercode.sandboxes.conformance.tools import fresh, soon
from intercode.sandboxes.docker import snapshots as docker_snapshots
from intercode.sandboxes.docker import streams
from intercode.sandboxes.docker.backend import Docker
from intercode.sandboxes.docker.config import Abilities, container_config
from intercode.sandboxes.docker.engine import Engine
from intercode.sandboxes.docker.marks import (
    LAYER_LABEL,
    OWNER_LABEL,
    PLACE_LABEL,
    is_orphan,
    layer_labels,
    place,
)
from intercode.sandboxes.docker.streams import AttachStreams, FrameReader
from intercode.sandboxes.owner import owner_label

_DEAD_OWNER = "1-1"


# -- streams: no engine needed ---------------------------------------------------------------------

_FRAMES = st.lists(st.tuples(st.sampled_from([1, 2]), st.binary(max_size=300)), max_size=12)


def _encode(frames: list[tuple[int, bytes]]) -> bytes:
    return b"".join(
        bytes([kind, 0, 0, 0]) + len(data).to_bytes(4, "big") + data for kind, data in frames
    )


def _parts(data: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    return [data[a:b] for a, b in pairwise(places)]


@given(_FRAMES, st.lists(st.integers(0, 5000), max_size=40))
def test_frames_mean_the_same_however_they_are_cut(
    frames: list[tuple[int, bytes]], cuts: list[int]
) -> None:
    reader = FrameReader()
    read = [reader.feed(part) for part in _parts(_encode(frames), cuts)]
    assert b"".join(output for output, _ in read) == b"".join(d for k, d in frames if k == 1)
    assert b"".join(status for _, status in read) == b"".join(d for k, d in frames if k == 2)


@given(_FRAMES)
def test_each_byte_is_handed_on_as_soon_as_it_comes(frames: list[tuple[int, bytes]]) -> None:
    reader = FrameReader()
    data = _encode(frames)
    seen = sum(len(output) + len(status) for output, status in map(reader.feed, _bytes(data)))
    assert seen == sum(len(payload) for _, payload in frames)


def _bytes(data: bytes) -> Iterator[bytes]:
    return (data[i : i + 1] for i in range(len(data)))


@pytest.mark.parametrize("head", [b"\0\0\0\0", b"\3\0\0\0", b"\1\0\0\1", b"HTTP"])
def test_what_are_no_frames_end_the_conversation(head: bytes) -> None:
    with pytest.raises(GuestGone):
        FrameReader().feed(head + b"\0\0\0\1x")


@pytest.fixture
def wire() -> Iterator[tuple[AttachStreams, socket.socket]]:
    """Streams, and the engine's end of their connection."""
    ours, theirs = socket.socketpair()
    attached = AttachStreams(ours)
    with theirs:
        yield attached, theirs
        attached.close()


def _answer_flush(theirs: socket.socket, before: bytes, after: bytes, pieces: int) -> None:
    asked = theirs.recv(4096)
    mark = asked.split(b"\0")[2]
    answer = _encode([(1, before + mark[:7]), (2, b"status\0"), (1, mark[7:] + after)])
    step = max(1, len(answer) // pieces)
    for start in range(0, len(answer), step):
        theirs.sendall(answer[start : start + step])


@pytest.mark.parametrize("pieces", [1, 3, 50])
def test_a_flush_reads_up_to_its_mark_and_keeps_the_rest(
    wire: tuple[AttachStreams, socket.socket], pieces: int
) -> None:
    attached, theirs = wire
    answering = threading.Thread(target=_answer_flush, args=(theirs, b"before", b"after", pieces))
    answering.start()
    assert attached.flush() == b"before"
    answering.join()
    output = status = b""
    while (output, status) != (b"after", b"status\0"):
        more_output, more_status = attached.receive(5)
        assert more_output or more_status
        output, status = output + more_output, status + more_status


def test_a_flush_nobody_answers_gives_up(
    wire: tuple[AttachStreams, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "_FLUSH_TIMEOUT_S", 0.1)
    with pytest.raises(GuestGone, match="does not answer"):
        wire[0].flush()


def test_a_flush_takes_no_endless_output(
    wire: tuple[AttachStreams, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "_MAX_FLUSH", 100_000)
    attached, theirs = wire
    theirs.settimeout(5)

    def flood() -> None:
        with contextlib.suppress(OSError):
            while True:
                theirs.sendall(_encode([(1, b"y\n" * 1000)]))

    flooding = threading.Thread(target=flood)
    flooding.start()
    with pytest.raises(GuestGone):
        attached.flush()
    attached.close()
    flooding.join()


def test_the_end_of_the_connection_is_the_end_of_the_guest(
    wire: tuple[AttachStreams, socket.socket],
) -> None:
    attached, theirs = wire
    theirs.sendall(_encode([(1, b"last words")]))
    theirs.close()
    assert attached.receive(1) == (b"last words", b"")
    with pytest.raises(GuestGone):
        attached.receive(1)
    with pytest.raises(GuestGone):
        attached.send(b"x")


def test_waiting_for_nothing_takes_the_time_given(
    wire: tuple[AttachStreams, socket.socket],
) -> None:
    started = time.monotonic()
    assert wire[0].receive(0.05) == (b"", b"")
    assert 0.04 < time.monotonic() - started < 2


# -- settings: no engine needed --------------------------------------------------------------------


def test_a_container_is_given_nothing_it_does_not_need() -> None:
    config = container_config("some", Limits(), labels={}, dropped_env=["JAVA_HOME"], cpus=8)
    host = config["HostConfig"]
    assert host["NetworkMode"] == "none"
    assert host["CapDrop"] == ["ALL"]
    assert set(host["CapAdd"]) == {"CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID"}
    assert host["SecurityOpt"] == ["no-new-privileges"]
    assert host["Memory"] == host["MemorySwap"] == (512 + 16) << 20
    assert host["PidsLimit"] == 128 + 3
    assert not {"Binds", "Mounts", "Privileged", "PidMode", "Devices"} & set(host)
    assert "JAVA_HOME" in config["Env"], "a bare name takes the image's variable away"


def test_an_engine_without_a_limit_is_not_asked_for_it() -> None:
    able = Abilities.of({"NCPU": 4, "MemoryLimit": True, "PidsLimit": True, "CPUCfsQuota": False})
    able.demand(Limits(cpus=4))
    with pytest.raises(LimitError, match="cpus"):
        able.demand(Limits(cpus=1))
    with pytest.raises(LimitError, match="memory"):
        Abilities.of({"MemoryLimit": False}).demand(Limits())


def test_the_runtime_can_be_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTERCODE_DOCKER_RUNTIME", "runsc")
    config = container_config("some", Limits(), labels={}, cpus=1)
    assert config["HostConfig"]["Runtime"] == "runsc"


def test_only_dead_owners_of_this_machine_leave_orphans() -> None:
    assert is_orphan({OWNER_LABEL: _DEAD_OWNER, PLACE_LABEL: place()})
    assert not is_orphan({OWNER_LABEL: owner_label(), PLACE_LABEL: place()})
    assert not is_orphan({OWNER_LABEL: _DEAD_OWNER, PLACE_LABEL: "another machine"})
    assert not is_orphan({OWNER_LABEL: _DEAD_OWNER})
    assert not is_orphan(layer_labels("digest"))


def test_without_an_engine_the_doctor_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    with Docker() as backend:
        failed = [check for check in backend.check() if not check.ok]
        assert [check.name for check in failed] == ["engine"]
        assert all(check.remedy for check in failed)
        with pytest.raises(SandboxUnavailable, match=r"none\.sock"):
            backend.build(Image("docker:some"))


def test_without_the_package_the_remedy_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "docker", None)
    with pytest.raises(SandboxUnavailable, match=r"pip install 'intercode\[docker\]'"):
        Docker()


# -- with an engine --------------------------------------------------------------------------------


@pytest.fixture
def engine() -> Iterator[Engine]:
    try:
        engine = Engine()
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    yield engine
    engine.close()


def _left(engine: Engine, owner: str) -> list[str]:
    """All containers and images that an owner has, sorted: the engine lists images made within one
    second in any order."""
    query = f"{OWNER_LABEL}={owner}"
    found = engine.list_containers(f"label={query}") + engine.list_images(query)
    return sorted(entry["Id"] for entry in found)


def _descriptors() -> dict[str, str]:
    found = {}
    for path in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            found[path.name] = os.readlink(path)
    return found


@pytest.mark.docker
def test_closing_leaves_nothing(engine: Engine, docker_image: Image) -> None:
    before = _left(engine, owner_label())
    descriptors, threads = _descriptors(), threading.active_count()
    backend = Docker(read_folders=False)
    for _ in range(2):
        sandbox = backend.start(docker_image, Limits())
        sandbox.shell().run("echo > /x")
        sandbox.changes()
        sandbox.restore(sandbox.snapshot())
        sandbox.fork(1)[0].snapshot()
        sandbox.run("kill -9 -1; sleep 100 &")
    released = sandbox.snapshot()
    backend.release(released)
    assert len(_left(engine, owner_label())) > len(before)
    backend.close()
    assert backend.live() == 0
    assert _left(engine, owner_label()) == before
    assert set(_descriptors().items()) - set(descriptors.items()) == set()
    assert threading.active_count() == threads
    backend.close()


@pytest.mark.docker
def test_a_sandbox_closes_its_own(
    engine: Engine, docker_backend: Docker, docker_image: Image
) -> None:
    before = _left(engine, owner_label())
    with fresh(docker_backend, docker_image, Limits()) as sandbox:
        sandbox.run("true")
        assert isinstance(sandbox, SupportsSnapshots)
        for fork in sandbox.fork(2):
            fork.close()
    assert _left(engine, owner_label()) == before


@pytest.mark.docker
def test_an_interrupted_start_leaves_nothing(
    engine: Engine, docker_backend: Docker, docker_image: Image, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = _left(engine, owner_label())

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    for method in ("create", "attach", "start"):
        with monkeypatch.context() as patch:
            patch.setattr(Engine, method, interrupted)
            with pytest.raises(KeyboardInterrupt):
                docker_backend.start(docker_image, Limits())
    assert docker_backend.live() == 0
    assert _left(engine, owner_label()) == before


_OWNER = """
import sys, time
from intercode.sandboxes.base import Image, Limits
from intercode.sandboxes.docker.backend import Docker
from intercode.sandboxes.owner import owner_label
backend = Docker()
idle, busy = (backend.start(Image(sys.argv[1]), Limits()) for _ in range(2))
idle.snapshot()
print(owner_label(), flush=True)
busy.run("sleep 1000", timeout_s=1000)
"""


@pytest.fixture
def owner(docker_image: Image) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A process with an idle sandbox, a busy one and a snapshot; its label."""
    process = subprocess.Popen(
        [sys.executable, "-c", _OWNER, docker_image.base], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    label = process.stdout.readline().strip()
    yield process, label
    process.kill()
    process.wait()
    process.stdout.close()


@pytest.mark.docker
def test_a_killed_owner_is_cleaned_up_after_at_once(
    engine: Engine, owner: tuple[subprocess.Popen[str], str]
) -> None:
    process, label = owner
    assert len(_left(engine, label)) == 3
    process.kill()
    soon("nothing is left", lambda: not _left(engine, label), 30)


@pytest.mark.docker
def test_the_next_back_end_sweeps_what_dead_owners_left(
    engine: Engine, owner: tuple[subprocess.Popen[str], str], docker_image: Image
) -> None:
    process, label = owner
    for janitor in _children(process.pid):
        os.kill(janitor, signal.SIGKILL)
    time.sleep(0.3)
    assert len(_left(engine, label)) == 3
    with Docker() as backend:
        backend.build(docker_image)
        assert len(_left(engine, label)) == 3, "its owner still lives"
    process.kill()
    process.wait()
    soon("the idle one ends by itself", lambda: _states(engine, label).count("exited") == 1)
    with Docker() as backend:
        backend.build(docker_image)
        assert _left(engine, label) == []


def _children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]


def _states(engine: Engine, owner: str) -> list[str]:
    found = engine.list_containers(f"label={OWNER_LABEL}={owner}")
    return [container["State"] for container in found]


@pytest.mark.docker
@pytest.mark.parametrize("promise", [*changes.PROMISES, *snapshots.PROMISES])
def test_changes_are_the_same_by_the_engine_alone(
    promise: Any, engine_only: Docker, docker_image: Image
) -> None:
    promise(engine_only, docker_image, Limits())


@pytest.fixture(scope="module")
def engine_only(docker_backend: Backend) -> Iterator[Docker]:
    with Docker(read_folders=False) as backend:
        yield backend


@pytest.mark.docker
def test_the_engines_own_files_are_no_changes(docker_backend: Docker, docker_image: Image) -> None:
    with fresh(docker_backend, docker_image, Limits()) as sandbox:
        sandbox.run(
            "echo x >> /etc/hosts; echo x > /etc/resolv.conf; rm /.dockerenv; echo > /dev/x"
        )
        assert sandbox.changes() == []


@pytest.mark.docker
def test_writing_too_much_is_told(docker_backend: Docker, docker_image: Image) -> None:
    fill = "echo filling; for i in {1..200}; do head -c 12M /dev/zero > /f$i; sleep 0.1; done"
    with fresh(docker_backend, docker_image, Limits(disk_mib=32, timeout_s=60)) as sandbox:
        result = sandbox.run(fill)
        if not _is_watched(docker_backend):
            pytest.skip("this engine keeps quotas")
        assert result.exit_code == 137
        assert result.raw == b"filling\n[disk limit of 32 MiB reached]\n"
        result = sandbox.shell().run(fill)
        assert result.raw.endswith(b"[disk limit of 32 MiB reached]\n")
        assert result.restarted
        sandbox.run("rm /f*")
        assert sandbox.run("sleep 1.3").exit_code == 0


@pytest.mark.docker
def test_writing_too_much_in_the_background_is_frozen(
    engine: Engine, docker_backend: Docker, docker_image: Image
) -> None:
    if not _is_watched(docker_backend):
        pytest.skip("this engine keeps quotas")
    fill = "(for i in {1..100}; do head -c 12M /dev/zero > /f$i; sleep 0.1; done) &"
    with fresh(docker_backend, docker_image, Limits(disk_mib=32)) as sandbox:
        sandbox.run(fill)
        soon("it is frozen", lambda: engine.inspect(sandbox.id)["State"]["Paused"])
        assert sandbox.run("kill -9 -1; rm /f*; echo tidy").raw == b"tidy\n"
        assert sandbox.run("sleep 1.3").exit_code == 0


def _is_watched(backend: Docker) -> bool:
    work = backend._work
    return work is not None and not work._quotas


@pytest.mark.docker
def test_a_dead_container_comes_back_with_its_files(
    engine: Engine, docker_backend: Docker, docker_image: Image
) -> None:
    with fresh(docker_backend, docker_image, Limits()) as sandbox:
        sandbox.shell().run("cd /tmp; x=kept; echo file > /file")
        first = sandbox.id
        engine.kill(first)
        assert sandbox.shell().run("echo $x").raw == b"kept\n"
        assert sandbox.id != first
        assert sandbox.shell().run("echo $x; pwd; cat /file").raw == b"kept\n/tmp\nfile\n"
        assert [change.path for change in sandbox.changes()] == ["/file"]


@pytest.mark.docker
def test_a_wedged_guest_is_replaced(docker_backend: Docker, docker_image: Image) -> None:
    with fresh(docker_backend, docker_image, Limits()) as sandbox:
        sandbox.run("echo file > /file")
        # Whoever finds the guest's own control stream can confuse it, but nobody else.
        sandbox.run(r"printf 'x\0nonsense\0' > /proc/1/fd/8; sleep 0.2", timeout_s=5)
        for _ in range(3):
            result = sandbox.run("cat /file")
            if not result.restarted:
                break
        assert result.raw == b"file\n"


@pytest.mark.docker
def test_a_tower_of_snapshots_is_made_flat(
    engine: Engine,
    docker_backend: Docker,
    docker_image: Image,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(docker_snapshots, "_MOST_LAYERS", 2)
    before = _left(engine, owner_label())
    with fresh(docker_backend, docker_image, Limits()) as sandbox:
        sandbox.shell().run("x=kept; echo file > /file; rm /etc/issue; chmod 700 /srv")
        told = sandbox.changes()
        assert isinstance(sandbox, SupportsSnapshots)
        snapshot = sandbox.snapshot()
        sandbox.restore(snapshot)
        assert len(engine.image(engine.inspect(sandbox.id)["Image"])["RootFS"]["Layers"]) == 1
        assert sandbox.shell().run("echo $x; cat /file").raw == b"kept\nfile\n"
        assert [replace(change, mtime_ns=0) for change in sandbox.changes()] == [
            replace(change, mtime_ns=0) for change in told
        ]
    docker_backend.release(snapshot)
    assert _left(engine, owner_label()) == before


@pytest.mark.docker
def test_closing_in_the_middle_of_a_command_ends_it(
    docker_backend: Docker, docker_image: Image
) -> None:
    with fresh(docker_backend, docker_image, Limits()) as sandbox:
        closing = threading.Timer(0.3, sandbox.close)
        closing.start()
        started = time.monotonic()
        with pytest.raises(SandboxError, match="closed"):
            sandbox.run("yes & sleep 60", timeout_s=60)
        assert time.monotonic() - started < 20
        closing.join()


@pytest.mark.docker
def test_an_image_that_is_not_there_is_told_with_a_remedy(docker_backend: Docker) -> None:
    with pytest.raises(ImageError, match="docker pull"):
        docker_backend.build(Image("docker:localhost:1/no-such-image"))
    with pytest.raises(ImageError, match="--base docker:"):
        docker_backend.build(Image())


@pytest.fixture
def settings_image(engine: Engine, docker_backend: Docker, docker_image: Image) -> Iterator[str]:
    """An image that asks for a volume, sets variables and has a program of its own."""
    with fresh(docker_backend, docker_image, Limits()) as sandbox:
        sandbox.run("mkdir /data; echo old > /data/old")
        engine._client.commit(
            sandbox.id, "intercode-test", "settings",
            conf={"Volumes": {"/data": {}}, "Env": ["SECRET=1", "PATH=/nowhere"],
                  "Cmd": ["sleep", "1"], "Entrypoint": ["false"], "WorkingDir": "/data",
                  "User": "nobody", "Healthcheck": {"Test": ["CMD", "true"]},
                  "Labels": {OWNER_LABEL: ""}},
        )  # fmt: skip
    before = {image["Id"] for image in engine.list_images(LAYER_LABEL)}
    yield "intercode-test:settings"
    for image in engine.list_images(LAYER_LABEL):
        if image["Id"] not in before:
            engine.remove_image(image["RepoTags"][0])
    engine.remove_image("intercode-test:settings")


@pytest.mark.docker
def test_an_images_own_settings_do_not_count(
    engine: Engine, docker_backend: Docker, settings_image: str
) -> None:
    image = Image(f"docker:{settings_image}")
    with fresh(docker_backend, image, Limits()) as sandbox:
        result = sandbox.run("echo new > /data/new; id -u; pwd; echo ${SECRET-none}; echo $PATH")
        assert result.output.splitlines()[:3] == ["0", "/", "none"]
        assert "/usr/bin" in result.output
        assert [change.path for change in sandbox.changes()] == ["/data/new"]
        assert engine.inspect(sandbox.id)["Mounts"] == []
        assert "Health" not in engine.inspect(sandbox.id)["State"]
    layered = replace(image, layers=(Layer(setup=("echo more > /data/more",)),))
    with fresh(docker_backend, layered, Limits()) as sandbox:
        assert sandbox.run("cat /data/*; echo ${SECRET-none}").raw == b"more\nold\nnone\n"
