"""NL2Bash as InterCode poses it: 200 tasks over four file systems, and 24 test tasks over a fifth.

Upstream's files are read unchanged. Task ids name upstream's file and position (``fs_1/0`` …), so
that they stay the same whichever part is loaded.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from intercode.errors import DatasetError
from intercode.tasks.labels import labelled
from intercode.tasks.model import Dataset, FileSystem, Task
from intercode.tasks.sources.rows import read_rows

PARTS = ("fs_1", "fs_2", "fs_3", "fs_4")
LICENCE = "MIT"
SOURCE = "https://github.com/princeton-nlp/intercode"


def load(folder: Path, parts: Iterable[str] = PARTS) -> Dataset:
    """The 200 tasks, or those over some of the file systems."""
    parts = tuple(parts)
    systems = [_showing_its_script(folder, part) for part in parts]
    tasks = [
        task
        for part, system in zip(parts, systems, strict=True)
        for task in _tasks(folder / f"nl2bash_{part}.json", system, prefix=f"{part}/")
    ]
    return Dataset(
        name="nl2bash" if parts == PARTS else f"nl2bash:{','.join(parts)}",
        tasks=labelled(tasks, "nl2bash"),
        file_systems={system.name: system for system in systems},
        description="InterCode's NL2Bash: Bash one-liners over four small file systems.",
        source=SOURCE,
        licence=LICENCE,
    )


def load_test(folder: Path) -> Dataset:
    """The 24 tasks on which upstream tried its Bash environment."""
    system = file_system(folder, "bash_fs", script="setup_fs.sh")
    return Dataset(
        name="nl2bash-test",
        tasks=labelled(_tasks(folder / "test_queries.json", system), "nl2bash-test"),
        file_systems={system.name: system},
        description="The 24 Bash tasks that InterCode's own tests use.",
        source=SOURCE,
        licence=LICENCE,
    )


def _tasks(path: Path, system: FileSystem, prefix: str = "") -> list[Task]:
    return [
        Task(
            id=f"{prefix}{index}",
            env="bash",
            instruction=row.text("query"),
            gold=row.gold(),
            file_system=system.name,
            metadata={"source": path.name, "index": index, "file_system": system.name},
        )
        for index, row in enumerate(read_rows(path))
    ]


def _showing_its_script(folder: Path, part: str) -> FileSystem:
    """Upstream's images have the script that made them at ``/``; an archive does not hold it."""
    script = f"setup_nl2b_{part}.sh"
    system = file_system(folder, f"nl2bash_{part}", script=script)
    return replace(system, setup=(*system.setup, f"touch /{script}"))


def file_system(folder: Path, name: str, *, script: str) -> FileSystem:
    """The archive if it is there; else the script with which upstream builds the file system."""
    archive = folder / "filesystems" / f"{name}.tar"
    env = _image_env(name, script)
    if archive.is_file():
        return FileSystem(name, tar=archive, env=env)
    recipe = script_text(folder, script)
    if recipe is None:
        raise DatasetError(
            f"file system {name!r}: neither {archive} nor {script} beside it is there",
            remedy="fetch the dataset again; intercode data list says how",
        )
    return FileSystem(name, setup=(recipe,), env=env)


def _image_env(name: str, script: str) -> tuple[tuple[str, str], ...]:
    """Variables that upstream's numbered images leave behind; ``env`` in an action shows them."""
    number = name.rpartition("_")[2]
    if not number.isdigit():
        return ()
    return (("file_system_version", number), ("script", script))


def script_text(folder: Path, script: str) -> str | None:
    path = folder / "filesystems" / script
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(f"{path} cannot be read: {error}", remedy="fetch it again") from error
