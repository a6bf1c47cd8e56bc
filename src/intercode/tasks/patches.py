"""Unified diffs, as Git writes them: made from two states of files, and applied exactly.

Applying needs neither Git nor a sandbox, so what a patch makes of a file is known outside.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from intercode.errors import TaskError

Reader = Callable[[str], bytes | None]
"""Gives a file's content by its path in the repository; None: there is none."""

_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_NO_NEWLINE = rb"\ No newline at end of file"


@dataclass
class FilePatch:
    """What a patch does to one file. ``old`` is None for a file it makes, ``new`` for one that it
    deletes; they differ where it renames."""

    old: str | None
    new: str | None
    mode: int | None = None
    hunks: list[Hunk] = field(default_factory=list)

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(path for path in (self.old, self.new) if path is not None))


@dataclass
class Hunk:
    """Lines, with their ends, that stand from the ``start``th on (from 1), and what they become."""

    start: int
    before: list[bytes] = field(default_factory=list)
    after: list[bytes] = field(default_factory=list)


def made(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """The patch that leads from some files to others; empty for none."""
    return "".join(
        part
        for path in sorted({*before, *after})
        if before.get(path) != after.get(path)
        for part in _file(path, before.get(path), after.get(path))
    )


def _file(path: str, old: str | None, new: str | None) -> Iterator[str]:
    yield f"diff --git a/{path} b/{path}\n"
    if old is None:
        yield "new file mode 100644\n"
    if new is None:
        yield "deleted file mode 100644\n"
    names = (
        "/dev/null" if old is None else f"a/{path}",
        "/dev/null" if new is None else f"b/{path}",
    )
    lines = difflib.unified_diff(_lines(old or ""), _lines(new or ""), *names)
    for line in lines:
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _lines(text: str) -> list[str]:
    """With their ends; `str.splitlines` knows more ends than files do."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def parsed(patch: str) -> list[FilePatch]:
    """What a patch does, file by file.

    :raises TaskError: it is damaged, or has binary parts.
    """
    lines = patch.encode("utf-8", "surrogateescape").removesuffix(b"\n").split(b"\n")
    found: list[FilePatch] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        if line.startswith(b"diff --git "):
            found.append(_named(line))
        elif found and line.startswith(b"@@ "):
            hunk, at = _hunk(lines, at)
            found[-1].hunks.append(hunk)
            continue
        elif line.startswith((b"GIT binary patch", b"Binary files ")):
            raise TaskError("a patch has binary parts, which cannot be applied")
        elif line.startswith(b"--- ") and lines[at + 1 : at + 2]:
            if not found or found[-1].hunks:
                found.append(FilePatch(None, None))
            found[-1].old, found[-1].new = _path(line[4:]), _path(lines[at + 1][4:])
            at += 1
        elif found:
            _note(found[-1], line)
        at += 1
    return found


def _named(line: bytes) -> FilePatch:
    """Both names of a ``diff --git`` line are the same, or are said again further down."""
    rest = line[len(b"diff --git ") :].rstrip(b"\r")
    half = rest[: len(rest) // 2]
    path = _path(half) if rest[len(half) :].startswith(b" b/") else None
    return FilePatch(path, path)


def _note(file: FilePatch, line: bytes) -> None:
    line = line.rstrip(b"\r")
    head, _, value = line.partition(b" from ")
    if head in (b"rename", b"copy"):
        file.old = value.decode("utf-8", "surrogateescape")
    elif line.startswith((b"rename to ", b"copy to ")):
        file.new = line.partition(b" to ")[2].decode("utf-8", "surrogateescape")
    elif line.startswith(b"new file mode "):
        file.old, file.mode = None, int(line[-6:], 8) & 0o777
    elif line.startswith(b"new mode "):
        file.mode = int(line[-6:], 8) & 0o777
    elif line.startswith(b"deleted file mode "):
        file.new = None


def _path(name: bytes) -> str | None:
    name = name.partition(b"\t")[0].rstrip(b"\r")
    if name == b"/dev/null":
        return None
    return re.sub(rb"\A[abciow]/", b"", name).decode("utf-8", "surrogateescape")


def _hunk(lines: list[bytes], at: int) -> tuple[Hunk, int]:
    head = _HUNK.match(lines[at])
    if head is None:
        raise TaskError(f"a patch has a damaged hunk: {lines[at][:80]!r}")
    hunk = Hunk(int(head[1]))
    old, new = (int(head[n]) if head[n] is not None else 1 for n in (2, 3))
    at += 1
    sides: tuple[list[bytes], ...] = ()
    while old > 0 or new > 0 or lines[at : at + 1] == [_NO_NEWLINE]:
        if at >= len(lines):
            raise TaskError("a patch ends in the middle of a hunk")
        sign, text = lines[at][:1] or b" ", lines[at][1:] + b"\n"
        at += 1
        if sign == b"\\":
            for side in sides:
                side[-1] = side[-1][:-1]
            continue
        if sign not in b" +-":
            raise TaskError(f"a patch has a damaged line: {lines[at - 1][:80]!r}")
        sides = tuple(
            side for side, on in ((hunk.before, sign != b"+"), (hunk.after, sign != b"-")) if on
        )
        for side in sides:
            side.append(text)
        old, new = old - (sign != b"+"), new - (sign != b"-")
    return hunk, at


def applied(patch: str, read: Reader) -> dict[str, bytes | None]:
    """What each file that the patch touches becomes; None: it is deleted.

    :raises TaskError: the patch is damaged, or does not fit what ``read`` gives.
    """
    after: dict[str, bytes | None] = {}
    for file in parsed(patch):
        if file.old is not None and file.old != file.new:
            after[file.old] = None
        if file.new is None:
            continue
        body = b"" if file.old is None else read(file.old)
        if body is None:
            raise TaskError(f"a patch changes {file.old}, which is not there")
        after[file.new] = _changed(body, file)
    return after


def _changed(body: bytes, file: FilePatch) -> bytes:
    lines = [line + b"\n" for line in body.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    if not lines[-1]:
        lines.pop()
    shift = 0
    for hunk in file.hunks:
        # A hunk without old lines stands after the line it names.
        start = hunk.start - bool(hunk.before) + shift
        end = start + len(hunk.before)
        if lines[start:end] != hunk.before:
            raise TaskError(f"a patch does not fit {file.new} at line {hunk.start}")
        lines[start:end] = hunk.after
        shift += len(hunk.after) - len(hunk.before)
    return b"".join(lines)
