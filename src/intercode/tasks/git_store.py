"""A Git repository written as data: commits in, the files of its ``.git`` folder out.

No ``git`` is needed, and the same commits give the same bytes with every release of everything:
objects are stored loose, in zlib's format but uncompressed inside, since compressors differ. The
formats are those of Git's documentation (``gitformat-index``, version 2; ``gitrepository-layout``).
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from intercode.tasks.tree import Entry

BRANCH = "main"
_CONFIG = """\
[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
\tlogallrefupdates = true
"""
_FILE, _PROGRAM, _FOLDER = 0o100644, 0o100755, 0o40000


@dataclass(frozen=True)
class Commit:
    """``files`` are all files as they then are: text by path. ``when`` is in seconds since 1970,
    in UTC; those of ``programs`` are executable."""

    message: str
    author: str
    when: int
    files: Mapping[str, str]
    programs: frozenset[str] = frozenset()


def repository(commits: Sequence[Commit], root: str) -> list[Entry]:
    """The files of the last commit below ``root``, and in ``.git`` the history that leads to it:
    one branch, no reflog, and not an object that is not reachable."""
    objects: dict[str, bytes] = {}
    parent, tree = "", ""
    for commit in commits:
        tree = _tree(objects, _blobs(objects, commit))
        parent = _put(objects, "commit", _commit(commit, tree, parent))
    last = commits[-1]
    entries = [
        Entry(f"{root}/.git/objects/{name[:2]}/{name[2:]}", body, mode=0o444)
        for name, body in objects.items()
    ]
    entries += [
        Entry(f"{root}/.git/HEAD", f"ref: refs/heads/{BRANCH}\n"),
        Entry(f"{root}/.git/config", _CONFIG),
        Entry(f"{root}/.git/index", _index(_blobs({}, last), last)),
        Entry(f"{root}/.git/objects/info"),
        Entry(f"{root}/.git/objects/pack"),
        Entry(f"{root}/.git/refs/heads/{BRANCH}", f"{parent}\n"),
        Entry(f"{root}/.git/refs/tags"),
    ]
    return entries + [
        Entry(f"{root}/{path}", text, mode=0o755 if path in last.programs else None)
        for path, text in last.files.items()
    ]


def _put(objects: dict[str, bytes], kind: str, body: bytes) -> str:
    """Store an object; its name, 40 hexadecimal digits."""
    whole = f"{kind} {len(body)}\0".encode() + body
    name = hashlib.sha1(whole, usedforsecurity=False).hexdigest()
    objects[name] = zlib_stored(whole)
    return name


def zlib_stored(body: bytes) -> bytes:
    """``body`` in zlib's format (RFC 1950), in stored blocks (RFC 1951, 3.2.4)."""
    starts = range(0, len(body), 0xFFFF) or range(1)
    blocks = b"".join(
        struct.pack("<BHH", start == starts[-1], len(chunk), len(chunk) ^ 0xFFFF) + chunk
        for start in starts
        for chunk in [body[start : start + 0xFFFF]]
    )
    return b"\x78\x01" + blocks + struct.pack(">I", zlib.adler32(body))


def _blobs(objects: dict[str, bytes], commit: Commit) -> dict[str, tuple[int, str]]:
    """Mode and object of each file, by path."""
    return {
        path: (
            _PROGRAM if path in commit.programs else _FILE,
            _put(objects, "blob", text.encode()),
        )
        for path, text in commit.files.items()
    }


def _tree(objects: dict[str, bytes], files: Mapping[str, tuple[int, str]]) -> str:
    """Store the tree of ``files`` and those below it."""
    here: dict[str, tuple[int, str]] = {}
    below: dict[str, dict[str, tuple[int, str]]] = {}
    for path, found in files.items():
        head, slash, rest = path.partition("/")
        if slash:
            below.setdefault(head, {})[rest] = found
        else:
            here[head] = found
    for name, inside in below.items():
        here[name] = (_FOLDER, _tree(objects, inside))
    # Git sorts folders as if their names ended in a slash.
    order = sorted(here, key=lambda name: name.encode() + b"/" * (name in below))
    lines = (f"{here[n][0]:o} {n}\0".encode() + bytes.fromhex(here[n][1]) for n in order)
    return _put(objects, "tree", b"".join(lines))


def _commit(commit: Commit, tree: str, parent: str) -> bytes:
    who = f"{commit.author} {commit.when} +0000"
    lines = [f"tree {tree}", *([f"parent {parent}"] if parent else []), f"author {who}"]
    return "\n".join([*lines, f"committer {who}", "", commit.message.rstrip()]).encode() + b"\n"


def _index(blobs: Mapping[str, tuple[int, str]], commit: Commit) -> bytes:
    """Time stamps and inodes are left 0: Git then looks into the files themselves, once."""
    body = struct.pack(">4sII", b"DIRC", 2, len(blobs)) + b"".join(_index_entries(blobs, commit))
    return body + hashlib.sha1(body, usedforsecurity=False).digest()


def _index_entries(blobs: Mapping[str, tuple[int, str]], commit: Commit) -> Iterator[bytes]:
    for path in sorted(blobs, key=lambda path: path.encode()):
        mode, name = blobs[path]
        size, spelled = len(commit.files[path].encode()), path.encode()
        numbers = struct.pack(">10I", 0, 0, 0, 0, 0, 0, mode, 0, 0, size)
        entry = numbers + bytes.fromhex(name) + struct.pack(">H", min(len(spelled), 0xFFF))
        yield (entry + spelled).ljust((len(entry) + len(spelled)) // 8 * 8 + 8, b"\0")
