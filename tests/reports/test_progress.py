"""A run that is watched says where it stands."""

from __future__ import annotations

import io
from types import SimpleNamespace

import pytest

from intercode.reports import progress as module
from intercode.reports.progress import LiveProgress, Tally
from intercode.runs.record import EpisodeRecord
from intercode.runs.runner import Progress


def ended(reward: float | None, cause: str | None = None) -> EpisodeRecord:
    return EpisodeRecord("t", "x", reward=reward, cause=cause)


def test_a_tally_has_the_share_its_interval_and_the_failures() -> None:
    tally = Tally([ended(1.0), ended(0.5), ended(None, "model"), ended(None, "model")])
    assert str(tally) == "solved 50.0% (9–91%) · failed 2 model"
    assert str(Tally()) == ""


def test_without_a_terminal_a_plain_line_comes_now_and_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = iter(range(0, 1000, 2))
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: float(next(clock))))
    stream = io.StringIO()
    with LiveProgress(stream=stream) as live:
        live.update(Progress(10, 0, 0))
        for n in range(1, 9):
            live.update(Progress(10, n, 2, ended(1.0)))
    lines = stream.getvalue().splitlines()
    assert 2 <= len(lines) <= 4
    assert "of 10 done · 2 running" in lines[0]
    assert "left" in lines[0]
    assert "solved 100.0%" in lines[0]
    assert "\x1b" not in stream.getvalue()


def test_a_short_run_says_nothing() -> None:
    stream = io.StringIO()
    with LiveProgress(stream=stream) as live:
        live.update(Progress(1, 0, 0))
        live.update(Progress(1, 1, 0, ended(1.0)))
    assert stream.getvalue() == ""


def test_an_interrupted_run_says_what_it_waits_for() -> None:
    stream = io.StringIO()
    with LiveProgress(stream=stream) as live:
        live.update(Progress(5, 1, 2))
        live.update(Progress(5, 1, 2, stopping=True))
    assert "waiting for 2 running" in stream.getvalue()


def test_on_a_terminal_the_lines_renew_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    stream = io.StringIO()
    stream.isatty = lambda: True  # type: ignore[method-assign]
    with LiveProgress([ended(1.0)], stream=stream, colour=False) as live:
        live.update(Progress(4, 1, 0))
        live.update(Progress(4, 2, 1, ended(0.0)))
    assert "2 of 4 done" in stream.getvalue()
    assert "solved 50.0%" in stream.getvalue()


@pytest.mark.parametrize(
    ("seconds", "words"), [(5, "5 s"), (65, "1 min 05 s"), (3700, "1 h 01 min")]
)
def test_durations_are_said_in_words(seconds: float, words: str) -> None:
    assert module._duration(seconds) == words
