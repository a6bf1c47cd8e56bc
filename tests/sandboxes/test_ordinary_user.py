"""Bubblewrap sandboxes of a user without any rights: the same promises, kept by other means.

As root these tests run `ordinary_user` as somebody nobody knows; as anybody else, as oneself.
"""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import intercode

UID = 64_321 if os.getuid() == 0 else os.getuid()
GID = 64_321 if os.getuid() == 0 else os.getgid()
SCRIPT = Path(__file__).parent / "ordinary_user.py"
CHECKS = [
    node.name
    for node in ast.parse(SCRIPT.read_text()).body
    if isinstance(node, ast.FunctionDef) and node.name.startswith("check_")
]

pytestmark = [pytest.mark.bubblewrap, pytest.mark.timeout(240)]


class User(NamedTuple):
    """Somebody with a folder, and a Python that this somebody can run."""

    home: Path
    python: str

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        source = Path(intercode.__file__).parents[1]
        switch: dict[str, Any] = {}
        if os.getuid() == 0:
            switch = {"user": UID, "group": GID, "extra_groups": []}
        return subprocess.Popen(
            [self.python, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.home,
            env={
                "PATH": "/usr/local/bin:/usr/bin:/bin",
                "HOME": str(self.home),
                "TMPDIR": str(self.home),
                "INTERCODE_CACHE": str(self.home / "cache"),
                "PYTHONPATH": str(source),
                "PYTHONDONTWRITEBYTECODE": "1",
            },
            **switch,
        )


@pytest.fixture(scope="module")
def user() -> Iterator[User]:
    # Not pytest's own folder, which nobody else may enter.
    home = Path(tempfile.mkdtemp(prefix="intercode-user-"))
    try:
        os.chown(home, UID, GID)
        yield User(home, _reachable_python(home))
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _reachable_python(home: Path) -> str:
    wanted = "import sys, intercode.sandboxes.base; sys.exit(sys.version_info < (3, 11))"
    for python in (sys.executable, "/usr/bin/python3"):
        try:
            process = User(home, python).start("-c", wanted)
        except OSError:
            continue
        process.communicate(timeout=60)
        if process.returncode == 0:
            return python
    pytest.skip("no test: no Python 3.11 and InterCode that another user can read")


@pytest.fixture(scope="module")
def results(user: User) -> dict[str, str]:
    """How each check failed; an empty text if it did not."""
    process = user.start(str(SCRIPT))
    said, complaints = process.communicate(timeout=200)
    assert process.returncode == 0, complaints
    found: dict[str, str] = json.loads(said)
    return found


@pytest.mark.parametrize("check", [*CHECKS, "check_nothing_open", "check_nothing_left"])
def test_ordinary_user(check: str, results: dict[str, str]) -> None:
    if results[check]:
        pytest.fail(results[check], pytrace=False)


@pytest.mark.skipif(os.getuid() != 0, reason="needs more than one user")
def test_kill_9_leaves_nothing(user: User) -> None:
    owner = user.start(str(SCRIPT), "hold")
    assert owner.stdout is not None
    assert owner.stdout.readline() == "working\n"
    assert len(_processes()) > 10
    owner.kill()
    owner.communicate()
    deadline = time.monotonic() + 5
    while _processes() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _processes()
    # What that one kept on the disk goes when the next one starts.
    state = user.home / f"intercode-{UID}"
    assert list(state.iterdir())
    again = user.start(str(SCRIPT), "check_shell_lasts")
    said, _ = again.communicate(timeout=60)
    assert set(json.loads(said).values()) == {""}
    assert not list(state.iterdir())


def _processes() -> list[str]:
    """Everything the user runs, wherever it runs."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if process.stat().st_uid == UID and " Z " not in (process / "stat").read_text():
                found.append(process.name)
        except OSError:
            continue
    return found
