"""The `bubblewrap` back end: user namespaces and overlayfs, for root and for an ordinary user.

Its sandboxes are made in the steps that the program ``bwrap`` takes, and named for it, but by
system calls of our own (`launcher`, `inside`): an episode begins too often to start a program.
"""

from __future__ import annotations

import contextlib
import math
import os
import resource
import threading
from pathlib import Path
from typing import NamedTuple

from intercode.errors import LimitError, SandboxError
from intercode.sandboxes import seccomp
from intercode.sandboxes.base import Check, Image, Limits, ShellState, Snapshot
from intercode.sandboxes.bubblewrap.client import Helpers
from intercode.sandboxes.bubblewrap.doctor import checks
from intercode.sandboxes.bubblewrap.images import ImageStore, Prepared
from intercode.sandboxes.bubblewrap.sandbox import BubblewrapSandbox, Instance, discard
from intercode.sandboxes.cgroups import Cgroups, Group
from intercode.sandboxes.channel import Channel, GuestGone, PipeStreams, boot_program
from intercode.sandboxes.guest import boot_script
from intercode.sandboxes.owner import new_name, owner_is_alive
from intercode.sandboxes.places import cache_dir, state_root

DEFAULT_ENV = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
}
_BOOT_TIMEOUT_S = 20.0
_REBOOT_TIMEOUT_S = 5.0
"""From the files of a running sandbox, whose agent may have seen to it that nothing starts."""
_DESCRIPTORS = 65536
_GUEST = ("/bin/bash", "--noprofile", "--norc", "-c")


class Bubblewrap:
    """See `Backend`. Starts its launcher on first use; `close` ends everything."""

    name = "bubblewrap"

    def __init__(self, *, cgroups: bool = True) -> None:
        self._cgroups = Cgroups.detect() if cgroups else None
        self._seccomp = seccomp.program()
        self._lock = threading.RLock()
        self._client: Helpers | None = None
        self._store: ImageStore | None = None
        self._sandboxes: set[BubblewrapSandbox] = set()
        self._state: Path | None = None
        self._closed = False

    def check(self) -> list[Check]:
        return checks(self._cgroups)

    def build(self, image: Image) -> str:
        return self._images().prepare(image).digest

    def start(
        self, image: Image, limits: Limits, *, snapshot: Snapshot | None = None
    ) -> BubblewrapSandbox:
        sandbox = self.new(image, limits)
        try:
            if snapshot is None:
                sandbox.open()
            else:
                sandbox.open(self.snapshot_folder(snapshot), snapshot.shell)
        except BaseException:
            sandbox.close()
            raise
        return sandbox

    def new(self, image: Image, limits: Limits) -> BubblewrapSandbox:
        """A sandbox that is yet to be opened."""
        prepared = self._images().prepare(image)
        return self._make(image, prepared, limits)

    def _make(self, image: Image, prepared: Prepared, limits: Limits) -> BubblewrapSandbox:
        env = DEFAULT_ENV | dict(image.env)
        sandbox = BubblewrapSandbox(
            image, limits, prepared.lowers, self._helpers(),
            lambda seed: self._launch(prepared, limits, env, image, seed), self,
        )  # fmt: skip
        with self._lock:
            if self._closed:
                raise SandboxError("this back end is closed")
            self._sandboxes.add(sandbox)
        return sandbox

    def _helpers(self) -> Helpers:
        with self._lock:
            if self._closed:
                raise SandboxError("this back end is closed")
            if self._client is None:
                mount_point = cache_dir() / "mnt"
                mount_point.mkdir(exist_ok=True)
                self._state = state_root() / new_name()
                self._state.mkdir(exist_ok=True)
                _allow_descriptors()
                self._client = Helpers(mount_point, self._seccomp)
                self._sweep(self._client)
            return self._client

    def _images(self) -> ImageStore:
        client = self._helpers()
        with self._lock:
            if self._store is None:

                def start(below: Prepared, limits: Limits, seed: Path | None) -> BubblewrapSandbox:
                    sandbox = self._make(Image(), below, limits)
                    sandbox.open(seed)
                    return sandbox

                self._store = ImageStore(cache_dir() / "layers", client, start)
                self._store.sweep()
            return self._store

    def _launch(
        self, prepared: Prepared, limits: Limits, env: dict[str, str], image: Image,
        seed: Path | int | None,
    ) -> Instance:  # fmt: skip
        client = self._helpers()
        name = new_name()
        size, _ = boot_program()
        with contextlib.ExitStack() as undo, contextlib.ExitStack() as theirs:
            group = self._group(name, limits, image)
            if group is not None:
                undo.callback(discard, group)
            pipes = _pipes(undo, theirs)
            request = {
                "lowers": [str(lower) for lower in prepared.lowers],
                "binds": prepared.binds,
                "disk_mib": limits.disk_mib,
                "procs": [str(path) for path in group.procs_files()] if group else [],
                "rlimits": self._rlimits(limits),
                "cores": self._cores(limits),
                "blocks": image.blocks,
                "console": image.console,
                "hostname": image.hostname,
                "network": limits.network,
                "argv": [*_GUEST, boot_script(), "bash", str(size)],
                "env": {**env, "SHELL": "/bin/bash"},
            }
            streams = pipes.control[0], pipes.output[1], pipes.status[1], pipes.state[1]
            try:
                started = client.start(request, streams, seed)
            except OSError as error:
                raise SandboxError(f"a sandbox cannot be started: {error}") from error
            undo.callback(os.close, started.upper)
            undo.callback(os.close, started.root)
            undo.callback(client.stop, started.pid)
            theirs.close()
            ours = pipes.control[1], pipes.output[0], pipes.status[0], pipes.state[0]
            channel = Channel(PipeStreams(*ours))
            with contextlib.closing(started.reply):
                try:
                    channel.boot(_REBOOT_TIMEOUT_S if isinstance(seed, int) else _BOOT_TIMEOUT_S)
                except GuestGone as gone:
                    raise SandboxError(started.complaint() or str(gone)) from None
            undo.pop_all()
            return Instance(name, started, channel, group)

    def _group(self, name: str, limits: Limits, image: Image) -> Group | None:
        if self._cgroups is None:
            return None
        # Files live in memory and are counted there: a full disk must leave the memory its due.
        memory_mib = limits.memory_mib + limits.disk_mib + 16
        processes = limits.processes + (5 if image.console else 3)
        return self._cgroups.create(
            name, memory_mib=memory_mib, processes=processes, cpus=limits.cpus
        )

    def _rlimits(self, limits: Limits) -> list[tuple[int, int]]:
        missing = self._cgroups.missing() if self._cgroups else ["memory", "processes", "cpus"]
        chosen = [(resource.RLIMIT_CORE, 0), (resource.RLIMIT_NOFILE, 1024)]
        if "processes" in missing:
            chosen.append((resource.RLIMIT_NPROC, limits.processes + 3))
        if "memory" in missing:
            # Weaker: for each process, not for all together. `intercode doctor` says so.
            chosen.append((resource.RLIMIT_AS, limits.memory_mib << 20))
        if "cpus" in missing and limits.cpus < 1:
            raise LimitError(
                f"cpus={limits.cpus} cannot be kept: no control group can be made here",
                remedy="ask for whole cores, or run as root or under a delegated control group",
            )
        return chosen

    def _cores(self, limits: Limits) -> int | None:
        """Without a control group: how many cores a sandbox's processes are confined to."""
        missing = self._cgroups.missing() if self._cgroups else ["cpus"]
        return math.ceil(limits.cpus) if "cpus" in missing else None

    def take_snapshot(self, image: Image, upper: int, shell: ShellState) -> Snapshot:
        assert self._state is not None
        snapshot = Snapshot(new_name(), self.name, image, shell)
        folder = self._state / f"snapshot-{snapshot.id}"
        folder.mkdir()
        self._helpers().copy_upper(upper, folder)
        return snapshot

    def snapshot_folder(self, snapshot: Snapshot) -> Path:
        folder = self._state / f"snapshot-{snapshot.id}" if self._state else None
        if snapshot.backend != self.name or folder is None or not folder.is_dir():
            raise SandboxError(f"there is no snapshot {snapshot.id} in this back end")
        return folder

    def release(self, snapshot: Snapshot) -> None:
        """Remove a snapshot that is no longer wanted; the others go with `close`."""
        self._helpers().remove(self.snapshot_folder(snapshot))

    def forget(self, sandbox: BubblewrapSandbox) -> None:
        with self._lock:
            self._sandboxes.discard(sandbox)

    def live(self) -> int:
        """How many sandboxes are open."""
        with self._lock:
            return len(self._sandboxes)

    def _sweep(self, client: Helpers) -> None:
        """Remove what dead owners left: control groups, snapshots."""
        if self._cgroups is not None:
            # What somebody else left and does not go away is no reason not to start.
            with contextlib.suppress(SandboxError):
                self._cgroups.sweep(owner_is_alive)
        for folder in state_root().iterdir():
            if not owner_is_alive(folder.name):
                client.remove(folder)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            sandboxes = list(self._sandboxes)
        with contextlib.ExitStack() as stack:
            stack.callback(self._end)
            for sandbox in sandboxes:
                stack.callback(sandbox.close)

    def _end(self) -> None:
        with self._lock:
            client, self._client, self._store = self._client, None, None
        if client is None:
            return
        try:
            if self._state is not None:
                client.remove(self._state)
        finally:
            client.close()

    def __enter__(self) -> Bubblewrap:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _allow_descriptors() -> None:
    """A sandbox takes six of this process's descriptors; the usual soft limit of 1,024 would end
    at two hundred sandboxes, where the hard one allows thousands."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class _Pipes(NamedTuple):
    """Each as (read end, write end)."""

    control: tuple[int, int]
    output: tuple[int, int]
    status: tuple[int, int]
    state: tuple[int, int]


def _pipes(ours: contextlib.ExitStack, theirs: contextlib.ExitStack) -> _Pipes:
    """Four pipes; who closes which end is settled here."""

    def pipe(keep: int) -> tuple[int, int]:
        try:
            ends = os.pipe2(os.O_CLOEXEC)
        except OSError as error:
            raise SandboxError(
                f"no more sandboxes: {error.strerror}", remedy="ulimit -n with a larger number"
            ) from None
        ours.callback(os.close, ends[keep])
        theirs.callback(os.close, ends[1 - keep])
        return ends

    return _Pipes(control=pipe(1), output=pipe(0), status=pipe(0), state=pipe(0))
