"""The contract between an episode and the engine that runs its statements.

An `Engine` holds pristine databases; a `Session` is one episode's own view of one of them. Whatever
a session does, no other session sees it, and the pristine database stays as it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

from intercode.engines.content import Content, Row

Policy = Literal["read-only", "write", "ddl"]
"""What statements may do: read; also change rows, and make temporary tables, which are a session's
own; also change the schema. Under none of them may a statement reach a file, another database, an
extension, the server's settings or its users."""

DIALECTS = ("sqlite", "mysql", "postgres", "duckdb")


@dataclass(frozen=True)
class QueryLimits:
    """Limits of one `Session.execute`. ``max_rows`` and ``max_bytes`` bound what is fetched of each
    statement's result; what is beyond them is not fetched."""

    timeout_s: float = 10.0
    max_rows: int = 100_000
    max_bytes: int = 64 << 20
    memory_mib: int = 512


@dataclass(frozen=True)
class QueryResult:
    """What one statement came to.

    ``rows`` is None where the statement has no result set or failed. ``error`` is the failure in
    the engine's own words, without its number (``Table 'x.y' doesn't exist``), ``refused`` says
    that it was the policy's, and ``timed_out`` that the statement was stopped. ``truncated``: there
    were more rows than the limits allow. ``affected`` counts changed rows, where the engine says.
    """

    columns: tuple[str, ...] = ()
    rows: tuple[Row, ...] | None = None
    error: str | None = None
    refused: bool = False
    timed_out: bool = False
    truncated: bool = False
    affected: int | None = None

    @property
    def ok(self) -> bool:
        return self.error is None


@dataclass(frozen=True)
class TableState:
    """One table as it is now, ``rows`` in no particular order."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]


@runtime_checkable
class Session(Protocol):
    """One episode on one database, pristine when opened. For one thread at a time."""

    def execute(
        self, sql: str, limits: QueryLimits = ..., *, several: bool = True
    ) -> tuple[QueryResult, ...]:
        """Run a statement, or several separated by semicolons up to the first that fails: one
        result each. With ``several=False`` more than one statement is an error, and none is run.

        Statements of transaction control are run as far as they cannot leave the session's own
        view. An empty text gives one error result.

        :raises EngineError: the engine broke (died, lost its connection): never for what a
            statement may do. The session is unusable then, the engine mends itself at the next
            `Engine.open`.
        """
        ...

    def schema(self) -> Mapping[str, tuple[tuple[str, str], ...]]:
        """Tables (and views) as they are now, in the engine's order: names and types of columns."""
        ...

    def changed(self) -> Mapping[str, TableState | None]:
        """The tables that this session has changed, made, or dropped (None), compared with the
        pristine database by content, so that a change taken back is none."""
        ...

    def snapshot(self) -> Any:
        """This moment, to come back to with `restore` any number of times, also in another session
        of the same engine and database."""
        ...

    def restore(self, snapshot: Any) -> None: ...

    def close(self) -> None:
        """Idempotent. What the session changed is gone."""
        ...


class Engine(Protocol):
    """Safe to use from many threads."""

    @property
    def name(self) -> str:
        """``sqlite``, ``mysql``, ``postgres``, ``duckdb``."""
        ...

    @property
    def dialect(self) -> str:
        """What it speaks itself, one of `DIALECTS`."""
        ...

    @property
    def version(self) -> str:
        """``MariaDB 10.11.6``: for records."""
        ...

    def open(
        self, content: Content, *, policy: Policy = "write", dialect: str | None = None
    ) -> Session:
        """A session on a pristine copy of ``content``, which is loaded once and kept. ``dialect``
        is what the session's statements are written in; where it is not the engine's own they are
        translated on the way.

        :raises EngineError: the engine cannot be reached, or it cannot hold the content.
        """
        ...

    def live(self) -> int:
        """How many sessions are open: for leak checks."""
        ...

    def close(self) -> None:
        """Closes every session and all that the engine owns: servers, databases, files."""
        ...
