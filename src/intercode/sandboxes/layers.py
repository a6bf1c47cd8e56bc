"""Overlay file systems read from outside: what a sandbox changed, and a copy of it.

An overlay's upper directory holds what was written, in full, and a mark for what was deleted: a
whiteout (a character device 0:0) for one name, an ``opaque`` attribute on a directory for all that
lies below it in the lower layers. So its entries alone say where to look, and looking costs what
changed, not what exists. No mount is needed, and no process of the sandbox is asked.

The files are an adversary's, so callers stop its processes first, and nothing here trusts a name.
Directories are opened one at a time and never left through a link; what lies deeper than any path
can name is left out. Marks are believed where the kernel believes them: ``trusted.overlay.*`` of a
mount made by root, ``user.overlay.*``, which otherwise anyone may set, of one with ``userxattr``.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from intercode.sandboxes.base import Change, ChangeKind, FileType
from intercode.sandboxes.linux import open_in_root
from intercode.sandboxes.trees import at, below, digest_of_file, held, names_in, opened, reported

_NOBODY = 65534
_TYPES: dict[int, FileType] = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "dir",
    stat.S_IFLNK: "symlink",
    stat.S_IFIFO: "fifo",
    stat.S_IFSOCK: "socket",
}


@dataclass(frozen=True)
class IdMap:
    """The sandbox's users and groups are this machine's from ``base`` on; all others are nobody."""

    base: int = 0
    count: int = 65536

    def inside(self, host: int) -> int:
        return host - self.base if 0 <= host - self.base < self.count else _NOBODY


def scan(
    upper: int | Path, lowers: Sequence[Path], *, ids: IdMap, userxattr: bool | None = None
) -> list[Change]:
    """What ``upper`` changes of ``lowers`` (top-most first), by path.

    ``modified``: type, mode, owner, link target or content differ. Where a directory gave way to
    another type, what was in it is not listed. ``/`` itself is never a change, and the time stamp
    of a directory makes none. The digest of a file above 1 GiB, of which a limited disk can hold
    little but holes, covers where and what its data are, and begins with ``sparse-``.
    ``userxattr``: how the overlay was mounted; by default, as this process would have to.
    """
    changes: list[Change] = []
    with reported("the changes cannot be read"), ExitStack() as opened:
        above = opened.enter_context(LayerStack([upper], userxattr=userxattr))
        below = opened.enter_context(LayerStack(lowers, userxattr=userxattr))
        # Directories of upper, the lower layers they stand over, whether those shine through.
        todo = [("", tuple(range(len(lowers))), True)]
        while todo:
            path, layers, clear = todo.pop()
            with above.directory(path, (0,)) as new, below.directory(path, layers) as old:
                clear = clear and not (path and new.opaque())
                for name in new.names() if clear else new.names() | old.names():
                    was, now = old.find(name), new.find(name)
                    if change := _difference(was, now, ids):
                        changes.append(change)
                    if now and now.type == "dir":
                        below_it = was.layers if was and was.type == "dir" else ()
                        todo.append((now.path, below_it, clear))
    return sorted(changes, key=lambda change: change.path)


def _difference(was: Entry | None, now: Entry | None, ids: IdMap) -> Change | None:
    if now is None:
        return Change(was.path, "deleted", was.type) if was else None
    kind: ChangeKind
    if was is None:
        kind = "created"
    elif now.facts(ids) != was.facts(ids) or now.content != was.content:
        kind = "modified"
    elif now.type != "dir" and now.status.st_mtime_ns != was.status.st_mtime_ns:
        kind = "touched"
    else:
        return None
    _, mode, uid, gid, size, _ = now.facts(ids)
    return Change(
        now.path,
        kind,
        now.type,
        mode=mode,
        digest=now.content if now.type == "file" else "",
        target=now.content if now.type == "symlink" else "",
        uid=uid,
        gid=gid,
        size=size,
        mtime_ns=now.status.st_mtime_ns,
    )


@dataclass(frozen=True)
class Entry:
    """Something in a stack of layers. Usable as long as the stack is open."""

    path: str
    status: os.stat_result
    layers: tuple[int, ...]
    """The layer it comes from; of a directory, all that it is merged of."""
    root: int
    """A descriptor of that layer's root."""

    @property
    def type(self) -> FileType:
        return _TYPES.get(stat.S_IFMT(self.status.st_mode), "device")

    def facts(self, ids: IdMap) -> tuple[int, int, int, int, int, int]:
        """What makes it what it is, its content and times apart."""
        s = self.status
        kind, size = stat.S_IFMT(s.st_mode), s.st_size if self.type == "file" else 0
        mode, uid, gid = stat.S_IMODE(s.st_mode), ids.inside(s.st_uid), ids.inside(s.st_gid)
        return kind, mode, uid, gid, size, s.st_rdev

    @cached_property
    def content(self) -> str:
        """A file's digest or a link's target."""
        if self.type == "file":
            with held(self.open(os.O_RDONLY | os.O_NONBLOCK)) as fd:
                return digest_of_file(fd)
        if self.type == "symlink":
            with held(self.open(os.O_PATH)) as fd:
                return os.readlink("", dir_fd=fd)
        return ""

    def open(self, flags: int) -> int:
        """A descriptor of the entry itself; a link is not followed."""
        return open_in_root(self.root, self.path, flags | os.O_NOFOLLOW)


class LayerStack:
    """Directories merged as overlayfs merges them, top-most first."""

    def __init__(self, layers: Sequence[int | Path], *, userxattr: bool | None = None) -> None:
        if userxattr is None:  # what the kernel demands of all but the machine's own root
            userxattr = Path("/proc/self/uid_map").read_text().split() != ["0", "0", "4294967295"]
        self.marks = "user.overlay." if userxattr else "trusted.overlay."
        with ExitStack() as opening:
            self.roots = [opening.enter_context(opened(layer)) for layer in layers]
            self._opened = opening.pop_all()

    def __enter__(self) -> LayerStack:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._opened.close()

    def lookup(self, path: str) -> Entry | None:
        """What is at ``path``; nothing, if the way there leads through a link."""
        if not self.roots:
            return None
        status, layers = os.fstat(self.roots[0]), tuple(range(len(self.roots)))
        found: Entry | None = Entry("/", status, layers, self.roots[0])
        for name in filter(None, path.split("/")):
            if found is None or found.type != "dir" or name in (".", ".."):
                return None
            with self.directory(found.path, found.layers) as directory:
                found = directory.find(name)
        return found

    def walk(self, path: str = "/") -> Iterator[Entry]:
        """Everything below ``path``, a directory before what is in it."""
        top = self.lookup(path)
        todo = [top] if top and top.type == "dir" else []
        while todo:
            here = todo.pop()
            with self.directory(here.path, here.layers) as directory:
                for name in sorted(directory.names()):
                    if entry := directory.find(name):
                        yield entry
                        if entry.type == "dir":
                            todo.append(entry)

    @contextmanager
    def directory(self, path: str, layers: tuple[int, ...]) -> Iterator[MergedDirectory]:
        """The directory at ``path`` in those layers, held open."""
        with ExitStack() as opened:
            yield MergedDirectory(
                self,
                path.rstrip("/"),
                {i: opened.enter_context(below(self.roots[i], path)) for i in layers},
            )


class MergedDirectory:
    """One directory of a stack: descriptors of it, by layer."""

    def __init__(self, stack: LayerStack, path: str, fds: dict[int, int]) -> None:
        self._stack, self._path, self._fds = stack, path, fds

    def names(self) -> set[str]:
        """All names in any layer, those included that a whiteout hides."""
        return {name for fd in self._fds.values() for name in names_in(fd, self._path)}

    def find(self, name: str) -> Entry | None:
        """What ``name`` is once the layers are merged."""
        top: os.stat_result | None = None
        parts: list[int] = []
        for layer, fd in self._fds.items():
            try:
                status = os.stat(name, dir_fd=fd, follow_symlinks=False)
            except FileNotFoundError:
                continue
            if self._is_whiteout(fd, name, status) or (top and not stat.S_ISDIR(status.st_mode)):
                break
            top = top or status
            parts.append(layer)
            if not stat.S_ISDIR(status.st_mode) or self._mark(at(fd, name), "opaque") == b"y":
                break
        if top is None:
            return None
        return Entry(f"{self._path}/{name}", top, tuple(parts), self._stack.roots[parts[0]])

    def opaque(self) -> bool:
        """Whether the top-most layer hides what lies below it here."""
        return self._mark(at(next(iter(self._fds.values())), "."), "opaque") == b"y"

    def _is_whiteout(self, fd: int, name: str, status: os.stat_result) -> bool:
        if stat.S_ISCHR(status.st_mode):
            return status.st_rdev == 0
        # The other form, for file systems without devices: an empty file with an attribute.
        empty = stat.S_ISREG(status.st_mode) and status.st_size == 0
        return empty and self._mark(at(fd, name), "whiteout") is not None

    def _mark(self, where: str, mark: str) -> bytes | None:
        with suppress(OSError):  # there is none, or the file system knows no attributes
            return os.getxattr(where, self._stack.marks + mark, follow_symlinks=False)
        return None
