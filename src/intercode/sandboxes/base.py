"""The sandbox contract: what a back end must do, and the values that cross it.

A sandbox is a small, isolated machine: a file system that starts as an image, processes, limits.
Everything here is synchronous and may be called from any one thread at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from intercode.errors import UsageError

if TYPE_CHECKING:
    from intercode.sandboxes.languages import Interpreter

Command = str | Sequence[str]
"""A text is given to ``/bin/bash -c``; a sequence is executed as it is."""


@dataclass(frozen=True)
class Limits:
    """What a sandbox may use. Always on; a back end that cannot keep one raises ``LimitError``."""

    timeout_s: float = 10.0
    """Wall-clock seconds of one command, where the caller does not say."""
    memory_mib: int = 512
    """Resident memory of all processes together (its files, held in memory, not counted)."""
    processes: int = 128
    """Processes and threads alive at once."""
    disk_mib: int = 256
    """What may be written on top of the image."""
    output_bytes: int = 1 << 20
    """What is kept of one command's output: its first and its last half."""
    cpus: float = 1.0
    """Cores' worth of processor time."""
    network: bool = False
    """Loopback only unless true."""

    def __post_init__(self) -> None:
        for name in ("timeout_s", "memory_mib", "processes", "disk_mib", "output_bytes", "cpus"):
            if not getattr(self, name) > 0:
                raise UsageError(f"limit {name} must be above 0, not {getattr(self, name)!r}")


@dataclass(frozen=True)
class Layer:
    """One step on top of a base: a tar unpacked at ``/``, then commands run once as root."""

    tar: Path | None = None
    setup: tuple[str, ...] = ()


@dataclass(frozen=True)
class Image:
    """A recipe for the file system a sandbox starts with; built once, then found by its digest.

    ``base`` is one of ``host`` (this machine's ``/usr``, read-only), ``dir:PATH`` or ``tar:PATH``
    (a root file system), ``debian:SUITE`` (made with mmdebstrap, with ``packages``) or
    ``docker:NAME`` (an image the Docker engine has).
    """

    base: str = "host"
    packages: tuple[str, ...] = ()
    layers: tuple[Layer, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    hostname: str = "sandbox"
    address: str = ""
    """Where ``/etc/hosts`` says that ``hostname`` is, if anywhere. Nothing answers there."""
    blocks: bool = False
    """Directories that are written to take up space, as they do on a disk, where a back end can
    have it so: ``du`` tells. A start may take longer for it."""
    console: bool = False
    """Process 1 is a shell at a terminal, and what is run comes in from outside and has no parent
    to be seen, as in a container that commands are executed in; and a name server answers, which
    knows nobody but ``localhost``. Where a back end can have it so, and for sandboxes without a
    persistent shell."""


@dataclass(frozen=True)
class CommandResult:
    """What one command did. ``raw`` is stdout and stderr as they came, interleaved.

    ``exit_code`` follows the shell: 128 + signal for a killed process. ``failure`` is set when the
    command never started: ``cwd`` (no such working directory), ``exec`` (no such program, exit
    code 126 or 127).
    """

    raw: bytes
    exit_code: int
    timed_out: bool = False
    cut_bytes: int = 0
    duration_s: float = 0.0
    failure: Literal["cwd", "exec"] | None = None
    cwd: str | None = None
    """Where the shell stands afterwards (persistent shells only)."""
    restarted: str | None = None
    """Why the shell or the sandbox had to be started again, if it had."""

    @property
    def truncated(self) -> bool:
        return self.cut_bytes > 0

    @property
    def output(self) -> str:
        """``raw`` as text; bytes that are not UTF-8 are shown as ``\\xNN``."""
        return self.raw.decode("utf-8", "backslashreplace")


ChangeKind = Literal["created", "modified", "deleted", "touched"]
FileType = Literal["file", "dir", "symlink", "fifo", "socket", "device"]


@dataclass(frozen=True, order=True)
class Change:
    """One difference between the sandbox's files and its image's.

    ``path`` is absolute. ``digest`` is the sha256 of a regular file's content. A deleted directory
    is one change, as is each entry of a created one. ``touched``: only the time stamp differs.
    """

    path: str
    kind: ChangeKind
    type: FileType
    mode: int = 0
    digest: str = ""
    target: str = ""
    uid: int = 0
    gid: int = 0
    size: int = 0
    mtime_ns: int = 0


class Shell(Protocol):
    """A shell whose working directory, variables and functions last between commands."""

    def run(
        self,
        command: str,
        *,
        timeout_s: float | None = None,
        max_output_bytes: int | None = None,
    ) -> CommandResult:
        """Run ``command`` verbatim. A timeout kills its processes and keeps what was printed; if
        that took the shell with it, it is started again and ``restarted`` says so."""

    def state(self) -> ShellState:
        """What a fresh shell needs to go on from here."""


@dataclass(frozen=True)
class ShellState:
    cwd: str = "/"
    declarations: bytes = b""


class Sandbox(Protocol):
    """A running sandbox. Closing is idempotent; every other call after it raises SandboxError."""

    @property
    def id(self) -> str: ...

    @property
    def image(self) -> Image: ...

    @property
    def limits(self) -> Limits: ...

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
        """Run one command in a process of its own and wait for it.

        What it leaves in the background runs on; with ``until_silent`` the command is over only
        when that has closed its output too, as with a container engine's ``exec``.
        """

    def query(
        self, command: Command, *, cwd: str = "/", env: Mapping[str, str] | None = None
    ) -> CommandResult:
        """Run a question of ours: its output holds nothing that other processes print."""

    def shell(self, state: ShellState | None = None) -> Shell:
        """The sandbox's persistent shell (one a sandbox), started on first use."""

    def interpreter(self, name: str) -> Interpreter:
        """The sandbox's interpreter of that language (one of each), started on first use.

        :raises UsageError: there is no such language.
        """

    def read_file(self, path: str, *, max_bytes: int | None = None) -> bytes:
        """A file's content; links are followed inside the sandbox.

        :raises FileNotFoundError: nothing there. :raises IsADirectoryError: a directory.
        """

    def write_file(self, path: str, data: bytes, *, mode: int = 0o644) -> None:
        """Put a file there, making the directories above it."""

    def put_tree(self, tar: bytes, path: str = "/") -> None:
        """Unpack a tar archive at ``path``."""

    def changes(self) -> list[Change]:
        """Every difference from the image, by path, at a cost that grows with what changed."""

    def paused(self) -> AbstractContextManager[None]:
        """Nothing the agent left running moves while this is held."""

    def process_count(self) -> int:
        """How many processes of the agent are alive (its shell not counted)."""

    def close(self) -> None: ...


@runtime_checkable
class SupportsSnapshots(Protocol):
    """A sandbox that can be branched in the middle."""

    def snapshot(self) -> Snapshot: ...

    def restore(self, snapshot: Snapshot) -> None:
        """Put files and shell back as they were; processes are gone."""

    def fork(self, count: int = 1) -> list[Any]:
        """``count`` new sandboxes that go on from here."""


@dataclass(frozen=True)
class Snapshot:
    """A sandbox's files (and shell) at one moment. Owned by its back end until released."""

    id: str
    backend: str
    image: Image
    shell: ShellState | None = None


@dataclass(frozen=True)
class Check:
    """One line of ``intercode doctor``: does this part work here, and if not, what mends it?"""

    name: str
    ok: bool
    detail: str
    remedy: str | None = None


class Backend(Protocol):
    """A sandbox technology. One instance owns all the sandboxes it started."""

    @property
    def name(self) -> str: ...

    def check(self) -> list[Check]:
        """Does it work on this machine? Never raises; every failed check has a remedy."""

    def build(self, image: Image) -> str:
        """Make the image ready and give its digest; at once when it is in the cache.

        :raises ImageError: it cannot be built; the message holds the failing command's output.
        """

    def start(self, image: Image, limits: Limits, *, snapshot: Snapshot | None = None) -> Sandbox:
        """A new sandbox, from the image or from a snapshot taken on it."""

    def close(self) -> None:
        """Close every sandbox and remove whatever this back end made, its image cache apart."""
