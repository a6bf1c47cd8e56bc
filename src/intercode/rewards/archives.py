"""What an archive holds, as one digest: two that were packed at different times are the same.

Archives and compressed files embed time stamps, levels of compression and the order in which a
directory happened to be read, so equal content has unequal bytes. Here a compressed file is what
is in it, and an archive the set of its members: name, type, mode, and content or link target.

The bytes may be an adversary's. So the tar reader is our own (the standard library's has looped for
ever on forged headers), and all that is unpacked together may not exceed a budget; what is damaged,
encrypted or too large has no digest here, and only its bytes can be compared.
"""

from __future__ import annotations

import bz2
import hashlib
import io
import lzma
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

HEAD_BYTES = 512
"""How much of a file `is_archive` has to see."""
MAX_BYTES = 8 << 20
"""The largest archive looked into."""
MAX_UNPACKED_BYTES = 32 << 20
"""What it, and all archives within it, may unpack to."""

_MAX_MEMBERS = 20_000
_MAX_STREAMS = 64
_MAX_DEPTH = 4
_CHUNK = 1 << 16
_XZ_MEMORY = 128 << 20
_BLOCK = 512


def is_archive(head: bytes) -> bool:
    """Whether a file that begins so is of a kind that `digest` looks into."""
    return _kind(head) is not None


def digest(data: bytes) -> str | None:
    """A digest of what the archive holds; None for no archive, or one that cannot be read whole.

    It begins with the formats, outermost first: a tar is not its own content, nor a zip a tar.
    """
    if _kind(data[:HEAD_BYTES]) is None or len(data) > MAX_BYTES:
        return None
    try:
        return _content(data, _Budget(MAX_UNPACKED_BYTES), depth=0)
    except _UNREADABLE:
        return None


class _Unreadable(Exception):
    """Damaged, or beyond what we are willing to unpack."""


_UNREADABLE = (
    _Unreadable, zlib.error, lzma.LZMAError, zipfile.BadZipFile,
    # What those modules raise on forged or encrypted input.
    EOFError, OSError, ValueError, RuntimeError, OverflowError, LookupError,
)  # fmt: skip


@dataclass
class _Budget:
    bytes: int
    members: int = _MAX_MEMBERS

    def spend(self, count: int) -> None:
        self.bytes -= count
        if self.bytes < 0:
            raise _Unreadable("too much to unpack")

    def member(self) -> None:
        self.members -= 1
        if self.members < 0:
            raise _Unreadable("too many members")


def _kind(head: bytes) -> str | None:
    if head.startswith(b"\x1f\x8b\x08"):
        return "gzip"
    if head.startswith(b"BZh"):
        return "bzip2"
    if head.startswith(b"\xfd7zXZ\0"):
        return "xz"
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return "zip"
    return "tar" if head[257:262] == b"ustar" else None


def _content(data: bytes, budget: _Budget, depth: int) -> str:
    """The digest of any file: of an archive's members, else of the bytes."""
    kind = _kind(data[:HEAD_BYTES]) if depth < _MAX_DEPTH else None
    if kind is None:
        return hashlib.sha256(data).hexdigest()
    if kind in _DECOMPRESSORS:
        inner = _decompressed(data, _DECOMPRESSORS[kind], budget)
        return f"{kind}:{_content(inner, budget, depth + 1)}"
    members = _tar_members(data) if kind == "tar" else _zip_members(data, budget)
    lines: dict[str, str] = {}
    for member in members:
        budget.member()
        what = member.target or _content(member.data, budget, depth + 1)
        # The later of two members of one name is the one that unpacking leaves.
        lines[member.name] = f"{member.name}\0{member.type}\0{member.mode:o}\0{what}\0"
    text = "".join(lines[name] for name in sorted(lines))
    return f"{kind}:{hashlib.sha256(text.encode('utf-8', 'surrogateescape')).hexdigest()}"


@dataclass(frozen=True)
class _Member:
    name: str
    type: str
    mode: int
    data: bytes = b""
    target: str = ""


def _plain(name: bytes | str) -> str:
    """``./a/``, ``/a`` and ``a`` unpack to the same place."""
    text = name if isinstance(name, str) else name.decode("utf-8", "surrogateescape")
    return "/".join(part for part in text.split("/") if part not in ("", ".")) or "."


class _Decompressor(Protocol):
    """What `bz2` and `lzma` give; ``zlib`` is made to look so."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


class _Gzip:
    """One gzip stream, a piece at a time."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(wbits=31)

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def needs_input(self) -> bool:
        return not self._inner.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        return self._inner.decompress(self._inner.unconsumed_tail or data, max_length)


_DECOMPRESSORS: dict[str, Callable[[], _Decompressor]] = {
    "gzip": _Gzip,
    "bzip2": bz2.BZ2Decompressor,
    "xz": lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY),
}


def _decompressed(data: bytes, start: Callable[[], _Decompressor], budget: _Budget) -> bytes:
    """All streams that stand one behind the other, as the programs themselves read them."""
    pieces: list[bytes] = []
    for _ in range(_MAX_STREAMS):
        if not data.strip(b"\0"):
            return b"".join(pieces)
        stream = start()
        pending = data
        while not stream.eof:
            piece = stream.decompress(pending, _CHUNK)
            if not piece and stream.needs_input and not stream.eof:
                raise _Unreadable("it ends in the middle")
            budget.spend(len(piece))
            pieces.append(piece)
            pending = b""
        data = stream.unused_data
    raise _Unreadable("too many streams")


def _zip_members(data: bytes, budget: _Budget) -> Iterator[_Member]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for info in archive.infolist():
            mode = info.external_attr >> 16
            kind = "dir" if info.is_dir() else "symlink" if mode >> 12 == 0o12 else "file"
            if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise _Unreadable("a method that may ask for any amount of memory")
            with archive.open(info) as member:
                pieces = []
                while piece := member.read(_CHUNK):
                    budget.spend(len(piece))
                    pieces.append(piece)
            yield _Member(_plain(info.filename), kind, mode & 0o7777, b"".join(pieces))


_TAR_TYPES = {b"0": "file", b"\0": "file", b"7": "file", b"5": "dir", b"1": "link", b"2": "symlink"}


def _tar_members(data: bytes) -> Iterator[_Member]:
    """Each header with what follows it; ``L``, ``K`` and ``x`` hold names for the next one."""
    at = 0
    name: bytes | None = None
    link: bytes | None = None
    while (header := data[at : at + _BLOCK]).strip(b"\0"):
        _check_header(header)
        size = _number(header[124:136])
        body = data[at + _BLOCK : at + _BLOCK + size]
        if len(body) < size:
            raise _Unreadable("it ends in the middle")
        at += _BLOCK + -(-size // _BLOCK) * _BLOCK
        kind = header[156:157]
        if kind == b"L":
            name = body.rstrip(b"\0")
        elif kind == b"K":
            link = body.rstrip(b"\0")
        elif kind == b"x":
            records = dict(_pax_records(body))
            if any(key == b"size" or key.startswith(b"GNU.sparse") for key in records):
                raise _Unreadable("a sparse or huge member")
            name, link = records.get(b"path", name), records.get(b"linkpath", link)
        elif kind != b"g":
            if kind == b"S":
                raise _Unreadable("a sparse member")
            yield _Member(
                _plain(_header_name(header) if name is None else name),
                _TAR_TYPES.get(kind, kind.hex()),
                _number(header[100:108]) & 0o7777,
                body,
                _link_target(kind, _text(header[157:257]) if link is None else link),
            )
            name = link = None


def _check_header(header: bytes) -> None:
    blanked = header[:148] + b" " * 8 + header[156:]
    if len(header) < _BLOCK or sum(blanked) != _number(header[148:156]):
        raise _Unreadable("a damaged header")


def _number(field: bytes) -> int:
    """An octal number; those that need the binary form are larger than anything we unpack."""
    digits = field.strip(b" \0") or b"0"
    if not digits.isdigit():
        raise _Unreadable("not a number, or one too large")
    return int(digits, 8)


def _header_name(header: bytes) -> bytes:
    prefix = _text(header[345:500]) if header[257:263] == b"ustar\0" else b""
    return prefix + b"/" + _text(header[:100])


def _link_target(kind: bytes, link: bytes) -> str:
    if kind == b"1":
        return "=" + _plain(link)
    return "->" + link.decode("utf-8", "surrogateescape") if kind == b"2" else ""


def _text(field: bytes) -> bytes:
    return field.partition(b"\0")[0]


def _pax_records(body: bytes) -> Iterator[tuple[bytes, bytes]]:
    """``LENGTH KEY=VALUE newline``, one behind the other; the length counts all of it."""
    while body.strip(b"\0"):
        length, _, _ = body.partition(b" ")
        if not length.isdigit() or int(length) <= len(length) + 1:
            raise _Unreadable("a damaged record")
        record, body = body[len(length) + 1 : int(length)], body[int(length) :]
        key, _, value = record.removesuffix(b"\n").partition(b"=")
        yield key, value
