"""What a task of repairing a repository needs besides its issue: the tests, and how they are run.

It is a task's ``reward``: nothing of it enters the agent's sandbox.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from intercode.errors import TaskError
from intercode.tasks.model import Task

Harness = Literal["unittest", "pytest", "django", "sympy"]
"""How tests are named and run: one by one with ``unittest``; with pytest; with Django's or SymPy's
own runners, whose verdicts are read from what they print."""

ROOT = "/testbed"


@dataclass(frozen=True)
class SweSpec:
    """``patch`` is the gold's; ``test_patch`` brings the hidden tests. Whatever the agent does to
    the files that ``test_patch`` touches, or at or below ``protected`` (paths in the repository),
    does not count. ``source_paths`` are folders from which the tests import.

    ``repo`` (OWNER/NAME), ``base_commit`` and ``instance`` say where a repository comes from that
    is not part of the dataset.
    """

    test_patch: str
    fail_to_pass: tuple[str, ...]
    pass_to_pass: tuple[str, ...] = ()
    patch: str = ""
    harness: Harness = "pytest"
    root: str = ROOT
    protected: tuple[str, ...] = ()
    source_paths: tuple[str, ...] = (".",)
    test_timeout_s: float = 60.0
    total_timeout_s: float = 1800.0
    repo: str = ""
    base_commit: str = ""
    instance: str = ""

    @property
    def tests(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.fail_to_pass, *self.pass_to_pass)))

    def to_mapping(self) -> dict[str, Any]:
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in asdict(self).items()
        }


def spec_of(task: Task) -> SweSpec:
    """:raises TaskError: the task's reward is none of ours, or lacks its tests."""
    known = SweSpec.__dataclass_fields__
    if unknown := sorted(set(task.reward) - set(known)):
        raise TaskError(f"task {task.id!r}: reward has an unknown field {unknown[0]!r}")
    values: Mapping[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in task.reward.items()
    }
    if not values.get("test_patch") or not values.get("fail_to_pass"):
        raise TaskError(
            f"task {task.id!r} has no hidden tests, so it cannot be scored",
            remedy="take it from an edition of the dataset with test_patch and FAIL_TO_PASS",
        )
    spec = SweSpec(**values)
    if spec.harness not in get_args(Harness):
        raise TaskError(f"task {task.id!r}: there is no harness {spec.harness!r}")
    return spec


def instruction(issue: str, root: str = ROOT) -> str:
    return (
        f"The repository at {root} has the problem described below. Mend it there, in its source "
        "files; hidden tests decide, and changes to tests do not count.\n\n" + issue.strip() + "\n"
    )


def patch_action(patch: str, root: str = ROOT) -> str:
    """A shell command that applies a patch with Git."""
    mark = "PATCH"
    while mark in patch:
        mark += "_"
    return f"cd {root} && git apply --whitespace=nowarn <<'{mark}'\n{patch.rstrip(chr(10))}\n{mark}"


def writing_action(files: Mapping[str, str], root: str = ROOT) -> str:
    """A shell command that writes whole files, for images without Git."""
    lines = [f"cd {root}"]
    for path, text in files.items():
        mark = "END"
        while mark in text:
            mark += "_"
        lines.append(f"cat > {path} <<'{mark}'\n{text.rstrip(chr(10))}\n{mark}")
    return "\n".join(lines)
