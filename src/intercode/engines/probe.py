"""Whether an engine answers at all: asked before any work begins."""

from __future__ import annotations

from contextlib import closing

from intercode.engines.base import Engine
from intercode.engines.content import Column, Content, Table
from intercode.errors import EngineError

_CONTENT = Content(
    "probe", "sqlite", (Table("word", (Column("said", "varchar(9)"),), (("works",),)),)
)


def probe(engine: Engine) -> str:
    """What a query of one word says: ``works``. A server is started for it.

    :raises EngineError: the engine, or what it needs, is not there, or cannot be reached.
    """
    with closing(engine.open(_CONTENT)) as session:
        (result,) = session.execute("SELECT said FROM word")
        if not result.rows:
            raise EngineError(f"the engine does not answer: {result.error}")
        return str(result.rows[0][0])
