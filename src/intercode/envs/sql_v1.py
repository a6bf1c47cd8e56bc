"""`intercode/SQL-v1`: the paper's SQL environment, quirks included.

An action is one statement; its observation is Python's text of the rows, as the paper's MySQL
client printed them. The gold is executed on what the episode has made of the data, as in the
original; but no episode meets what another one changed.
"""

from __future__ import annotations

from contextlib import closing
from typing import Any, ClassVar

from intercode.engines.base import Policy, QueryLimits, QueryResult, Session
from intercode.engines.content import Row
from intercode.envs.sql import SqlEnv
from intercode.errors import UsageError
from intercode.rewards import sql_v1
from intercode.rewards.score import Score
from intercode.tasks.model import Dataset

_OBSERVATION_CHARS = 1 << 20
_EMPTY = QueryResult()
"""What an action without a word comes to: the paper's client takes it, and has no result."""


class SqlV1(SqlEnv):
    """See the module, and `SqlEnv` for the interface.

    ``variant`` is which of the paper's three rewards is given: ``tau`` (the released code's),
    ``iou`` or ``tau01``; `intercode.rewards.sql_v1` says which run used which.
    """

    options: ClassVar[tuple[str, ...]] = (*SqlEnv.options, "variant")
    default_policy: ClassVar[Policy] = "ddl"

    _rows: tuple[Row, ...] | None = None

    def __init__(
        self,
        dataset: str | Dataset = "bundled:sql",
        *,
        variant: sql_v1.Variant = "tau",
        **options: Any,
    ) -> None:
        """``options``: those of `SqlEnv`."""
        if variant not in sql_v1.VARIANTS:
            known = ", ".join(sql_v1.VARIANTS)
            raise UsageError(f"there is no variant {variant!r}", remedy=f"one of {known}")
        super().__init__(dataset, **options)
        self.variant = variant

    def default_limits(self) -> QueryLimits:
        return QueryLimits(timeout_s=30.0)  # the paper has none

    def _begin(self, task: Any) -> None:
        self._rows = None
        super()._begin(task)

    def _execute(self, action: str) -> tuple[str, dict[str, Any]]:
        result = _one(self.session, action, self.limits)
        self._rows = result.rows
        return observed(result), {
            "action_executed": result.ok,
            "timed_out": result.timed_out,
            "truncated": result.truncated,
        }

    def _scored(self) -> Score:
        return sql_v1.score(self._rows, self._gold() or (), variant=self.variant)

    def _gold(self) -> tuple[Row, ...] | None:
        """Of the gold's statement, on the data as they are now."""
        if self.session.changed():
            return self._run_gold(self._saved())
        key = ("sql-v1", self.task.content_hash, self.database, self.limits, self.policy)
        return self._runtime.gold(key, self._run_gold)

    def _run_gold(self, state: Any = None) -> tuple[Row, ...] | None:
        with closing(self._session_on(self._pristine())) as session:
            if state is not None:
                session.restore(state)
            return _one(session, self.task.gold, self.limits).rows

    def _memory(self) -> Any:
        return self._rows

    def _recall(self, memory: Any) -> None:
        self._rows = memory


def _one(session: Session, sql: str, limits: QueryLimits) -> QueryResult:
    if not sql.strip():
        return _EMPTY
    return session.execute(sql, limits, several=False)[-1]


def observed(result: QueryResult) -> str:
    """The observation, as the paper's code words it; of very many rows the first ones."""
    if result.error is not None:
        return f"Error executing query: {result.error}"
    if result.rows is None:
        return "None"
    shown: list[str] = []
    length = 0
    for row in result.rows:
        shown.append(repr(row))
        length += len(shown[-1]) + 2
        if length > _OBSERVATION_CHARS and len(shown) < len(result.rows):
            return f"[{', '.join(shown)}, … of {len(result.rows)} rows]"
    return f"[{', '.join(shown)}]"
