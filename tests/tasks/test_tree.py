from __future__ import annotations

import gzip
import io
import random
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intercode.errors import DatasetError, UsageError
from intercode.tasks.tree import (
    SETTLED,
    Entry,
    build_tar,
    cache_dir,
    gzip_stored,
    materialise,
    noon,
)

_letters = st.characters(codec="utf-8", exclude_characters="/\0")
_names = st.text(_letters, min_size=1, max_size=120).filter(lambda name: name not in (".", ".."))
_paths = st.lists(_names, min_size=1, max_size=4).map("/".join)
_files = st.builds(
    Entry,
    path=_paths,
    data=st.text(st.characters(codec="utf-8")) | st.binary(),
    mode=st.none() | st.integers(0, 0o7777),
    mtime=st.integers(0, 2**33),
)


def _members(archive: bytes) -> dict[str, tarfile.TarInfo]:
    with tarfile.open(fileobj=io.BytesIO(archive), encoding="utf-8") as tar:
        return {member.name: member for member in tar}


def _apart(entries: list[Entry]) -> list[Entry]:
    """Each entry below a folder of its own, so that no file is another's folder."""
    return [
        Entry(f"{number}/{entry.path}", entry.data, entry.mode, entry.mtime)
        for number, entry in enumerate(entries)
    ]


@given(st.lists(_files, max_size=6), st.randoms())
def test_archive_does_not_depend_on_order_or_moment(
    entries: list[Entry], chance: random.Random
) -> None:
    entries = _apart(entries)
    shuffled = list(entries)
    chance.shuffle(shuffled)
    assert build_tar(entries) == build_tar(shuffled)


@given(st.lists(_files, max_size=6))
def test_archive_gives_back_names_modes_times_and_contents(entries: list[Entry]) -> None:
    entries = _apart(entries)
    archive = build_tar(entries)
    members = _members(archive)
    with tarfile.open(fileobj=io.BytesIO(archive), encoding="utf-8") as tar:
        for entry in entries:
            member = members[entry.path]
            body = entry.data.encode() if isinstance(entry.data, str) else entry.data
            stored = tar.extractfile(entry.path)
            assert stored is not None
            assert stored.read() == body
            assert member.mode == (0o644 if entry.mode is None else entry.mode)
            assert member.mtime == entry.mtime


def test_everything_belongs_to_root_by_number_alone() -> None:
    for member in _members(build_tar([Entry("a/b", "x"), Entry("c", link="a/b")])).values():
        assert (member.uid, member.gid, member.uname, member.gname) == (0, 0, "", "")


def test_parents_are_added_before_their_children() -> None:
    members = _members(build_tar([Entry("/a/b/c.txt", "x")]))
    assert list(members) == ["a", "a/b", "a/b/c.txt"]
    assert members["a/b"].isdir()
    assert members["a/b"].mode == 0o755
    assert members["a/b"].mtime == SETTLED


def test_named_parent_keeps_its_mode() -> None:
    members = _members(build_tar([Entry("a/b", "x"), Entry("a", mode=0o700)]))
    assert members["a"].mode == 0o700


def test_link_keeps_its_target() -> None:
    member = _members(build_tar([Entry("höhle/→", link="../ünd so")]))["höhle/→"]
    assert member.issym()
    assert member.linkname == "../ünd so"


@pytest.mark.parametrize("path", ["", "/", "a//b", "a/", "./a", "a/../b", "a\0b", "a\ud800"])
def test_unusual_paths_are_refused(path: str) -> None:
    with pytest.raises(UsageError):
        build_tar([Entry(path, "x")])


def test_path_given_twice_is_refused() -> None:
    with pytest.raises(UsageError, match="two entries"):
        build_tar([Entry("a", "x"), Entry("/a", "y")])


def test_file_below_a_file_is_refused() -> None:
    with pytest.raises(UsageError, match="no folder"):
        build_tar([Entry("a", "x"), Entry("a/b", "y")])


@pytest.mark.parametrize("size", [0, 1, 65_535, 65_536, 200_000])
def test_stored_gzip_is_gzip(size: int) -> None:
    body = bytes(number % 251 for number in range(size))
    packed = gzip_stored(body)
    assert gzip.decompress(packed) == body
    assert packed[4:8] == b"\0\0\0\0", "no time in the header"


def test_noon_is_noon() -> None:
    assert noon("2024-01-01") == SETTLED


def test_materialise_writes_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTERCODE_CACHE", str(tmp_path))
    first = materialise("one", [Entry("a", "x")])
    assert first.tar is not None
    assert first.tar.read_bytes() == build_tar([Entry("a", "x")])
    written = first.tar.stat().st_mtime_ns
    again = materialise("one", [Entry("a", "x")])
    assert again == first
    assert first.tar.stat().st_mtime_ns == written
    assert [path.name for path in (tmp_path / "trees").iterdir()] == [first.tar.name]


def test_other_content_is_another_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTERCODE_CACHE", str(tmp_path))
    one, two = materialise("same", [Entry("a", "x")]), materialise("same", [Entry("a", "y")])
    assert one.tar != two.tar
    assert one.digest != two.digest


def test_unwritable_cache_names_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("INTERCODE_CACHE", str(blocked))
    with pytest.raises(DatasetError, match="INTERCODE_CACHE"):
        materialise("one", [Entry("a", "x")])


def test_cache_is_where_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("INTERCODE_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_dir() == tmp_path / ".cache" / "intercode"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "x"))
    assert cache_dir() == tmp_path / "x" / "intercode"
    monkeypatch.setenv("INTERCODE_CACHE", str(tmp_path / "own"))
    assert cache_dir() == tmp_path / "own"
