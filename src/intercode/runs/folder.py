"""Reading a run's folder: ``run.json`` says what was asked for, ``episodes.jsonl`` what came of it.

An episode counts once its line, with its line feed, is there. What stands after the last line feed
was being written when something stopped it, and is passed over.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from intercode.errors import RunError
from intercode.runs.record import EpisodeRecord

FORMAT = 1
RUN_FILE = "run.json"
EPISODES_FILE = "episodes.jsonl"


@dataclass(frozen=True)
class Run:
    """A run as read. ``config`` decides its results; ``about`` says when and with what it was made.

    ``records`` holds one record for each task, the last one written.
    """

    folder: Path
    config: Mapping[str, Any]
    about: Mapping[str, Any]
    records: tuple[EpisodeRecord, ...]


def read_run(folder: Path) -> Run:
    """What is there by now, be the run finished, cut off or still going on.

    :raises RunError: no run, or one that is damaged elsewhere than at its end.
    """
    head = read_head(folder)
    return Run(folder, head["config"], head["about"], latest(read_records(folder)))


def read_head(folder: Path) -> dict[str, Any]:
    """What ``run.json`` says.

    :raises RunError: it is missing, damaged, or of a format that is not known here.
    """
    path = folder / RUN_FILE
    try:
        body = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        raise RunError(
            f"there is no run in {folder}", remedy="runs are listed by: intercode runs list"
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise RunError(f"{path} cannot be read: {error}") from error
    if not isinstance(body, dict) or not isinstance(body.get("config"), dict):
        raise RunError(f"{path} does not describe a run: it has no 'config'")
    if body.get("format") != FORMAT:
        raise RunError(
            f"{path} has format {body.get('format')!r}; this InterCode knows {FORMAT}",
            remedy="read it with the InterCode that made it",
        )
    about = body.get("about")
    return body | {"about": about if isinstance(about, dict) else {}}


def read_records(folder: Path) -> list[EpisodeRecord]:
    """Every record in the order written, earlier ones of a task that was tried again included.

    :raises RunError: a whole line that is not an episode.
    """
    path = folder / EPISODES_FILE
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror}") from error
    whole, _, _torn = data.rpartition(b"\n")
    return [
        _record(path, number, line)
        for number, line in enumerate(whole.split(b"\n"), start=1)
        if line.strip()
    ]


def latest(records: Iterable[EpisodeRecord]) -> tuple[EpisodeRecord, ...]:
    """The last record of each task, in the order in which tasks were first met."""
    return tuple({record.task_id: record for record in records}.values())


def _record(path: Path, number: int, line: bytes) -> EpisodeRecord:
    try:
        return EpisodeRecord.from_json(json.loads(line))
    except (ValueError, RecursionError, RunError) as error:
        raise RunError(
            f"{path}, line {number}: not an episode: {error}",
            remedy="delete that line, then resume the run",
        ) from error
