"""Commands in one guest: what every back end shares, from a command's text to its result.

A back end gives a channel to a guest and two acts from outside: `interrupt` (kill what is running)
and, at its own discretion, starting the guest again when this raises `GuestGone`.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from intercode.errors import UsageError
from intercode.sandboxes.base import Command, CommandResult, Limits, ShellState
from intercode.sandboxes.capture import Capture
from intercode.sandboxes.channel import Channel, GuestGone, Reply
from intercode.sandboxes.guest import quote

if TYPE_CHECKING:
    from intercode.sandboxes.languages import Language

GRACE_S = 2.0
"""How long a killed command may take to be gone before the whole guest is given up."""
BEGIN_S = 3.0
"""How long the guest may take to take a command up; counted apart from the command's own time."""
_SHELL_S = 3.0
_START_S = 10.0
HARD_S = 1.0
"""How long after its time limit an interpreter is killed, which ought to interrupt itself."""

# What Bash sets itself refuses to be set, and takes the rest of the list down with it; the last are
# the shell program's own.
_NOT_RESTORED = re.compile(
    rb"^declare -\S+ (?:BASH\w*|COMP_\w*|DIRSTACK|EPOCH\w*|E?UID|FUNCNAME|GROUPS|HISTCMD|LINENO"
    rb"|PIPESTATUS|PPID|S?RANDOM|SECONDS|SHELLOPTS|_|__[cstn])(?:=.*)?\n",
    re.MULTILINE,
)
_OPTIONS = re.compile(rb'^declare -\S+ (BASHOPTS|SHELLOPTS)="([a-z0-9_:-]*)"$', re.MULTILINE)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


class Session:
    """One guest: a command at a time, fresh or in the persistent shell."""

    def __init__(self, channel: Channel, interrupt: Callable[[], None], limits: Limits) -> None:
        self._channel = channel
        self._interrupt = interrupt
        self._limits = limits
        self.shell_alive = False
        self._standing: set[str] = set()

    @property
    def standing(self) -> int:
        """How many processes are the shell or an interpreter, waiting."""
        return self.shell_alive + len(self._standing)

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
        body = run_body(command, cwd, env or {}, stdin)
        verb = "W" if until_silent else "R"
        return self._do(verb, body, b"D", timeout_s, max_output_bytes).result()

    def query(
        self, command: Command, *, cwd: str = "/", env: Mapping[str, str] | None = None
    ) -> CommandResult:
        """A question of ours, whose answer nothing that runs in the background can mix with."""
        body = run_body(command, cwd, env or {}, b"")
        asked = b"answer=$({ " + body + b"\n} 2>&1); code=$?\n"
        told = b'printf \'Q%s:0\\0%s\\0\' "$tag" "$answer" >&9; exit "$code"'
        ended = self._do("R", asked + told, b"D", None, 1 << 12)
        answer = next((note[2] for note in ended.reply.notes if note[0] == b"Q"), b"")
        return replace(ended.result(), raw=answer, cut_bytes=0)

    def shell_run(
        self, command: str, state: ShellState, timeout_s: float | None, max_bytes: int | None
    ) -> tuple[CommandResult, ShellState]:
        """Run in the persistent shell, which is started from ``state`` where there is none."""
        if "\0" in command:
            raise UsageError("a command cannot hold a NUL byte")
        body = _encoded(command)
        # An agent can break its shell so that it takes no further command. Then a new one does.
        starts = iter(_starts(state))
        broken = None
        while True:
            if not self.shell_alive:
                self._start_shell(starts)
            ended = self._do("E", body, b"EZ", timeout_s, max_bytes)
            if ended.reply.begun_at is not None:
                break
            self.shell_alive = False
            broken = "the shell took no more commands and was started again"
        if ended.status[0] == b"E":
            cwd = ended.status[2].decode("utf-8", "surrogateescape")
            told = [note[2] for note in ended.reply.notes if note[0] == b"V"]
            declarations = told[-1] if told else state.declarations
            return ended.result(cwd=cwd, restarted=broken), ShellState(cwd, declarations)
        self.shell_alive = False
        try:
            # A new shell at once, so that a restart never costs a later command its time.
            self._start_shell(iter(_starts(state)))
        except GuestGone as gone:
            raise GuestGone(str(gone), partial=ended.reply) from None
        code = ended.result().exit_code
        why = "it timed out" if ended.timed_out else f"the shell ended with exit code {code}"
        return ended.result(cwd=state.cwd, restarted=why), state

    def interpreter_start(self, language: Language) -> CommandResult:
        """Start it, unless it stands ready; an exit code other than 0 says that it does not."""
        if language.name in self._standing:
            return CommandResult(b"", 0)
        end, slot = time.monotonic() + _START_S, language.name
        reply = self._channel.ask("S", language.start, b"SZ", 1 << 12, end, slot)
        if reply.status is not None and reply.status[0] == b"S":
            reply = self._channel.ask("E", language.program, b"EZ", 1 << 12, end, slot)
        if reply.status is None:
            self._interrupt()
            self._channel.wait(b"SEZ", Capture(0), time.monotonic() + 0.5)
        if reply.status is None or reply.status[0] != b"E":
            return CommandResult(reply.raw, 127, failure="exec")
        self._standing.add(slot)
        return CommandResult(b"", 0)

    def interpreter_run(
        self, language: Language, request: str, timeout_s: float, max_bytes: int | None
    ) -> tuple[CommandResult, bytes | None]:
        """What a request came to, and the interpreter's answer if it lives. Where it ended,
        ``restarted`` says why, and another one stands ready if it can."""
        if "\0" in request:
            raise UsageError("an action cannot hold a NUL byte")
        body, broken = _encoded(request), None
        while True:
            started = self.interpreter_start(language)
            if started.exit_code != 0:
                why = f"the {language.name} interpreter does not start any more"
                return replace(started, restarted=why), None
            ended = self._do("E", body, b"EZ", timeout_s, max_bytes, language.name)
            if ended.reply.begun_at is not None:
                break
            self._standing.discard(language.name)
            broken = "it took no more actions"
        if ended.status[0] == b"E":
            return ended.result(restarted=broken), ended.status[2]
        self._standing.discard(language.name)
        result = ended.result()
        why = "it timed out" if ended.timed_out else f"it ended with exit code {result.exit_code}"
        try:
            self.interpreter_start(language)
        except GuestGone as gone:
            raise GuestGone(str(gone), partial=ended.reply) from None
        return replace(result, restarted=why), None

    def _start_shell(self, starts: Iterator[ShellState]) -> None:
        """A new shell, from the first of these states that it can be given."""
        for state in starts:
            if not any(self._spawns_shell(how) for how in (b"", b"fork")):
                break
            if self._restores(state):
                self.shell_alive = True
                return
        raise GuestGone("the persistent shell does not start")

    def _restores(self, state: ShellState) -> bool:
        restore = restore_script(state)
        if not restore:
            return True
        reply = self._channel.ask("E", restore, b"EZ", 1 << 12, time.monotonic() + _SHELL_S)
        if reply.status is None:
            self._interrupt()
        return reply.status is not None and reply.status[0] == b"E"

    def _spawns_shell(self, how: bytes) -> bool:
        """Whether a new shell stands ready. The agent's /bin/bash may be gone, or hang."""
        reply = self._channel.ask("S", how, b"SZ", 1 << 12, time.monotonic() + _SHELL_S)
        if reply.status is None:
            self._interrupt()
            self._channel.wait(b"SZ", Capture(0), time.monotonic() + 0.5)
        return reply.status is not None and reply.status[0] == b"S"

    def _do(
        self,
        verb: str,
        body: bytes,
        ends: bytes,
        timeout_s: float | None,
        limit: int | None,
        slot: str = "",
    ) -> _Ended:
        timeout_s = self._limits.timeout_s if timeout_s is None else timeout_s
        capture = Capture(self._limits.output_bytes if limit is None else limit)
        sent_at = time.monotonic()
        self._channel.send(verb, body, slot)
        reply = self._channel.wait(ends, capture, sent_at + BEGIN_S, timeout_s=timeout_s)
        timed_out = reply.status is None
        if timed_out:
            self._interrupt()
            if verb == "E" and reply.begun_at is None:
                return _Ended(reply, (), True, 0.0)  # it is the shell that has to go
            reply = self._channel.wait(ends, capture, time.monotonic() + GRACE_S)
        if reply.status is None:
            raise GuestGone("a timed-out command could not be killed", partial=reply)
        began = sent_at if reply.begun_at is None else reply.begun_at
        return _Ended(reply, reply.status, timed_out, time.monotonic() - began)


def _starts(state: ShellState) -> tuple[ShellState, ShellState]:
    """What a new shell goes on from: all of it, or, if that is what breaks it, the directory."""
    return state, ShellState(state.cwd)


@dataclass(frozen=True)
class _Ended:
    """How a command ended, as the guest told it."""

    reply: Reply
    status: tuple[bytes, ...]
    timed_out: bool
    duration_s: float

    def result(self, cwd: str | None = None, restarted: str | None = None) -> CommandResult:
        notes = {note[0] for note in self.reply.notes}
        return CommandResult(
            raw=self.reply.raw,
            exit_code=137 if self.timed_out else _number(self.status[1]),
            timed_out=self.timed_out,
            cut_bytes=self.reply.cut_bytes,
            duration_s=self.duration_s,
            failure="cwd" if b"C" in notes else "exec" if b"X" in notes else None,
            cwd=cwd,
            restarted=restarted,
        )


def _number(text: bytes) -> int:
    """Status words can be forged by an agent that finds the guest's descriptors: trust nothing."""
    return int(text) if text.isdigit() and len(text) < 4 else 255


def run_body(command: Command, cwd: str, env: Mapping[str, str], stdin: bytes) -> bytes:
    """The Bash text that the guest evaluates for one `run`."""
    argv = ["/bin/bash", "-c", command] if isinstance(command, str) else list(command)
    if not argv:
        raise UsageError("there is no command to run")
    words = [_word(word) for word in argv]
    # A failing builtin would speak to the agent in our name: its words go to 7, the null device.
    lines = [f"cd -- {_word(cwd)} 2>&7 || {{ tell C 0; exit 126; }}"]
    for name, value in env.items():
        if not _NAME.match(name):
            raise UsageError(f"not a name of an environment variable: {name!r}")
        lines.append(f"export {name}={_word(value)}")
    lines.append(f"hash -- {words[0]} 2>&7 || {{ tell X 0; exit 127; }}")
    execute = f"exec {' '.join(words)} 7>&- 9>&-"
    if stdin:
        escaped = "".join(f"\\0{byte:03o}" for byte in stdin)
        lines.append(f"printf %b '{escaped}' | {{ {execute}; }}; exit ${{PIPESTATUS[1]}}")
    else:
        lines.append(execute)
    return "\n".join(lines).encode("ascii")


def _encoded(text: str) -> bytes:
    """Bytes that were once decoded come back; a lone half of a character is shown as U+FFFD."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


def _word(text: str) -> str:
    data = _encoded(text)
    if b"\0" in data:
        raise UsageError("a command, its environment and its directory cannot hold a NUL byte")
    return quote(data)


def restore_script(state: ShellState) -> bytes:
    """What a fresh shell runs to become the one that ``state`` was taken from.

    Options first off and, before functions are read, on (``extglob`` decides what a function may
    look like); those of ``set`` last, since they may end a shell or make it silent.
    """
    if state == ShellState():
        return b""
    kept = dict(_OPTIONS.findall(state.declarations))
    declarations = _NOT_RESTORED.sub(b"", state.declarations)
    cwd = quote(state.cwd.encode("utf-8", "surrogateescape")).encode("ascii")
    lines = [b"{ cd -- " + cwd, declarations]
    if b"BASHOPTS" in kept:
        on = b"shopt -s " + kept[b"BASHOPTS"].replace(b":", b" ")
        lines.insert(0, b"{ shopt -u ${BASHOPTS//:/ }; %s; } > /dev/null 2>&1" % on)
    if b"SHELLOPTS" in kept:
        lines.insert(0, b"for __n in ${SHELLOPTS//:/ }; do set +o $__n; done 2> /dev/null")
        lines += [b"set -o " + name for name in kept[b"SHELLOPTS"].split(b":") if name]
    return b"\n".join([*lines, b"} 2> /dev/null\ntrue"])
