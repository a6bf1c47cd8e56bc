"""The bundled suite keeps its promises; where bubblewrap works, every solution is really run."""

from __future__ import annotations

import functools
import hashlib
import os
import shlex
import shutil
import stat
import subprocess
import tarfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from intercode.tasks.model import Task
from intercode.tasks.sources.bundled import load

# What Bash-v1 leaves out of its comparison of files, at any depth.
_UNSEEN_BY_V1 = {
    "bin", "boot", "dev", "etc", "home", "lib", "media", "opt", "proc", "root", "run", "sbin",
    "srv", "sys", "usr", "var",
}  # fmt: skip
_HOST_FOLDERS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_NOT_OF_THE_TASK = {"dev", "etc", "proc", "usr", *_HOST_FOLDERS}
_TASKS = load("bash").tasks


@dataclass(frozen=True)
class _Outcome:
    exit_code: int
    output: str
    files: tuple[tuple[str, str], ...]


def _root_options(root: Path) -> list[str]:
    """A root file system with nothing of the host's but programs, and ``root`` to write in."""
    options = ["--bind", str(root), "/", "--ro-bind", "/usr", "/usr"]
    for name in _HOST_FOLDERS:
        host = Path("/", name)
        if host.is_symlink():
            options += ["--symlink", str(host.readlink()), f"/{name}"]
        elif host.is_dir():
            options += ["--ro-bind", str(host), f"/{name}"]
    if Path("/etc/alternatives").is_dir():
        options += ["--ro-bind", "/etc/alternatives", "/etc/alternatives"]
    return [*options, "--proc", "/proc", "--dev", "/dev"]


def _run(root: Path, command: str, locale: str | None = None) -> subprocess.CompletedProcess[str]:
    variables = ["--setenv", "PATH", "/usr/bin:/bin"]
    if locale:
        variables += ["--setenv", "LC_ALL", locale]
    return subprocess.run(
        ["bwrap", *_root_options(root), "--unshare-all", "--die-with-parent", "--clearenv",
         *variables, "--chdir", "/", "bash", "-c", f"umask 022; {command}"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        encoding="utf-8", timeout=60, check=False,
    )  # fmt: skip


@functools.cache
def _bubblewrap_works() -> bool:
    if shutil.which("bwrap") is None:
        return False
    probe = ["bwrap", "--ro-bind", "/", "/", "--unshare-all", "true"]
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INTERCODE_CACHE", str(tmp_path_factory.mktemp("cache")))
        folders = {}
        for name, system in load("bash").file_systems.items():
            assert system.tar is not None
            folders[name] = tmp_path_factory.mktemp(name)
            with tarfile.open(system.tar) as tar:
                tar.extractall(folders[name], filter="fully_trusted")
        yield folders


def _files(root: Path) -> tuple[tuple[str, str], ...]:
    """Every path that was not made by bubblewrap itself, with what a comparison must notice."""
    found = []
    for folder, folders, names in os.walk(root):
        if folder == str(root):
            folders[:] = [name for name in folders if name not in _NOT_OF_THE_TASK]
        found += [Path(folder, name) for name in [*folders, *names]]
    return tuple(sorted((str(path.relative_to(root)), _described(path)) for path in found))


def _described(path: Path) -> str:
    status = path.lstat()
    if stat.S_ISLNK(status.st_mode):
        return f"link {path.readlink()}"
    mode = f"{stat.S_IMODE(status.st_mode):04o}"
    if stat.S_ISDIR(status.st_mode):
        return f"folder {mode}"
    return f"file {mode} {hashlib.sha256(path.read_bytes()).hexdigest()}"


def _outcome(source: Path, root: Path, command: str, locale: str | None = None) -> _Outcome:
    shutil.copytree(source, root, symlinks=True)
    try:
        done = _run(root, command, locale)
        return _Outcome(done.returncode, done.stdout, _files(root))
    finally:
        shutil.rmtree(root)


def test_at_least_forty_tasks_with_ids_of_their_own() -> None:
    assert len(_TASKS) >= 40
    assert len({task.id for task in _TASKS}) == len(_TASKS)


def test_suite_is_balanced() -> None:
    hardness = Counter(task.metadata["hardness"] for task in _TASKS)
    kinds = Counter(task.metadata["kind"] for task in _TASKS)
    systems = Counter(task.file_system for task in _TASKS)
    ambiguous = [task for task in _TASKS if "ambiguous" in task.metadata["tags"]]
    assert set(hardness) == {"easy", "medium", "hard"}
    assert set(kinds) == {"answer", "change", "both"}
    assert set(systems) == {"shop", "project", "archive"}
    assert min(hardness.values()) >= 8
    assert kinds["change"] + kinds["both"] >= 18
    assert kinds["answer"] >= 25
    assert len(ambiguous) >= 6
    assert sum(bool(task.alternatives) for task in _TASKS) >= 25


def test_no_flags_because_every_task_is_sound() -> None:
    assert [task.id for task in _TASKS if not task.sound] == []


def test_loading_makes_no_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTERCODE_CACHE", str(tmp_path / "cache"))
    dataset = load("bash")
    assert not (tmp_path / "cache").exists()
    assert dataset.file_systems["shop"].tar is not None
    assert len(list((tmp_path / "cache" / "trees").iterdir())) == 1


def test_digest_is_the_same_wherever_the_cache_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digests = set()
    for cache in ("one", "two"):
        monkeypatch.setenv("INTERCODE_CACHE", str(tmp_path / cache))
        digests.add(load("bash").digest)
    assert len(digests) == 1


def test_no_path_is_hidden_from_the_first_environment(unpacked: dict[str, Path]) -> None:
    for folder in unpacked.values():
        for path in folder.rglob("*"):
            assert path.name not in _UNSEEN_BY_V1, path


@pytest.mark.parametrize("task", _TASKS, ids=lambda task: task.id)
def test_solutions_survive_the_first_environments_word_splitting(task: Task) -> None:
    for command in (task.gold, *task.alternatives):
        assert shlex.split(f'/bin/bash -c "{command}"') == ["/bin/bash", "-c", command]
        assert not command.startswith("cd")


@pytest.mark.bubblewrap
@pytest.mark.skipif(not _bubblewrap_works(), reason="bubblewrap does not work here")
@pytest.mark.parametrize("task", _TASKS, ids=lambda task: task.id)
def test_solutions_agree_and_do_something(
    task: Task, unpacked: dict[str, Path], tmp_path: Path
) -> None:
    assert task.file_system is not None
    source = unpacked[task.file_system]
    nothing = _outcome(source, tmp_path / "nothing", "true")
    gold = _outcome(source, tmp_path / "gold", task.gold)
    assert gold.exit_code == 0, gold.output
    assert len(gold.output.encode()) <= 4096

    kind = task.metadata["kind"]
    assert (gold.files != nothing.files) == (kind in ("change", "both"))
    assert bool(gold.output.strip()) == (kind in ("answer", "both"))

    assert _outcome(source, tmp_path / "again", task.gold) == gold
    assert _outcome(source, tmp_path / "utf-8", task.gold, "C.UTF-8") == gold
    for other in task.alternatives:
        for locale in (None, "C.UTF-8"):
            found = _outcome(source, tmp_path / "other", other, locale)
            assert (found.output, found.files) == (gold.output, gold.files)
