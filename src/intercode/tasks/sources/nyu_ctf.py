"""NYU CTF Bench: challenges of the CSAW competitions, 200 to test on and some to develop with.

An index names each challenge's folder; a ``challenge.json`` in it says what is asked, which files a
player gets, and the flag. An index without those folders still loads, every task of it flagged:
there is nothing to play and nothing to score by.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from intercode.errors import DatasetError
from intercode.tasks.labels import labelled
from intercode.tasks.lazy import Lazy
from intercode.tasks.model import Dataset, FileSystem, Task
from intercode.tasks.sources.rows import Row, read_text
from intercode.tasks.tree import Entry, materialise

PARTS = ("test", "development")
HOME = "/ctf"


def load(folder: Path, parts: Iterable[str] = PARTS) -> Dataset:
    """The challenges of one index, or of both.

    :raises DatasetError: an index or a challenge cannot be understood.
    """
    parts = tuple(parts)
    tasks: list[Task] = []
    makers = {}
    for part in parts:
        path = folder / f"{part}_dataset.json"
        for name, entry in _object(path).items():
            listed = Row(path, f"challenge {name!r}", entry if isinstance(entry, dict) else {})
            home = folder / _inside(listed, listed.text("path"))
            task = _task(name, part, listed, home)
            tasks.append(task)
            makers[name] = partial(_file_system, name, home, task.metadata.get("files", ()))
    return Dataset(
        name="nyu-ctf" if parts == PARTS else f"nyu-ctf:{','.join(parts)}",
        tasks=labelled(tasks, "nyu-ctf"),
        file_systems=Lazy(makers),
        description="NYU CTF Bench: challenges of the CSAW competitions.",
        source="https://github.com/NYU-LLM-CTF/NYU_CTF_Bench",
        licence="GPL-2.0",
    )


def _task(name: str, part: str, listed: Row, home: Path) -> Task:
    facts: dict[str, Any] = {
        "source": part,
        "tags": (listed.text("category"),),
        "year": listed.word("year"),
        "event": listed.word("event"),
    }
    title = listed.text("challenge")
    path = home / "challenge.json"
    if not path.is_file():
        facts["flags"] = ("missing_asset", "no_gold")
        return Task(name, "ctf", title, gold="", file_system=name, metadata=facts)
    told = Row(path, "challenge", _object(path))
    facts["files"] = tuple(_inside(told, file) for file in told.texts("files"))
    facts["flags"] = _flags(told, home, facts["files"])
    return Task(
        name,
        "ctf",
        instruction=_instruction(title, told, facts["files"]),
        gold=told.text("flag"),
        file_system=name,
        metadata={key: value for key, value in facts.items() if value is not None},
    )


def _instruction(title: str, told: Row, files: Sequence[str]) -> str:
    lines = [f"{told.word('name') or title}: {told.word('description') or ''}".strip()]
    if files:
        lines.append(f"Files: {', '.join(files)}")
    if box := told.word("box"):
        lines.append(f"Server: {box} {told.word('internal_port') or ''}".strip())
    return "\n".join(lines)


def _flags(told: Row, home: Path, files: Sequence[str]) -> tuple[str, ...]:
    flags = set()
    if told.values.get("compose") or told.word("box"):
        flags.add("needs_service")
    if not all((home / file).is_file() for file in files):
        flags.add("missing_asset")
    return tuple(sorted(flags))


def _file_system(name: str, home: Path, files: Sequence[str]) -> FileSystem:
    """What a player is given, and nothing else of the challenge's folder."""
    place = f"{HOME}/{name}"
    entries = [Entry(place)]
    for file in files:
        source = home / file
        if source.is_file():
            mode = 0o755 if source.stat().st_mode & 0o100 else 0o644
            entries.append(Entry(f"{place}/{file}", _bytes(source), mode=mode))
    made = materialise(name, entries)
    return FileSystem(name, tar=made.tar, cwd=place)


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DatasetError(f"{path} cannot be read: {error.strerror}") from error


def _inside(row: Row, path: str) -> str:
    """A path that stays below the folder it is meant in."""
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts:
        raise row.error(f"the path {path!r} leads elsewhere", remedy="name a file in the folder")
    return "/".join(parts)


def _object(path: Path) -> dict[str, Any]:
    try:
        body = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise DatasetError(f"{path} is not JSON: {error}", remedy="fetch it again") from error
    if not isinstance(body, dict):
        raise DatasetError(f"{path}: not an object", remedy="fetch it again")
    return body
