"""Whether Docker sandboxes work on this machine, part by part, and what mends each part."""

from __future__ import annotations

from collections.abc import Callable

from intercode.errors import SandboxError, SandboxUnavailable
from intercode.sandboxes.base import Check
from intercode.sandboxes.docker.config import Abilities
from intercode.sandboxes.docker.engine import Engine, require_package

_OLDEST_API = (1, 41)
_OPEN_TO_VSOCK = ("20", "22")


def checks(connect: Callable[[], Engine], default_base: str) -> list[Check]:
    """One line for each part, in the order in which they are needed; nothing after a failure that
    the rest depends on."""
    try:
        require_package()
    except SandboxUnavailable as error:
        return [_failed("package", error)]
    package = Check("package", True, "the docker package is installed")
    try:
        engine = connect()
        info = engine.info()
    except SandboxError as error:
        return [package, _failed("engine", error)]
    abilities = Abilities.of(info)
    return [package, _engine(engine, info), _limits(abilities), _disk(abilities),
            _isolation(info), _base(engine, default_base)]  # fmt: skip


def _engine(engine: Engine, info: dict[str, object]) -> Check:
    said = f"version {info.get('ServerVersion')}, API {'.'.join(map(str, engine.version))}"
    if info.get("OSType", "linux") != "linux":
        return Check("engine", False, f"{said} runs no Linux containers", "switch it to Linux")
    if engine.version < _OLDEST_API:
        return Check("engine", False, f"{said} is too old", "Docker 20.10, or Podman 4, or newer")
    return Check("engine", True, said)


def _limits(abilities: Abilities) -> Check:
    missing = [name for name in abilities.missing if name != "cpus"]
    if missing:
        return Check(
            "limits", False, f"this engine cannot limit {', '.join(missing)}",
            "give it the control groups: run it as root, or delegate them to its user",
        )  # fmt: skip
    return Check("limits", True, "memory, processes, cpus by control groups")


def _disk(abilities: Abilities) -> Check:
    if abilities.quotas:
        return Check("disk", True, "the storage may keep a quota; if not, it is watched")
    # Still usable, so not a failure: what weakens is said.
    return Check(
        "disk", True, "each file by the kernel; all together by looking twice a second",
        "for an exact limit: overlay2 on xfs mounted with pquota",
    )  # fmt: skip


def _isolation(info: dict[str, object]) -> Check:
    options = info.get("SecurityOptions")
    found = " ".join(map(str, options)) if isinstance(options, list) else ""
    if "seccomp" not in found:
        return Check(
            "system calls", False, "the engine filters no system calls",
            "use a kernel and an engine with seccomp, or INTERCODE_DOCKER_RUNTIME=runsc",
        )  # fmt: skip
    version = str(info.get("ServerVersion") or "")
    if "BuildahVersion" not in info and version.partition(".")[0] in _OPEN_TO_VSOCK:
        return Check(
            "system calls", True,
            "filtered by the engine's profile, which is old: sockets to a hypervisor are open",
            "Docker 23 or newer, where this machine is itself a virtual one",
        )  # fmt: skip
    return Check("system calls", True, "filtered by the engine's profile")


def _base(engine: Engine, default_base: str) -> Check:
    kind, _, name = default_base.partition(":")
    if kind != "docker":
        return Check("base", True, default_base)
    try:
        engine.image(name)
    except SandboxError:
        # Still usable: it is pulled when first needed, or another base is named.
        return Check(
            "base", True, f"{name} is not there yet, and will be pulled", f"docker pull {name}"
        )
    return Check("base", True, f"{name} is there")


def _failed(name: str, error: SandboxError) -> Check:
    return Check(name, False, str(error.args[0]), error.remedy or "docker info says more")
