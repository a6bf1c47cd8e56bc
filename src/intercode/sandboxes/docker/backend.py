"""The `docker` back end: containers of a Docker or Podman engine, over its HTTP API.

Slower to start than bubblewrap, but works wherever an engine does: on another machine
(``DOCKER_HOST``), on macOS, with gVisor or Kata below it (``INTERCODE_DOCKER_RUNTIME``).
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from intercode.errors import SandboxError
from intercode.sandboxes.base import Check, Image, Limits, Snapshot
from intercode.sandboxes.channel import Channel
from intercode.sandboxes.docker.config import Abilities, container_config
from intercode.sandboxes.docker.doctor import checks
from intercode.sandboxes.docker.engine import Engine, require_package
from intercode.sandboxes.docker.images import BUILD_LIMITS, ImageStore, Prepared
from intercode.sandboxes.docker.instance import Instance
from intercode.sandboxes.docker.marks import BACKEND_LABEL, Marks
from intercode.sandboxes.docker.sandbox import DockerSandbox
from intercode.sandboxes.docker.scan import Scanner
from intercode.sandboxes.docker.snapshots import Origin, SnapshotStore
from intercode.sandboxes.docker.streams import AttachStreams
from intercode.sandboxes.docker.sweep import Janitor, remove, sweep
from intercode.sandboxes.docker.watch import DiskMeter, DiskWatch

_BOOT_TIMEOUT_S = 30.0
_CLOSING_AT_ONCE = 8


class Docker:
    """See `Backend`. Speaks to the engine on first use; `close` ends everything."""

    name = "docker"

    def __init__(self, *, read_folders: bool = True) -> None:
        """``read_folders``: look at overlay2's folders, where that can be done, instead of asking
        the engine for what changed, which takes it long.

        :raises SandboxUnavailable: the `docker` package is not installed.
        """
        require_package()
        self.default_base = os.environ.get("INTERCODE_DOCKER_BASE") or "docker:ubuntu:22.04"
        self._read_folders = read_folders
        self._lock = threading.RLock()
        self._link: Engine | None = None
        self._work: _Work | None = None

    def check(self) -> list[Check]:
        return checks(self._connect, self.default_base)

    def build(self, image: Image) -> str:
        return self._working().images.prepare(image).digest

    def start(
        self, image: Image, limits: Limits, *, snapshot: Snapshot | None = None
    ) -> DockerSandbox:
        work = self._working()
        return work.opened(work.new(image, limits), snapshot)

    def release(self, snapshot: Snapshot) -> None:
        """Remove a snapshot that is no longer wanted; the others go with `close`."""
        self._working().release(snapshot)

    def live(self) -> int:
        """How many sandboxes are open."""
        return len(self._work.sandboxes) if self._work is not None else 0

    def _connect(self) -> Engine:
        with self._lock:
            if self._link is None:
                self._link = Engine()
            return self._link

    def _working(self) -> _Work:
        with self._lock:
            if self._work is None:
                self._work = _Work(self._connect(), read_folders=self._read_folders)
            return self._work

    def close(self) -> None:
        with self._lock:
            work, self._work = self._work, None
            link, self._link = self._link, None
        try:
            if work is not None:
                work.close()
        finally:
            if link is not None:
                link.close()

    def __enter__(self) -> Docker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Work:
    """All that a back end in use owns. See `Host`, which is how sandboxes know it."""

    def __init__(self, engine: Engine, *, read_folders: bool) -> None:
        self.engine = engine
        self._abilities = Abilities.of(engine.info())
        self._quotas = self._abilities.quotas
        self._marks = Marks()
        sweep(engine)
        folders = read_folders and self._abilities.native_overlay
        self.scanner = Scanner(engine, self._marks, folders=folders)
        self.snapshots = SnapshotStore(engine, self._marks, self.scanner.touched)
        self.images = ImageStore(engine, self._marks, self._building)
        self.sandboxes: set[DockerSandbox] = set()
        self._kept: dict[str, Origin] = {}
        self._lock = threading.Lock()
        self._janitor = Janitor()
        self._watch = DiskWatch(self._meters)

    def new(self, image: Image, limits: Limits) -> DockerSandbox:
        self._abilities.demand(limits)
        return self._make(image, self.images.prepare(image), limits)

    def _make(self, image: Image, prepared: Prepared, limits: Limits) -> DockerSandbox:
        sandbox = DockerSandbox(image, limits, prepared, self)
        with self._lock:
            self.sandboxes.add(sandbox)
        return sandbox

    def opened(self, sandbox: DockerSandbox, snapshot: Snapshot | None = None) -> DockerSandbox:
        try:
            if snapshot is None:
                sandbox.open()
            else:
                sandbox.open(self.origin(snapshot), snapshot.shell)
        except BaseException:
            sandbox.close()
            raise
        return sandbox

    @contextlib.contextmanager
    def _building(self, below: Prepared) -> Iterator[tuple[DockerSandbox, str]]:
        sandbox = self.opened(self._make(Image(), below, BUILD_LIMITS))
        try:
            yield sandbox, sandbox.id
        finally:
            sandbox.close()

    def launch(self, sandbox: DockerSandbox, origin: Origin) -> Instance:
        name = self._marks.new_container()
        with contextlib.ExitStack() as undo:
            self.snapshots.hold(origin)
            undo.callback(self.snapshots.drop, origin)
            # Before it is made, so that an interrupted making is undone as well.
            undo.callback(self.engine.remove, name)
            self._create(name, sandbox, origin)
            streams = AttachStreams(self.engine.attach(name))
            undo.callback(streams.close)
            self.engine.start(name)
            channel = Channel(streams)
            channel.boot(_BOOT_TIMEOUT_S)
            undo.pop_all()
            return Instance(name, origin, channel, streams, self.engine, self.snapshots)

    def _create(self, name: str, sandbox: DockerSandbox, origin: Origin) -> None:
        def create(disk_bytes: int | None) -> None:
            config = container_config(
                origin.image,
                sandbox.limits,
                labels=self._marks.labels,
                env=sandbox.image.env,
                dropped_env=sandbox.prepared.env_names,
                hostname=sandbox.image.hostname,
                address=sandbox.image.address,
                cpus=self._abilities.cpus,
                disk_bytes=disk_bytes,
            )
            self.engine.create(name, config)

        if self._quotas:
            try:
                create(sandbox.meter.allowed_bytes(origin.written_bytes))
                return
            except SandboxError as error:
                if "storage" not in str(error).lower():
                    raise
                self._quotas = False
        create(None)

    def _meters(self) -> list[DiskMeter]:
        if self._quotas:
            return []
        with self._lock:
            return [sandbox.meter for sandbox in self.sandboxes]

    def keep(self, snapshot: Snapshot, origin: Origin) -> None:
        with self._lock:
            self._kept[snapshot.id] = origin

    def origin(self, snapshot: Snapshot) -> Origin:
        with self._lock:
            origin = self._kept.get(snapshot.id)
        if origin is None:
            raise SandboxError(f"there is no snapshot {snapshot.id} in this back end")
        return origin

    def release(self, snapshot: Snapshot) -> None:
        origin = self.origin(snapshot)
        with self._lock:
            self._kept.pop(snapshot.id, None)
        self.snapshots.drop(origin)

    def forget(self, sandbox: DockerSandbox) -> None:
        with self._lock:
            self.sandboxes.discard(sandbox)

    def close(self) -> None:
        with self._lock:
            sandboxes = list(self.sandboxes)
            kept = list(self._kept.values())
            self._kept.clear()
        with contextlib.ExitStack() as stack:
            stack.callback(self._janitor.dismiss)
            # Whatever an interrupt kept the rest from removing.
            token = self._marks.token
            stack.callback(remove, self.engine, lambda labels: labels.get(BACKEND_LABEL) == token)
            stack.callback(self.scanner.close)
            for origin in kept:
                stack.callback(self.snapshots.drop, origin)
            stack.callback(_close_all, sandboxes)
            stack.callback(self._watch.close)


def _close_all(sandboxes: list[DockerSandbox]) -> None:
    """Several at a time: the engine takes a while for each."""
    with ThreadPoolExecutor(_CLOSING_AT_ONCE) as pool:
        for closing in [pool.submit(sandbox.close) for sandbox in sandboxes]:
            closing.result()
