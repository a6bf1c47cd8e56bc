"""Datasets by name.

A name is one of ours (``nl2bash``, a part of it such as ``nl2bash:fs_1``, ``bundled`` …), the path
of a table, or what an installed package offers under the entry point group ``intercode.datasets``:
a callable that takes a folder or None and gives a ``Dataset``.

Upstream's files are not ours to ship. They are looked for in the folder that the caller names, else
in ``$INTERCODE_DATA``, else in the user's data folder, where ``intercode data fetch`` puts them.
"""

from __future__ import annotations

import difflib
import importlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from intercode.errors import DatasetError, UsageError
from intercode.tasks.catalogue import SOURCES, Place, Source
from intercode.tasks.model import Dataset
from intercode.tasks.sources.rows import SUFFIXES

ENTRY_POINTS = "intercode.datasets"


@dataclass(frozen=True)
class DatasetInfo:
    """What is known of a dataset without loading it.

    ``place`` is the folder its files were found in; None if it is ``bundled``, or not present, and
    then ``remedy`` is the command that fetches it. ``tasks`` is None where only loading tells.
    """

    name: str
    description: str
    tasks: int | None = None
    licence: str = ""
    parts: tuple[str, ...] = ()
    bundled: bool = False
    place: Path | None = None
    remedy: str | None = None

    @property
    def present(self) -> bool:
        return self.bundled or self.place is not None

    @property
    def where(self) -> str:
        if self.bundled:
            return "bundled"
        return f"present at {self.place}" if self.place else f"not present: {self.remedy}"


BUNDLED_PARTS = ("bash", "sql", "python", "ctf", "swe")
BUNDLED_APART = ("code",)
"""Parts that ``bundled`` leaves out: they need programs that not every machine has."""


def load(name: str, *, path: Path | None = None) -> Dataset:
    """Loads a dataset; ``path`` is a folder (or, for a table, a file) to take it from.

    :raises UsageError: no such name.
    :raises DatasetError: the files are missing or damaged.
    """
    head, colon, part = name.partition(":")
    if head == "bundled":
        return _bundled(part if colon else None)
    if head in SOURCES:
        return _load_source(SOURCES[head], part if colon else None, path)
    for plugin in _plugins():
        if plugin.name == name:
            return _load_plugin(plugin, path)
    table = path or Path(name)
    if table.suffix.lower() in SUFFIXES or table.is_file():
        from intercode.tasks.sources.table import load as load_table

        return load_table(table, name if path else None)
    raise _unknown(name)


def names() -> list[DatasetInfo]:
    """Every dataset that can be asked for, with where its files are."""
    bundled = DatasetInfo(
        "bundled",
        "Tasks that come with InterCode.",
        parts=tuple(f"bundled:{part}" for part in (*BUNDLED_PARTS, *BUNDLED_APART)),
        bundled=True,
        licence="MIT",
    )
    ours = [_describe(source) for source in SOURCES.values()]
    theirs = [
        DatasetInfo(plugin.name, f"From the package {_package(plugin)}.", bundled=True)
        for plugin in _plugins()
    ]
    return [bundled, *ours, *theirs]


def user_data_folder() -> Path:
    """Where fetched files are kept: ``intercode`` in the user's data folder."""
    home = Path(os.environ.get("XDG_DATA_HOME", ""))
    return (home if home.is_absolute() else Path.home() / ".local" / "share") / "intercode"


def data_folders() -> list[Path]:
    """The folders that are searched, first the one the user named."""
    named = os.environ.get("INTERCODE_DATA")
    return [*([Path(named)] if named else []), user_data_folder()]


def _bundled(part: str | None) -> Dataset:
    module = importlib.import_module("intercode.tasks.sources.bundled")
    dataset: Dataset = module.load(part)
    return dataset


def _load_source(source: Source, part: str | None, path: Path | None) -> Dataset:
    if source.tables and (table := path if path and path.is_file() else part and Path(part)):
        return source.load(table, ())
    if part is not None and part not in source.parts:
        whole = f"intercode data info {source.name}"
        parts = ", ".join(f"{source.name}:{p}" for p in source.parts)
        raise UsageError(
            f"dataset {source.name!r} has no part {part!r}",
            remedy=f"one of {parts}" if parts else whole,
        )
    chosen = (part,) if part else source.usual or source.parts
    folder, place = _find(source, path, chosen)
    for file in _files(source, place, chosen):
        if not (folder / file).exists():
            raise DatasetError(
                f"dataset {source.name!r}: {folder / file} is missing", remedy=source.remedy
            )
    return source.load(folder, chosen)


def _find(source: Source, path: Path | None, parts: tuple[str, ...]) -> tuple[Path, Place]:
    """The folder that holds the dataset; the first that has any of the parts' files."""
    looked = _candidates(source, path)
    for folder, place in looked:
        if any((folder / file).exists() for file in _files(source, place, parts)):
            return folder, place
    folder, place = looked[0]
    homes = [path] if path else data_folders()
    raise DatasetError(
        f"dataset {source.name!r} is not here: there is no {_files(source, place, parts)[0]} in "
        + " or ".join(str(home / place.folder) for home in homes),
        remedy=source.remedy,
    )


def _candidates(source: Source, path: Path | None) -> list[tuple[Path, Place]]:
    """Every folder in which the dataset may lie, a folder of the caller's also without its name."""
    homes = [path] if path else data_folders()
    found = [(home / place.folder, place) for home in homes for place in source.places]
    return [*found, *((path, place) for place in source.places if path)]


def _files(source: Source, place: Place, parts: tuple[str, ...]) -> list[str]:
    if not source.parts:
        return list(place.files)
    return [file for part, file in zip(source.parts, place.files, strict=True) if part in parts]


def _describe(source: Source) -> DatasetInfo:
    try:
        place, _ = _find(source, None, source.parts)
    except DatasetError:
        place = None
    return DatasetInfo(
        source.name,
        source.description,
        tasks=source.tasks,
        licence=source.licence,
        parts=tuple(f"{source.name}:{part}" for part in source.parts),
        place=place,
        remedy=f"intercode data fetch {source.package}",
    )


def _plugins() -> Sequence[EntryPoint]:
    return sorted(entry_points(group=ENTRY_POINTS), key=lambda plugin: plugin.name)


def _package(plugin: EntryPoint) -> str:
    return plugin.dist.name if plugin.dist else plugin.module


def _load_plugin(plugin: EntryPoint, path: Path | None) -> Dataset:
    try:
        loader = plugin.load()
    except Exception as error:
        raise UsageError(
            f"dataset {plugin.name!r} of package {_package(plugin)} cannot be imported: {error}",
            remedy=f"mend or remove the package {_package(plugin)}",
        ) from error
    dataset = loader(path)
    if not isinstance(dataset, Dataset):
        raise DatasetError(
            f"dataset {plugin.name!r}: {plugin.value} gave {type(dataset).__name__}, not a Dataset"
        )
    return dataset


def _unknown(name: str) -> UsageError:
    known = [info for entry in names() for info in (entry.name, *entry.parts)]
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    if Path(name).is_dir():
        remedy = f"name a file in it, ending in {', '.join(SUFFIXES)}"
        return UsageError(f"{name!r} is a folder, not a dataset", remedy=remedy)
    hint = f"did you mean {' or '.join(close)}? " if close else ""
    return UsageError(
        f"there is no dataset {name!r}", remedy=f"{hint}All are listed by: intercode data list"
    )
