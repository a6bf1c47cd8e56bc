"""Control groups: limits that hold, processes that stop and die, nothing left behind."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from intercode.errors import LimitError, SandboxError
from intercode.sandboxes import cgroups as module
from intercode.sandboxes.cgroups import Cgroups, Group, _weigh, places_v1, places_v2

PREFIX = f"test-{uuid.uuid4().hex[:8]}"


def found(version: int) -> Cgroups | None:
    mounts = module._mounts(Path("/proc/mounts").read_text())
    own = module._own(Path("/proc/self/cgroup").read_text())
    if version == 1:
        places = places_v1(mounts, own)
    else:
        places = places_v2(mounts["cgroup2"], own.get("", "/")) if "cgroup2" in mounts else {}
    return Cgroups(places) if places else None


@pytest.fixture(params=[1, 2], ids=["v1", "v2"])
def cgroups(request: pytest.FixtureRequest) -> Iterator[Cgroups]:
    """Each version that this machine has, even where it keeps no limits; left clean."""
    here = found(request.param)
    if here is None:
        pytest.skip(f"no control groups of version {request.param} to write in (needs root)")
    try:
        yield here
    finally:
        here.sweep(lambda name: not name.startswith(PREFIX))


@pytest.fixture
def name() -> str:
    return f"{PREFIX}-{uuid.uuid4().hex[:8]}"


def needs(cgroups: Cgroups, *limits: str) -> None:
    if lacking := set(limits) & set(cgroups.missing()):
        pytest.skip(f"cannot limit {', '.join(sorted(lacking))} here")


def needs_freezer(cgroups: Cgroups) -> None:
    if "freezer" not in cgroups.places:
        pytest.skip("cannot freeze here")


def start(group: Group, *command: str) -> subprocess.Popen[bytes]:
    """Run a command that first joins the group, and wait until it has."""
    join = 'for f in $JOIN; do echo 0 >"$f" || exit 9; done; exec "$@"'
    process = subprocess.Popen(
        ["sh", "-c", join, "sh", *command],
        env=os.environ | {"JOIN": " ".join(map(str, group.procs_files()))},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    def joined() -> bool:
        files = group.procs_files()
        return all(str(process.pid) in file.read_text().split() for file in files)

    eventually(lambda: joined() or process.poll() is not None)
    return process


def eventually(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline, "it did not come to pass within 10 s"
        time.sleep(0.01)


def test_a_memory_hog_is_killed_and_counted(cgroups: Cgroups, name: str) -> None:
    needs(cgroups, "memory")
    group = cgroups.create(name, memory_mib=48)
    hog = start(group, sys.executable, "-c", "x = [bytearray(1 << 20) for _ in range(500)]")
    assert hog.wait(30) == -9
    assert group.oom_kills() >= 1
    calm = start(group, sys.executable, "-c", "x = [bytearray(1 << 20) for _ in range(10)]")
    assert calm.wait(30) == 0
    group.remove()


def test_memory_in_use_is_told(cgroups: Cgroups, name: str) -> None:
    needs(cgroups, "memory")
    group = cgroups.create(name, memory_mib=200)
    code = "import time; x = bytearray(b'x') * (60 << 20); time.sleep(60)"
    process = start(group, sys.executable, "-c", code)
    eventually(lambda: group.memory_bytes() > 60 << 20)
    assert group.memory_bytes() <= 200 << 20
    assert group.oom_kills() == 0
    group.kill()
    process.wait()


def test_a_fork_bomb_stays_bounded_and_dies(cgroups: Cgroups, name: str) -> None:
    needs(cgroups, "processes")
    group = cgroups.create(name, processes=25)
    bomb = start(group, "bash", "-c", "bomb() { bomb | bomb & }; bomb; sleep 60")
    eventually(lambda: len(group.pids()) > 15)
    for _ in range(20):
        assert len(group.pids()) <= 25
        time.sleep(0.01)
    group.kill()
    assert group.pids() == []
    bomb.wait()
    group.remove()


def test_processor_time_is_rationed(cgroups: Cgroups, name: str) -> None:
    needs(cgroups, "cpus")
    group = cgroups.create(name, cpus=0.2)
    busy = "import time; t = time.process_time(); w = time.monotonic()\n"
    busy += "while time.monotonic() < w + 1.5: pass\n"
    busy += "import sys; sys.exit(0 if time.process_time() - t < 0.75 else 1)"
    assert start(group, sys.executable, "-c", busy).wait(30) == 0


def test_freezing_stops_and_thawing_goes_on(cgroups: Cgroups, name: str, tmp_path: Path) -> None:
    needs_freezer(cgroups)
    group, counter = cgroups.create(name), tmp_path / "counter"
    code = "import os, sys; f = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY); n = 0\n"
    code += "while True: n += 1; os.pwrite(f, b'%d' % n, 0)"
    process = start(group, sys.executable, "-c", code, str(counter))
    eventually(lambda: counter.exists() and counter.read_text())

    group.freeze()
    still = counter.read_text()
    time.sleep(0.2)
    assert counter.read_text() == still
    group.freeze()  # again is no harm
    assert group.pids() == [process.pid]

    group.thaw()
    eventually(lambda: int(counter.read_text()) > int(still))
    group.kill()
    process.wait()


def test_kill_takes_runaways_and_the_frozen(cgroups: Cgroups, name: str) -> None:
    needs_freezer(cgroups)
    group = cgroups.create(name)
    script = "trap '' TERM HUP; setsid sleep 60 & (setsid sleep 60 &) ; sleep 60 & wait"
    process = start(group, "bash", "-c", script)
    eventually(lambda: len(group.pids()) == 4)
    group.freeze()
    group.kill()
    assert group.pids() == []
    assert process.wait(10) == -9
    group.remove()


def test_killing_works_without_the_kernels_own_switch(
    cgroups: Cgroups, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = module._written
    monkeypatch.setattr(
        module, "_written", lambda file, text: file.name != "cgroup.kill" and real(file, text)
    )
    group = cgroups.create(name)
    process = start(group, "bash", "-c", "while :; do sleep 0.01 & done")
    eventually(lambda: len(group.pids()) >= 2)
    group.kill()
    assert group.pids() == []
    process.wait()


def test_removing_leaves_no_folder_and_may_be_repeated(cgroups: Cgroups, name: str) -> None:
    group = cgroups.create(name)
    assert all(folder.is_dir() for folder in group.folders())
    group.remove()
    assert not any(folder.exists() for folder in group.folders())
    group.remove()


def test_removing_waits_for_the_dying_but_not_for_the_living(cgroups: Cgroups, name: str) -> None:
    group = cgroups.create(name)
    process = start(group, "sleep", "60")
    with pytest.raises(SandboxError, match="cannot be removed"):
        group.remove(timeout_s=0.05)
    process.kill()  # not yet reaped: a zombie is no obstacle
    group.remove()
    process.wait()


def test_two_hundred_groups_come_and_go(cgroups: Cgroups, name: str) -> None:
    limits = {"memory_mib": 64, "processes": 10, "cpus": 1}
    for limit in cgroups.missing():
        del limits["memory_mib" if limit == "memory" else limit]
    for i in range(200):
        cgroups.create(f"{name}-{i}", **limits).remove()
    for place in cgroups.places.values():
        assert not [entry for entry in place.iterdir() if entry.name.startswith(name)]


def test_sweeping_kills_and_removes_what_dead_owners_left(cgroups: Cgroups, name: str) -> None:
    mine, theirs = cgroups.create(f"{name}-mine"), cgroups.create(f"{name}-theirs")
    process, other = start(mine, "sleep", "60"), start(theirs, "sleep", "60")
    swept = cgroups.sweep(lambda n: not n.startswith(name) or n.endswith("-mine"))
    assert swept == [f"{name}-theirs"]
    assert other.wait(10) == -9
    assert process.poll() is None
    mine.kill()
    process.wait()


def test_a_name_is_given_once_and_cannot_lead_elsewhere(cgroups: Cgroups, name: str) -> None:
    group = cgroups.create(name)
    with pytest.raises(SandboxError, match="exists"):
        cgroups.create(name)
    assert all(folder.is_dir() for folder in group.folders())
    for bad in ("", ".", "..", "../x", "a/b", "a b", "-x", "x" * 300):
        with pytest.raises(SandboxError, match="name"):
            cgroups.create(bad)


def test_what_is_made_of_a_group_that_fails_is_removed(cgroups: Cgroups, name: str) -> None:
    needs(cgroups, "processes")
    with pytest.raises(SandboxError, match="cannot be made"):
        cgroups.create(name, processes=-5)
    assert not any((place / name).exists() for place in cgroups.places.values())


def test_detection_finds_the_version_that_keeps_the_most() -> None:
    best = Cgroups.detect()
    if best is None:
        pytest.skip("no control groups to write in (needs root)")
    others = [other for other in (found(1), found(2)) if other]
    assert len(best.missing()) == min(len(other.missing()) for other in others)


# -- version 2, on a kernel of paper ---------------------------------------------------------------


class PaperKernel:
    """A version 2 tree of plain files, with the rules that finding a place has to obey."""

    def __init__(self, top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.top = top
        self._rmdir = Path.rmdir
        monkeypatch.setattr(Path, "mkdir", lambda path, **how: self.make(path))
        monkeypatch.setattr(Path, "rmdir", lambda path: self.remove(path))
        monkeypatch.setattr(module, "_written", self.written)

    def make(self, folder: Path, pids: str = "", controllers: str | None = None) -> None:
        if folder.is_dir():
            return
        os.makedirs(folder)  # Path.mkdir is ourselves
        if controllers is None:
            controllers = (folder.parent / "cgroup.subtree_control").read_text()
            (folder / "cgroup.type").write_text("domain\n")
        for file, text in {"subtree_control": "", "procs": pids, "freeze": "0\n"}.items():
            (folder / f"cgroup.{file}").write_text(text)
        (folder / "cgroup.events").write_text("populated 0\nfrozen 1\n")
        self.give(folder, controllers)

    def give(self, folder: Path, controllers: str) -> None:
        (folder / "cgroup.controllers").write_text(controllers)
        files = {"memory": ["memory.max", "memory.swap.max", "memory.current", "memory.events"]}
        files |= {"pids": ["pids.max"], "cpu": ["cpu.max"]}
        for controller in controllers.split():
            for file in files.get(controller, []):
                (folder / file).touch()

    def remove(self, folder: Path) -> None:
        for file in folder.iterdir():
            file.unlink()
        self._rmdir(folder)

    def written(self, file: Path, text: str) -> bool:
        if not file.exists():
            return False
        if file.name == "cgroup.subtree_control":
            name = text.removeprefix("+")
            has = (file.parent / "cgroup.controllers").read_text().split()
            full = (file.parent / "cgroup.procs").read_text().strip()
            if name not in has or (full and (file.parent / "cgroup.type").exists()):
                return False
            text = f"{file.read_text()} {name}"
            for child in file.parent.iterdir():
                if child.is_dir():
                    self.give(child, text)
        elif file.name == "cgroup.procs":
            for other in self.top.rglob("cgroup.procs"):
                left = [pid for pid in other.read_text().split() if pid != text]
                other.write_text("\n".join(left))
            text = f"{file.read_text()}\n{text}"
        file.write_text(text)
        return True


@pytest.fixture
def paper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PaperKernel:
    return PaperKernel(tmp_path / "cg", monkeypatch)


ALL = "cpuset cpu io memory pids"


def test_v2_root_of_a_machine_uses_the_top(paper: PaperKernel) -> None:
    paper.make(paper.top, pids="1 2", controllers=ALL)  # the top may hold processes as well
    cgroups = Cgroups(places_v2(paper.top, "/"))
    assert cgroups.missing() == []
    assert set(cgroups.places.values()) == {paper.top / "intercode"}
    assert (paper.top / "cgroup.procs").read_text() == "1 2"


def test_v2_limits_are_written_where_the_kernel_reads_them(paper: PaperKernel) -> None:
    paper.make(paper.top, controllers=ALL)
    group = Cgroups(places_v2(paper.top, "/")).create("box", memory_mib=64, processes=9, cpus=1.5)
    folder = paper.top / "intercode" / "box"
    assert group.folders() == [folder]
    assert group.procs_files() == [folder / "cgroup.procs"]
    files = ("memory.max", "memory.swap.max", "pids.max", "cpu.max")
    assert [(folder / file).read_text() for file in files] == [
        str(64 << 20),
        "0",
        "9",
        "30000 20000",
    ]
    (folder / "memory.events").write_text("low 0\nhigh 0\nmax 7\noom 3\noom_kill 2\n")
    (folder / "memory.current").write_text("4096\n")
    assert (group.oom_kills(), group.memory_bytes()) == (2, 4096)
    group.remove()
    assert not folder.exists()


def test_v2_a_delegated_parent_that_already_hands_on_is_taken(
    paper: PaperKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    paper.make(paper.top, pids="1", controllers=ALL)
    user = paper.top / "user.slice" / "app.slice"
    own = user / "shell.scope"
    for folder in (user.parent, user):
        for name in ("memory", "pids"):
            paper.written(folder.parent / "cgroup.subtree_control", f"+{name}")
        paper.make(folder)
    for name in ("memory", "pids"):
        paper.written(user / "cgroup.subtree_control", f"+{name}")
    paper.make(own, pids="77")
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).is_relative_to(user))

    cgroups = Cgroups(places_v2(paper.top, "/user.slice/app.slice/shell.scope"))

    assert cgroups.places["memory"] == user / "intercode"
    assert cgroups.missing() == ["cpus"]
    assert (own / "cgroup.procs").read_text() == "77"  # nobody was moved
    with pytest.raises(LimitError, match="cpu"):
        cgroups.create("box", cpus=1)
    assert not (user / "intercode" / "box").exists()


def test_v2_in_a_container_its_processes_move_to_a_leaf(paper: PaperKernel) -> None:
    paper.make(paper.top, controllers=ALL)
    for name in ("cpu", "memory", "pids"):
        paper.written(paper.top / "cgroup.subtree_control", f"+{name}")
    container = paper.top / "container"
    paper.make(container, pids="1\n23")

    cgroups = Cgroups(places_v2(container, "/"))

    assert cgroups.missing() == []
    assert (container / "cgroup.procs").read_text() == ""
    assert (container / "intercode.main" / "cgroup.procs").read_text().split() == ["1", "23"]
    assert Cgroups(places_v2(container, "/intercode.main")) == cgroups  # a second process


def test_v2_a_tree_that_is_not_ours_gives_nothing(
    paper: PaperKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    paper.make(paper.top, controllers=ALL)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert places_v2(paper.top, "/a/b") == {}
    proc = paper.top / "proc"
    paper.make(proc / "self", controllers="")
    (proc / "mounts").write_text(f"cgroup2 {paper.top} cgroup2 rw,nsdelegate 0 0\n")
    (proc / "self" / "cgroup").write_text("0::/a/b\n")
    assert Cgroups.detect(proc) is None


def test_v2_freezing_that_does_not_come_about_is_undone_and_told(paper: PaperKernel) -> None:
    paper.make(paper.top, controllers=ALL)
    group = Cgroups(places_v2(paper.top, "/")).create("box")
    folder = paper.top / "intercode" / "box"
    group.freeze()
    assert (folder / "cgroup.freeze").read_text() == "1"
    (folder / "cgroup.events").write_text("populated 1\nfrozen 0\n")
    with pytest.raises(SandboxError, match="did not freeze"):
        group.freeze(timeout_s=0.01)
    assert (folder / "cgroup.freeze").read_text() == "0"


def test_v1_controllers_mounted_together_and_own_groups_are_found(tmp_path: Path) -> None:
    both, memory = tmp_path / "cpu,cpuacct", tmp_path / "memory"
    for folder in (both, memory / "job"):
        folder.mkdir(parents=True)
        (folder / "cgroup.procs").touch()
    mounts = module._mounts(
        f"tmpfs {tmp_path} tmpfs rw 0 0\n"
        f"cgroup {both} cgroup rw,nosuid,cpu,cpuacct 0 0\n"
        f"cgroup {memory} cgroup rw,memory 0 0\n"
    )
    own = module._own("5:cpu,cpuacct:/\n4:memory:/job\n1:name=systemd:/x\n0::/\n")
    places = places_v1(mounts, own)  # the top of memory has no cgroup.procs: not ours to use
    assert places == {"cpu": both / "intercode", "memory": memory / "job" / "intercode"}
    assert Cgroups(places).missing() == ["processes"]


@pytest.mark.parametrize(("file", "one"), [("cpu.shares", 1024), ("cpu.weight", 100)])
def test_all_sandboxes_together_weigh_as_much_as_the_cores(
    tmp_path: Path, file: str, one: int
) -> None:
    (tmp_path / file).write_text("1")
    _weigh(tmp_path)
    assert (tmp_path / file).read_text() == str(one * len(os.sched_getaffinity(0)))
    assert [path.name for path in tmp_path.iterdir()] == [file]
