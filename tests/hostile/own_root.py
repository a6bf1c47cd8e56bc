"""A small root file system made of this machine's programs: one that an agent can destroy."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from pathlib import Path

_PROGRAMS = (
    "bash", "sh", "cat", "chmod", "chown", "cp", "dd", "echo", "env", "find", "git", "grep", "head",
    "id", "ln", "ls", "md5sum", "mkdir", "mkfifo", "mv", "nohup", "printf", "ps", "pwd", "rm",
    "rmdir", "seq", "setsid", "sleep", "stat", "tail", "tee", "touch", "tr", "true", "wc", "yes",
)  # fmt: skip
_FOLDERS = ("dev", "etc", "home", "proc", "root", "sys", "tmp", "usr/bin", "var/tmp")


def make_own_root(tar: Path) -> Path:
    """Write the file system to ``tar``: programs, the libraries they are linked with, folders."""
    with tarfile.open(tar, "w", dereference=True) as archive:
        for folder in _FOLDERS:
            _add_folder(archive, folder)
        for name in ("bin", "sbin"):
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, "usr/bin"
            archive.addfile(link)
        found = {name: shutil.which(name, path="/usr/bin:/bin") for name in _PROGRAMS}
        programs = {name: Path(path).resolve() for name, path in found.items() if path}
        for name, path in programs.items():
            archive.add(path, f"usr/bin/{name}", filter=_owned_by_root)
        for library in sorted({lib for path in programs.values() for lib in _libraries(path)}):
            archive.add(library, library.lstrip("/"), filter=_owned_by_root)
    return tar


def _add_folder(archive: tarfile.TarFile, name: str) -> None:
    folder = tarfile.TarInfo(name)
    folder.type, folder.mode = tarfile.DIRTYPE, 0o1777 if name.endswith("tmp") else 0o755
    archive.addfile(folder)


def _owned_by_root(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = "root"
    return member


def _libraries(program: Path) -> set[str]:
    said = subprocess.run(["ldd", str(program)], capture_output=True, text=True).stdout
    words = {word for line in said.splitlines() for word in line.split()}
    return {word for word in words if word.startswith("/")}
