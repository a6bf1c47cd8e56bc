"""What every database engine promises, as checks that it can run against itself.

For an engine of your own, in a test::

    @pytest.mark.parametrize("promise", conformance.PROMISES)
    def test_promise(promise, engine):
        promise(engine)

or without a test framework: ``conformance.run(engine)``. A promise is a function named for what it
promises. It raises AssertionError with what was seen where the promise is not kept, opens its own
sessions and closes them. Statements are in words that all four dialects share.
"""

from __future__ import annotations

import traceback

from intercode.engines.base import Engine
from intercode.engines.conformance import answers, isolation, limits, states
from intercode.engines.conformance.ground import CONTENT, VALUES, Promise

__all__ = ["CONTENT", "PROMISES", "VALUES", "Promise", "run"]

PROMISES: tuple[Promise, ...] = (
    *answers.PROMISES,
    *isolation.PROMISES,
    *limits.PROMISES,
    *states.PROMISES,
)
"""In an order in which the first to fail says most."""


def run(engine: Engine) -> list[tuple[str, str | None]]:
    """Each promise's name, with None or why it is not kept."""
    return [(promise.__name__, _kept(promise, engine)) for promise in PROMISES]


def _kept(promise: Promise, engine: Engine) -> str | None:
    try:
        promise(engine)
    except AssertionError as error:
        return str(error) or traceback.format_exc()
    except Exception:
        # The rest is to be tried all the same, whatever this engine did wrong here.
        return traceback.format_exc()
    return None
