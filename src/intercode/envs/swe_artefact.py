"""What crosses from the sandbox of an agent to the one that judges: changed files of a repository.

They are found and read from outside. Git has no part in it, so nothing that the agent did to Git
(hooks, filters, the index, history) has either.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from intercode.sandboxes.base import Change, Sandbox
from intercode.tasks.sources.swe_spec import SweSpec

MAX_BYTES = 64 << 20
MAX_FILES = 10_000

# What tells Python and pytest to do something else than the tests say. A repair that has to change
# such a file can, where the gold changes it too.
_STEERING = {
    "conftest.py", "sitecustomize.py", "usercustomize.py", "pytest.ini", ".pytest.ini", "tox.ini",
}  # fmt: skip
# Compiled code is run in place of the source that it says it belongs to.
_COMPILED = (".pyc", ".pyo", ".pth")
_MADE = {"__pycache__", ".pytest_cache"}
"""Folders that running tests makes."""


@dataclass(frozen=True)
class Artefact:
    """``tar`` has what was created or changed, with absolute paths; ``gone`` has to be removed
    before, ``folders`` only where they are something else."""

    tar: bytes = b""
    gone: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    """What differs, in the repository."""
    too_large: bool = False

    @property
    def empty(self) -> bool:
        return not self.paths


def counts(spec: SweSpec, touched: frozenset[str], gold: frozenset[str]) -> Callable[[str], bool]:
    """Whether a change to a path in the repository counts. ``touched`` are the files that the
    hidden test patch is about, ``gold`` those that the gold changes."""
    protected = [PurePosixPath(path) for path in (*spec.protected, *touched)]

    def decide(path: str) -> bool:
        own = PurePosixPath(path)
        if ".git" in own.parts[:1] or _MADE & {*own.parts} or own.suffix in _COMPILED:
            return False
        if path in gold:
            return True
        return own.name not in _STEERING and not any(own.is_relative_to(p) for p in protected)

    return decide


def taken(sandbox: Sandbox, root: str, is_counted: Callable[[str], bool]) -> Artefact:
    """The artefact of a sandbox in which nothing moves."""
    above = f"{root.rstrip('/')}/"
    changes = sandbox.changes()
    found = [
        change
        for change in changes
        if change.kind != "touched"
        and change.path.startswith(above)
        and is_counted(change.path.removeprefix(above))
    ]
    if sum(change.size for change in found) > MAX_BYTES or len(found) > MAX_FILES:
        return Artefact(paths=tuple(c.path for c in found[:1]), too_large=True)
    return Artefact(
        tar=_packed(sandbox, found),
        gone=tuple(c.path for c in found if c.kind == "deleted" or c.type != "dir"),
        folders=tuple(c.path for c in found if c.kind != "deleted" and c.type == "dir"),
        paths=tuple(change.path for change in found),
    )


def _packed(sandbox: Sandbox, changes: Sequence[Change]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for change in changes:
            header = tarfile.TarInfo(change.path.lstrip("/"))
            header.mode, header.mtime = change.mode & 0o777, max(0, change.mtime_ns // 10**9)
            body = b""
            if change.kind == "deleted" or change.type in ("fifo", "socket", "device"):
                continue
            if change.type == "dir":
                header.type = tarfile.DIRTYPE
            elif change.type == "symlink":
                header.type, header.linkname = tarfile.SYMTYPE, change.target
            else:
                body = sandbox.read_file(change.path, max_bytes=MAX_BYTES)
                header.size = len(body)
            tar.addfile(header, io.BytesIO(body))
    return buffer.getvalue()


_CLEAR = """\
while IFS= read -r -d '' kind && IFS= read -r -d '' path; do
  case $kind in
    gone) rm -rf -- "$path" ;;
    folder) [ -d "$path" ] && [ ! -L "$path" ] || rm -rf -- "$path" ;;
  esac
done
"""


def put(sandbox: Sandbox, artefact: Artefact) -> None:
    """Make the same changes in a fresh sandbox."""
    marked = [("gone", path) for path in artefact.gone]
    marked += [("folder", path) for path in artefact.folders]
    listed = "".join(f"{kind}\0{path}\0" for kind, path in marked)
    if listed:
        sandbox.run(_CLEAR, stdin=listed.encode("utf-8", "surrogateescape"))
    if artefact.tar:
        sandbox.put_tree(artefact.tar)
