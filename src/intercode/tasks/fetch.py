"""Brings upstream's files here: from their public home at a pinned commit, or from a folder.

A file appears under its name only when it is whole and its checksum, where known, agrees. A
download that was cut goes on where it stopped, also in a later run.

Upstream publishes no archives of its file systems but the scripts that make them; those are what is
downloaded, and the loaders take either.
"""

from __future__ import annotations

import hashlib
import http.client
import shutil
import tarfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from intercode.errors import DatasetError, UsageError
from intercode.tasks.packages import ALIASES, PACKAGES, TREES, Tree, Upstream

PUBLIC_HOME = "https://raw.githubusercontent.com"
Progress = Callable[[int, int | None], None]

_ATTEMPTS = 4
_TIMEOUT_S = 30.0
_CHUNK = 1 << 16


class _Cut(Exception):
    """The other side stopped sending; what came so far is kept."""


def fetch(
    name: str,
    *,
    source: Path | None = None,
    dest: Path,
    progress: Progress | None = None,
    base: str = PUBLIC_HOME,
) -> list[Path]:
    """Puts a dataset's files below ``dest``; those that are there already are left alone.

    ``source`` is a folder to copy from instead: laid out like a data folder, or with the bare files
    in it. ``progress`` is told the bytes so far and in all (None: unknown), anew for each file.

    :raises UsageError: no such dataset, or it has nothing to fetch.
    :raises DatasetError: a file cannot be had, or is not what upstream published.
    """
    whole = name.partition(":")[0]
    package = ALIASES.get(whole, whole)
    wanted = PACKAGES.get(package)
    if wanted is None:
        raise UsageError(
            f"there is nothing to fetch for {name!r}", remedy=f"one of {', '.join(PACKAGES)}"
        )
    report = progress or (lambda done, total: None)
    if source is None:
        return [_download(file, dest, report, base) for file in wanted]
    if not source.is_dir():
        raise DatasetError(f"{source} is not a folder", remedy="give the folder with the files")
    copied = [path for file in wanted for path in _copy(file, source, dest, report)]
    for tree in TREES.get(package, ()):
        copied += _copy_tree(tree, source, dest, report)
    return copied


def _copy(file: Upstream, source: Path, dest: Path, report: Progress) -> list[Path]:
    """Copies the file, its stand-in, or both; what is wrong is refused before anything is kept."""
    found = _in_folder(file, source)
    with _on_disk(dest / file.path):
        for path, origin in found.items():
            if path == file.path:
                if not file.editions:
                    _check(origin, file, keep=True)
            elif path.endswith(".tar") and not tarfile.is_tarfile(origin):
                raise DatasetError(f"{origin} is not a tar archive", remedy="copy it again")
        for path, origin in found.items():
            _place(origin, dest / path)
            report(origin.stat().st_size, origin.stat().st_size)
    return [dest / path for path in found]


def _copy_tree(tree: Tree, source: Path, dest: Path, report: Progress) -> list[Path]:
    """Copies what is there of files that no package needs."""
    folders = [folder for path in (tree.path, *tree.also) for folder in _tails(path, source)]
    if not tree.pattern.startswith("*"):  # or anything there would do
        folders.append(source)
    for folder in folders:
        if origins := sorted(path for path in folder.glob(tree.pattern) if path.is_file()):
            break
    else:
        return []
    targets = [dest / tree.path / origin.relative_to(folder) for origin in origins]
    for origin, target in zip(origins, targets, strict=True):
        with _on_disk(target):
            _place(origin, target)
            report(origin.stat().st_size, origin.stat().st_size)
    return targets


def _place(origin: Path, target: Path) -> None:
    if target.exists() and target.samefile(origin):
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    part = _part_of(target)
    shutil.copyfile(origin, part)
    part.replace(target)


def _in_folder(file: Upstream, source: Path) -> dict[str, Path]:
    """The file and its stand-in where they are below ``source``, by the paths they get here."""
    found = {}
    paths = [path for path in (file.path, file.stand_in) if path]
    for path in paths:
        if origin := next((tail for tail in _tails(path, source) if tail.is_file()), None):
            found[path] = origin
    if not found:
        raise DatasetError(
            f"there is no {' or '.join(Path(path).name for path in paths)} below {source}",
            remedy="give a folder laid out like a data folder, or leave --from out to download",
        )
    return found


def _tails(path: str, source: Path) -> list[Path]:
    """``path`` below ``source``, and ever shorter ends of it."""
    parts = Path(path).parts
    return [source.joinpath(*parts[depth:]) for depth in range(len(parts))]


def _download(file: Upstream, dest: Path, report: Progress, base: str) -> Path:
    target = dest / file.path
    if target.is_file() and (file.sha256 is None or _sha256(target) == file.sha256):
        return target
    url = file.address if "://" in file.address else f"{base.rstrip('/')}/{file.address}"
    part = _part_of(target)
    with _on_disk(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        _fill(part, url, report)
        _check(part, file, keep=False)
        part.replace(target)
    return target


def _fill(part: Path, url: str, report: Progress) -> None:
    """Downloads into ``part``, going on after what is there; a cut connection is tried again."""
    trouble = ""
    for _ in range(_ATTEMPTS):
        try:
            if _receive(part, url, report):
                return
            trouble = "the connection was cut"
        except urllib.error.HTTPError as error:
            trouble = f"the answer was {error.code} {error.reason}"
            if error.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
                part.unlink(missing_ok=True)  # what is there is no beginning of this file
            elif error.code < http.client.INTERNAL_SERVER_ERROR:
                break
        except (urllib.error.URLError, http.client.HTTPException, ConnectionError) as error:
            trouble = str(getattr(error, "reason", error)) or type(error).__name__
        except (_Cut, TimeoutError) as error:
            trouble = str(error) or "no answer came in time"
    raise DatasetError(
        f"{url} could not be had: {trouble}",
        remedy="try again, it goes on where it stopped; or bring the files: --from FOLDER",
    )


def _receive(part: Path, url: str, report: Progress) -> bool:
    """One request; whether the file is now whole."""
    have = part.stat().st_size if part.exists() else 0
    headers = {"User-Agent": "intercode", **({"Range": f"bytes={have}-"} if have else {})}
    request = urllib.request.Request(url, headers=headers)
    with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as response:
        resumed = response.headers.get("Content-Range", "").startswith(f"bytes {have}-")
        done = have if have and resumed else 0
        length = response.headers.get("Content-Length", "")
        total = done + int(length) if length.isdigit() else None
        with part.open("ab" if done else "wb") as out:
            report(done, total)
            for chunk in _chunks(response):
                out.write(chunk)
                done += len(chunk)
                report(done, total)
    return total is None or done == total


def _chunks(response: IO[bytes]) -> Iterator[bytes]:
    """What is read. Trouble in reading is told apart from trouble in writing it down."""
    while True:
        try:
            chunk = response.read(_CHUNK)
        except (OSError, http.client.HTTPException) as error:
            raise _Cut(str(error)) from error
        if not chunk:
            return
        yield chunk


def _check(path: Path, file: Upstream, *, keep: bool) -> None:
    if file.sha256 is None:
        return
    found = _sha256(path)
    if found != file.sha256:
        if not keep:
            path.unlink()
        raise DatasetError(
            f"{file.path}: {path if keep else 'what was downloaded'} has the SHA-256 {found}, "
            f"not {file.sha256}",
            remedy="copy the file as upstream published it" if keep else "fetch it again",
        )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _part_of(target: Path) -> Path:
    return target.with_name(f"{target.name}.part")


@contextmanager
def _on_disk(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DatasetError(
            f"{error.filename or target}: {error.strerror or error}",
            remedy="make room and check permissions, or name another folder with XDG_DATA_HOME",
        ) from error
