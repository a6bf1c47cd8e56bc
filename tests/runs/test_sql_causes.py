"""Why a turn of SQL disagrees: one example for each cause."""

from __future__ import annotations

import pytest

from intercode.agents.recording import RecordedTurn
from intercode.runs.causes import Comparison
from intercode.runs.sql_causes import SQL_CAUSES, sql_cause_of
from intercode.tasks.model import Task

PLAIN = "SELECT name FROM people"


def cause(
    action: str, theirs: str, ours: str, *, gold: str = PLAIN, flags: tuple[str, ...] = ()
) -> str:
    task = Task("0", "sql", "?", gold, metadata={"flags": flags})
    turn = RecordedTurn(action, theirs, 1.0)
    return sql_cause_of(Comparison(task, (action,), turn, ours, 0.0))


@pytest.mark.parametrize(
    ("named", "action", "theirs", "ours"),
    [
        ("clock", "SELECT NOW()", "[(1,)]", "[(2,)]"),
        ("random", "SELECT rand()", "[(1,)]", "[(2,)]"),
        ("engine rejects", PLAIN, "[(1,)]", "Error executing query: no"),
        ("engine accepts", PLAIN, "Error executing query: no", "[(1,)]"),
        ("catalog", "DESC people", "[('a', 'int')]", "[('a', 'INTEGER')]"),
        ("row order", PLAIN, "[(1,), (2,)]", "[(2,), (1,)]"),
        ("number types", PLAIN, "[(Decimal('1.5000'),)]", "[(1.5,)]"),
        ("number types", PLAIN, "[('3',)]", "[(3,)]"),
        ("collation", PLAIN, "[('Ann',)]", "[('ann ',)]"),
        ("arbitrary row", "SELECT a, count(*) FROM t GROUP BY b", "[('x', 1)]", "[('y', 1)]"),
        ("arbitrary row", "SELECT a FROM t ORDER BY b LIMIT 1", "[('x',)]", "[('y',)]"),
        ("gold came out otherwise", PLAIN, "[(1,)]", "[(1,)]"),
        ("unexplained", PLAIN, "[(1,)]", "[(7,)]"),
        ("unexplained", PLAIN, "[<no rows>]", "[(7,)]"),
    ],
)
def test_a_cause_by_example(named: str, action: str, theirs: str, ours: str) -> None:
    assert cause(action, theirs, ours) == named
    assert named in SQL_CAUSES


def test_the_gold_may_be_the_cause() -> None:
    assert cause(PLAIN, "[]", "[]", flags=("gold_rejected",)) == "gold rejected"
    assert cause(PLAIN, "[(1,)]", "[(1,)]", gold="SELECT a FROM t LIMIT 3") == "arbitrary row"


def test_dates_and_decimals_are_read() -> None:
    theirs = "[(datetime.date(2020, 1, 2), Decimal('2.50'))]"
    assert cause(PLAIN, theirs, "[(datetime.date(2020, 1, 2), 2.5)]") == "number types"
