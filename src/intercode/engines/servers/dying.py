"""Servers that are being killed: alive when asked, and gone a moment later."""

from __future__ import annotations

import time
from collections.abc import Callable

from intercode.engines.servers.owned import OwnedServer

_DYING_S = 0.5
"""Longer than it takes a killed server to be gone."""


def survives(alive: Callable[[], bool]) -> bool:
    """Whether a server answers, and goes on to: one that is killed loses its connections one after
    another, and who loses his first is asked to wait and see."""
    end = time.monotonic() + _DYING_S
    while alive():
        if time.monotonic() >= end:
            return True
        time.sleep(_DYING_S / 10)
    return False


def give_up_the_dying(owned: OwnedServer | None, alive: Callable[[], bool]) -> None:
    """So that the next `ensure` starts another, and does not wait for this one to be gone."""
    if owned is not None and not survives(alive):
        owned.kill()
