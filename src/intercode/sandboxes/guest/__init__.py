"""What runs inside a sandbox: two short Bash programs, and the words they speak with the host.

The guest uses Bash builtins only, so it lives on when the agent has deleted every program. It is
process 1 of the sandbox, which no signal from inside can kill. It speaks over these streams:

- *control* (its stdin): messages ``VERB TAG NUL LENGTH SLOT NUL BODY`` from the host; the verb is
  one letter, the tag a word that nobody can guess; a slot (`S` and `E` only; empty for the shell)
  is the name of an interpreter, of which any number may stand side by side;
- *status* (its stderr): messages ``LETTER TAG : CODE NUL`` to the host, out of band of what
  commands print, with the tag of what they answer: an agent that finds this stream can neither
  answer in advance nor make a late answer count for the next command;
- *output* (its stdout): what commands print, both their streams, as they print it;
- *state* (its descriptor 3, or if there is none, *status*): after each command of the persistent
  shell, what a new one would have to take over. Bash writes it a line at a time, which here wakes
  nobody.

=====  ========================================================================
verb   meaning
=====  ========================================================================
``R``  run BODY (Bash text) in a process and process group of its own
``W``  the same, and wait until what it left in the background has closed its output
``S``  start the persistent shell: Bash, or with a BODY a fork of the guest itself
``E``  run BODY in the persistent shell
``S``  with a slot: start an interpreter, by BODY (Bash text that becomes it)
``E``  with a slot: give BODY to that interpreter
``F``  print BODY to *output*: marks how far the host has to read
=====  ========================================================================

Status messages: ``H`` ready; ``B`` a run or a command of the shell begins; ``D`` a run is over;
``C`` / ``X`` its working directory / program does not exist; ``Q… NUL OUTPUT`` what a query
printed; ``S`` the shell stands ready; ``V… NUL DECLARATIONS`` the shell's state; after that,
``E… NUL CWD NUL TAG`` it finished a command; ``Z`` the shell is gone.

An interpreter (`intercode.sandboxes.languages`) reads ``TAG LENGTH NUL BODY`` from its descriptor
73, tells ``B TAG :0 NUL`` on 72 when it begins and ``E TAG : CODE NUL ANSWER NUL TAG NUL`` when it
has done, then stops itself until process 1 continues it. 70 and 71 are what it has as its input and
its output. First of all it stops itself, when it is ready.

SIGUSR1, sent to the guest by the host, kills the process group of whatever is running. (So it does
when an agent sends it: then that agent has killed its own command.)
"""

from __future__ import annotations

import signal
from importlib import resources


def _lines(name: str) -> list[str]:
    lines = (resources.files(__name__) / name).read_text(encoding="ascii").splitlines()
    return [line for line in lines if line.strip() and not line.lstrip().startswith("#")]


def _shell_program() -> str:
    """On one line, so that the line numbers in error messages are those of the agent's command."""
    joined = " ".join(
        line.strip() + ("" if line.endswith((" do", " {")) else ";")
        for line in _lines("shell.bash")
    )
    return joined.removesuffix(";")


def boot_script() -> str:
    """The argument of ``bash -c`` that starts a guest: short, since the agent's ``ps`` shows it."""
    return 'IFS= LC_ALL=C read -r -N "$1" -u 0 x && eval "$x"'


def boot_message() -> tuple[int, bytes]:
    """How many bytes the guest's program has (its ``$1``), and the program, to be sent first."""
    program = "\n".join(_lines("init.bash"))
    program = program.replace("@SHELL@", quote(_shell_program().encode()))
    data = program.encode("ascii")
    return len(data), data


KILL_SIGNAL = signal.SIGUSR1


def message(verb: str, body: bytes = b"", tag: str = "", slot: str = "") -> bytes:
    if b"\0" in body:
        raise ValueError("a message to the guest cannot hold a NUL byte")
    head = f"{verb}{tag}\0{len(body)} {slot}" if slot else f"{verb}{tag}\0{len(body)}"
    return b"%s\0%s" % (head.encode("ascii"), body)


def quote(data: bytes) -> str:
    """``data`` as one word of Bash, whatever bytes (but NUL) it holds; pure ASCII."""
    if data and all(0x20 <= byte < 0x7F for byte in data):
        return "'" + data.decode("ascii").replace("'", "'\\''") + "'"
    body = "".join(
        chr(byte) if 0x20 <= byte < 0x7F and byte not in b"\\'" else f"\\x{byte:02x}"
        for byte in data
    )
    # \xHH takes at most two digits in Bash, so no digit after it is swallowed.
    return f"$'{body}'"
