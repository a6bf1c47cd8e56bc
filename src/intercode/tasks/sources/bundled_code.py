"""The programs in other languages that come with InterCode, each with hidden cases.

They are asked for by name, ``bundled:code``: what they are written in is not on every machine.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from intercode.tasks.languages import language_spec
from intercode.tasks.model import Dataset, Task
from intercode.tasks.sources.code_tests import CodeSpec
from intercode.tasks.sources.python_tests import StdinCase

LANGUAGES = ("javascript", "ruby", "perl", "lua", "c", "cpp")


def load() -> Dataset:
    """All of them, language by language."""
    return Dataset(
        name="bundled:code",
        tasks=tuple(_task(row, name) for name in LANGUAGES for row in rows(name)),
        description="Programs in JavaScript, Ruby, Perl, Lua, C and C++, with hidden cases.",
        source="InterCode",
        licence="MIT",
    )


def rows(language: str) -> list[Mapping[str, Any]]:
    """The tasks of a language as they are written down, tempting mistakes (``wrong``) included."""
    text = files("intercode.tasks.bundled").joinpath(f"code_{language}.toml").read_text("utf-8")
    found: list[Mapping[str, Any]] = tomllib.loads(text)["task"]
    return found


def _task(row: Mapping[str, Any], language: str) -> Task:
    cases = tuple(StdinCase(case["input"], case["output"]) for case in row["cases"])
    asked = " ".join(row["instruction"].split())
    return Task(
        id=row["id"],
        env="code",
        instruction=f"Write a program in {language_spec(language).title}. {asked}",
        gold=row["gold"].strip("\n"),
        alternatives=tuple(other.strip("\n") for other in row["alternatives"]),
        reward=CodeSpec(language, cases).to_mapping(),
        metadata={
            "source": "bundled",
            "language": language,
            "hardness": row["hardness"],
            "kind": "code",
            "tags": row["tags"],
        },
    )
