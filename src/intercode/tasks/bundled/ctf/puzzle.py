"""What a puzzle is, and the formats that several are made with.

Everything is the same bytes on every machine: compressed data too, since compressors differ between
releases and the encoder here does not.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from textwrap import dedent

from intercode.tasks.tree import Entry

HOME = "/ctf"

Files = dict[str, str | bytes]
"""Content by path below the puzzle's folder; what begins with ``#!`` can be executed."""


@dataclass(frozen=True)
class Puzzle:
    """``make`` turns the flag into the files that hide it; ``solution`` are actions, started in the
    puzzle's folder, of which the last prints the flag."""

    id: str
    tags: tuple[str, ...]
    hardness: str
    instruction: str
    make: Callable[[str], Files]
    solution: tuple[str, ...]

    @property
    def flag(self) -> str:
        return f"intercode{{{hashlib.sha256(f'ctf {self.id}'.encode()).hexdigest()[:14]}}}"

    @property
    def home(self) -> str:
        return f"{HOME}/{self.id}"

    def entries(self) -> list[Entry]:
        """The puzzle's folder."""
        return [
            Entry(f"{self.home}/{path}", data, mode=0o755 if data[:2] in ("#!", b"#!") else None)
            for path, data in sorted(self.make(self.flag).items())
        ]


def python(script: str) -> str:
    """An action that runs a script."""
    return f"python3 - <<'END'\n{dedent(script).strip()}\nEND"


def stream(key: str, length: int) -> bytes:
    """Bytes that look random: SHA-256 of the key and a counter, block after block."""
    blocks = range(length // 32 + 1)
    return b"".join(hashlib.sha256(f"{key}{n}".encode()).digest() for n in blocks)[:length]


def xor(data: bytes, key: bytes) -> bytes:
    """``key`` is repeated as often as need be."""
    return bytes(byte ^ key[n % len(key)] for n, byte in enumerate(data))


def deflated(data: bytes) -> bytes:
    """A raw deflate stream (RFC 1951) of one block with the fixed codes, and no back references."""
    bits = [1, 1, 0]  # the last block; its kind, lowest bit first
    for byte in data:
        code, length = (0x30 + byte, 8) if byte < 144 else (0x190 + byte - 144, 9)
        bits += [code >> shift & 1 for shift in reversed(range(length))]
    bits += [0] * 7  # the end of the block
    bits += [0] * (-len(bits) % 8)
    return bytes(
        sum(bit << n for n, bit in enumerate(bits[at : at + 8])) for at in range(0, len(bits), 8)
    )


def zlibbed(data: bytes) -> bytes:
    """In zlib's format (RFC 1950)."""
    return b"\x78\x01" + deflated(data) + struct.pack(">I", zlib.adler32(data))


def gzipped(data: bytes) -> bytes:
    """In gzip's format (RFC 1952), without name and date."""
    header = b"\x1f\x8b\x08" + b"\0" * 6 + b"\xff"
    return header + deflated(data) + struct.pack("<II", zlib.crc32(data), len(data))


def zipped(members: dict[str, bytes]) -> bytes:
    """A ZIP archive, its members dated 1980-01-01."""
    body, directory = b"", b""
    for name, data in members.items():
        packed = deflated(data)
        facts = struct.pack(
            "<HHHHHIIIHH", 20, 0, 8, 0, 0x21, zlib.crc32(data), len(packed), len(data), len(name), 0
        )
        entry = b"PK\x01\x02" + struct.pack("<H", 20) + facts
        directory += entry + struct.pack("<HHHII", 0, 0, 0, 0, len(body)) + name.encode()
        body += b"PK\x03\x04" + facts + name.encode() + packed
    count = len(members)
    end = struct.pack("<HHHHIIH", 0, 0, count, count, len(directory), len(body), 0)
    return body + directory + b"PK\x05\x06" + end
