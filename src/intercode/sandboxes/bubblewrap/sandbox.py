"""One bubblewrap sandbox: an overlay, a guest, limits; and its files, read from outside."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
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
from intercode.sandboxes.bubblewrap.client import Helpers, Started, memory_file
from intercode.sandboxes.cgroups import Group
from intercode.sandboxes.channel import Channel, GuestGone
from intercode.sandboxes.guest import KILL_SIGNAL
from intercode.sandboxes.languages import Interpreter, language
from intercode.sandboxes.session import Session


@dataclass(frozen=True)
class Instance:
    """What one running guest consists of, and who has to let go of it."""

    name: str
    started: Started
    channel: Channel
    group: Group | None
    in_use: threading.Lock = field(default_factory=threading.Lock)
    """Held while a command runs: only then may its descriptors not be closed."""
    _ended: threading.Lock = field(default_factory=threading.Lock)

    def end(self, client: Helpers, *, in_use: bool = False) -> None:
        """Kill it and let go of all of it; once, whoever asks again. ``in_use``: by the caller."""
        if not self._ended.acquire(blocking=False):
            return
        with contextlib.ExitStack() as stack:
            if self.group is not None:
                stack.callback(discard, self.group)
            stack.callback(self._release, in_use)
            client.stop(self.started.pid)

    def _release(self, in_use: bool) -> None:
        # The guest is dead, so a command that another thread waits for ends at once. Its numbers
        # must not mean other files while it still looks at them.
        waited = not in_use and self.in_use.acquire(timeout=10.0)
        self.channel.close()
        os.close(self.started.root)
        os.close(self.started.upper)
        if waited:
            self.in_use.release()


def discard(group: Group) -> None:
    """Remove a control group whose processes ought to be dead."""
    try:
        group.remove(timeout_s=1.0)
    except SandboxError:
        group.kill()
        group.remove()


_REPLACED = "the command took the sandbox down; its files were kept"
_RUINED = "the sandbox is ruined: its files were kept, but nothing can be started from them"

Launch = Callable[[Path | int | None], Instance]
"""Starts another instance of the same image and limits, from an upper directory's copy."""


class Host(Protocol):
    """What a sandbox asks of the back end that started it."""

    def new(self, image: Image, limits: Limits) -> BubblewrapSandbox: ...

    def take_snapshot(self, image: Image, upper: int, shell: ShellState) -> Snapshot: ...

    def snapshot_folder(self, snapshot: Snapshot) -> Path: ...

    def forget(self, sandbox: BubblewrapSandbox) -> None: ...


class BubblewrapSandbox:
    """See `Sandbox` and `SupportsSnapshots`. Made by `Bubblewrap.start` only."""

    def __init__(
        self,
        image: Image,
        limits: Limits,
        lowers: tuple[Path, ...],
        client: Helpers,
        launch: Launch,
        host: Host,
    ) -> None:
        self.image = image
        self.limits = limits
        self._lowers = lowers
        self._client = client
        self._launch = launch
        self._host = host
        self._instance: Instance | None = None
        self._shell = _Shell(self)
        self._close_lock = threading.Lock()
        self._closed = False
        self._ruined = False

    def open(self, seed: Path | int | None = None, shell: ShellState | None = None) -> None:
        """Start the guest. `Bubblewrap` calls this once; a broken guest is replaced through it."""
        instance = self._launch(seed)
        with self._close_lock:
            if not self._closed:
                self._instance, self._ruined = instance, False
                self._session = Session(instance.channel, self._interrupt, self.limits)
                self._shell.saved = shell or ShellState()
                return
        # Closed meanwhile, by the back end: there is nobody left to end it but us.
        with contextlib.suppress(SandboxError):
            instance.end(self._client)
        raise SandboxError("this sandbox is closed")

    @property
    def id(self) -> str:
        return self._live().name

    @property
    def upper(self) -> int:
        """Descriptor of the folder that holds all that was written."""
        return self._live().started.upper

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
        self._live()
        return self.surviving(
            lambda: self._session.run(
                command, cwd=cwd, env=env, stdin=stdin,
                timeout_s=timeout_s, max_output_bytes=max_output_bytes, until_silent=until_silent,
            )
        )  # fmt: skip

    def query(
        self, command: Command, *, cwd: str = "/", env: Mapping[str, str] | None = None
    ) -> CommandResult:
        self._live()
        return self.surviving(lambda: self._session.query(command, cwd=cwd, env=env))

    def shell(self, state: ShellState | None = None) -> _Shell:
        self._live()
        if state is not None:
            self._shell.saved = state
        return self._shell

    def interpreter(self, name: str) -> Interpreter:
        self._live()
        return Interpreter(language(name), lambda: self._session, self.surviving, self.limits)

    def surviving(self, action: Callable[[], CommandResult]) -> CommandResult:
        """Do it; if the guest dies of it, put a new one in its place with the same files. Where the
        guest was lost before it took the command up, the new one does it."""
        for last in (False, True):
            with self._live().in_use:
                if self._ruined:
                    return CommandResult(b"", 127, failure="exec", restarted=_RUINED)
                try:
                    return action()
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

    def _replace(self) -> None:
        """Where no new guest starts from the agent's files, the old instance stays for their sake,
        and the sandbox is ruined: it runs nothing any more."""
        old = self._live()
        state = self._shell.saved
        if old.group is not None:
            old.group.kill()
        else:
            with contextlib.suppress(ProcessLookupError):
                os.kill(old.started.pid, signal.SIGKILL)
        self._instance = None
        with contextlib.ExitStack() as stack:
            stack.callback(old.end, self._client, in_use=True)
            try:
                self.open(old.started.upper, state)
            except SandboxError:
                # Is it the agent's doing? If the image does not start either, it is our trouble.
                self._launch(None).end(self._client)
                with self._close_lock:
                    if self._closed:
                        raise
                    self._instance, self._ruined = old, True
                stack.pop_all()

    def read_file(self, path: str, *, max_bytes: int | None = None) -> bytes:
        return self._client.read(self._live().started.root, path, max_bytes)

    def write_file(self, path: str, data: bytes, *, mode: int = 0o644) -> None:
        self._client.write(self._live().started.root, path, data, mode)

    def put_tree(self, tar: bytes, path: str = "/") -> None:
        with memory_file("tree", tar) as archive:
            self._client.unpack(self._live().started.root, archive, path)

    def changes(self) -> list[Change]:
        return self._client.scan(self.upper, self._lowers)

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        group = self._live().group
        if not self.process_count():
            yield
        elif group is not None:
            group.freeze()
            try:
                yield
            finally:
                group.thaw()
        else:
            stopped = [pid for pid in self._processes() if _signal(pid, signal.SIGSTOP)]
            try:
                yield
            finally:
                for pid in stopped:
                    _signal(pid, signal.SIGCONT)

    def process_count(self) -> int:
        return max(0, len(self._processes()) - self._session.standing)

    def _processes(self) -> list[int]:
        """Everything below the guest, as the host numbers it."""
        instance = self._live()
        guest = instance.started.pid
        # Before the guest has any of its own: a name server and process 1.
        first = islice(_children(guest), 1 if self.limits.network else 2)
        ours = {guest, *first} if self.image.console else {guest}
        found = _descendants(guest) if instance.group is None else instance.group.pids()
        return sorted(set(found) - ours)

    def snapshot(self) -> Snapshot:
        with self.paused():
            return self._host.take_snapshot(self.image, self.upper, self._shell.saved)

    def restore(self, snapshot: Snapshot) -> None:
        old = self._live()
        self.open(self._host.snapshot_folder(snapshot), snapshot.shell)
        old.end(self._client)

    def fork(self, count: int = 1) -> list[BubblewrapSandbox]:
        """Straight from the files as they are: no snapshot is kept."""
        forks: list[BubblewrapSandbox] = []
        try:
            with self.paused():
                for _ in range(count):
                    fork = self._host.new(self.image, self.limits)
                    forks.append(fork)
                    fork.open(self.upper, self._shell.saved)
        except BaseException:
            for fork in forks:
                fork.close()
            raise
        return forks

    def _interrupt(self) -> None:
        try:
            os.kill(self._live().started.pid, KILL_SIGNAL)
        except ProcessLookupError:
            pass

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
        try:
            if instance is not None:
                instance.end(self._client)
        finally:
            self._host.forget(self)


class _Shell:
    """See `Shell`. Remembers, after each command, what a new shell would have to take over."""

    def __init__(self, sandbox: BubblewrapSandbox) -> None:
        self._sandbox = sandbox
        self.saved = ShellState()

    def run(
        self, command: str, *, timeout_s: float | None = None, max_output_bytes: int | None = None
    ) -> CommandResult:
        def action() -> CommandResult:
            result, self.saved = self._sandbox._session.shell_run(
                command, self.saved, timeout_s, max_output_bytes
            )
            return result

        self._sandbox._live()
        return self._sandbox.surviving(action)

    def state(self) -> ShellState:
        return self.saved


def _signal(pid: int, number: signal.Signals) -> bool:
    """Send it, unless the process is gone or (to be stopped) stands still already."""
    try:
        if number is signal.SIGSTOP:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
            if state in "TtZX":
                return False
        os.kill(pid, number)
    except OSError:
        return False
    return True


def _descendants(pid: int) -> Iterator[int]:
    for child in _children(pid):
        yield child
        yield from _descendants(child)


def _children(pid: int) -> Iterator[int]:
    """In the order in which they were born."""
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return
    for task in tasks:
        try:
            children = (task / "children").read_text().split()
        except OSError:
            continue
        yield from map(int, children)
