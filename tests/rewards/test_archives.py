"""What is in an archive decides, not when, how hard or in which order it was packed."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import time
import zipfile
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intercode.rewards import archives
from intercode.rewards.archives import digest, is_archive

FILES = {"a.txt": b"one\n", "dir/b.txt": b"two\n"}


def tar(
    files: Mapping[str, bytes] = FILES,
    *,
    mtime: int = 0,
    mode: int = 0o644,
    format: int = tarfile.GNU_FORMAT,  # noqa: A002
    link: str = "",
    prefix: str = "",
) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=format) as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(prefix + name)
            info.size, info.mtime, info.mode = len(data), mtime, mode
            archive.addfile(info, io.BytesIO(data))
        if link:
            info = tarfile.TarInfo(prefix + "link")
            info.type, info.linkname, info.mtime = tarfile.SYMTYPE, link, mtime
            archive.addfile(info)
    return out.getvalue()


def zipped(files: Mapping[str, bytes] = FILES, *, year: int = 2001, level: int = 6) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name, (year, 1, 1, 0, 0, 0)), data)
    return out.getvalue()


SORTS = {
    "gzip": (gzip.compress(b"text\n", 9, mtime=1), gzip.compress(b"text\n", 1, mtime=2)),
    "bzip2": (bz2.compress(b"text\n", 1), bz2.compress(b"text\n", 9)),
    "xz": (lzma.compress(b"text\n", preset=0), lzma.compress(b"text\n", preset=9)),
    "tar": (tar(mtime=1), tar(mtime=2)),
    "zip": (zipped(year=1999), zipped(year=2020, level=0)),
    "tar.gz": (gzip.compress(tar(mtime=1), mtime=1), gzip.compress(tar(mtime=2), mtime=2)),
}


@pytest.mark.parametrize("sort", SORTS)
def test_times_and_levels_do_not_matter(sort: str) -> None:
    one, other = SORTS[sort]
    assert one != other
    assert is_archive(one)
    assert digest(one) == digest(other) is not None


def test_each_format_is_another_thing() -> None:
    found = {digest(one) for one, _ in SORTS.values()} | {digest(gzip.compress(b"other"))}
    assert len(found) == len(SORTS) + 1


def test_the_order_of_members_does_not_matter() -> None:
    assert digest(tar(dict(reversed(FILES.items())))) == digest(tar())


@pytest.mark.parametrize("prefix", ["./", "/"])
def test_names_that_unpack_to_one_place_are_one(prefix: str) -> None:
    assert digest(tar(prefix=prefix)) == digest(tar())


def test_tar_dialects_do_not_matter() -> None:
    files = {"d" * 90 + "/" + "n" * 120: b"long names need extension headers"}
    assert digest(tar(files, format=tarfile.PAX_FORMAT)) == digest(tar(files)) is not None


@pytest.mark.parametrize(
    "other",
    [
        tar({**FILES, "a.txt": b"changed"}),
        tar({**FILES, "c.txt": b""}),
        tar({"a.txt": FILES["a.txt"]}),
        tar({"a.txt": FILES["dir/b.txt"], "dir/b.txt": FILES["a.txt"]}),
        tar(mode=0o755),
        tar(link="a.txt"),
    ],
    ids=["content", "more", "fewer", "swapped", "mode", "link"],
)
def test_members_matter(other: bytes) -> None:
    assert digest(other) != digest(tar())


def test_a_link_is_its_target() -> None:
    assert digest(tar(link="a.txt")) != digest(tar(link="b.txt"))


def test_of_two_members_of_one_name_the_later_counts() -> None:
    twice = tar({"a.txt": b"old"})[: 2 * 512] + tar({"a.txt": b"new"})
    assert digest(twice) == digest(tar({"a.txt": b"new"}))


def test_archives_within_archives_are_looked_into() -> None:
    one, other = (tar({"in.gz": gzip.compress(b"x", mtime=m)}, mtime=m) for m in (1, 2))
    assert digest(one) == digest(other)


def test_two_streams_in_a_row_are_their_contents() -> None:
    assert digest(gzip.compress(b"ab") + gzip.compress(b"cd")) == digest(gzip.compress(b"abcd"))


@pytest.mark.parametrize("data", [b"", b"text", b"\x1f\x8b", b"PK", bytes(10240)])
def test_what_is_no_archive_has_no_digest(data: bytes) -> None:
    assert digest(data) is None


@pytest.mark.parametrize("sort", SORTS)
def test_what_is_cut_short_has_no_digest(sort: str) -> None:
    data = SORTS[sort][0].rstrip(b"\0")
    assert digest(data[: len(data) * 2 // 3]) is None


def test_a_damaged_header_has_no_digest() -> None:
    data = bytearray(tar())
    data[0] ^= 1
    assert digest(bytes(data)) is None


def test_a_bomb_costs_little_and_has_no_digest() -> None:
    bomb = gzip.compress(bytes(archives.MAX_UNPACKED_BYTES + 1))
    started = time.monotonic()
    assert digest(bomb) is None
    assert time.monotonic() - started < 5


def test_a_bomb_in_pieces_has_no_digest() -> None:
    piece = gzip.compress(bytes(archives.MAX_UNPACKED_BYTES // 4))
    assert digest(tar({f"{n}.gz": piece for n in range(5)})) is None


def test_a_thousand_streams_have_no_digest() -> None:
    assert digest(bz2.compress(b"") * 1000) is None


def test_a_negative_size_does_not_turn_the_reader_round() -> None:
    header = bytearray(tar({"a": b""})[:512])
    header[124:136] = b"-0000001000\0"
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    assert digest(bytes(header) * 2 + bytes(1024)) is None


def test_a_zip_method_that_asks_for_memory_is_not_unpacked() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("a", b"text")
    assert digest(out.getvalue()) is None


@given(st.binary(max_size=2000), st.sampled_from(sorted(SORTS)))
def test_garbage_is_refused_or_read_but_never_raises(garbage: bytes, sort: str) -> None:
    data = SORTS[sort][0]
    digest(data[:20] + garbage)
    digest(data[: len(data) // 2] + garbage + data[len(data) // 2 :])


@given(st.data())
def test_one_changed_byte_never_raises(data: st.DataObject) -> None:
    archive = bytearray(data.draw(st.sampled_from([one for one, _ in SORTS.values()])))
    place = data.draw(st.integers(0, len(archive) - 1))
    archive[place] ^= data.draw(st.integers(1, 255))
    digest(bytes(archive))
