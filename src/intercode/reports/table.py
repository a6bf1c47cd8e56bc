"""Tables for a terminal: within 80 columns, and plain text where there is no terminal.

``rich`` is imported when something is drawn, not before.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import IO, TYPE_CHECKING

from intercode.reports.summary import Summary

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

WIDTH = 80


def console(stream: IO[str] | None = None, *, colour: bool = True) -> Console:
    """Where tables go: ``stream``, else standard output. Colours only on a terminal, and not if
    ``colour`` is off or ``NO_COLOR`` set."""
    from rich.console import Console

    stream = stream or sys.stdout
    probe = Console(file=stream)
    return Console(
        file=stream,
        width=min(WIDTH, probe.width),
        highlight=False,
        emoji=False,
        no_color=True if not colour else None,
    )


def new_table(*columns: str, numbers: Iterable[str] = (), gap: int = 2) -> Table:
    """A table without lines; the columns named in ``numbers`` are set to the right."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, gap, 0, 0))
    for column in columns:
        right = column in set(numbers)
        table.add_column(
            column, justify="right" if right else "left", overflow="fold", no_wrap=right
        )
    return table


def add_row(table: Table, *cells: str) -> None:
    """Adds cells as they are: brackets and colons in a command are not markup."""
    from rich.text import Text

    table.add_row(*(Text(printable(cell)) for cell in cells))


def printable(text: str) -> str:
    """``text`` with what could move a terminal's cursor, or change its colours, shown as �."""
    return "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text)


def shortened(text: str, width: int) -> str:
    """``text`` on one line of at most ``width`` characters."""
    line = " ".join(text.split())
    return line if len(line) <= width else f"{line[: width - 1]}…"


def summary_table(overall: Summary, groups: Mapping[str, Sequence[Summary]]) -> Table:
    """A line for all, then one for each group under its key."""
    columns = ["tasks", "solved", "95 % interval", "reward", "turns", "errors"]
    if overall.failed:
        columns.append("failed")
    table = new_table("", *columns, numbers=columns, gap=1)
    add_row(table, overall.name, *_cells(overall)[: len(columns)])
    for key, summaries in groups.items():
        add_row(table)
        add_row(table, key.replace("_", " "))
        for summary in summaries:
            name = f"  {shortened(summary.name, 18)}"
            add_row(table, name, *_cells(summary)[: len(columns)])
    return table


def failures(summary: Summary) -> str:
    """How many episodes failed, by cause, in words; empty if none did."""
    if not summary.failed:
        return ""
    causes = ", ".join(f"{count} {cause}" for cause, count in summary.failed.items())
    return f"{sum(summary.failed.values())} failed: {causes}"


def reward_in_words(reward: float, components: Mapping[str, float]) -> str:
    """``reward 0.66 (state 1.00, output 0.32)``"""
    parts = ", ".join(f"{name} {value:.2f}" for name, value in components.items())
    return f"reward {reward:.2f} ({parts})" if parts else f"reward {reward:.2f}"


def percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f}%"


def _cells(summary: Summary) -> tuple[str, ...]:
    low, high = summary.success_interval
    failed = sum(summary.failed.values())
    return (
        f"{summary.tasks:,}",
        percent(summary.success_rate),
        f"{100 * low:.1f}–{100 * high:.1f}%" if summary.scored else "–",
        _reward(summary),
        "–" if summary.mean_turns is None else f"{summary.mean_turns:.1f}",
        percent(summary.error_rate),
        f"{failed:,}" if failed else "",
    )


def _reward(summary: Summary) -> str:
    if summary.mean_reward is None:
        return "–"
    error = "" if summary.reward_error is None else f"±{summary.reward_error:.3f}"
    return f"{summary.mean_reward:.3f}{error}"
