"""Why a replayed turn of SQL came out otherwise: engines that differ, or data that did.

As in `causes`, the rules know no task and no file by name.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

from intercode.runs.causes import Comparison

SQL_CAUSES = {
    "clock": "the query asks for the time",
    "random": "the query is random",
    "gold rejected": "the gold fails on one of the engines, where it counts as an empty result",
    "engine rejects": "our engine refuses a statement that the recorded one ran",
    "engine accepts": "our engine runs a statement that the recorded one refused",
    "catalog": "the engines describe their tables in other words",
    "row order": "the same rows, in another order where the query leaves it open",
    "arbitrary row": "the query shows columns that it does not group by, or cuts ties off",
    "number types": "the same values as other types, or with other digits",
    "collation": "text is compared or sorted by other rules",
    "earlier writes": "the recorded data had been changed by another episode",
    "gold came out otherwise": "the same observation, so the gold's result was another then",
    "unexplained": "no rule knows why",
}
_ERROR = "Error executing query: "
_CLOCK = re.compile(
    r"\b(?:now|curdate|curtime|current_date|current_time(?:stamp)?|sysdate|utc_\w+)\b", re.I
)
_RANDOM = re.compile(r"\b(?:rand|random|uuid)\s*\(", re.I)
_CATALOG = re.compile(
    r"^\s*(?:show|desc|describe|explain)\b|\binformation_schema\b|\bdatabase\s*\(|\bversion\s*\(",
    re.I,
)
_TYPED = re.compile(r"Decimal\('([^']*)'\)")
_DATED = re.compile(r"datetime\.\w+\(([^()]*)\)")


def sql_cause_of(compared: Comparison) -> str:
    """One of `SQL_CAUSES`."""
    task, actions = compared.task, compared.actions
    theirs, ours = compared.recorded.observation, compared.observation
    texts = (task.gold, actions[-1])
    if any(_CLOCK.search(text) for text in texts):
        return "clock"
    if any(_RANDOM.search(text) for text in texts):
        return "random"
    if ours.startswith(_ERROR) != theirs.startswith(_ERROR):
        return "engine rejects" if ours.startswith(_ERROR) else "engine accepts"
    if _CATALOG.search(actions[-1]):
        return "catalog"
    if theirs != ours:
        return _difference(theirs, ours, actions[-1])
    if any("reject" in flag or flag == "failing_gold" for flag in task.flags):
        return "gold rejected"
    return _leaves_open(task.gold) or "gold came out otherwise"


def _difference(theirs: str, ours: str, action: str) -> str:
    recorded, replayed = _rows(theirs), _rows(ours)
    if recorded is None or replayed is None:
        return "unexplained"
    if recorded != replayed and Counter(map(repr, recorded)) == Counter(map(repr, replayed)):
        return "row order"
    if _alike(recorded, replayed, _number):
        return "number types"
    if _alike(recorded, replayed, _folded):
        return "collation"
    return _leaves_open(action) or "unexplained"


def _leaves_open(sql: str) -> str | None:
    """What of a result the query itself does not decide."""
    if re.search(r"\bgroup\s+by\b|\blimit\b", sql, re.I) or re.search(
        r"\b(?:max|min|count|sum|avg)\s*\(.*,", sql, re.I | re.S
    ):
        return "arbitrary row"
    return None


def _alike(ours: list[Any], theirs: list[Any], plain: Callable[[Any], Any]) -> bool:
    """The same rows, if only what is ``plain`` of each value counts."""
    first, second = (
        Counter(repr([plain(value) for value in row]) for row in rows) for rows in (ours, theirs)
    )
    return first == second


def _number(value: Any) -> Any:
    """Numbers by their first digits, and as numbers where they are given as text."""
    try:
        return f"{float(Decimal(str(value))):.4g}"
    except (InvalidOperation, OverflowError):
        return value


def _folded(value: Any) -> Any:
    return value.casefold().rstrip() if isinstance(value, str) else _number(value)


def _rows(observation: str) -> list[Any] | None:
    """The rows that Python's text of a result shows; dates as the text of their numbers."""
    plain = _DATED.sub(r"'\1'", _TYPED.sub(r"\1", observation))
    try:
        rows = ast.literal_eval(plain)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return rows if isinstance(rows, list) and all(isinstance(r, tuple) for r in rows) else None
