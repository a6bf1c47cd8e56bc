"""What is written lies on a file system of blocks where the image asks for it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from intercode.sandboxes.base import Image, Limits
from intercode.sandboxes.bubblewrap import blocks
from intercode.sandboxes.bubblewrap.backend import Bubblewrap

pytestmark = pytest.mark.bubblewrap

_ABLE = os.getuid() == 0 and Path("/dev/loop-control").exists() and Path("/sbin/mke2fs").exists()
needs_loop_devices = pytest.mark.skipif(
    not _ABLE, reason="only root makes a file system, with mke2fs and loop devices"
)
LIMITS = Limits(disk_mib=32)
KIB = "mkdir -p /new/below; echo x > /etc/added; du -ks /new /etc | cut -f 1"


def kib(backend: Bubblewrap, image: Image) -> list[int]:
    sandbox = backend.start(image, LIMITS)
    try:
        return [int(line) for line in sandbox.run(KIB).output.split()]
    finally:
        sandbox.close()


@needs_loop_devices
def test_directories_take_up_space_as_on_a_disk(bubblewrap_backend: Bubblewrap) -> None:
    new, changed = kib(bubblewrap_backend, Image(blocks=True))
    assert new == 8
    in_memory, less = kib(bubblewrap_backend, Image())
    assert (in_memory, less) == (0, changed - 4)


@needs_loop_devices
def test_the_disk_stays_limited_and_what_was_written_is_told(
    bubblewrap_backend: Bubblewrap,
) -> None:
    sandbox = bubblewrap_backend.start(Image(blocks=True), LIMITS)
    try:
        assert sandbox.run("head -c 64M /dev/zero > /big").exit_code != 0
        assert 24 << 20 < int(sandbox.run("stat -c %s /big").output) <= 32 << 20
        assert [change.path for change in sandbox.changes()] == ["/big"]
        (fork,) = sandbox.fork()
        assert fork.run("rm /big; echo room > /small; cat /small").output == "room\n"
        fork.close()
    finally:
        sandbox.close()


@needs_loop_devices
def test_loop_devices_are_given_back(bubblewrap_backend: Bubblewrap) -> None:
    def in_use() -> int:
        return sum(1 for _ in Path("/sys/block").glob("loop*/loop/backing_file"))

    before = in_use()
    sandbox = bubblewrap_backend.start(Image(blocks=True), LIMITS)
    assert in_use() == before + 1
    sandbox.close()
    assert in_use() == before


def test_where_none_can_be_made_files_are_written_to_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "_PROGRAMS", (str(tmp_path / "no"), str(tmp_path / "none")))
    assert not blocks.cover(str(tmp_path), 1)
    assert list(tmp_path.iterdir()) == []
