"""Trees of files that are an adversary's: walking them, copying them, measuring them.

Nothing here trusts a name. Directories are opened one at a time and never left through a link; what
lies deeper than any path can be long is left out.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from intercode.errors import SandboxError
from intercode.sandboxes.linux import open_in_root

_PATH_MAX = 4095
_CHUNK = 1 << 20
_WHOLE_BYTES = 1 << 30


def copy_upper(source: int | Path, target: int | Path) -> None:
    """Copy an upper directory with all that an overlay mount sees in it.

    Modes, owners, times, attributes, whiteouts, hard links and holes are kept; sockets, which are
    nothing without the process that made them, are left out. ``target`` is made, or is empty.
    """
    with reported("the files cannot be copied"):
        if isinstance(target, Path):
            target.mkdir(exist_ok=True)
        with opened(source) as old_root, opened(target) as new_root:
            linked: dict[int, str] = {}
            for path, old, entries in walk(old_root):
                with below(new_root, path) as new:
                    for name, status in entries:
                        if status.st_ino in linked:
                            os.link(
                                linked[status.st_ino],
                                name,
                                src_dir_fd=new_root,
                                dst_dir_fd=new,
                                follow_symlinks=False,
                            )
                            continue
                        _copy_entry(old, new, name, status)
                        if status.st_nlink > 1 and not stat.S_ISDIR(status.st_mode):
                            linked[status.st_ino] = f"{path}/{name}"[1:]
                    # Not before: making entries moves its time, and its mode may forbid them.
                    _copy_attributes(old, new, ".", os.fstat(old))


def _copy_entry(old: int, new: int, name: str, status: os.stat_result) -> None:
    kind = stat.S_IFMT(status.st_mode)
    if kind == stat.S_IFDIR:
        return os.mkdir(name, 0o700, dir_fd=new)
    if kind == stat.S_IFSOCK:
        return None
    if kind == stat.S_IFREG:
        reading = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
        with held(os.open(name, reading, dir_fd=old)) as content:
            writing = os.O_WRONLY | os.O_CREAT | os.O_EXCL
            with held(os.open(name, writing, 0o600, dir_fd=new)) as copy:
                _copy_content(content, copy, status.st_size)
    elif kind == stat.S_IFLNK:
        os.symlink(os.readlink(name, dir_fd=old), name, dir_fd=new)
    else:
        os.mknod(name, status.st_mode, status.st_rdev, dir_fd=new)
    return _copy_attributes(old, new, name, status)


def _copy_content(old: int, new: int, size: int) -> None:
    os.ftruncate(new, size)
    start = _data_after(old, 0, size)
    while start < size:
        end = os.lseek(old, start, os.SEEK_HOLE)
        os.lseek(new, start, os.SEEK_SET)
        while start < end and (sent := os.sendfile(new, old, start, min(end - start, _CHUNK))):
            start += sent
        start = _data_after(old, max(start, end), size)


def _copy_attributes(old: int, new: int, name: str, status: os.stat_result) -> None:
    source, target = at(old, name), at(new, name)
    os.chown(target, status.st_uid, status.st_gid, follow_symlinks=False)
    for attribute in os.listxattr(source, follow_symlinks=False):
        if attribute == "security.selinux":
            continue  # the kernel has labelled the copy
        value = os.getxattr(source, attribute, follow_symlinks=False)
        os.setxattr(target, attribute, value, follow_symlinks=False)
    if not stat.S_ISLNK(status.st_mode):
        os.chmod(name, stat.S_IMODE(status.st_mode), dir_fd=new)
    os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns), follow_symlinks=False)


def tree_bytes(path: int | Path) -> int:
    """What a directory and all in it take on their disk; a file with many names counts once."""
    sizes: dict[tuple[int, int], int] = {}
    with reported("the size cannot be read"), opened(path) as root:
        for _, fd, entries in walk(root):
            for status in (os.fstat(fd), *(status for _, status in entries)):
                sizes[status.st_dev, status.st_ino] = status.st_blocks * 512
    return sum(sizes.values())


@contextmanager
def reported(what: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SandboxError(f"{what}: {error}") from error


@contextmanager
def held(fd: int) -> Iterator[int]:
    try:
        yield fd
    finally:
        os.close(fd)


def opened(where: int | Path) -> AbstractContextManager[int]:
    flags = os.O_RDONLY | os.O_DIRECTORY
    return held(
        os.open(where, flags) if isinstance(where, Path) else os.open(".", flags, dir_fd=where)
    )


def below(root: int, path: str) -> AbstractContextManager[int]:
    """The directory ``path`` of ``root``; no link leads out of there."""
    return held(open_in_root(root, path or "/", os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW))


def at(directory: int, name: str) -> str:
    """A name for those calls that take a path alone; only its last part is the adversary's."""
    return f"/proc/self/fd/{directory}/{name}"


def names_in(directory: int, path: str) -> list[str]:
    room = _PATH_MAX - 1 - len(os.fsencode(path))
    return [name for name in os.listdir(directory) if len(os.fsencode(name)) <= room]


def walk(root: int) -> Iterator[tuple[str, int, list[tuple[str, os.stat_result]]]]:
    """Each directory from the root on, as it is: path, descriptor, entries."""
    todo = [""]
    while todo:
        path = todo.pop()
        with below(root, path) as fd:
            entries = [
                (name, os.stat(name, dir_fd=fd, follow_symlinks=False))
                for name in names_in(fd, path)
            ]
            todo += [f"{path}/{name}" for name, status in entries if stat.S_ISDIR(status.st_mode)]
            yield path, fd, entries


def _data_after(fd: int, start: int, size: int) -> int:
    """Where the next data are; the end if there are none."""
    try:
        return os.lseek(fd, start, os.SEEK_DATA)
    except OSError:
        return size


def digest_of_file(fd: int) -> str:
    digest, size = hashlib.sha256(), os.fstat(fd).st_size
    if size <= _WHOLE_BYTES:
        while chunk := os.read(fd, _CHUNK):
            digest.update(chunk)
        return digest.hexdigest()
    start = 0
    while (start := _data_after(fd, start, size)) < size:
        start -= start % _CHUNK  # never back into the chunk before, whose end is a multiple too
        chunk = os.pread(fd, _CHUNK, start)
        if chunk.strip(b"\0"):
            digest.update(start.to_bytes(8, "little") + chunk)
        start += _CHUNK
    return f"sparse-{digest.hexdigest()}"
