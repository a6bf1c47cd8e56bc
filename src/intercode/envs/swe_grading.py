"""Judging a repair: the hidden tests and their controls, run in fresh sandboxes.

See `swe_artefact` for what crosses, `swe_controls` for why the tests are run twice.
"""

from __future__ import annotations

import json
import posixpath
import secrets
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import PurePosixPath
from typing import Any

from intercode.envs import swe_artefact, swe_controls, swe_logs
from intercode.envs.swe_artefact import Artefact
from intercode.errors import TaskError
from intercode.sandboxes.base import CommandResult, Sandbox
from intercode.tasks import patches
from intercode.tasks.model import Task
from intercode.tasks.sources.swe_spec import spec_of

GUEST = "/var/tmp/intercode"
ANSWER_BYTES = 32 << 20
_GRACE_S = 15.0
_DJANGO = ("./tests/runtests.py", "--verbosity", "2", "--settings=test_sqlite", "--parallel", "1")
_SYMPY = ("bin/test", "-C", "--verbose")

Files = Mapping[str, bytes | None]
"""Contents by path in the repository; None: no such file."""
Fresh = Callable[[], AbstractContextManager[Sandbox]]
"""Gives a sandbox at the base commit that nobody has used."""


@dataclass(frozen=True)
class Hidden:
    """The tests of a task as they belong in the repository, right and spoiled; what the gold makes
    of its files. All of it is known outside only."""

    tests: Files
    controls: Files
    gold: Files


class Grader:
    """Judges repairs of one task. ``fresh`` may be called from several threads."""

    def __init__(self, task: Task, fresh: Fresh) -> None:
        self._task = task
        self._spec = spec_of(task)
        self._fresh = fresh

    @cached_property
    def is_counted(self) -> Callable[[str], bool]:
        touched = frozenset(_paths(self._spec.test_patch))
        return swe_artefact.counts(self._spec, touched, frozenset(_paths(self._spec.patch)))

    def hidden(self) -> Hidden:
        """:raises TaskError: a patch of the task does not fit its repository."""
        with self._fresh() as sandbox:

            def read(path: str) -> bytes | None:
                with suppress(OSError):
                    return sandbox.read_file(self._inside(path))
                return None

            tests = patches.applied(self._spec.test_patch, read)
            for path in self._named_files():
                if path not in tests and (body := read(path)) is not None:
                    tests[path] = body
            return Hidden(
                tests,
                {path: self._spoiled(path, body) for path, body in tests.items()},
                patches.applied(self._spec.patch, read) if self._spec.patch else {},
            )

    def watched(self, hidden: Hidden) -> frozenset[str]:
        """The tests whose controls tell: the gold fails them, and passes the tests themselves.
        None without a gold.

        :raises TaskError: the gold does not pass all tests that it should.
        """
        if not hidden.gold:
            return frozenset()
        right = self._run(hidden.tests, lambda sandbox: self._write(sandbox, hidden.gold))
        if wrong := [name for name in self._spec.tests if not right[name]]:
            raise TaskError(
                f"the gold of task {self._task.id!r} does not pass {len(wrong)} of its "
                f"{len(self._spec.tests)} tests, {wrong[0]!r} among them",
                remedy="are the repository's dependencies in the image? intercode play shows it",
            )
        spoiled = self._run(hidden.controls, lambda sandbox: self._write(sandbox, hidden.gold))
        return frozenset(name for name in self._spec.tests if not spoiled[name])

    def passed(
        self, hidden: Hidden, watched: frozenset[str], artefact: Artefact
    ) -> tuple[dict[str, bool], list[str]]:
        """Whether the changed repository passes each test; and those that it passed although they
        were spoiled, which count as not passed."""
        right = self._run(hidden.tests, lambda sandbox: swe_artefact.put(sandbox, artefact))
        if not watched or not any(right.values()):
            return right, []
        spoiled = self._run(hidden.controls, lambda sandbox: swe_artefact.put(sandbox, artefact))
        # What is wrong may well give what a control wants; only who passes both has not computed.
        forged = [name for name in watched if right[name] and spoiled[name]]
        return {name: ok and name not in forged for name, ok in right.items()}, sorted(forged)

    def _spoiled(self, path: str, body: bytes | None) -> bytes | None:
        if body is None or not path.endswith(".py"):
            return body
        return swe_controls.spoiled(body, f"{self._task.content_hash} {path}") or body

    def _named_files(self) -> Iterable[str]:
        """The files in which the tests are, as far as their names tell."""
        if self._spec.harness == "pytest":
            return sorted({name.partition("::")[0] for name in self._spec.tests if "::" in name})
        if self._spec.harness != "unittest":
            return []
        parts = [name.split(".")[:-2] for name in self._spec.tests]
        return sorted({"/".join(part) + ".py" for part in parts})

    def _run(self, tests: Files, change: Callable[[Sandbox], None]) -> dict[str, bool]:
        """Whether each test passes in a fresh sandbox with a change and these test files."""
        spec, secret = self._spec, secrets.token_hex(16)
        request = {
            "harness": spec.harness,
            "root": spec.root,
            "source_paths": spec.source_paths,
            "tests": spec.tests,
            "files": _directives(spec.harness, tests),
            "command": _command(spec.harness, tests),
            "test_timeout_s": spec.test_timeout_s,
            "total_timeout_s": spec.total_timeout_s,
        }
        with self._fresh() as sandbox:
            change(sandbox)
            self._write(sandbox, tests)
            for name in ("grade.py", "reporter.py"):
                source = files("intercode.envs.swe_guest").joinpath(name).read_bytes()
                sandbox.write_file(f"{GUEST}/{name}", source)
            sandbox.write_file(f"{GUEST}/request.json", json.dumps(request).encode())
            result = sandbox.run(
                ["python3", "-I", "-B", f"{GUEST}/grade.py", f"{GUEST}/request.json"],
                stdin=f"{secret}\n".encode(),
                timeout_s=spec.total_timeout_s + _GRACE_S,
                max_output_bytes=ANSWER_BYTES,
            )
        return self._verdicts(result, secret)

    def _verdicts(self, result: CommandResult, secret: str) -> dict[str, bool]:
        if result.failure == "exec":
            raise TaskError(
                f"task {self._task.id!r} cannot be scored: its image has no python3",
                remedy="choose one that has it, for instance --base docker:python:3.11-slim",
            )
        answer = _answer(result.raw, secret)
        if "log" in answer:
            found = dict(swe_logs.verdicts(self._spec.harness, str(answer["log"])))
        else:
            found = {name: told[0] for name, told in answer.get("results", {}).items()}
        return {name: _is_passed(name, found, self._spec.harness) for name in self._spec.tests}

    def _write(self, sandbox: Sandbox, contents: Files) -> None:
        """Whatever the agent has put in the place of a folder above gives way."""
        above = {folder for path in contents for folder in PurePosixPath(path).parents}
        artefact = Artefact(
            gone=tuple(self._inside(path) for path, body in contents.items() if body is None),
            folders=tuple(self._inside(str(folder)) for folder in sorted(above)),
        )
        swe_artefact.put(sandbox, artefact)
        for path, body in contents.items():
            if body is not None:
                sandbox.write_file(self._inside(path), body)

    def _inside(self, path: str) -> str:
        return posixpath.join(self._spec.root, path)


def _answer(raw: bytes, secret: str) -> Mapping[str, Any]:
    """What our program answered; nothing, where code under test has killed it."""
    for line in reversed(raw.splitlines()):
        word, _, rest = line.partition(b" ")
        if word == secret.encode():
            answer: Mapping[str, Any] = json.loads(rest)
            return answer
    return {}


def _is_passed(name: str, found: Mapping[str, str], harness: str) -> bool:
    if name in found:
        return found[name] == "passed"
    if harness != "pytest":
        return False
    # SWE-bench cuts names at the first space: all tests that begin so have to pass.
    same = [verdict for full, verdict in found.items() if full.split(" ")[0] == name]
    return bool(same) and all(verdict == "passed" for verdict in same)


def _paths(patch: str) -> list[str]:
    return [path for file in patches.parsed(patch) for path in file.paths]


def _directives(harness: str, tests: Files) -> list[str]:
    """The test files to run."""
    if harness == "unittest":
        return []
    names = (posixpath.basename(path) for path in tests)
    return sorted(
        path
        for path, name in zip(tests, names, strict=True)
        if tests[path] is not None and name.endswith(".py") and name != "conftest.py"
    )


def _command(harness: str, tests: Files) -> list[str]:
    paths = _directives(harness, tests)
    if harness == "django":
        labels = [p.removeprefix("tests/").removesuffix(".py").replace("/", ".") for p in paths]
        return ["python3", *_DJANGO, *labels]
    return ["python3", *_SYMPY, *paths] if harness == "sympy" else []
