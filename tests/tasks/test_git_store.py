"""A repository written as data is one for Git."""

from __future__ import annotations

import io
import shutil
import subprocess
import tarfile
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intercode.tasks.git_store import Commit, repository, zlib_stored
from intercode.tasks.tree import build_tar

WHO = "A Tester <a@example.org>"
COMMITS = (
    Commit("first", WHO, 1_600_000_000, {"a.txt": "one\n", "lib/x.py": "x = 1\n", "lib.py": ""}),
    Commit(
        "second\n\nwith words below",
        WHO,
        1_600_000_100,
        {"a.txt": "two\n", "lib/x.py": "x = 1\n", "lib/deep/ü.py": "", "lib-a": "b", "run": "#!\n"},
        frozenset({"run"}),
    ),
)


@given(st.binary(max_size=200), st.integers(0, 2))
def test_stored_blocks_are_zlibs(body: bytes, times: int) -> None:
    whole = body * (400 * times)
    assert zlib.decompress(zlib_stored(whole)) == whole


def test_the_same_commits_give_the_same_bytes() -> None:
    assert build_tar(repository(COMMITS, "r")) == build_tar(repository(COMMITS, "r"))
    changed = (COMMITS[0], Commit("other", WHO, 1_600_000_100, COMMITS[1].files))
    assert build_tar(repository(COMMITS, "r")) != build_tar(repository(changed, "r"))


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    if shutil.which("git") is None:
        pytest.skip("needs git")
    with tarfile.open(fileobj=io.BytesIO(build_tar(repository(COMMITS, "r")))) as tar:
        tar.extractall(tmp_path, filter="tar")
    return tmp_path / "r"


def _git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-c", "safe.directory=*", "-C", str(folder), *words],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout + done.stderr


def test_git_finds_it_whole_and_clean(checkout: Path) -> None:
    assert _git(checkout, "fsck", "--full", "--strict") == ""
    assert _git(checkout, "status", "--short") == ""
    assert _git(checkout, "log", "--format=%s|%an|%at").splitlines() == [
        "second|A Tester|1600000100",
        "first|A Tester|1600000000",
    ]


def test_git_tells_what_changed(checkout: Path) -> None:
    (checkout / "a.txt").write_text("three\n")
    assert _git(checkout, "status", "--short") == " M a.txt\n"
    assert _git(checkout, "show", "--stat", "--format=", "HEAD").count("|") == 4
    assert "-one\n+two\n" in _git(checkout, "show", "HEAD", "--", "a.txt")


def test_it_can_be_gone_on_with(checkout: Path) -> None:
    (checkout / "a.txt").write_text("three\n")
    who = ["-c", "user.name=B", "-c", "user.email=b@example.org"]
    _git(checkout, *who, "commit", "-a", "-q", "-m", "third")
    assert _git(checkout, "rev-list", "--count", "HEAD").strip() == "3"
