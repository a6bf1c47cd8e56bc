"""Whether bubblewrap sandboxes work on this machine, part by part, and what mends each part."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from intercode.sandboxes import seccomp
from intercode.sandboxes.base import Check
from intercode.sandboxes.cgroups import Cgroups

_NAMESPACE_REMEDIES = (
    ("/proc/sys/kernel/unprivileged_userns_clone", "0", "kernel.unprivileged_userns_clone=1"),
    ("/proc/sys/user/max_user_namespaces", "0", "user.max_user_namespaces=15000"),
    (
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1",
        "kernel.apparmor_restrict_unprivileged_userns=0",
    ),
)  # fmt: skip


def checks(cgroups: Cgroups | None) -> list[Check]:
    """One line for each part, in the order in which they are needed."""
    return [_namespaces(), _overlay(), _bash(), _filter(), _groups(cgroups)]


def _namespaces() -> Check:
    if _works("--user", "--map-root-user", "true"):
        return Check("namespaces", True, "user namespaces can be made")
    for file, bad, setting in _NAMESPACE_REMEDIES:
        path = Path(file)
        if path.exists() and path.read_text().strip() == bad:
            return Check("namespaces", False, f"{file} is {bad}", f"sysctl -w {setting} (as root)")
    return Check(
        "namespaces", False, "the kernel refuses user namespaces (inside a container?)",
        "run on the host, or give the container --privileged or seccomp=unconfined",
    )  # fmt: skip


def _overlay() -> Check:
    extra = "" if os.getuid() == 0 else ",userxattr"
    script = (
        "set -e; mount -t tmpfs t /tmp; cd /tmp; mkdir l u w m;"
        f"mount -t overlay o -o lowerdir=l,upperdir=u,workdir=w{extra} m"
    )
    own = ("--mount",) if os.getuid() == 0 else ("--user", "--map-root-user", "--mount")
    if _works(*own, "sh", "-c", script):
        return Check("overlay", True, "overlayfs can be mounted on a tmpfs")
    return Check(
        "overlay", False, f"overlayfs cannot be mounted (kernel {os.uname().release})",
        "as root: modprobe overlay; as an ordinary user: Linux 6.6 or newer, or run as root",
    )  # fmt: skip


def _bash() -> Check:
    try:
        said = subprocess.run(["/bin/bash", "--version"], capture_output=True, text=True).stdout
    except OSError:
        said = ""
    found = re.search(r"version (\d+)\.(\d+)", said)
    if found and int(found[1]) >= 5:
        return Check("bash", True, f"Bash {found[1]}.{found[2]} on the host base")
    return Check("bash", False, "the host has no Bash 5", "apt-get install bash, or --base tar:…")


def _filter() -> Check:
    machine = os.uname().machine
    if seccomp.supported(machine):
        return Check("system calls", True, f"filtered on {machine}")
    return Check("system calls", False, f"no filter for {machine}", "x86_64 and aarch64 have one")


def _groups(cgroups: Cgroups | None) -> Check:
    missing = cgroups.missing() if cgroups else ["memory", "processes", "cpus"]
    if cgroups and not missing:
        return Check("limits", True, "memory, processes, cpus by control groups")
    # Still usable, so not a failure: what weakens is said.
    return Check(
        "limits", True, f"{', '.join(missing)}: kept by each process's own limits only",
        "run as root, or: systemd-run --user --scope -p Delegate=yes intercode …",
    )  # fmt: skip


def _works(*argv: str) -> bool:
    try:
        done = subprocess.run(["unshare", *argv], capture_output=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
