"""The repositories that come with InterCode: small and invented, each with a history and a bug.

They are written down as commits (files, then changes to them), a fix, and what the hidden tests
change; the repository that an agent gets ends with the last commit. ``.git`` is made here, so that
Git is needed neither on the machine nor in an image; python3 is, to run the tests.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from typing import Any

from intercode.tasks import patches
from intercode.tasks.git_store import Commit, repository
from intercode.tasks.lazy import Lazy
from intercode.tasks.model import Dataset, FileSystem, Task
from intercode.tasks.sources.swe_spec import ROOT, SweSpec, instruction, writing_action
from intercode.tasks.tree import Entry, materialise, noon

REPOSITORIES = ("inikit", "almanac", "tallysheet", "stockroom", "foldtext", "taskorder")

Files = Mapping[str, str]


@dataclass(frozen=True)
class Story:
    """A repository as it is written down. ``base`` are its files with the bug, ``fixed`` those
    without, ``tested`` the base's with the hidden tests."""

    row: Mapping[str, Any]
    commits: tuple[Commit, ...]
    base: Files
    fixed: Files
    tested: Files

    def mistaken(self) -> list[tuple[str, Files]]:
        """Tempting wrong repairs: what is wrong with each, and the files then."""
        return [(m["about"], edited(self.base, m["edits"])) for m in self.row["mistake"]]


def load() -> Dataset:
    """One task for each repository."""
    return Dataset(
        name="bundled:swe",
        tasks=tuple(_task(name, story(name)) for name in REPOSITORIES),
        file_systems=Lazy({name: partial(_file_system, name) for name in REPOSITORIES}),
        description="Small repositories, each with a bug that a user describes.",
        source="InterCode",
        licence="MIT",
    )


def story(name: str) -> Story:
    text = files("intercode.tasks.bundled").joinpath(f"swe_{name}.toml").read_text("utf-8")
    row = tomllib.loads(text)
    commits: list[Commit] = []
    now: dict[str, str] = {}
    for step in row["commit"]:
        now |= step.get("files", {})
        now = dict(edited(now, step.get("edits", ())))
        commits.append(Commit(step["message"], step["author"], noon(step["date"]), dict(now)))
    return Story(row, tuple(commits), now, edited(now, row["fix"]), edited(now, row["hidden"]))


def edited(before: Files, edits: Sequence[Mapping[str, str]]) -> Files:
    """Each edit replaces a text that stands exactly once in a file."""
    after = dict(before)
    for edit in edits:
        body, old = after[edit["path"]], edit["old"]
        if body.count(old) != 1:
            raise ValueError(f"{edit['path']}: {body.count(old)} times {old!r}")
        after[edit["path"]] = body.replace(old, edit["new"])
    return after


def _task(name: str, told: Story) -> Task:
    wanted = tuple(told.row["fail_to_pass"])
    spec = SweSpec(
        test_patch=patches.made(told.base, told.tested),
        fail_to_pass=wanted,
        pass_to_pass=tuple(test for test in suite_of(told.tested) if test not in wanted),
        patch=patches.made(told.base, told.fixed),
        harness="unittest",
        protected=("tests",),
        test_timeout_s=10.0,
        total_timeout_s=120.0,
    )
    changed = {path: body for path, body in told.fixed.items() if told.base.get(path) != body}
    return Task(
        id=f"swe-{name}",
        env="swe",
        instruction=instruction(told.row["issue"]),
        gold=writing_action(changed),
        file_system=name,
        reward=spec.to_mapping(),
        metadata={
            "source": "bundled",
            "repo": name,
            "hardness": told.row["hardness"],
            "tags": told.row["tags"],
        },
    )


def suite_of(tree: Files) -> Iterator[str]:
    """The names of all tests, sorted by file; a test that a class inherits is not named again."""
    for path in sorted(tree):
        if path.startswith("tests/test_"):
            module = path.removesuffix(".py").replace("/", ".")
            for cls in ast.parse(tree[path]).body:
                for test in cls.body if isinstance(cls, ast.ClassDef) else ():
                    if isinstance(test, ast.FunctionDef) and test.name.startswith("test"):
                        assert isinstance(cls, ast.ClassDef)
                        yield f"{module}.{cls.name}.{test.name}"


def _file_system(name: str) -> FileSystem:
    return materialise(name, entries(name))


def entries(name: str) -> list[Entry]:
    return repository(story(name).commits, ROOT.lstrip("/"))
