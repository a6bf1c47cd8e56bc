"""Reading and writing files of a container by the engine's archive API.

The engine resolves every path inside the container's root, whatever links the agent has laid, and
needs nothing of what runs there: it works on a stopped or emptied container as well.
"""

from __future__ import annotations

import contextlib
import io
import posixpath
import tarfile
import time
from collections.abc import Iterator

from intercode.sandboxes.docker.engine import Engine

Entries = Iterator[tuple[str, tarfile.TarInfo, tarfile.TarFile]]
"""Path, entry, and the archive it is the current entry of."""


def read(engine: Engine, name: str, path: str, max_bytes: int | None) -> bytes:
    """See `Sandbox.read_file`."""
    path = _absolute(path)
    stat = engine.stat(name, path)
    if stat is not None and stat.is_symlink:
        path = stat.target
        stat = engine.stat(name, path)
    if stat is None:
        raise FileNotFoundError(f"there is no {path!r} in the sandbox")
    if stat.is_dir:
        raise IsADirectoryError(f"{path!r} is a directory")
    if not stat.is_file:
        raise FileNotFoundError(f"{path!r} is not a regular file")
    with entries(engine, name, path) as found:
        for here, member, tar in found:
            if here == path and (file := tar.extractfile(member)) is not None:
                return file.read(-1 if max_bytes is None else max_bytes)
    raise FileNotFoundError(f"there is no {path!r} in the sandbox")


def write(engine: Engine, name: str, path: str, data: bytes, mode: int) -> None:
    """See `Sandbox.write_file`."""
    path = _absolute(path)
    stat = engine.stat(name, path)
    if stat is not None and stat.is_symlink:
        path = stat.target
        stat = engine.stat(name, path)
    if path == "/" or (stat is not None and stat.is_dir):
        raise IsADirectoryError(f"{path!r} is a directory")
    parent, missing = _deepest(engine, name, posixpath.dirname(path))
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w", errors="surrogateescape") as archive:
        _add_directories(archive, missing)
        file = _entry("/".join((*missing, posixpath.basename(path))), mode)
        file.size = len(data)
        archive.addfile(file, io.BytesIO(data))
    engine.put_archive(name, parent, tar.getvalue())


def put_tree(engine: Engine, name: str, tar: bytes, path: str) -> None:
    """See `Sandbox.put_tree`."""
    path = _absolute(path)
    parent, missing = _deepest(engine, name, path)
    if missing:
        folders = io.BytesIO()
        with tarfile.open(fileobj=folders, mode="w", errors="surrogateescape") as archive:
            _add_directories(archive, missing)
        engine.put_archive(name, parent, folders.getvalue())
    engine.put_archive(name, path, _without_devices(tar))


@contextlib.contextmanager
def entries(engine: Engine, name: str, path: str) -> Iterator[Entries]:
    """What is at ``path``, then all below it.

    Where a part of the path is no UTF-8, which engines mangle, the nearest directory above that
    part is read, and the rest of it passed over.
    """
    top = path
    while not is_text(top):
        top = posixpath.dirname(top)
    with engine.archive(name, top) as (_, tar):
        yield _below(tar, top, path)


def is_text(path: str) -> bool:
    """Whether it survives the engine's JSON: its bytes are UTF-8."""
    return not any(0xDC80 <= ord(char) <= 0xDCFF for char in path)


def _below(tar: tarfile.TarFile, top: str, path: str) -> Entries:
    inside = path.rstrip("/") + "/"
    for member in tar:
        # The engine's names begin with the last part of what was asked for.
        rest = member.name.partition("/")[2]
        here = posixpath.join(top, rest) if rest else top
        if here == path or here.startswith(inside):
            yield here, member, tar


def _absolute(path: str) -> str:
    """With one leading slash and no trailing one; ``..`` stays, for links are followed first."""
    if "\0" in path:
        raise FileNotFoundError(f"{path!r} is no path")
    return "/" + "/".join(part for part in path.split("/") if part not in ("", "."))


def _deepest(engine: Engine, name: str, path: str) -> tuple[str, list[str]]:
    """The deepest part of the path that exists, and the names that are missing below it."""
    missing: list[str] = []
    while path != "/" and engine.stat(name, path) is None:
        path, last = posixpath.split(path)
        missing.insert(0, last)
    return path, missing


def _add_directories(archive: tarfile.TarFile, names: list[str]) -> None:
    for end in range(1, len(names) + 1):
        folder = _entry("/".join(names[:end]), 0o755)
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)


def _entry(name: str, mode: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.mode = mode
    entry.mtime = int(time.time())
    return entry


def _without_devices(tar: bytes) -> bytes:
    """The engine would make them, as the machine's root."""
    with tarfile.open(fileobj=io.BytesIO(tar), errors="surrogateescape") as archive:
        if not any(member.isdev() and not member.isfifo() for member in archive):
            return tar
        kept = io.BytesIO()
        with tarfile.open(fileobj=kept, mode="w", errors="surrogateescape") as copy:
            for member in archive.getmembers():
                if not member.isdev() or member.isfifo():
                    copy.addfile(member, archive.extractfile(member) if member.isreg() else None)
    return kept.getvalue()
