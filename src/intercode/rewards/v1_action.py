"""How the paper's Bash and CTF environments turn an action into a process.

An action was put between double quotes behind ``/bin/bash -c`` and the whole split into words
again, so quotes inside it end the outer ones, and Bash often gets another text than the agent
wrote. A ``cd`` was worked out as text, because each action is a process of its own and its working
directory dies with it. Published numbers depend on both. Everything here is text to text, nothing
is run::

    target = cd_target(cwd, action) if is_cd(action) else None
    argv(cd_command(target))  # from CD_CWD; where it succeeds, target is the new working directory
    argv(action)  # any other action, from the working directory

The gold is turned into a process by ``argv`` too, from ``/``.

For CTF, ``whole_argv`` stands for ``argv``: single quotes were used there, and those inside
escaped, so that actions arrive whole; but those that start with ``python -c`` were split as they
are and run without a shell.
"""

from __future__ import annotations

import shlex

CD_CWD = "/"
"""Where ``cd_command`` is run, whatever the working directory (which may not exist)."""


def argv(action: str, *, shell: str = "/bin/bash") -> list[str] | None:
    """The program and arguments that an action becomes; None for a malformed one.

    Malformed is what leaves a quotation open, and what holds a NUL, which no argument can. A lone
    surrogate arrives as U+FFFD, since it cannot be encoded.
    """
    if "\0" in action:
        return None
    try:
        return shlex.split(f'{shell} -c "{_encodable(action).strip()}"')
    except ValueError:
        return None


def whole_argv(action: str, *, shell: str = "/bin/bash") -> list[str] | None:
    """What a CTF action becomes; None for a malformed one, see `argv`."""
    if "\0" in action:
        return None
    action = _encodable(action)
    if not action.startswith(_PYTHON):
        return [shell, "-c", action]
    try:
        return shlex.split(action)
    except ValueError:
        return None


_PYTHON = ("python -c", "python3 -c")


def is_cd(action: str) -> bool:
    """Whether an action is taken for a change of directory: any that starts with these letters."""
    return action.startswith("cd")


def cd_target(cwd: str, action: str) -> str | None:
    """The directory that a ``cd`` action goes to from ``cwd``, or None where it names none.

    All that follows the first ``cd `` counts as the path: ``cd /tmp && ls`` goes to
    ``/tmp && ls``. None (``cd`` alone, ``cdrom``) is where the paper's code raised an exception.
    """
    _, found, argument = action.partition("cd ")
    if not found:
        return None
    argument = argument.strip()
    return _simplified(cwd, argument) if argument else cwd


def cd_command(target: str) -> str:
    """The action run, from ``CD_CWD``, for a ``cd`` to ``target``; ``argv`` mangles it like any."""
    return f"cd {target}"


def _simplified(cwd: str, path: str) -> str:
    """An absolute path without ``.``, ``..`` and empty segments, by its text alone.

    ``posixpath.normpath`` will not do: it keeps two slashes at the start.
    """
    absolute = path if path.startswith("/") else f"{cwd}/{path}"
    kept: list[str] = []
    for segment in absolute.split("/"):
        if segment == "..":
            del kept[-1:]
        elif segment not in ("", "."):
            kept.append(segment)
    return "/" + "/".join(kept)


def _encodable(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
