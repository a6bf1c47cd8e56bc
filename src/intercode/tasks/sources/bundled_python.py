"""The Python tasks that come with InterCode: functions and classes to write, with hidden tests."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from intercode.tasks.model import Dataset, Task
from intercode.tasks.sources.python_tests import TestSpec

TOPICS = ("text", "time", "data", "algorithms", "classes", "formats")


def load() -> Dataset:
    """All of them, topic by topic. A task about something that the interpreter holds when the
    episode begins has the tag ``explore``."""
    return Dataset(
        name="bundled:python",
        tasks=tuple(_task(row, topic) for topic in TOPICS for row in rows(topic)),
        description="Python functions and classes to write, some after looking at what is there.",
        source="InterCode",
        licence="MIT",
    )


def rows(topic: str) -> list[Mapping[str, Any]]:
    """The tasks of a topic as they are written down, tempting mistakes (``wrong``) included."""
    text = files("intercode.tasks.bundled").joinpath(f"python_{topic}.toml").read_text("utf-8")
    found: list[Mapping[str, Any]] = tomllib.loads(text)["task"]
    return found


def _task(row: Mapping[str, Any], topic: str) -> Task:
    spec = TestSpec(
        "asserts",
        entry_point=row["entry_point"],
        given=row.get("given", "").strip("\n"),
        setup=row.get("setup", "").strip("\n"),
        tests=tuple(row["tests"]),
    )
    return Task(
        id=row["id"],
        env="python",
        instruction=" ".join(row["instruction"].split()),
        gold=row["gold"].strip("\n"),
        alternatives=tuple(other.strip("\n") for other in row["alternatives"]),
        reward=spec.to_mapping(),
        metadata={
            "source": "bundled",
            "topic": topic,
            "hardness": row["hardness"],
            "kind": "code",
            "tags": row["tags"],
        },
    )
