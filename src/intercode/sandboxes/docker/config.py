"""What a sandbox's container is created with: its limits, and everything it is not given."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from intercode.errors import LimitError
from intercode.sandboxes.base import Limits
from intercode.sandboxes.channel import boot_program
from intercode.sandboxes.guest import boot_script

_ENV = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
}
# What root needs to be root over the sandbox's files, and nothing else.
_CAPABILITIES = ["CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID"]
_SHM_BYTES = 16 << 20
_EXTRA_MIB = 16
_MASKED = [
    *(f"/proc/{name}" for name in ("acpi", "asound", "interrupts", "kcore", "keys")),
    *(f"/proc/{name}" for name in ("latency_stats", "sched_debug", "scsi", "timer_list")),
    "/sys/firmware",
    "/sys/devices/virtual/powercap",
]
_EXTRA_PROCESSES = 3
_LEAST_CPUS = 0.01
_QUOTA_DRIVERS = ("btrfs", "zfs", "devicemapper")


@dataclass(frozen=True)
class Abilities:
    """What the engine can keep, asked once."""

    cpus: int
    missing: tuple[str, ...]
    native_overlay: bool
    """Whether what a container wrote lies in plain sight in overlay2's upper directory, with the
    owners that it has inside."""
    quotas: bool
    """Whether the storage driver may keep a quota. The first container will tell."""

    @classmethod
    def of(cls, info: Mapping[str, Any]) -> Abilities:
        flags = {"MemoryLimit": "memory", "PidsLimit": "processes", "CpuCfsQuota": "cpus"}
        # Engines spell the same field in two ways.
        told = {key.lower(): value for key, value in info.items()}
        security = [str(option) for option in info.get("SecurityOptions") or []]
        status = [list(pair) for pair in info.get("DriverStatus") or []]
        return cls(
            cpus=int(info.get("NCPU") or 1),
            missing=tuple(name for key, name in flags.items() if not told.get(key.lower(), True)),
            native_overlay=info.get("Driver") == "overlay2"
            and ["Native Overlay Diff", "true"] in status
            and not any("userns" in said or "rootless" in said for said in security),
            quotas=info.get("Driver") in _QUOTA_DRIVERS or ["Backing Filesystem", "xfs"] in status,
        )

    def demand(self, limits: Limits) -> None:
        """:raises LimitError: the engine would silently not keep one of them."""
        missing = [name for name in self.missing if name != "cpus" or limits.cpus < self.cpus]
        if missing:
            raise LimitError(
                f"this engine cannot limit {', '.join(missing)}",
                remedy="give it the control groups (docker info names those it lacks)",
            )


def container_config(
    image: str,
    limits: Limits,
    *,
    labels: Mapping[str, str],
    env: Iterable[tuple[str, str]] = (),
    dropped_env: Iterable[str] = (),
    hostname: str = "sandbox",
    address: str = "",
    cpus: int,
    disk_bytes: int | None = None,
) -> dict[str, Any]:
    """The body of the engine's ``create``.

    ``disk_bytes``: for storage drivers that keep a quota. Each single file is bounded in any case.
    """
    size, _ = boot_program()
    guest = ["/bin/bash", "--noprofile", "--norc", "-c", boot_script(), "bash", str(size)]
    wanted = _ENV | dict(env)
    # A name without a value takes away what the engine or the image would set.
    unset = {"HOSTNAME", *dropped_env} - set(wanted)
    memory = (limits.memory_mib + _EXTRA_MIB) << 20
    host: dict[str, Any] = {
        "NetworkMode": "bridge" if limits.network else "none",
        "CapDrop": ["ALL"],
        "CapAdd": _CAPABILITIES,
        "SecurityOpt": ["no-new-privileges"],
        "IpcMode": "private",
        "CgroupnsMode": "private",
        "ShmSize": _SHM_BYTES,
        "PidsLimit": limits.processes + _EXTRA_PROCESSES,
        "Memory": memory,
        "MemorySwap": memory,
        "NanoCpus": int(max(_LEAST_CPUS, min(limits.cpus, cpus)) * 1e9),
        "Ulimits": [
            _ulimit("core", 0),
            _ulimit("nofile", 1024),
            _ulimit("fsize", limits.disk_mib << 20),
        ],
        "Init": False,
        "ReadonlyRootfs": False,
        # The container's root is the machine's: it owns what is in /proc, and a `chmod -R` from the
        # root there would change the modes of the kernel's own entries, for everybody and for good.
        # Around the first version of control groups there is an ordinary file system in memory.
        "ReadonlyPaths": ["/proc", "/sys/fs/cgroup"],
        "MaskedPaths": _MASKED,
        "LogConfig": {"Type": "none"},
        # Not removed by the engine when it ends: the files of a sandbox whose guest died are kept
        # for the next one. `sweep` removes what nobody will come back for.
        "AutoRemove": False,
        "RestartPolicy": {"Name": "no"},
    }
    if runtime := os.environ.get("INTERCODE_DOCKER_RUNTIME"):
        host["Runtime"] = runtime
    if address:
        host["ExtraHosts"] = [f"{hostname}:{address}"]
    if disk_bytes is not None:
        host["StorageOpt"] = {"size": str(disk_bytes)}
    return {
        "Image": image,
        "Entrypoint": guest,
        "Cmd": [],
        "Env": [*(f"{name}={value}" for name, value in wanted.items()), *sorted(unset)],
        "User": "0",
        "WorkingDir": "/",
        "Hostname": hostname,
        "Labels": dict(labels),
        "Healthcheck": {"Test": ["NONE"]},
        "Tty": False,
        "AttachStdin": True,
        "AttachStdout": True,
        "AttachStderr": True,
        # The guest's stdin ends with our connection, and the guest with its stdin: the containers
        # of a killed owner stop by themselves as soon as they are idle.
        "OpenStdin": True,
        "StdinOnce": True,
        "HostConfig": host,
    }


def _ulimit(name: str, value: int) -> dict[str, Any]:
    return {"Name": name, "Soft": value, "Hard": value}
