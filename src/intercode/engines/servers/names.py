"""Names of what InterCode makes on a server, and how an agent sees them.

A session's database is called ``intercode_<token>_<n>`` there; the agent knows it by the task's
name. What comes back is mapped always: nobody's data contains such a name.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from intercode.engines.base import QueryResult

PREFIX = "intercode_"
AGENT = "agent"


class Names:
    """Of one engine: ``token`` is part of all that it makes on the server."""

    def __init__(self, token: str) -> None:
        self.token = token
        self._mark = PREFIX + token
        self._ours = re.compile(rf"{self._mark}_(\w+)")

    def database(self, number: int) -> str:
        return f"{self._mark}_{number}"

    def user(self, suffix: str) -> str:
        """``suffix`` starts with a letter."""
        return f"{self._mark}_{suffix}"

    def text(self, text: str, shown: str) -> str:
        if self._mark not in text:
            return text
        return self._ours.sub(lambda found: shown if found[1].isdigit() else AGENT, text)

    def result(self, result: QueryResult, shown: str) -> QueryResult:
        """As the agent sees it."""
        if result.error is not None:
            return replace(result, error=self.text(result.error, shown))
        if not result.rows:
            return result
        mark = self._mark
        if any(mark in column for column in result.columns) or any(
            mark in value for row in result.rows for value in row if type(value) is str
        ):
            columns = tuple(self.text(column, shown) for column in result.columns)
            rows = tuple(tuple(self._value(value, shown) for value in row) for row in result.rows)
            return replace(result, columns=columns, rows=rows)
        return result

    def _value(self, value: Any, shown: str) -> Any:
        return self.text(value, shown) if isinstance(value, str) else value
