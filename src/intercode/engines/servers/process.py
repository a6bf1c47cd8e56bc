"""A server process that sees its own files only and does not outlive its owner.

With bubblewrap it runs in namespaces of its own: no network, an ordinary user inside (PostgreSQL
refuses to be root), and of the file system the system's programs, its data and its socket folder.
Without it, it runs as it is, under another user where the owner is root.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from intercode.errors import EngineError

_INSIDE_ID = 70
_NOBODY = 65534
_SCRATCH_BYTES = 1 << 30
"""Of the server's temporary files: they live in memory."""
_DATA_BYTES = 4 << 30
"""At most of its data, which does too. What needs more is for a server with an URL."""
_SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")


@dataclass(frozen=True)
class Places:
    """Where the server finds its folders, as it sees them itself."""

    data: str
    run: str
    scratch: str
    empty: str


INSIDE = Places("/data/server", "/run", "/tmp", "/empty")
"""With bubblewrap."""


def confined() -> str | None:
    """The bubblewrap program, where it is there and works."""
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        return None
    probe = [bwrap, "--unshare-all", "--ro-bind", "/", "/", "true"]
    works = subprocess.run(probe, capture_output=True).returncode == 0
    return bwrap if works else None


def command(
    folder: Path, argv: Callable[[Places], Sequence[str]], bwrap: str | None, template: Path | None
) -> tuple[list[str], Path]:
    """What to run so that ``argv`` sees its data and ``folder/run`` alone, and a folder to run it
    in. The data is ``folder/data``, or a copy of ``template``: with bubblewrap, in memory."""
    if bwrap is None:
        if template is not None:
            shutil.copytree(template, folder / "data")
        for name in ("data", "run", "scratch", "empty"):
            (folder / name).mkdir(exist_ok=True)
        seen = Places(*(str(folder / name) for name in ("data", "run", "scratch", "empty")))
        uid = _give_away(folder) if os.getuid() == 0 else None
        return [sys.executable, "-I", "-S", "-c", _bound_program(uid), *argv(seen)], folder
    (folder / "etc").mkdir(exist_ok=True)
    names = f"server:x:{_INSIDE_ID}:{_INSIDE_ID}::/data:/bin/sh\n"
    (folder / "etc/passwd").write_text(names)
    (folder / "etc/group").write_text(f"server:x:{_INSIDE_ID}:\n")
    wrapped = [bwrap, "--unshare-all", "--die-with-parent", "--new-session"]
    wrapped += ["--uid", str(_INSIDE_ID), "--gid", str(_INSIDE_ID), "--cap-drop", "ALL"]
    wrapped += ["--ro-bind", "/usr", "/usr", *_system(), "--proc", "/proc", "--dev", "/dev"]
    wrapped += ["--size", str(_SCRATCH_BYTES), "--tmpfs", "/tmp", "--dir", "/empty"]
    wrapped += ["--ro-bind", str(folder / "etc"), "/etc", "--bind", str(folder / "run"), "/run"]
    filled: list[str] = []
    if template is None:
        wrapped += ["--dir", "/data", "--bind", str(folder / "data"), INSIDE.data]
    else:
        wrapped += ["--size", str(_DATA_BYTES), "--tmpfs", "/data"]
        wrapped += ["--ro-bind", str(template), "/template"]
        filled = ["/bin/sh", "-c", f'cp -a /template {INSIDE.data} && exec "$@"', "sh"]
    wrapped += ["--chdir", "/data", "--clearenv"]
    wrapped += [
        "--setenv",
        "PATH",
        "/usr/sbin:/usr/bin:/sbin:/bin",
        "--setenv",
        "LC_ALL",
        "C.UTF-8",
    ]
    wrapped += ["--setenv", "TZ", "UTC", "--setenv", "HOME", "/data", "--"]
    return [*wrapped, *filled, *argv(INSIDE)], folder


def _system() -> list[str]:
    argv = []
    for name in _SYSTEM:
        path = Path(name)
        if path.is_symlink():
            argv += ["--symlink", os.readlink(path), name]
        elif path.exists():
            argv += ["--ro-bind", name, name]
    return argv


def _give_away(folder: Path) -> int:
    for base, folders, files in os.walk(folder):
        for name in (*folders, *files):
            os.chown(Path(base, name), _NOBODY, _NOBODY)
    os.chown(folder, _NOBODY, _NOBODY)
    return _NOBODY


def _bound_program(uid: int | None) -> str:
    """Becomes the server, after asking the kernel to end it with its parent."""
    change = f"os.setgroups([]); os.setgid({uid}); os.setuid({uid}); " if uid is not None else ""
    return (
        f"import ctypes, os, sys; {change}"
        f"ctypes.CDLL(None).prctl(1, {int(signal.SIGKILL)}); "
        "os.environ.update(TZ='UTC', LC_ALL='C.UTF-8'); os.umask(0o077); "
        "os.execv(sys.argv[1], sys.argv[1:])"
    )


class Process:
    """A running server. Ends with the owner, however that ends."""

    def __init__(self, argv: Sequence[str], folder: Path) -> None:
        self._log = folder / "log"
        self._started = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._failure: OSError | None = None
        # The kernel ends a child with the *thread* that started it: so one stays with it.
        self._keeper = threading.Thread(
            target=self._keep, args=(list(argv), folder), name="intercode-server", daemon=True
        )
        self._keeper.start()
        self._started.wait()
        if self._failure is not None:
            raise EngineError(f"{argv[0]} cannot be started: {self._failure}")

    def _keep(self, argv: list[str], folder: Path) -> None:
        try:
            with self._log.open("ab") as log:
                self._process = subprocess.Popen(
                    argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                    cwd=folder, start_new_session=True,
                )  # fmt: skip
        except OSError as error:
            self._failure = error
            return
        finally:
            self._started.set()
        self._process.wait()

    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def said(self) -> str:
        """The last lines of its log."""
        try:
            lines = self._log.read_text("utf-8", "replace").strip().splitlines()
        except OSError:
            return ""
        return "\n".join(lines[-8:])

    def wait(self, timeout_s: float) -> int | None:
        """Its exit status, None where it still runs after ``timeout_s``."""
        assert self._process is not None
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None

    def kill(self) -> None:
        """At once: what it keeps is thrown away anyway."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._keeper.join(5)
