"""How hard Spider calls a question, by the rule that its evaluation publishes.

The rule reads the parsed form of the gold that comes with each question, and adds up three counts:
*clauses* (WHERE, GROUP BY, ORDER BY, LIMIT, each joined table, each OR and each LIKE), *nested*
queries (in conditions, or behind INTERSECT, UNION and EXCEPT), and *others* (more than one
aggregate, selected column, condition or grouping). It is kept as published, its two oddities
included, since it decides how published figures are grouped: NOT in front of a condition counts as
an aggregate, and so does AND or OR between the conditions of a HAVING.

See Yu et al. 2018, "Spider", and the evaluation script in https://github.com/taoyds/spider.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

LEVELS = ("easy", "medium", "hard", "extra")

_LIKE = 9  # its place in the list of operators
_SET_OPERATIONS = ("intersect", "union", "except")


def hardness(sql: Any) -> str:
    """One of `LEVELS`, for the ``sql`` field of a question.

    :raises ValueError: it is not the parsed form of a query.
    """
    try:
        clauses, nested, others = _clauses(sql), _nested(sql), _others(sql)
    except (TypeError, KeyError, IndexError, AttributeError) as error:
        raise ValueError(f"not the parsed form of a query ({error!r})") from error
    if clauses <= 1 and nested == 0 and others == 0:
        return "easy"
    if nested == 0 and ((clauses <= 1 and others <= 2) or (clauses <= 2 and others <= 1)):
        return "medium"
    if nested == 0 and ((clauses <= 2 and others > 2) or (clauses == 3 and others <= 2)):
        return "hard"
    if nested <= 1 and clauses <= 1 and others == 0:
        return "hard"
    return "extra"


def _clauses(sql: Any) -> int:
    present = sum(bool(sql[name]) for name in ("where", "groupBy", "orderBy"))
    joined = max(len(sql["from"]["table_units"]) - 1, 0)
    alternatives = sum(link == "or" for part in _parts(sql) for link in part[1::2])
    likes = sum(condition[1] == _LIKE for condition in _conditions(sql))
    return sum((present, sql["limit"] is not None, joined, alternatives, likes))


def _nested(sql: Any) -> int:
    values = (value for condition in _conditions(sql) for value in condition[3:5])
    return sum(isinstance(value, dict) for value in values) + sum(
        sql[name] is not None for name in _SET_OPERATIONS
    )


def _others(sql: Any) -> int:
    selected, where, grouped = sql["select"][1], sql["where"], sql["groupBy"]
    ordered = [unit for value in (sql["orderBy"] or ["", []])[1] for unit in value[1:3] if unit]
    # What stands first: an aggregate's number, of a condition its NOT, of a link its first letter.
    firsts = [item[0] for item in (*selected, *where[::2], *grouped, *ordered, *sql["having"])]
    aggregates = sum(first != 0 for first in firsts)
    return sum(count > 1 for count in (aggregates, len(selected), len(where), len(grouped)))


def _parts(sql: Any) -> tuple[Sequence[Any], ...]:
    """Conditions with the links between them: of the joins, of WHERE and of HAVING."""
    return sql["from"]["conds"], sql["where"], sql["having"]


def _conditions(sql: Any) -> Iterator[Any]:
    for part in _parts(sql):
        yield from part[::2]
