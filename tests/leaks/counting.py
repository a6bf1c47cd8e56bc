"""Counting what an owner of sandboxes has, of everything that could be left behind."""

from __future__ import annotations

import gc
import os
import subprocess
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from intercode.sandboxes.cgroups import Cgroups
from intercode.sandboxes.owner import owner_label
from intercode.sandboxes.places import cache_dir, state_root


@dataclass(frozen=True)
class Counts:
    """Each a number, so that two of these compare at a glance in a failed test."""

    processes: int
    mounts: int
    control_groups: int
    containers: int
    images: int
    folders: int
    descriptors: int = 0
    threads: int = 0


def counts(owner: str | None = None, *, docker: bool = False) -> Counts:
    """Of this process; of another, dead or alive, by its label (descriptors and threads apart)."""
    own = owner is None
    label = owner or owner_label()
    if own:
        gc.collect()
    return Counts(
        processes=len(grouped(label) | (_bare(descendants(os.getpid())) if own else set())),
        mounts=Path("/proc/self/mountinfo").read_text().count(f" {cache_dir()}/"),
        control_groups=len(control_groups(label)),
        containers=len(_labelled("ps", label)) if docker else 0,
        images=len(_labelled("images", label)) if docker else 0,
        folders=len(folders(label)),
        descriptors=len(os.listdir("/proc/self/fd")) if own else 0,
        threads=threading.active_count() if own else 0,
    )


def settled(wanted: Counts, owner: str | None = None, *, docker: bool, patience_s: float) -> Counts:
    """The counts, once they are as wanted, or when patience ends: closing goes on elsewhere."""
    deadline = time.monotonic() + patience_s
    while (found := counts(owner, docker=docker)) != wanted and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


def descendants(pid: int) -> set[str]:
    """Processes below this one, each with its time of birth, which tells it from a later one."""
    found: set[str] = set()
    children: dict[str, list[str]] = {}
    for process in Path("/proc").iterdir():
        with suppress(OSError):
            if process.name.isdigit():
                fields = (process / "stat").read_text().rpartition(")")[2].split()
                name = f"{process.name}@{fields[19]}"
                children.setdefault(fields[1], []).append(name)
    todo = [str(pid)]
    while todo:
        born = children.get(todo.pop(), [])
        found.update(born)
        todo += [name.split("@")[0] for name in born]
    return found


def _bare(processes: set[str]) -> set[str]:
    return {process.partition("@")[0] for process in processes}


def alive(processes: set[str]) -> set[str]:
    """Those of ``processes`` that still run."""
    left = set()
    for name in processes:
        pid, _, birth = name.partition("@")
        with suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            if fields[19] == birth and fields[0] not in "ZX":
                left.add(name)
    return left


def grouped(label: str) -> set[str]:
    """Processes in the owner's control groups."""
    found: set[str] = set()
    for folder in control_groups(label):
        with suppress(OSError):
            found.update((folder / "cgroup.procs").read_text().split())
    return found


def control_groups(label: str) -> list[Path]:
    cgroups = Cgroups.detect()
    places = set(cgroups.places.values()) if cgroups else set()
    return [folder for place in places for folder in place.glob(f"{label}-*")]


def folders(label: str) -> list[Path]:
    layers = cache_dir() / "layers"
    return [*state_root().glob(f"{label}*"), *layers.glob(f"new-{label}-*")]


def _labelled(what: str, label: str) -> list[str]:
    """The owner's containers (``ps``) or images (``images``: snapshots) in the Docker engine."""
    listed = subprocess.run(
        ["docker", what, "--all", "--quiet", "--filter", f"label=intercode.owner={label}"],
        capture_output=True,
        text=True,
        check=True,
    )
    return listed.stdout.split()
