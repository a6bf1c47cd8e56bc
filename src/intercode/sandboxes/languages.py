"""Interpreters that last: how one is started, and the host's end of it.

An interpreter is a program inside the sandbox that keeps its state from one action to the next, as
the shell does, and speaks on the same descriptors (`intercode.sandboxes.guest`). Time limits,
killing, starting again and the capture of output are the guest's and the session's, and the same
for all of them. Any number, each under its name, stand side by side in a sandbox and see the same
files.

A further language needs one `Language` in `LANGUAGES`: Bash text that becomes its interpreter, and
a program in that language that stops itself when it is ready, then reads requests from descriptor
73 and answers on 72 (`guest/python.py` is the model, in some 200 lines). The first request is the
rest of the program, if there is any.
"""

from __future__ import annotations

import marshal
import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.util import MAGIC_NUMBER

from intercode.errors import SandboxError, UsageError
from intercode.sandboxes.base import CommandResult, Limits
from intercode.sandboxes.guest import quote
from intercode.sandboxes.session import HARD_S, Session


@dataclass(frozen=True)
class Language:
    """``start`` is Bash text, ``program`` the first request; ``needs`` names what to install."""

    name: str
    start: bytes
    program: bytes
    needs: str


def guest_program(package: str, name: str) -> bytes:
    """A program that runs inside, without its comments and first docstring."""
    text = (resources.files(package) / name).read_text(encoding="utf-8")
    text = re.sub(r'\A""".*?"""\n', "", text, flags=re.DOTALL)
    lines = (line for line in text.splitlines() if not line.lstrip().startswith("#"))
    return ("\n".join(line for line in lines if line.strip()) + "\n").encode()


@cache
def _packed(program: bytes) -> bytes:
    """A Python program as text, and before it as this Python's own code, which a Python of the same
    kind need not compile: that is most of the time it would take."""
    code = marshal.dumps(compile(program, "<interpreter>", "exec", dont_inherit=True))
    return b"\n".join([MAGIC_NUMBER.hex().encode(), b64encode(code), program])


# `del sys.path[0]`: no file of the agent's stands in for a module of ours.
_PYTHON_BOOT = b"""\
import sys
del sys.path[0]
import os, signal
os.kill(os.getpid(), signal.SIGSTOP)
b = os.read(73, 65536)
while b'\\0' not in b: b += os.read(73, 65536)
h, _, b = b.partition(b'\\0')
t, n = h.split()
while len(b) < int(n): b += os.read(73, 65536)
import builtins, binascii, marshal
import _frozen_importlib_external as f
def unpacked(b, magic=f.MAGIC_NUMBER.hex(), loads=marshal.loads, bytes_of=binascii.a2b_base64):
    m, c, s = b.split(b'\\n', 2)
    if m.decode() == magic: return loads(bytes_of(c))
    return compile(s, '<interpreter>', 'exec', 0, True)
g = {'__name__': 'interpreter', '__builtins__': dict(vars(builtins)), 'unpacked': unpacked}
exec(unpacked(b), g)
g['serve'](t)
"""


@cache
def python() -> Language:
    boot = quote(_PYTHON_BOOT)
    return Language(
        "python",
        # Without a seed, sets of texts have another order in every process.
        f"export PYTHONHASHSEED=0; exec python3 -s -u -c {boot}".encode(),
        _packed(guest_program("intercode.sandboxes.guest", "python.py")),
        "python3",
    )


LANGUAGES: Mapping[str, Callable[[], Language]] = {"python": python}


def language(name: str) -> Language:
    if name not in LANGUAGES:
        raise UsageError(
            f"there is no interpreter {name!r}", remedy=f"one of {', '.join(sorted(LANGUAGES))}"
        )
    return LANGUAGES[name]()


@dataclass(frozen=True)
class Answer:
    """What became of a request. ``text`` is the interpreter's own answer, out of band of what was
    printed; None where it gave none, because it was killed or ended."""

    result: CommandResult
    text: bytes | None


class Interpreter:
    """A sandbox's interpreter of one language; made by `Sandbox.interpreter` only.

    ``surviving`` is how the sandbox does something that may take its guest down.
    """

    def __init__(
        self,
        spoken: Language,
        session: Callable[[], Session],
        surviving: Callable[[Callable[[], CommandResult]], CommandResult],
        limits: Limits,
    ) -> None:
        self._language = spoken
        self._session = session
        self._surviving = surviving
        self._limits = limits

    def start(self) -> None:
        """Have it ready.

        :raises SandboxError: it does not start: the image lacks it, or the agent has broken it.
        """
        started = self._surviving(lambda: self._session().interpreter_start(self._language))
        if started.exit_code != 0:
            said = started.output.strip().splitlines()
            raise SandboxError(
                f"the {self._language.name} interpreter does not start"
                + (f": {said[-1]}" if said else ""),
                remedy=f"use an image that has {self._language.needs}",
            )

    def run(
        self, action: str, *, timeout_s: float | None = None, max_output_bytes: int | None = None
    ) -> CommandResult:
        """Execute an action. After ``timeout_s`` it is interrupted, and a second later, where that
        did not help, the interpreter is killed. ``restarted`` says why what was defined is gone.

        ``exit_code`` is 0, 1 for an exception, 124 at a timeout that the interpreter survived.
        """
        timeout_s = self._limits.timeout_s if timeout_s is None else timeout_s
        head = f"run {max(1, round(1000 * timeout_s))}\n"
        return self.ask(head, action, timeout_s=timeout_s, max_output_bytes=max_output_bytes).result

    def ask(
        self,
        head: str,
        text: str,
        *,
        timeout_s: float | None = None,
        max_output_bytes: int | None = None,
    ) -> Answer:
        """Send a request as it is; for handlers that were loaded into the interpreter."""
        timeout_s = self._limits.timeout_s if timeout_s is None else timeout_s
        told: list[bytes | None] = [None]

        def action() -> CommandResult:
            result, told[0] = self._session().interpreter_run(
                self._language, head + text, timeout_s + HARD_S, max_output_bytes
            )
            return result

        return Answer(self._surviving(action), told[0])

    def load(self, program: bytes) -> None:
        """Have a program of ours add handlers."""
        answer = self.ask("load 0\n", _packed(program).decode())
        if answer.text is None or answer.result.exit_code != 0:
            raise SandboxError(f"the {self._language.name} interpreter takes no program")
