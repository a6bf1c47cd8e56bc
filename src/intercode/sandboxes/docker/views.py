"""Two ways to look at a container's files, and what of them may have changed.

The engine's API works everywhere and costs what it costs: `diff` looks at every file of the image,
and each archive is a process of the engine's. Where the engine runs on this machine, keeps files in
overlay2 and lets us read them (as root), the same is read from overlay2's folders at once.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import tarfile
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Protocol

from intercode.errors import SandboxError
from intercode.sandboxes.base import FileType
from intercode.sandboxes.docker.engine import Engine
from intercode.sandboxes.docker.files import entries
from intercode.sandboxes.layers import Entry, IdMap, LayerStack

_ALL_IDS = IdMap(0, 1 << 32)
_CHUNK = 1 << 20
_MOST_REMEMBERED = 10_000


@dataclass(frozen=True)
class Facts:
    """What one file is. ``size``, ``digest``: of regular files; ``target``: of symbolic links."""

    type: FileType
    mode: int = 0
    uid: int = 0
    gid: int = 0
    size: int = 0
    mtime_ns: int = 0
    digest: str = ""
    target: str = ""


class View(Protocol):
    """One state of a file system. The callers see to it that no directory above is a link."""

    def entry(self, path: str) -> Facts | None: ...

    def below(self, path: str) -> Iterator[tuple[str, Facts]]:
        """Everything below a directory, a directory before what is in it."""


@dataclass(frozen=True)
class Touched:
    """Where to look for changes: paths, and directories that have to be compared ``whole``."""

    paths: frozenset[str] = frozenset()
    whole: frozenset[str] = frozenset()

    def __or__(self, other: Touched) -> Touched:
        return Touched(self.paths | other.paths, self.whole | other.whole)


NOWHERE = Touched()


@dataclass(frozen=True)
class Folders:
    """overlay2's directories of a container or an image, top-most first."""

    top: Path
    rest: tuple[Path, ...]

    @classmethod
    def of(cls, inspected: Mapping[str, Any]) -> Folders | None:
        """None where they cannot be read from here: all of them by root only."""
        if os.getuid() != 0:
            return None
        data = (inspected.get("GraphDriver") or {}).get("Data") or {}
        if not data.get("UpperDir"):
            return None
        lower = data.get("LowerDir") or ""
        folders = [Path(data["UpperDir"]), *map(Path, filter(None, lower.split(":")))]
        readable = all(os.access(folder, os.R_OK | os.X_OK) for folder in folders)
        return cls(folders[0], tuple(folders[1:])) if readable else None

    def touched(self) -> Touched:
        """Every name in the top-most directory, what it hides included."""
        paths, whole = set(), set()
        with LayerStack([self.top]) as stack:
            todo = [""]
            while todo:
                path = todo.pop()
                with stack.directory(path, (0,)) as directory:
                    if path and directory.opaque():
                        whole.add(path)
                    for name in directory.names():
                        paths.add(f"{path}/{name}")
                        found = directory.find(name)
                        if found is not None and found.type == "dir":
                            todo.append(found.path)
        return Touched(frozenset(paths), frozenset(whole))

    @contextlib.contextmanager
    def view(self) -> Iterator[OverlayView]:
        with LayerStack([self.top, *self.rest]) as stack:
            yield OverlayView(stack)


class OverlayView:
    """Read from overlay2's folders."""

    def __init__(self, stack: LayerStack) -> None:
        self._stack = stack

    def entry(self, path: str) -> Facts | None:
        found = self._stack.lookup(path)
        return _entry_facts(found) if found else None

    def below(self, path: str) -> Iterator[tuple[str, Facts]]:
        for found in self._stack.walk(path):
            yield found.path, _entry_facts(found)


def _entry_facts(entry: Entry) -> Facts:
    _, mode, uid, gid, size, _ = entry.facts(_ALL_IDS)
    return Facts(
        entry.type,
        mode=mode,
        uid=uid,
        gid=gid,
        size=size,
        mtime_ns=entry.status.st_mtime_ns,
        digest=entry.content if entry.type == "file" else "",
        target=entry.content if entry.type == "symlink" else "",
    )


class EngineView:
    """Read by the engine's API. Times of what is below a directory come in whole seconds."""

    def __init__(self, engine: Engine, name: str, budget_bytes: int) -> None:
        """``budget_bytes``: more than that is not read, since holes in files cost the agent
        nothing and come over the wire in full."""
        self._engine = engine
        self._name = name
        self._left = budget_bytes

    def entry(self, path: str) -> Facts | None:
        # Asked first because it is cheap, and most of what was touched did not exist before.
        stat = self._engine.stat(self._name, path)
        if stat is None:
            return None
        mtime_ns = _nanoseconds(stat.mtime)
        with contextlib.closing(self._read(path)) as found:
            for here, facts in found:
                if here == path:
                    return replace(facts, mtime_ns=mtime_ns)
        # The engine leaves sockets out of its archives.
        kind: FileType = "socket" if stat.is_socket else "device"
        return Facts(kind, mode=stat.mode & 0o777, mtime_ns=mtime_ns)

    def below(self, path: str) -> Iterator[tuple[str, Facts]]:
        return ((here, facts) for here, facts in self._read(path) if here != path)

    def _read(self, path: str) -> Generator[tuple[str, Facts], None, None]:
        first: dict[str, Facts] = {}
        with entries(self._engine, self._name, path) as found:
            for here, member, tar in found:
                if member.islnk():
                    facts = first.get(member.linkname) or Facts("file")
                else:
                    facts = first[member.name] = self._facts(member, tar)
                yield here, facts

    def _facts(self, member: tarfile.TarInfo, tar: tarfile.TarFile) -> Facts:
        digest = ""
        file = tar.extractfile(member) if member.isreg() else None
        if file is not None:
            self._left -= member.size
            if self._left < 0:
                raise SandboxError("what has changed is too large to be read")
            digest = _digest(file)
        return Facts(
            _tar_type(member),
            mode=member.mode & 0o7777,
            uid=member.uid,
            gid=member.gid,
            size=member.size if member.isreg() else 0,
            mtime_ns=int(member.mtime) * 10**9,
            digest=digest,
            target=member.linkname if member.issym() else "",
        )


class RememberedView:
    """A view of files that never change, such as an image's."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._known: dict[str, Facts | None] = {}

    def entry(self, path: str) -> Facts | None:
        if path not in self._known:
            if len(self._known) >= _MOST_REMEMBERED:
                self._known.clear()
            self._known[path] = self._view.entry(path)
        return self._known[path]

    def below(self, path: str) -> Iterator[tuple[str, Facts]]:
        return self._view.below(path)


def _digest(file: IO[bytes]) -> str:
    digest = hashlib.sha256()
    while chunk := file.read(_CHUNK):
        digest.update(chunk)
    return digest.hexdigest()


def _tar_type(member: tarfile.TarInfo) -> FileType:
    if member.isdir():
        return "dir"
    if member.issym():
        return "symlink"
    if member.isfifo():
        return "fifo"
    return "device" if member.isdev() else "file"


def _nanoseconds(stamp: str) -> int:
    """A time such as ``2026-11-21T10:20:40.177753491Z``, which Python reads to microseconds."""
    found = re.fullmatch(r"([^.Z+]+)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)", stamp)
    if found is None:
        return 0
    whole = datetime.fromisoformat(found[1] + found[3].replace("Z", "+00:00"))
    since = whole - datetime(1970, 1, 1, tzinfo=UTC)
    seconds = since.days * 86400 + since.seconds
    return seconds * 10**9 + int((found[2] or "").ljust(9, "0")[:9])
