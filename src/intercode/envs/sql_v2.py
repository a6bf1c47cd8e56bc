"""`intercode/SQL-v2`: right results, on this data and on other data.

The answer is the result of the last action. It has to be the gold's as the field means it, and the
query that gave it has to give the gold's result on copies of the database with other rows too, so
that a lucky guess or an empty answer is worth little. Where the gold changes tables, what counts is
what the tables hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any, ClassVar, get_args

from intercode.engines.base import QueryLimits, QueryResult, Session, TableState
from intercode.engines.content import Content, Row
from intercode.engines.statements import kind_of, split
from intercode.envs.sql import SqlEnv
from intercode.envs.sql_view import observed
from intercode.errors import TaskError, UsageError
from intercode.rewards import sql_published, sql_v2
from intercode.rewards.score import Score
from intercode.rewards.sql_order import Order, order_of
from intercode.tasks.model import Dataset, Task

COPIES = 3

_Changed = Mapping[str, TableState | None]


@dataclass(frozen=True)
class _Gold:
    """What the gold came to on the pristine data: ``answer``'s agent is not filled in. ``order`` is
    None where its rows have none."""

    sql: str
    order: Order | None
    answer: sql_v2.Results
    changed: _Changed
    rules: sql_v2.Rules


class SqlV2(SqlEnv):
    """See the module, and `SqlEnv` for the interface.

    ``copies``: how many databases with other data an answer is tried on; 0 trusts the pristine one.
    ``columns``: the answer's columns have to be in the gold's order (``ordered``) or in any
    (``permuted``).
    """

    options: ClassVar[tuple[str, ...]] = (*SqlEnv.options, "copies", "columns")

    _rows: tuple[Row, ...] | None = None
    _actions: tuple[str, ...] = ()

    def __init__(
        self,
        dataset: str | Dataset = "bundled:sql",
        *,
        copies: int = COPIES,
        columns: sql_v2.Columns = "ordered",
        **options: Any,
    ) -> None:
        """``options``: those of `SqlEnv`."""
        if columns not in get_args(sql_v2.Columns):
            known = ", ".join(get_args(sql_v2.Columns))
            raise UsageError(f"columns cannot be {columns!r}", remedy=f"one of {known}")
        if not isinstance(copies, int) or not 0 <= copies <= 100:
            raise UsageError(f"copies cannot be {copies!r}", remedy="a number from 0 to 100")
        super().__init__(dataset, **options)
        self.copies = copies
        self.columns = columns

    def _begin(self, task: Task) -> None:
        self._rows, self._actions = None, ()
        super()._begin(task)

    def _execute(self, action: str) -> tuple[str, dict[str, Any]]:
        results = self.session.execute(action, self.limits)
        self._actions = (*self._actions, action)
        self._rows = _answer(results)
        last = results[-1]
        return observed(results), {
            "action_executed": last.ok,
            "timed_out": last.timed_out,
            "truncated": last.truncated,
            "refused": last.refused,
        }

    # -- scoring -----------------------------------------------------------------------------------

    def _scored(self) -> Score:
        if "result_csv" in self.task.reward:
            return sql_published.score(self._rows, self.task.reward)
        changed = self.session.changed()
        best = Score(-1.0)
        for sql in (self.task.gold, *self.task.alternatives):
            best = max(best, self._measured(self._gold(sql), changed), key=lambda s: s.reward)
            if best.success:
                break
        return best

    def _measured(self, gold: _Gold, changed: _Changed) -> Score:
        if gold.changed:
            return self._measured_state(gold, changed)
        here = replace(gold.answer, agent=self._rows)
        score = sql_v2.suite(here, (), gold.rules)
        if score.success and self.copies:
            others = [self._on_copy(gold, seed) for seed in range(1, self.copies + 1)]
            score = sql_v2.suite(here, others, gold.rules)
        if not changed:
            return score
        why = f"changed what was only to be read: {', '.join(sorted(changed))}"
        reward = min(score.reward, sql_v2.DISAGREEING)
        return Score(reward, {**score.components, "state": 0.0}, {**score.details, "why": why})

    def _measured_state(self, gold: _Gold, changed: _Changed) -> Score:
        pristine = {
            table.name: TableState(tuple(c.name for c in table.columns), table.rows)
            for table in self._pristine().tables
        }
        state = sql_v2.state(changed, gold.changed, pristine)
        if gold.answer.gold is None:
            return replace(state, components={"state": state.components["iou"]})
        answer = sql_v2.suite(replace(gold.answer, agent=self._rows), (), gold.rules)
        components = {"state": state.components["iou"], "answer": answer.components["iou"]}
        if state.success and answer.success:
            return Score(1.0, components)
        worse = state if not state.success else answer
        return Score(sql_v2.DISAGREEING * sum(components.values()) / 2, components, worse.details)

    def _on_copy(self, gold: _Gold, seed: int) -> sql_v2.Results:
        """What the agent's query and the gold give on a database with other data."""
        golds = self.dataset.golds_on(self.database.name)
        content = self._runtime.perturbed(self.database, seed, golds)
        key = ("sql-v2", gold.sql, content, self.limits)
        wanted = self._runtime.gold(key, lambda: self._wanted(gold, content))
        if wanted.gold is None:
            return wanted
        return replace(wanted, agent=self._run(content, self._needed()))

    def _wanted(self, gold: _Gold, content: Content) -> sql_v2.Results:
        with closing(self._session_on(content)) as session:
            if gold.rules.keys is not None and gold.order is not None:
                return _ordered(session, gold.order, self.limits)
            return sql_v2.Results(None, _answer(session.execute(gold.sql, self.limits)))

    def _needed(self) -> tuple[str, ...]:
        """The actions that the answer depends on: the last one, if those before it only looked."""
        dialect = self.database.dialect
        if all(_only_looks(action, dialect) for action in self._actions[:-1]):
            return self._actions[-1:]
        return self._actions

    def _run(self, content: Content, actions: tuple[str, ...]) -> tuple[Row, ...] | None:
        rows = None
        with closing(self._session_on(content)) as session:
            for action in actions:
                rows = _answer(session.execute(action, self.limits))
        return rows

    def _gold(self, sql: str) -> _Gold:
        task, database = self.task, self.database
        key = ("sql-v2", task.content_hash, sql, database, self.limits, self.columns)
        if not sql.strip():
            raise TaskError(f"task {task.id!r} has no gold to be scored by")
        return self._runtime.gold(key, lambda: self._run_gold(task, sql))

    def _run_gold(self, task: Task, sql: str) -> _Gold:
        with closing(self._session_on(self._pristine())) as session:
            results = session.execute(sql, self.limits)
            failed = next((result for result in results if not result.ok), None)
            if failed is not None:
                raise TaskError(f"the gold of task {task.id!r} fails here: {failed.error}")
            if any(result.truncated for result in results):
                raise TaskError(f"the gold of task {task.id!r} gives more rows than are fetched")
            changed = session.changed()
            answer = sql_v2.Results(None, _answer(results))
            order = None if changed else order_of(sql, self.database.dialect)
            if order is None:
                return _Gold(sql, None, answer, changed, sql_v2.Rules(columns=self.columns))
            if order.keys is not None:
                found = _ordered(session, order, self.limits)
                if found.gold is not None and len(found.gold) == len(answer.gold or ()):
                    rules = sql_v2.Rules(True, order.keys, order.hidden, self.columns)
                    return _Gold(sql, order, found, changed, rules)
            return _Gold(sql, order, answer, changed, sql_v2.Rules(True, columns=self.columns))

    def _memory(self) -> Any:
        return self._rows, self._actions

    def _recall(self, memory: Any) -> None:
        self._rows, self._actions = memory


def _ordered(session: Session, order: Order, limits: QueryLimits) -> sql_v2.Results:
    """The gold's rows with the columns that they are sorted by, and those that a LIMIT might as
    well have let through."""
    (result,) = session.execute(order.sql, limits)
    rows = result.rows
    if rows is None or result.truncated:
        return sql_v2.Results(None, None)
    shown = rows[: order.limit]
    tied: list[Row] = []
    if shown and order.keys is not None:
        last = [shown[-1][index] for index in order.keys]
        cut_off = rows[len(shown) :]
        tied = list(takewhile(lambda row: [row[i] for i in order.keys or ()] == last, cut_off))
    return sql_v2.Results(None, shown, tied)


_LOOKS = frozenset(("select", "values", "show", "desc", "describe", "use", ""))


def _only_looks(action: str, dialect: str) -> bool:
    """Whether later actions can do without this one. Variables are set with an ``@`` in MySQL, and
    a SELECT can make a table of its result INTO a name."""
    if "@" in action or "into" in action.lower():
        return False
    return all(kind_of(statement, dialect) in _LOOKS for statement in split(action, dialect))


def _answer(results: tuple[QueryResult, ...]) -> tuple[Row, ...] | None:
    """The rows of the last result set; None if there is none, or something failed."""
    if not all(result.ok for result in results):
        return None
    return next((r.rows for r in reversed(results) if r.rows is not None), None)
