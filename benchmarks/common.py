"""What all benchmarks share: turns, medians, tables of 80 columns.

Machines are noisy, so nothing is compared with a number from another day. The subjects of a
measure take turns, A B C A B C, whatever disturbs one disturbs the others, and what is reported
are medians, and ratios of medians of one run.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Sample = Callable[[], float]
"""Does one thing once and gives the seconds that count."""


@dataclass(frozen=True)
class Spread:
    """The samples of one subject, in seconds."""

    median: float
    p90: float
    samples: int

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Spread:
        ordered = sorted(seconds)
        p90 = ordered[min(len(ordered) - 1, round(0.9 * (len(ordered) - 1)))]
        return cls(statistics.median(ordered), p90, len(ordered))


def timed(act: Callable[[], Any]) -> float:
    begun = time.perf_counter()
    act()
    return time.perf_counter() - begun


def interleaved(subjects: Mapping[str, Sample], rounds: int, *, warm_up: int = 1) -> dict[str, Any]:
    """Each subject once in each round, in turn; the first ``warm_up`` rounds do not count."""
    seconds: dict[str, list[float]] = {name: [] for name in subjects}
    for number in range(warm_up + rounds):
        for name, sample in subjects.items():
            took = sample()
            if number >= warm_up:
                seconds[name].append(took)
    return {name: Spread.of(taken) for name, taken in seconds.items()}


def line_fit(points: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """(slope, value at 0) of the line through the points, by least squares."""
    xs, ys = zip(*points, strict=True)
    fitted = statistics.linear_regression(xs, ys)
    return fitted.slope, fitted.intercept


def milliseconds(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    ms = 1e3 * seconds
    return f"{ms:.0f}" if ms >= 100 else f"{ms:.1f}" if ms >= 10 else f"{ms:.2f}"


def spread_cell(spread: Spread | None) -> str:
    return "-" if spread is None else f"{milliseconds(spread.median)} ({milliseconds(spread.p90)})"


def times_cell(ratio: float) -> str:
    return f"{ratio:,.0f} x" if ratio >= 10 else f"{ratio:.2f} x"


def table(title: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Aligned columns, the first to the left, the others to the right."""
    lines = [list(head), *map(list, rows)]
    widths = [max(len(line[n]) for line in lines) for n in range(len(head))]
    text = [
        "  ".join(
            cell.rjust(width) if n else cell.ljust(width)
            for n, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
    return "\n".join([title, "", text[0], "-" * min(80, len(text[0])), *text[1:], ""])


def machine() -> dict[str, Any]:
    """What a reader of the numbers has to know of where they come from."""
    return {
        "cores": os.cpu_count(),
        "load_1m": os.getloadavg()[0],
        "kernel": platform.release(),
        "python": platform.python_version(),
    }


def parser(description: str | None) -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--json", action="store_true", help="print one JSON object and no tables")
    return made


def report(options: argparse.Namespace, text: str, facts: Mapping[str, Any]) -> None:
    if options.json:
        print(json.dumps({"machine": machine(), **facts}, indent=1, default=vars))
    else:
        here = machine()
        print(f"{text}\n{here['cores']} cores, load {here['load_1m']:.1f} at the end")
