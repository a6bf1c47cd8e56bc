"""What both versions of the SQL environment have in common: an episode on a database."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, ClassVar, get_args

from intercode.engines.base import Policy, QueryLimits, Session, TableState
from intercode.engines.content import Content
from intercode.envs.base import Aftermath, InteractiveEnv, Shared
from intercode.envs.databases import EngineRuntime
from intercode.errors import EngineError, UsageError
from intercode.rewards.score import Score
from intercode.tasks.model import Database, Dataset, Task

HINTS = ("schema", "evidence")
"""What the first observation may tell beyond the instruction: tables with their columns (the
paper's handicap), and what the task's author says of the words in the question."""


class SqlEnv(InteractiveEnv):
    """Actions are SQL in the dialect of the task's database, whichever engine runs them.

    Each episode begins with pristine data, whatever earlier ones did, and nobody else sees what it
    changes. ``policy`` says what statements may do: ``read-only``, ``write`` or ``ddl``; a task
    that needs another than the default one says so in its ``limits``.
    """

    kind: ClassVar[str] = "sql"
    options: ClassVar[tuple[str, ...]] = ("policy", "hints")
    default_policy: ClassVar[Policy] = "write"
    idle: ClassVar[str] = "SELECT 1 FROM (SELECT 1 AS x) AS nothing WHERE 1 = 0"

    def __init__(
        self,
        dataset: str | Dataset = "bundled:sql",
        *,
        engine: str | None = None,
        policy: Policy | None = None,
        hints: Collection[str] | str = (),
        limits: QueryLimits | None = None,
        runtime: EngineRuntime | None = None,
        render_mode: str | None = None,
    ) -> None:
        """``engine`` is ``sqlite`` (default), ``mysql``, ``postgres``, ``duckdb`` or a server's
        URL. ``policy``: None for what the task says, else the version's default. ``hints``: any of
        `HINTS`. ``runtime`` is shared and not closed here; without one the environment has its
        own."""
        super().__init__(dataset, render_mode=render_mode)
        self.policy = policy
        self.hints = _known_hints(hints)
        if policy is not None and policy not in get_args(Policy):
            known = ", ".join(get_args(Policy))
            raise UsageError(f"there is no policy {policy!r}", remedy=f"one of {known}")
        self.limits = limits or self.default_limits()
        self._owned = runtime is None
        self._runtime = runtime or self.shared(Shared(engine=engine))
        self._session: Session | None = None

    def default_limits(self) -> QueryLimits:
        return QueryLimits()

    @classmethod
    def shared(cls, wanted: Shared) -> EngineRuntime:
        from intercode.engines.probe import probe
        from intercode.engines.registry import choose

        engine = choose(wanted.engine or "sqlite")
        try:
            probe(engine)  # that it does not work here is told before any work begins
        except BaseException:
            engine.close()
            raise
        return EngineRuntime(engine, outcomes=wanted.outcomes)

    @property
    def session(self) -> Session:
        """The running episode's session with the engine."""
        if self._session is None:
            raise UsageError("there is no episode running", remedy="call reset() first")
        return self._session

    @property
    def database(self) -> Database:
        return self._database_of(self.task)

    def get_schema(self) -> str:
        """The tables as they are now, a line each: ``people(People_ID, Name, …)``."""
        return schema_text(self.session.schema())

    def close(self) -> None:
        try:
            super().close()
        finally:
            if self._owned:
                self._runtime.close()

    def aftermath(self) -> Aftermath:
        changed = self.session.changed()
        return Aftermath(tuple(_canonical(changed)), len(changed))

    def still_open(self) -> Callable[[], bool]:
        session = self.session

        def is_open() -> bool:
            try:
                session.schema()
            except (EngineError, UsageError):
                return False
            return True

        return is_open

    # -- the episode -------------------------------------------------------------------------------

    def _begin(self, task: Task) -> None:
        self._session = self._session_on(self._pristine())

    def _end(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.close()

    def _greeting(self, task: Task) -> str:
        parts = [task.instruction]
        if "evidence" in self.hints and (evidence := task.metadata.get("evidence")):
            parts.append(f"Hint: {evidence}")
        if "schema" in self.hints:
            parts.append(f"Tables:\n{self.get_schema()}")
        return "\n\n".join(parts)

    def _pristine(self) -> Content:
        return self._runtime.content(self.database)

    def _session_on(self, content: Content) -> Session:
        """A session under the episode's rules, for the caller to close."""
        policy = self.policy or self.task.limits.get("policy", self.default_policy)
        return self._runtime.open(content, policy=policy, dialect=self.database.dialect)

    def _database_of(self, task: Task) -> Database:
        if task.database is None:
            raise UsageError(f"task {task.id!r} names no database")
        return self.dataset.databases[task.database]

    def _forked(self, count: int) -> Sequence[InteractiveEnv]:
        state = self._saved()
        twins: list[SqlEnv] = []
        try:
            for _ in range(count):
                twin = self._twin()
                twins.append(twin)
                twin._task = self.task
                twin._session = twin._session_on(twin._pristine())
                twin._session.restore(state)
        except BaseException:
            for twin in twins:
                twin._end()
            raise
        return twins

    def _twin(self) -> SqlEnv:
        """An environment with the same options and no episode."""
        chosen = {name: getattr(self, name) for name in self.options}
        return type(self)(self.dataset, limits=self.limits, runtime=self._runtime, **chosen)

    def _saved(self) -> Any:
        return self.session.snapshot()

    def _go_back(self, state: Any) -> None:
        self.session.restore(state)

    def _execute(self, action: str) -> tuple[str, dict[str, Any]]:
        raise NotImplementedError

    def _scored(self) -> Score:
        raise NotImplementedError


def schema_text(schema: Mapping[str, Sequence[tuple[str, str]]]) -> str:
    return "\n".join(
        f"{table}({', '.join(name for name, _ in columns)})" for table, columns in schema.items()
    )


def _known_hints(hints: Collection[str] | str) -> tuple[str, ...]:
    chosen = (hints,) if isinstance(hints, str) else tuple(hints)
    for hint in chosen:
        if hint not in HINTS:
            raise UsageError(f"there is no hint {hint!r}", remedy=f"one of {', '.join(HINTS)}")
    return chosen


def _canonical(changed: Mapping[str, TableState | None]) -> list[Any]:
    """The same for the same changes."""
    return [
        (name, None if state is None else (state.columns, tuple(sorted(map(repr, state.rows)))))
        for name, state in sorted(changed.items())
    ]
