"""The machine's own /proc, which a container's root would own, stays as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from intercode.sandboxes.base import Backend, Image, Limits

pytestmark = pytest.mark.docker


def modes() -> dict[str, tuple[int, int]]:
    entries = [path for path in Path("/proc").iterdir() if not path.name.isdigit()]
    return {path.name: (path.lstat().st_mode, path.lstat().st_uid) for path in entries}


def test_changing_all_modes_from_the_root_leaves_the_machines_proc_alone(
    docker_backend: Backend, docker_image: Image
) -> None:
    before = modes()
    sandbox = docker_backend.start(docker_image, Limits())
    # One entry first, and nothing that could lock the machine up if the promise is broken.
    result = sandbox.run("chmod 500 /proc/consoles; chown 1 /proc/consoles; chmod -R u+r /proc/tty")
    sandbox.close()
    assert "Read-only file system" in result.output
    assert modes() == before
