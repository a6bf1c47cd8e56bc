"""What every sandbox back end promises, as checks that it can run against itself.

For a back end of your own, in a test::

    @pytest.mark.parametrize("promise", conformance.PROMISES)
    def test_promise(promise, backend, image):
        promise(backend, image, Limits())

or without a test framework: ``conformance.run(backend, image)``. A promise is a function named for
what it promises. It raises AssertionError with what was seen where the promise is not kept, starts
its own sandboxes and closes them, and needs nothing of the image but Bash and the usual small
programs of a Linux system.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable

from intercode.sandboxes.base import Backend, Image, Limits
from intercode.sandboxes.conformance import (
    changes,
    commands,
    files,
    interpreters,
    isolation,
    life,
    shell,
    snapshots,
    survival,
)

__all__ = ["PROMISES", "Promise", "run"]

Promise = Callable[[Backend, Image, Limits], None]

PROMISES: tuple[Promise, ...] = (
    *commands.PROMISES,
    *shell.PROMISES,
    *interpreters.PROMISES,
    *files.PROMISES,
    *changes.PROMISES,
    *snapshots.PROMISES,
    *isolation.PROMISES,
    *survival.PROMISES,
    *life.PROMISES,
)
"""In an order in which the first to fail says most."""


def run(
    backend: Backend, image: Image, limits: Limits | None = None
) -> list[tuple[str, str | None]]:
    """Each promise's name, with None or why it is not kept."""
    return [(promise.__name__, _kept(promise, backend, image, limits)) for promise in PROMISES]


def _kept(promise: Promise, backend: Backend, image: Image, limits: Limits | None) -> str | None:
    try:
        promise(backend, image, limits or Limits())
    except AssertionError as error:
        return str(error)
    except Exception:
        # The rest is to be tried all the same, whatever this back end did wrong here.
        return traceback.format_exc()
    return None
