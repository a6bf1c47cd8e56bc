"""Recorded trajectories: what upstream published, and runs of our own, in one form.

Upstream's files are objects keyed by task number, sometimes wrapped as ``{meta, logs}``. An episode
keeps lists side by side in ``turn_history`` (multi-turn; ``thoughts`` beside them for ReAct,
``steps`` for Plan & Solve) or a list of objects in ``trajectory`` (people). Optional things may be
missing, null, or shorter than the actions; what cannot be understood is refused by name.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from intercode.agents.fields import Fields, shown
from intercode.agents.recording import RecordedEpisode, RecordedTurn, Recording
from intercode.errors import DatasetError
from intercode.runs.folder import EPISODES_FILE, RUN_FILE, latest, read_head, read_records
from intercode.runs.record import EpisodeRecord

__all__ = [
    "RecordedEpisode", "RecordedTurn", "Recording", "episodes_file", "read_recording",
]  # fmt: skip

ENVIRONMENTS = ("bash", "sql", "python", "ctf", "swe")


def read_recording(path: Path) -> Recording:
    """Reads one of upstream's files, or a run's folder.

    :raises DatasetError: it cannot be understood; the message names file, task and field.
    :raises RunError: it is a run's folder, and damaged.
    """
    if path.is_dir() or path.name == EPISODES_FILE:
        return _read_run(path if path.is_dir() else path.parent)
    body = _load(path)
    meta: Any = {}
    if isinstance(body, dict) and "logs" in body:
        meta, body = body.get("meta") or {}, body["logs"] or {}
    if isinstance(body, list):
        body = {str(index): item for index, item in enumerate(body)}
    if not isinstance(body, dict) or not isinstance(meta, dict):
        raise DatasetError(
            f"{path}: not an object keyed by task", remedy="name a file of recorded trajectories"
        )
    tasks = [Fields(path, f"task {key}", item) for key, item in body.items()]
    return Recording(
        path=path,
        kind=_kind(tasks),
        environment=_environment(path, tasks, meta),
        episodes=tuple(
            _episode(task, key, meta) for task, key in zip(tasks, body, strict=True)
        ),
        meta=meta,
    )  # fmt: skip


def episodes_file(path: Path) -> Path:
    """The file that decides what is read: the one named, or the one in a run's folder."""
    return path / EPISODES_FILE if path.is_dir() else path


def _load(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        raise DatasetError(f"there is no file {path}", remedy="check the path") from None
    except OSError as error:
        raise DatasetError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise DatasetError(f"{path} is not JSON: {error}") from error


def _kind(tasks: list[Fields]) -> str:
    if any(task.has("trajectory") for task in tasks):
        return "human"
    histories = [task.object("turn_history") for task in tasks]
    if any(history.has("thoughts") for history in histories):
        return "react"
    if any(history.has("steps") for history in histories):
        return "plan-solve"
    return "multi-turn"


def _environment(path: Path, tasks: list[Fields], meta: Mapping[str, Any]) -> str | None:
    """What the tasks say, else the meta data, else a word of the path."""
    said = [tasks[0].values.get("environment")] if tasks else []
    words = [*said, meta.get("env"), *path.stem.split("_"), *reversed(path.parts[:-1])]
    for word in words:
        name = str(word).lower().removeprefix("ic_")
        if name in ENVIRONMENTS:
            return name
    return None


def _episode(task: Fields, key: str, meta: Mapping[str, Any]) -> RecordedEpisode:
    summary = task.object("summary")
    turns = _steps(task) if task.has("trajectory") else _history(task.object("turn_history"))
    taken = summary.integer("turns_taken")
    return RecordedEpisode(
        task_index=_index(task, key),
        instruction=task.text("query") or "",
        turns=turns,
        max_reward=_max_reward(task, summary, turns),
        gold=task.text("gold"),
        source=_source(task.text("dataset") or meta.get("data_path")),
        hardness=task.text("hardness"),
        turns_taken=len(turns) if taken is None and task.has("trajectory") else taken,
        turns_max=summary.integer("turns_max"),
        info=task.values.get("info"),
    )


def _index(task: Fields, key: str) -> int:
    for name in ("task_id", "query_idx"):
        index = task.integer(name)
        if index is not None:
            return index
    if key.isdecimal():
        return int(key)
    raise task.error("task_id", "missing, and the key is not a number")


def _max_reward(task: Fields, summary: Fields, turns: tuple[RecordedTurn, ...]) -> float:
    """As the recording says; else the best of its turns; 0 where nothing was ever scored."""
    for said in (summary.number("max_reward"), task.number("reward")):
        if said is not None:
            return said
    scored = [turn.reward for turn in turns if turn.reward is not None]
    unmatched = [r for r in task.object("turn_history").numbers("rewards") if r is not None]
    return max([*scored, *unmatched], default=0.0)


def _steps(task: Fields) -> tuple[RecordedTurn, ...]:
    return tuple(
        RecordedTurn(
            action=step.text("action") or "",
            observation=shown(step.values.get("observation")),
            reward=step.number("reward"),
            valid=step.boolean("valid_action"),
            thought=step.text("thought"),
        )
        for step in task.objects("trajectory")
    )


def _history(history: Fields) -> tuple[RecordedTurn, ...]:
    """The lists side by side: as many turns as actions, with None for what a list lacks."""
    actions = history.texts("actions")

    def beside(column: list[Any]) -> list[Any]:
        return [*column, *[None] * len(actions)][: len(actions)]

    rows = zip(
        beside(history.list("observations")),
        beside(history.numbers("rewards")),
        beside(history.booleans("valid_action")),
        beside(history.texts("thoughts" if history.has("thoughts") else "steps")),
        strict=True,
    )
    return tuple(
        RecordedTurn(action or "", shown(observation), *rest)
        for action, (observation, *rest) in zip(actions, rows, strict=True)
    )


def _source(dataset: Any) -> str | None:
    return PurePosixPath(dataset).name if isinstance(dataset, str) else None


def _read_run(folder: Path) -> Recording:
    config = read_head(folder)["config"] if (folder / RUN_FILE).exists() else {}
    if not (folder / EPISODES_FILE).exists():
        raise DatasetError(f"{folder}: there is no {EPISODES_FILE} in it")
    name = str(config.get("env", "")).removeprefix("intercode/").partition("-")[0].lower()
    return Recording(
        path=folder,
        kind="run",
        environment=name if name in ENVIRONMENTS else None,
        episodes=tuple(
            _own_episode(index, record)
            for index, record in enumerate(latest(read_records(folder)))
        ),
        meta=config,
    )  # fmt: skip


def _own_episode(index: int, record: EpisodeRecord) -> RecordedEpisode:
    rewards = [turn.reward for turn in record.turns] + [record.reward]
    hardness = record.labels.get("hardness")
    return RecordedEpisode(
        task_index=index,
        instruction=record.instruction,
        turns=tuple(
            RecordedTurn(turn.action, turn.observation, turn.reward, turn.executed)
            for turn in record.turns
        ),
        max_reward=max((reward for reward in rewards if reward is not None), default=0.0),
        task_id=record.task_id,
        hardness=None if hardness is None else str(hardness),
        turns_taken=len(record.actions),
    )
