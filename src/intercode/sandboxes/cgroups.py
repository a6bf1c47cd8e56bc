"""Control groups: how much memory, how many processes and cores a sandbox may have.

A :class:`Group` is one sandbox's: limits that hold whatever the processes in it do, and a way to
stop, count and kill all of them at once, also those that ran away from their parent.

Linux has two forms. In version 1 each controller (memory, pids, cpu, freezer) has a tree of its
own, and a group is a folder in each; in version 2 there is one tree, and a folder has a controller
only where its parent hands it on. ``places_v1`` and ``places_v2`` find where ours may be,
``<place>/intercode/<name>``; from there on, a folder's files tell its version. Groups outlive
their makers: their names are labels, by which ``Cgroups.sweep`` removes what dead owners left.
"""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from intercode.errors import LimitError, SandboxError

Limit = Literal["memory", "processes", "cpus"]
_Settings = dict[str, dict[str, str]]  # controller, file of version 1 or 2, text
_CONTROLLERS: dict[Limit, str] = {"memory": "memory", "processes": "pids", "cpus": "cpu"}


@dataclass(frozen=True)
class Cgroups:
    """The places where this process may make groups: one folder a controller."""

    places: Mapping[str, Path]

    @classmethod
    def detect(cls, proc: Path = Path("/proc")) -> Cgroups | None:
        """The version that keeps more limits here; None where no group can be made."""
        mounts, own = _mounts(_read(proc / "mounts")), _own(_read(proc / "self" / "cgroup"))
        found = [cls(places_v1(mounts, own))]
        if "cgroup2" in mounts:
            found.append(cls(places_v2(mounts["cgroup2"], own.get("", "/"))))
        return min((c for c in found if c.places), key=lambda c: len(c.missing()), default=None)

    def missing(self) -> list[Limit]:
        """The limits that cannot be kept here."""
        return [limit for limit, name in _CONTROLLERS.items() if name not in self.places]

    def create(
        self,
        name: str,
        *,
        memory_mib: int | None = None,
        processes: int | None = None,
        cpus: float | None = None,
    ) -> Group:
        """A new group with these limits; None leaves one off; LimitError if one is missing here.
        What is written to a tmpfs counts as memory of the group that wrote it."""
        settings = _settings(memory_mib, processes, cpus)
        if unkept := sorted(settings.keys() - self.places.keys()):
            raise LimitError(
                f"control groups cannot limit {', '.join(unkept)} here",
                remedy="run as root, or below `systemd-run --user --scope -p Delegate=yes`",
            )
        group, made = self._group(name), list[Path]()
        try:
            for folder in group.folders():
                folder.mkdir()
                made.append(folder)
            for controller, texts in settings.items():
                _set(group.paths[controller], texts)
        except OSError as error:
            for folder in made:
                _removed(folder)
            raise SandboxError(f"control group {name} cannot be made: {error}") from error
        return group

    def sweep(self, alive: Callable[[str], bool]) -> list[str]:
        """Kill what is in the groups that ``alive`` disowns and remove them; gives their names."""
        folders = [entry for place in self.places.values() for entry in place.iterdir()]
        dead = {f.name: self._group(f.name) for f in folders if f.is_dir() and not alive(f.name)}
        for group in dead.values():
            group.kill()
            group.remove()
        return sorted(dead)

    def _group(self, name: str) -> Group:
        if not re.fullmatch(r"\w[\w.-]{0,200}", name, re.ASCII):
            raise SandboxError(f"{name!r} cannot be the name of a control group")
        return Group(name, {c: place / name for c, place in self.places.items()})


@dataclass(frozen=True)
class Group:
    """One control group. Whoever made it removes it, once nothing runs in it."""

    name: str
    paths: Mapping[str, Path]  # by controller

    def folders(self) -> list[Path]:
        return list(dict.fromkeys(self.paths.values()))

    def procs_files(self) -> list[Path]:
        """To join, a process writes ``0`` (itself), or a process's id, in each of these."""
        return [folder / "cgroup.procs" for folder in self.folders()]

    def pids(self) -> list[int]:
        """Every process in the group that has not ended."""
        # One controller's list is all: a process joins every tree, and its children are born there.
        found = {int(pid) for pid in _read(self.folders()[0] / "cgroup.procs").split()}
        return sorted(found - {0})  # 0 is one of another pid namespace: it has no number here

    def freeze(self, timeout_s: float = 5.0) -> None:
        """Stop every process where it stands; SandboxError if some still move after the time."""
        for _ in _until(timeout_s):
            if self._switch(frozen=True):  # asked again each time: version 1 may miss a new child
                return
        self.thaw()
        raise SandboxError(f"control group {self.name} did not freeze within {timeout_s:g} s")

    def thaw(self) -> None:
        """Let frozen processes go on."""
        self._switch(frozen=False)

    def kill(self, timeout_s: float = 5.0) -> None:
        """Kill every process, frozen or not; SandboxError if some are left after the time."""
        for turn, _ in enumerate(_until(timeout_s)):
            if not self.pids():
                return
            if turn % 5 == 0:  # between strikes, time to die
                self._strike(freeze=turn > 0)
        raise SandboxError(f"processes {self.pids()} of control group {self.name} do not die")

    def oom_kills(self) -> int:
        """How many processes the kernel killed because the group was out of memory."""
        return _field(self._memory("memory.oom_control", "memory.events"), "oom_kill")

    def memory_bytes(self) -> int:
        """What the group's processes, and what they keep in a tmpfs, take now."""
        return int(self._memory("memory.usage_in_bytes", "memory.current") or 0)

    def remove(self, timeout_s: float = 5.0) -> None:
        """Remove the group, as soon as its dead are gone; SandboxError if something lives in it."""
        left = self.folders()
        for _ in _until(timeout_s):
            while left and _removed(left[0]):  # while one is in use, so are the others
                del left[0]
            if not left:
                return
        raise SandboxError(f"{left[0]} cannot be removed", remedy="kill the group's processes")

    def _switch(self, *, frozen: bool) -> bool:
        """Ask for a state; whether it is reached."""
        if "freezer" not in self.paths:
            raise LimitError("this machine has no freezer: processes cannot be stopped together")
        folder, word = self.paths["freezer"], "FROZEN" if frozen else "THAWED"
        if _written(folder / "freezer.state", word):
            return _read(folder / "freezer.state").strip() == word
        if _written(folder / "cgroup.freeze", str(int(frozen))):
            return _field(_read(folder / "cgroup.events"), "frozen") == int(frozen)
        raise SandboxError(f"control group {self.name} is gone or cannot be frozen")

    def _strike(self, *, freeze: bool) -> None:
        """Kill all that are there now; frozen, which is slower, none can fork away meanwhile."""
        freezer = self.paths.get("freezer")
        if freezer and _written(freezer / "cgroup.kill", "1"):  # version 2, since Linux 5.14
            return
        with suppress(SandboxError):  # no freezer, or a slow one: better than not to strike
            if freeze:
                self.freeze(timeout_s=0.2)
        for pid in self.pids():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if freezer:
            self.thaw()

    def _memory(self, *files: str) -> str:
        folder = self.paths.get("memory")
        return "".join(_read(folder / file) for file in files) if folder else ""


def _set(folder: Path, texts: Mapping[str, str]) -> None:
    """Write those of the files that this version of control groups has; one it has to have."""
    missing: FileNotFoundError | None = None
    done = False
    for file, text in texts.items():
        try:
            fd = os.open(f"{folder}/{file}", os.O_WRONLY | os.O_TRUNC)
        except FileNotFoundError as error:
            missing = missing or error
            continue
        try:
            os.write(fd, text.encode())
        finally:
            os.close(fd)
        done = True
    if missing is not None and not done:
        raise missing


def _settings(memory_mib: int | None, processes: int | None, cpus: float | None) -> _Settings:
    settings: _Settings = {}
    if memory_mib is not None:
        amount = str(memory_mib << 20)
        settings["memory"] = {"memory.limit_in_bytes": amount, "memory.max": amount}
        # No swap on top, where there is any: it would only make the whole machine slow.
        settings["memory"] |= {"memory.memsw.limit_in_bytes": amount, "memory.swap.max": "0"}
    if processes is not None:
        settings["pids"] = {"pids.max": str(processes)}
    if cpus is not None:
        # A short period (in µs): who has used up his share can be stopped only in the next.
        quota = str(max(1000, int(cpus * 20_000)))
        settings["cpu"] = {"cpu.cfs_period_us": "20000", "cpu.cfs_quota_us": quota}
        settings["cpu"] |= {"cpu.max": f"{quota} 20000"}
    return settings


def places_v1(mounts: Mapping[str, Path], own: Mapping[str, str]) -> dict[str, Path]:
    """Each controller's tree is asked by itself: at its top first, last at the group we are in."""
    places = {}
    for controller in mounts.keys() & {*_CONTROLLERS.values(), "freezer"}:
        if candidates := _writable(mounts[controller], own.get(controller, "/")):
            places[controller] = candidates[0] / "intercode"
            places[controller].mkdir(exist_ok=True)
    if "cpu" in places:
        _weigh(places["cpu"])
    return places


def places_v2(top: Path, own: str) -> dict[str, Path]:
    """The folder, among those above us that are ours to write in, that can hand on the most.

    A folder that holds processes cannot begin to hand controllers on. So where only our own group
    has more to give (a container, a delegated scope), its processes move to a leaf below it.
    """
    if not (candidates := _writable(top, own)):
        return {}
    place, ours = max(candidates, key=lambda f: len(_offered(f, now=True))), candidates[-1]
    if len(_offered(ours)) > len(_offered(place, now=True)):
        place, leaf = ours, ours / "intercode.main"
        leaf.mkdir(exist_ok=True)
        for pid in _read(place / "cgroup.procs").split():
            _written(leaf / "cgroup.procs", pid)
    house = place / "intercode"
    house.mkdir(exist_ok=True)
    given = [c for c in sorted(_offered(place)) if _hand_on(place, c) and _hand_on(house, c)]
    _weigh(house)
    return {"freezer": house, **dict.fromkeys(given, house)}


def _weigh(house: Path) -> None:
    """All sandboxes together weigh as much as one process for each core: as much as one alone, as
    groups do by default, would starve them on a busy machine."""
    cores = len(os.sched_getaffinity(0))
    _written(house / "cpu.shares", str(1024 * cores))
    _written(house / "cpu.weight", str(min(100 * cores, 10_000)))


def _writable(top: Path, own: str) -> list[Path]:
    """The folders from ``top`` down to our own group in which we may make groups and move to."""
    parts = [part for part in own.split("/") if part and ".." not in own]  # "..": not in sight
    folders = [top.joinpath(*parts[:depth]) for depth in range(len(parts) + 1)]
    return [f for f in folders if os.access(f, os.W_OK) and os.access(f / "cgroup.procs", os.W_OK)]


def _offered(folder: Path, *, now: bool = False) -> set[str]:
    """What a folder has, or can hand on ``now``: with processes in it, what it does already."""
    has = set(_read(folder / "cgroup.controllers").split()) & set(_CONTROLLERS.values())
    top = not (folder / "cgroup.type").exists()  # of the whole tree: it alone may do both
    if now and not top and _read(folder / "cgroup.procs").split():
        return has & set(_read(folder / "cgroup.subtree_control").split())
    return has


def _hand_on(folder: Path, controller: str) -> bool:
    file = folder / "cgroup.subtree_control"
    return controller in _read(file).split() or _written(file, f"+{controller}")


def _mounts(text: str) -> dict[str, Path]:
    """Where each controller of version 1, and ``cgroup2``, is mounted."""
    return {
        name: Path(folder)
        for _, folder, kind, options, *_ in map(str.split, text.splitlines())
        if kind in ("cgroup", "cgroup2")
        for name in (options.split(",") if kind == "cgroup" else [kind])
    }


def _own(text: str) -> dict[str, str]:
    """The group we are in, by controller; version 2's has no name."""
    rows = (line.split(":", 2) for line in text.splitlines())
    return {name: path for _, names, path in rows for name in names.split(",")}


def _read(file: Path) -> str:
    """A file's text; none if the group is gone or this kernel has no such file."""
    # Not Path.read_text: this is asked several times in each episode.
    try:
        fd = os.open(file, os.O_RDONLY)
    except OSError:
        return ""
    try:
        pieces = []
        while piece := os.read(fd, 1 << 16):
            pieces.append(piece)
        return b"".join(pieces).decode()
    except OSError:
        return ""
    finally:
        os.close(fd)


def _written(file: Path, text: str) -> bool:
    """Write to a file that is there already; whether that went well."""
    with suppress(OSError), open(os.open(file, os.O_WRONLY | os.O_TRUNC), "wb", 0) as stream:
        return stream.write(text.encode()) > 0
    return False


def _field(text: str, name: str) -> int:
    return int(dict(line.split() for line in text.splitlines()).get(name, 0))


def _removed(folder: Path) -> bool:
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return not folder.exists()
    return True


def _until(timeout_s: float) -> Iterator[None]:
    """Turns at growing intervals until the time is up; one at least."""
    yield
    deadline, pause = time.monotonic() + timeout_s, 0.0005
    while time.monotonic() < deadline:
        time.sleep(pause)
        yield
        pause = min(2 * pause, 0.05)
