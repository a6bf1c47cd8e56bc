"""What has to be done to files with the rights of the sandbox's root, whoever runs InterCode.

Root does them in its own process. An ordinary user asks the worker, which is root of a user
namespace: only there can files be read that the agent made unreadable.
"""

from __future__ import annotations

import base64
import dataclasses
import errno
import io
import os
import shutil
import stat
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from intercode.sandboxes import layers, linux, trees
from intercode.sandboxes.base import Change


def do(name: str, fds: Sequence[int], arguments: dict[str, Any]) -> Any:
    """Run a chore by its name, with JSON in and out."""
    if name == "scan":
        lowers = [Path(lower) for lower in arguments["lowers"]]
        return [dataclasses.asdict(change) for change in scan(fds[0], lowers, arguments["base"])]
    if name == "copy_upper":
        target = arguments["target"]
        return copy_upper(fds[0], Path(target) if target else fds[1])
    if name == "read":
        data = read(fds[0], arguments["path"], arguments["max_bytes"])
        return base64.b64encode(data).decode()
    if name == "write":
        with os.fdopen(fds[1], "rb") as file:
            data = file.read()
        return write(fds[0], arguments["path"], data, arguments["mode"], arguments["base"])
    if name == "unpack":
        return unpack(fds[0], fds[1], arguments["path"], arguments["base"])
    if name == "remove":
        return shutil.rmtree(arguments["path"], ignore_errors=True)
    raise ValueError(f"no such chore: {name}")


def scan(upper: int, lowers: Sequence[Path], base: int) -> list[Change]:
    # The launcher mounts with `userxattr` where it is not the machine's root: see there.
    return layers.scan(upper, lowers, ids=layers.IdMap(base), userxattr=not base)


def copy_upper(source: int, target: int | Path) -> None:
    trees.copy_upper(source, target)


def read(root: int, path: str, max_bytes: int | None) -> bytes:
    # O_NONBLOCK: a fifo without a writer must not hold us.
    fd = linux.open_in_root(root, path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    with os.fdopen(fd, "rb") as file:
        mode = os.fstat(fd).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, f"{path} is a directory")
        if not stat.S_ISREG(mode):
            raise FileNotFoundError(errno.ENOENT, f"{path} is not a regular file")
        return file.read(-1 if max_bytes is None else max_bytes)


def write(root: int, path: str, data: bytes, mode: int, base: int) -> None:
    parts = [part for part in path.split("/") if part]
    for end in range(1, len(parts)):
        _make_directory(root, "/".join(parts[:end]), base)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK
    fd = linux.open_in_root(root, path, flags, mode)
    with os.fdopen(fd, "wb") as file:
        file.write(data)
        os.fchmod(fd, mode)
        os.fchown(fd, base, base)


def _make_directory(root: int, path: str, base: int) -> None:
    parent, _, name = path.rpartition("/")
    fd = linux.open_in_root(root, parent or ".", os.O_PATH | os.O_DIRECTORY)
    try:
        os.mkdir(name, 0o755, dir_fd=fd)
        os.chown(name, base, base, dir_fd=fd)
    except FileExistsError:
        pass
    finally:
        os.close(fd)


def unpack(root: int, archive: int, path: str, base: int) -> None:
    """Unpack a tar below ``path`` of a root directory. Runs in a process of its own: it changes
    that process's root, so that nothing in the archive can name a file outside."""
    os.fchdir(root)
    os.chroot(".")
    os.makedirs(path, exist_ok=True)
    os.chdir(path)
    os.umask(0)
    directories: list[tuple[str, int, float]] = []
    with os.fdopen(archive, "rb") as raw, tarfile.open(fileobj=raw, mode="r:*") as tar:
        for member in tar:
            if member.isdev() and not member.isfifo():
                continue
            name = member.name.lstrip("/") or "."
            _unpack_member(tar, member, name)
            _own(name, base + member.uid, base + member.gid, base)
            if member.isdir():
                directories.append((name, member.mode, member.mtime))
            elif not member.issym() and not member.islnk():
                os.chmod(name, member.mode)
            if not member.isdir() and not member.islnk():
                os.utime(name, (member.mtime, member.mtime), follow_symlinks=False)
    # Last, since a directory's time moves with its entries and its mode may forbid them.
    for name, mode, mtime in reversed(directories):
        os.chmod(name, mode)
        os.utime(name, (mtime, mtime))


def _unpack_member(tar: tarfile.TarFile, member: tarfile.TarInfo, name: str) -> None:
    parent = os.path.dirname(name)
    if parent:
        os.makedirs(parent, exist_ok=True)
    if member.isdir():
        os.makedirs(name, exist_ok=True)
        return
    if os.path.lexists(name):
        shutil.rmtree(name) if os.path.isdir(name) and not os.path.islink(name) else os.unlink(name)
    if member.issym():
        os.symlink(member.linkname, name)
    elif member.islnk():
        os.link(member.linkname.lstrip("/"), name, follow_symlinks=False)
    elif member.isfifo():
        os.mkfifo(name)
    else:
        source = tar.extractfile(member) or io.BytesIO()
        with open(name, "wb") as file:
            shutil.copyfileobj(source, file, 1 << 20)


def _own(name: str, uid: int, gid: int, base: int) -> None:
    try:
        os.chown(name, uid, gid, follow_symlinks=False)
    except OSError:
        # An ordinary user's namespace holds one id: everything is root's there.
        os.chown(name, base, base, follow_symlinks=False)
