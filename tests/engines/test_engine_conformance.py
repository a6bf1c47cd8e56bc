"""Every engine that is here keeps every promise."""

from collections.abc import Iterator

import pytest

from intercode.engines import conformance
from intercode.engines.base import Engine
from intercode.engines.registry import choose
from intercode.errors import EngineUnavailable

ENGINES = ("sqlite", "duckdb", "mysql", "postgres")


@pytest.fixture(scope="module", params=ENGINES)
def engine(request) -> Iterator[Engine]:
    try:
        chosen = choose(request.param)
        chosen.open(conformance.CONTENT).close()
    except EngineUnavailable as error:
        pytest.skip(f"needs the {request.param} engine: {error}")
    yield chosen
    chosen.close()


@pytest.mark.parametrize("promise", conformance.PROMISES, ids=lambda promise: promise.__name__)
def test_promise(promise: conformance.Promise, engine: Engine) -> None:
    promise(engine)
    assert engine.live() == 0
