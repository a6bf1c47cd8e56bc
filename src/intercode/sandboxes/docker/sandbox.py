"""One Docker sandbox: a container whose process 1 is our guest; its files, read from outside."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Protocol

from intercode.errors import SandboxError
from intercode.sandboxes.base import (
    Change,
    Command,
    CommandResult,
    Image,
    Limits,
    ShellState,
    Snapshot,
)
from intercode.sandboxes.channel import GuestGone
from intercode.sandboxes.docker import files
from intercode.sandboxes.docker.engine import Engine, Refused
from intercode.sandboxes.docker.images import Prepared
from intercode.sandboxes.docker.instance import Instance
from intercode.sandboxes.docker.scan import Scanner
from intercode.sandboxes.docker.snapshots import Origin, SnapshotStore
from intercode.sandboxes.docker.watch import DiskMeter
from intercode.sandboxes.guest import KILL_SIGNAL
from intercode.sandboxes.languages import Interpreter, language
from intercode.sandboxes.session import Session

_REPLACED = "the command took the sandbox down; its files were kept"
_RUINED = "the sandbox is ruined: its files were kept, but nothing can be started from them"


class Host(Protocol):
    """What a sandbox asks of the back end that started it."""

    engine: Engine
    scanner: Scanner
    snapshots: SnapshotStore

    def launch(self, sandbox: DockerSandbox, origin: Origin) -> Instance:
        """A new container with that origin, which it holds until its end."""

    def new(self, image: Image, limits: Limits) -> DockerSandbox:
        """A sandbox that is yet to be opened."""

    def keep(self, snapshot: Snapshot, origin: Origin) -> None:
        """From now on, the snapshot is known."""

    def origin(self, snapshot: Snapshot) -> Origin: ...

    def forget(self, sandbox: DockerSandbox) -> None: ...


class DockerSandbox:
    """See `Sandbox` and `SupportsSnapshots`. Made by `Docker.start` only."""

    def __init__(self, image: Image, limits: Limits, prepared: Prepared, host: Host) -> None:
        self.image = image
        self.limits = limits
        self.prepared = prepared
        self.meter = DiskMeter(host.engine, limits.disk_mib)
        self._host = host
        self._engine = host.engine
        self._instance: Instance | None = None
        self._shell = _Shell(self)
        self._close_lock = threading.Lock()
        self._closed = False
        self._ruined = False

    def open(self, origin: Origin | None = None, shell: ShellState | None = None) -> None:
        """Start the guest; in the place of the one before, whose end is the caller's to see to."""
        origin = origin or Origin(self.prepared.image)
        instance = self._host.launch(self, origin)
        with self._close_lock:
            if not self._closed:
                self._instance, self._ruined = instance, False
                self.session = Session(instance.channel, self._interrupt, self.limits)
                self._shell.saved = shell or ShellState()
                self.meter.follow(instance.name, origin.written_bytes)
                return
        # Closed meanwhile, by the back end: there is nobody left to end it but us.
        with contextlib.suppress(SandboxError):
            instance.end()
        raise SandboxError("this sandbox is closed")

    @property
    def id(self) -> str:
        return self._live().name

    def run(
        self,
        command: Command,
        *,
        cwd: str = "/",
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        timeout_s: float | None = None,
        max_output_bytes: int | None = None,
        until_silent: bool = False,
    ) -> CommandResult:
        return self.surviving(
            lambda: self.session.run(
                command, cwd=cwd, env=env, stdin=stdin,
                timeout_s=timeout_s, max_output_bytes=max_output_bytes, until_silent=until_silent,
            )
        )  # fmt: skip

    def query(
        self, command: Command, *, cwd: str = "/", env: Mapping[str, str] | None = None
    ) -> CommandResult:
        return self.surviving(lambda: self.session.query(command, cwd=cwd, env=env))

    def shell(self, state: ShellState | None = None) -> _Shell:
        self._live()
        if state is not None:
            self._shell.saved = state
        return self._shell

    def interpreter(self, name: str) -> Interpreter:
        self._live()
        return Interpreter(language(name), lambda: self.session, self.surviving, self.limits)

    def surviving(self, action: Callable[[], CommandResult]) -> CommandResult:
        """Do it; if the guest dies of it, put a new one in its place with the same files. Where the
        guest was lost before it took the command up, the new one does it."""
        for last in (False, True):
            with self._live().in_use, self.meter.command():
                if self._ruined:
                    return CommandResult(b"", 127, failure="exec", restarted=_RUINED)
                try:
                    return self._metered(action())
                except GuestGone as gone:
                    lost = gone
                self._replace()
            if lost.begun or last:
                break
        return CommandResult(
            raw=lost.partial.raw if lost.partial else b"",
            exit_code=137,
            timed_out=True,
            cut_bytes=lost.partial.cut_bytes if lost.partial else 0,
            cwd=self._shell.saved.cwd,
            restarted=_RUINED if self._ruined else _REPLACED,
        )

    def _metered(self, result: CommandResult) -> CommandResult:
        """The same, or that it was stopped for writing too much."""
        if not self.meter.hit or result.exit_code != 137 or result.timed_out:
            return result
        told = b"[disk limit of %d MiB reached]\n" % self.limits.disk_mib
        between = b"" if result.raw[-1:] in (b"", b"\n") else b"\n"
        return replace(result, raw=result.raw + between + told)

    def _replace(self) -> None:
        """Where no new guest starts from the agent's files, the old container stays for their sake,
        and the sandbox is ruined: it runs nothing any more."""
        old = self._live()
        old.kill()
        saved = self._host.snapshots.take(old.name, old.origin)
        try:
            self.open(saved, self._shell.saved)
        except SandboxError:
            self._live()
            # Is it the agent's doing? If the image does not start either, it is our trouble.
            self._host.launch(self, Origin(self.prepared.image)).end()
            self._ruined = True
        else:
            old.end(in_use=True)
        finally:
            self._host.snapshots.drop(saved)

    def read_file(self, path: str, *, max_bytes: int | None = None) -> bytes:
        return files.read(self._engine, self._live().name, path, max_bytes)

    def write_file(self, path: str, data: bytes, *, mode: int = 0o644) -> None:
        files.write(self._engine, self._live().name, path, data, mode)

    def put_tree(self, tar: bytes, path: str = "/") -> None:
        files.put_tree(self._engine, self._live().name, tar, path)

    def changes(self) -> list[Change]:
        """The engine's own ``/etc/hosts``, ``hostname`` and ``resolv.conf``, and what is below
        ``/dev``, are never told."""
        instance = self._live()
        return self._host.scanner.changes(instance.name, instance.origin, self.prepared.image)

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        name = self._live().name
        if not self.process_count():
            yield
            return
        try:
            self._engine.pause(name)
        except Refused:
            # Paused already, by a caller further out or for a full disk, or it has ended.
            yield
            return
        try:
            yield
        finally:
            self._engine.unpause(name)

    def process_count(self) -> int:
        rows = self._engine.processes(self._live().name)
        alive = sum(not state.startswith("Z") for _, state in rows)
        return max(0, alive - 1 - self.session.standing)

    def snapshot(self) -> Snapshot:
        """Costs the engine a `commit`. Names that begin with ``.wh.`` mean something else in an
        image's layers, and are not kept."""
        origin = self._save()
        assert origin.snapshot_id is not None
        snapshot = Snapshot(origin.snapshot_id, "docker", self.image, self._shell.saved)
        self._host.keep(snapshot, origin)
        return snapshot

    def restore(self, snapshot: Snapshot) -> None:
        old = self._live()
        self.open(self._host.origin(snapshot), snapshot.shell)
        old.end()

    def fork(self, count: int = 1) -> list[DockerSandbox]:
        origin = self._save()
        forks: list[DockerSandbox] = []
        try:
            for _ in range(count):
                fork = self._host.new(self.image, self.limits)
                forks.append(fork)
                fork.open(origin, self._shell.saved)
        except BaseException:
            for fork in forks:
                fork.close()
            raise
        finally:
            self._host.snapshots.drop(origin)
        return forks

    def _save(self) -> Origin:
        """The files as they are, held once."""
        instance = self._live()
        with self.paused():
            return self._host.snapshots.take(instance.name, instance.origin)

    def _interrupt(self) -> None:
        self._engine.kill(self._live().name, KILL_SIGNAL.name)

    def _live(self) -> Instance:
        if self._closed or self._instance is None:
            raise SandboxError("this sandbox is closed")
        return self._instance

    def close(self) -> None:
        with self._close_lock:
            if self._closed:
                return
            instance, self._instance = self._instance, None
            self._closed = True
        self.meter.leave()
        try:
            if instance is not None:
                instance.end()
        finally:
            self._host.forget(self)


class _Shell:
    """See `Shell`. Remembers, after each command, what a new shell would have to take over."""

    def __init__(self, sandbox: DockerSandbox) -> None:
        self._sandbox = sandbox
        self.saved = ShellState()

    def run(
        self, command: str, *, timeout_s: float | None = None, max_output_bytes: int | None = None
    ) -> CommandResult:
        def action() -> CommandResult:
            result, self.saved = self._sandbox.session.shell_run(
                command, self.saved, timeout_s, max_output_bytes
            )
            return result

        return self._sandbox.surviving(action)

    def state(self) -> ShellState:
        return self.saved
