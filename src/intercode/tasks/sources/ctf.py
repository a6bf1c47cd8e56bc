"""InterCode-CTF: 100 picoCTF challenges, each with the files of a folder of its own.

The files lie in a folder ``task_assets`` beside ``ic_ctf.json``, or in an archive that has such a
folder somewhere in it, upstream's repository included. Of what is there for a task, only what its
folder holds enters its file system, and of that nothing in a folder ``solution``. Upstream's
set-up commands fetch things from the internet; they are kept as a fact and never run.
"""

from __future__ import annotations

import tarfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from intercode.errors import DatasetError
from intercode.tasks.labels import labelled
from intercode.tasks.lazy import Lazy
from intercode.tasks.model import Dataset, FileSystem, Task
from intercode.tasks.sources.rows import Row, read_rows
from intercode.tasks.tree import Entry, materialise

TASKS_FILE = "ic_ctf.json"
ASSETS = "task_assets"
HOME = "/ctf"

_LFS_HEAD = b"version https://git-lfs.github.com/spec/"
_SOLUTION = "solution"
_PROMISED = {
    1: "dds2-alpine.flag.img.gz",
    65: "dds1-alpine.flag.img.gz",
    66: "disk.img.gz",
    70: "suspicious.dd.sda1",
}
"""Files without which there is nothing to look at, and which not every copy has."""

_NEEDS: Mapping[int, tuple[str, ...]] = {
    0: ("python3:cryptography",),
    1: ("mmls", "fls", "icat"),
    8: ("exiftool",),
    11: ("objdump", "strings"),
    14: ("binwalk",),
    21: ("strings",),
    37: ("unzip",),
    38: ("unzip",),
    58: ("openssl",),
    59: ("whois",),
    63: ("unzip",),
    65: ("srch_strings",),
    66: ("mmls",),
    67: ("pdftotext",),
    70: ("fls",),
    71: ("unzip",),
}
"""Programs that a task names, or that its kind of file is opened with."""

Assets = Mapping[int, Sequence[Entry]]


def load(folder: Path) -> Dataset:
    """The 100 tasks; a task's file system is made when it is first asked for.

    :raises DatasetError: tasks or files cannot be read.
    """
    assets = _read_assets(folder)
    tasks = [_task(row, assets) for row in read_rows(folder / TASKS_FILE)]
    return Dataset(
        name="ctf",
        tasks=labelled(tasks, "ctf"),
        file_systems=Lazy(
            {
                _system(number): partial(_file_system, number, assets.get(number, ()))
                for number in (task.metadata["index"] for task in tasks)
            }
        ),
        description="InterCode-CTF: picoCTF challenges with their files.",
        source="https://github.com/princeton-nlp/intercode",
        licence="MIT; the challenges are picoCTF's",
    )


def _task(row: Row, assets: Assets) -> Task:
    number = _number(row)
    files = [PurePosixPath(entry.path).name for entry in assets.get(number, ())]
    facts: dict[str, Any] = {
        "source": row.file.name,
        "index": number,
        "tags": row.words("tags"),
        "url": row.word("source"),
        "hint": row.word("hint"),
        "published_setup": row.word("setup"),
        "needs": _needs(number, files),
        "flags": _flags(number, files),
    }
    return Task(
        id=str(number),
        env="ctf",
        instruction=row.text("query"),
        gold=row.text("gold"),
        file_system=_system(number),
        metadata={name: value for name, value in facts.items() if value not in (None, ())},
    )


def _number(row: Row) -> int:
    number = row.values.get("task_id")
    if isinstance(number, bool) or not isinstance(number, int) or number < 0:
        raise row.error("task_id is not a number", remedy="write it as upstream does")
    return number


def _needs(number: int, files: Sequence[str]) -> tuple[str, ...]:
    scripts = ("python3",) if any(name.endswith(".py") for name in files) else ()
    return (*scripts, *_NEEDS.get(number, ()))


def _flags(number: int, files: Sequence[str]) -> tuple[str, ...]:
    promised = _PROMISED.get(number)
    return ("missing_asset",) if promised is not None and promised not in files else ()


def _system(number: int) -> str:
    return f"ctf_{number}"


def _file_system(number: int, files: Sequence[Entry]) -> FileSystem:
    home = Entry(f"{HOME}/{number}")
    made = materialise(_system(number), [home, *files])
    return FileSystem(made.name, tar=made.tar, cwd=home.path)


# -- the files -------------------------------------------------------------------------------------


def _read_assets(folder: Path) -> Assets:
    found: dict[int, list[Entry]] = defaultdict(list)
    for path, data, mode in _files(folder):
        if data.startswith(_LFS_HEAD):
            continue  # a pointer to a file, not the file
        number, *inside = path.split("/")
        if number.isdecimal() and inside and _SOLUTION not in inside[:-1]:
            place = "/".join((HOME, str(int(number)), *inside))
            found[int(number)].append(Entry(place, data, mode=0o755 if mode & 0o100 else 0o644))
    return found


def _files(folder: Path) -> Iterator[tuple[str, bytes, int]]:
    """(path below the assets' folder, content, mode) of every file, in a fixed order."""
    if (folder / ASSETS).is_dir():
        yield from _files_below(folder / ASSETS)
        return
    archives = sorted(folder.glob("*.tar.gz"))
    if not archives:
        raise DatasetError(
            f"the tasks' files are not here: neither {folder / ASSETS} nor an archive with it",
            remedy="intercode data fetch ctf",
        )
    try:
        with tarfile.open(archives[0]) as tar:
            yield from _files_in(tar)
    except (tarfile.TarError, EOFError, OSError) as error:
        raise DatasetError(
            f"{archives[0]} cannot be read: {error}", remedy="fetch it again"
        ) from error


def _files_below(folder: Path) -> Iterator[tuple[str, bytes, int]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            try:
                data = path.read_bytes()
            except OSError as error:
                raise DatasetError(f"{path} cannot be read: {error.strerror}") from error
            yield path.relative_to(folder).as_posix(), data, path.stat().st_mode


def _files_in(tar: tarfile.TarFile) -> Iterator[tuple[str, bytes, int]]:
    for member in tar:
        _, found, path = f"/{member.name}".partition(f"/{ASSETS}/")
        if member.isfile() and found:
            file = tar.extractfile(member)
            assert file is not None
            yield path, file.read(), member.mode
