"""File systems written as data: plain entries in, the same tar archive out, byte for byte.

A suite whose files are made by code needs no binary blobs in the repository, and a reviewer can
read what an agent will find. What makes the archive reproducible is kept here: entries sorted,
owners always root, whole-second modification times, parents added where nobody named them.
"""

from __future__ import annotations

import hashlib
import io
import os
import struct
import tarfile
import tempfile
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from intercode.errors import DatasetError, UsageError
from intercode.tasks.model import FileSystem

SETTLED = 1_704_110_400
"""The usual modification time, 2024-01-01T12:00:00Z: at noon no time zone shifts the day."""

_STORED_BLOCK_MAX = 0xFFFF


@dataclass(frozen=True)
class Entry:
    """One file, folder or symbolic link, owned by root.

    ``link`` makes it a symbolic link; otherwise ``data`` makes it a file (text is stored as
    UTF-8), and with neither it is a folder. ``mode`` defaults to what a umask of 022 leaves.
    """

    path: str
    data: str | bytes | None = None
    mode: int | None = None
    mtime: int = SETTLED
    link: str | None = None

    @property
    def is_folder(self) -> bool:
        return self.data is None and self.link is None


def noon(date: str) -> int:
    """Noon UTC of ``YYYY-MM-DD``, as a modification time that is that day nearly everywhere."""
    day = datetime.strptime(date, "%Y-%m-%d").replace(hour=12, tzinfo=UTC)
    return int(day.timestamp())


def build_tar(entries: Iterable[Entry]) -> bytes:
    """The archive of ``entries``, whatever their order.

    :raises UsageError: a path twice, below something that is no folder, or not a plain path.
    """
    members = _with_parents(entries)
    buffer = io.BytesIO()
    with tarfile.open(
        fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT, encoding="utf-8", errors="strict"
    ) as tar:
        for path in sorted(members):
            header, body = _member(members[path])
            tar.addfile(header, io.BytesIO(body))
    return buffer.getvalue()


def gzip_stored(body: bytes) -> bytes:
    """``body`` in gzip's format, uncompressed inside.

    Compressed bytes differ between zlib's implementations and releases; stored blocks never do.
    """
    starts = range(0, len(body), _STORED_BLOCK_MAX) or range(1)
    blocks = b"".join(
        _stored_block(body[start : start + _STORED_BLOCK_MAX], last=start == starts[-1])
        for start in starts
    )
    header = b"\x1f\x8b\x08" + b"\0" * 6 + b"\xff"
    return header + blocks + struct.pack("<II", zlib.crc32(body), len(body) & 0xFFFF_FFFF)


def cache_dir() -> Path:
    """Where things that can be made again are kept."""
    if own := os.environ.get("INTERCODE_CACHE"):
        return Path(own)
    if shared := os.environ.get("XDG_CACHE_HOME"):
        return Path(shared) / "intercode"
    return Path.home() / ".cache" / "intercode"


def materialise(name: str, entries: Iterable[Entry]) -> FileSystem:
    """The file system of ``entries``, its archive in the cache.

    :raises DatasetError: the cache cannot be written.
    """
    body = build_tar(entries)
    return FileSystem(name=name, tar=kept(f"file system {name!r}", "trees", "tar", body))


def kept(what: str, folder: str, suffix: str, body: bytes) -> Path:
    """A file in a ``folder`` of the cache that holds ``body``, under its digest.

    It appears whole or not at all, so that processes may race for it.

    :raises DatasetError: the cache cannot be written; ``what`` is what the message calls it.
    """
    target = cache_dir() / folder / f"{hashlib.sha256(body).hexdigest()[:16]}.{suffix}"
    if not target.exists():
        try:
            _write_whole(target, body)
        except OSError as error:
            raise DatasetError(
                f"{what} cannot be kept in {target.parent}: {error}",
                remedy="name a folder that you may write to in INTERCODE_CACHE",
            ) from error
    return target


def _with_parents(entries: Iterable[Entry]) -> dict[str, Entry]:
    members: dict[str, Entry] = {}
    for entry in entries:
        path = _plain(entry.path)
        if path in members:
            raise UsageError(f"two entries have the path {path!r}")
        members[path] = replace(entry, path=path)
    for path in list(members):
        for parent in list(PurePosixPath(path).parents)[:-1]:
            if not members.setdefault(str(parent), Entry(str(parent))).is_folder:
                raise UsageError(f"{path!r} lies below {str(parent)!r}, which is no folder")
    return members


def _plain(path: str) -> str:
    """``path`` without its leading slash; anything else unusual about it is a mistake."""
    relative = path.removeprefix("/")
    if "\0" in relative or any(part in ("", ".", "..") for part in relative.split("/")):
        raise UsageError(f"not a plain path: {path!r}")
    try:
        relative.encode("utf-8")
    except UnicodeEncodeError as error:
        raise UsageError(f"not writable as UTF-8: {path!r}") from error
    return relative


def _member(entry: Entry) -> tuple[tarfile.TarInfo, bytes]:
    header = tarfile.TarInfo(entry.path)
    header.mtime = entry.mtime
    if entry.link is not None:
        header.type, header.linkname, usual_mode, body = tarfile.SYMTYPE, entry.link, 0o777, b""
    elif entry.data is None:
        header.type, usual_mode, body = tarfile.DIRTYPE, 0o755, b""
    else:
        usual_mode = 0o644
        body = entry.data.encode() if isinstance(entry.data, str) else entry.data
    header.mode = usual_mode if entry.mode is None else entry.mode
    header.size = len(body)
    return header, body


def _stored_block(chunk: bytes, *, last: bool) -> bytes:
    return struct.pack("<BHH", last, len(chunk), len(chunk) ^ 0xFFFF) + chunk


def _write_whole(target: Path, body: bytes) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, scratch = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(body)
        Path(scratch).replace(target)
    except BaseException:
        Path(scratch).unlink(missing_ok=True)
        raise
