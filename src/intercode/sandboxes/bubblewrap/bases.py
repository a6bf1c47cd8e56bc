"""Root file systems to start from: this machine's ``/usr``, a folder, a tar, Debian, Docker."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from intercode.errors import ImageError
from intercode.sandboxes.base import Image

KINDS = ("host", "dir:PATH", "tar:PATH", "debian:SUITE", "docker:NAME")

_FOLDERS = (
    "dev", "proc", "sys", "run", "mnt", "media", "opt", "srv", "home", "root", "tmp", "usr", "etc",
    "var/tmp", "var/log", "var/lib", "var/cache", "var/spool",
)  # fmt: skip
_ETC = {
    "passwd": "root:x:0:0:root:/root:/bin/bash\n"
    "daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n"
    "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
    "group": "root:x:0:\ndaemon:x:1:\nusers:x:100:\nnogroup:x:65534:\n",
    "hosts": "127.0.0.1\tlocalhost\n::1\tlocalhost\n",
    "hostname": "sandbox\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
    "resolv.conf": "",
}


def base_key(image: Image) -> str:
    """What the base's digest is made of; changes when the base's content does."""
    kind, _, name = image.base.partition(":")
    if image.packages and kind != "debian":
        raise ImageError(
            f"packages can be added to debian:SUITE only, not to {image.base!r}",
            remedy="use --base debian:bookworm, or a base that has them",
        )
    if kind == "host" and not name:
        return f"host {_host_key()}"
    if kind in ("dir", "tar") and name:
        return f"{kind} {_path_key(Path(name), kind)}"
    if kind == "debian" and name:
        return f"debian {name} {' '.join(sorted(image.packages))}"
    if kind == "docker" and name:
        return f"docker {_docker_id(name)}"
    raise ImageError(f"unknown base image {image.base!r}", remedy=f"one of {', '.join(KINDS)}")


def binds(image: Image) -> list[tuple[str, str]]:
    """Host folders that are seen read-only in every sandbox on this base."""
    return [("/usr", "/usr")] if image.base == "host" else []


def make_base(image: Image, work: Path) -> Path | None:
    """Make what has to be unpacked, below ``work``: a tar; None where `host_skeleton` does it."""
    kind, _, name = image.base.partition(":")
    tar = work / "base.tar"
    if kind == "host":
        return None
    if kind == "tar":
        return Path(name)
    if kind == "dir":
        _run(["tar", "--numeric-owner", "--one-file-system", "-C", name, "-cf", str(tar), "."])
    elif kind == "debian":
        if shutil.which("mmdebstrap") is None:
            raise ImageError(
                "mmdebstrap is not installed, and makes Debian bases",
                remedy="apt-get install mmdebstrap",
            )
        wanted = [f"--include={','.join(sorted(image.packages))}"] if image.packages else []
        mode = [] if os.getuid() == 0 else ["--mode=unshare"]
        _run(["mmdebstrap", "--quiet", "--variant=minbase", *mode, *wanted, name, str(tar)])
    else:
        made = _run(["docker", "create", name, "true"]).strip()
        try:
            _run(["docker", "export", "-o", str(tar), made])
        finally:
            _run(["docker", "rm", made])
    return tar


def host_skeleton(target: Path, owner: int) -> None:
    """Everything of a root file system but ``/usr``, which is the host's."""
    for folder in _FOLDERS:
        (target / folder).mkdir(parents=True, exist_ok=True)
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        if (Path("/") / name).is_symlink():
            (target / name).symlink_to(f"usr/{name}")
    for name, text in _ETC.items():
        (target / "etc" / name).write_text(text)
    # Many programs of Debian's (awk among them) are links into this folder.
    if Path("/etc/alternatives").is_dir():
        shutil.copytree("/etc/alternatives", target / "etc/alternatives", symlinks=True)
    if Path("/etc/ld.so.cache").exists():
        shutil.copyfile("/etc/ld.so.cache", target / "etc/ld.so.cache")
    for folder in ("tmp", "var/tmp"):
        (target / folder).chmod(0o1777)
    (target / "root").chmod(0o700)
    for path in (target, *target.rglob("*")):
        os.chown(path, owner, owner, follow_symlinks=False) if owner else None


def _host_key() -> str:
    """The host's programs change with its package database, or else with its release."""
    parts: list[str] = [os.uname().machine]
    for name in ("/var/lib/dpkg/status", "/etc/os-release", "/usr/bin"):
        path = Path(name)
        if path.is_file():
            parts.append(hashlib.sha256(path.read_bytes()).hexdigest())
        elif path.exists():
            parts.append(str(path.stat().st_mtime_ns))
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()


def _path_key(path: Path, kind: str) -> str:
    if kind == "tar" and not path.is_file():
        raise ImageError(f"base image: there is no file {path}")
    if kind == "dir" and not (path / "bin").exists():
        raise ImageError(f"base image: {path} is not a root file system (it has no bin)")
    if kind == "tar":
        info = path.stat()
        return f"{path.resolve()} {info.st_size} {info.st_mtime_ns}"
    listing = sorted(_listing(path))
    return hashlib.sha256(json.dumps(listing).encode()).hexdigest()


def _listing(path: Path) -> Iterable[tuple[str, int, int]]:
    for folder, _, files in os.walk(path):
        for name in files:
            info = os.lstat(os.path.join(folder, name))
            yield os.path.join(folder, name), info.st_size, info.st_mtime_ns


def _docker_id(name: str) -> str:
    if shutil.which("docker") is None:
        raise ImageError(
            f"base docker:{name} needs the docker command", remedy="apt-get install docker.io"
        )
    return _run(["docker", "image", "inspect", "--format", "{{.Id}}", name]).strip()


def _run(argv: list[str]) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        said = (done.stderr or done.stdout).strip()[-2000:]
        raise ImageError(f"{argv[0]} failed with exit code {done.returncode}:\n{said}")
    return done.stdout
