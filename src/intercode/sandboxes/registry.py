"""Back ends by name, ours and those that other packages bring (`intercode.sandboxes`)."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from importlib import metadata

from intercode.errors import SandboxUnavailable, UsageError
from intercode.sandboxes.base import Backend


def _bubblewrap() -> Backend:
    from intercode.sandboxes.bubblewrap.backend import Bubblewrap

    return Bubblewrap()


def _docker() -> Backend:
    from intercode.sandboxes.docker.backend import Docker

    return Docker()


_OURS: dict[str, Callable[[], Backend]] = {"bubblewrap": _bubblewrap, "docker": _docker}


def names() -> list[str]:
    """In the order in which they are tried where none is named."""
    theirs = [point.name for point in metadata.entry_points(group="intercode.sandboxes")]
    return [*_OURS, *sorted(set(theirs) - set(_OURS))]


def create(name: str) -> Backend:
    """The back end of that name, whether or not it works here.

    :raises UsageError: there is none. :raises SandboxUnavailable: its package is not installed.
    """
    if name in _OURS:
        return _OURS[name]()
    for point in metadata.entry_points(group="intercode.sandboxes"):
        if point.name == name:
            backend: Backend = point.load()()
            return backend
    close = difflib.get_close_matches(name, names(), 1)
    raise UsageError(
        f"there is no sandbox back end {name!r}",
        remedy=f"--sandbox {close[0]}" if close else f"one of {', '.join(names())}",
    )


def choose(name: str | None = None) -> Backend:
    """The named back end, or the first that works here.

    :raises SandboxUnavailable: it does not work; the message says why and what mends it.
    """
    tried = []
    for candidate in [name] if name else names():
        try:
            backend = create(candidate)
        except SandboxUnavailable as error:
            if name:
                raise
            tried.append((candidate, str(error)))
            continue
        failed = next((check for check in backend.check() if not check.ok), None)
        if failed is None:
            return backend
        backend.close()
        if name:
            raise SandboxUnavailable(
                f"the {name} back end does not work here: {failed.detail}", remedy=failed.remedy
            )
        tried.append((candidate, failed.detail))
    reasons = "; ".join(f"{candidate}: {why}" for candidate, why in tried)
    raise SandboxUnavailable(
        f"no sandbox back end works here ({reasons})", remedy="intercode doctor"
    )
