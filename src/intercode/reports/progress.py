"""A run as it goes: a few lines that renew themselves on a terminal, a plain line every few seconds
elsewhere."""

from __future__ import annotations

import sys
import time
from collections import Counter
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any

from intercode.reports.stats import wilson
from intercode.reports.table import console, percent
from intercode.runs.record import EpisodeRecord
from intercode.runs.runner import Progress

if TYPE_CHECKING:
    from collections.abc import Iterable

PLAIN_EVERY_S = 5.0
_BAR = 24


class Tally:
    """What is known of a run so far, kept up with each episode."""

    def __init__(self, records: Iterable[EpisodeRecord] = ()) -> None:
        self.scored = 0
        self.solved = 0
        self.failed: Counter[str] = Counter()
        for record in records:
            self.add(record)

    def add(self, record: EpisodeRecord) -> None:
        if record.failed:
            self.failed[record.cause or "unknown"] += 1
        else:
            self.scored += 1
            self.solved += record.success

    def __str__(self) -> str:
        parts = []
        if self.scored:
            low, high = wilson(self.solved, self.scored)
            interval = f"{100 * low:.0f}–{100 * high:.0f}%"
            parts.append(f"solved {percent(self.solved / self.scored)} ({interval})")
        if self.failed:
            causes = ", ".join(f"{count} {cause}" for cause, count in self.failed.most_common())
            parts.append(f"failed {causes}")
        return " · ".join(parts)


class LiveProgress:
    """A context manager whose ``update`` is a run's ``progress``.

    ``earlier`` are the records that a resumed run already has.
    """

    def __init__(
        self,
        earlier: Iterable[EpisodeRecord] = (),
        *,
        stream: IO[str] | None = None,
        colour: bool = True,
    ) -> None:
        self._stream = stream or sys.stderr
        self._colour = colour
        self._tally = Tally(earlier)
        self._state = Progress(0, 0, 0)
        self._begun_with = 0
        self._start = self._last_line = time.monotonic()
        self._live: Any = None

    def __enter__(self) -> LiveProgress:
        screen = console(self._stream, colour=self._colour)
        if screen.is_terminal and not screen.is_dumb_terminal:
            from rich.live import Live

            self._live = Live(
                console=screen, refresh_per_second=4, transient=True, get_renderable=self._lines
            )
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live:
            self._live.stop()

    def update(self, progress: Progress) -> None:
        """Takes note, and shows it when it is time."""
        if self._state.total == 0:
            self._begun_with = progress.done
            self._start = self._last_line = time.monotonic()
        self._state = progress
        if progress.record:
            self._tally.add(progress.record)
        now = time.monotonic()
        due = progress.record is not None and now - self._last_line >= PLAIN_EVERY_S
        if self._live is None and (due or progress.stopping):
            self._last_line = now
            tally = "" if progress.stopping else str(self._tally)
            line = f"{self._facts()} · {tally}" if tally else self._facts()
            print(line, file=self._stream, flush=True)

    def _facts(self) -> str:
        state = self._state
        if state.stopping:
            return f"waiting for {state.running} running · interrupt again not to"
        facts = [f"{state.done:,} of {state.total:,} done", f"{state.running} running"]
        remaining = self._remaining_s()
        if remaining is not None:
            facts.append(f"{_duration(remaining)} left")
        return " · ".join(facts)

    def _remaining_s(self) -> float | None:
        """By the pace of this session; what a resumed run had before took none of its time."""
        ended = self._state.done - self._begun_with
        if not ended or self._state.done == self._state.total:
            return None
        pace = (time.monotonic() - self._start) / ended
        return pace * (self._state.total - self._state.done)

    def _lines(self) -> Any:
        from rich.text import Text

        state = self._state
        filled = _BAR * state.done // state.total if state.total else 0
        done, rest = "━" * filled, "━" * (_BAR - filled)
        facts = f"  {self._facts()}\n{self._tally}"
        return Text.assemble((done, "green"), (rest, "bright_black"), facts)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"
