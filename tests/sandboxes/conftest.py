"""Back ends for the tests of sandboxes, each started once; skipped, saying why, where it cannot be.

``INTERCODE_TEST_ROOTFS`` names the tar of a root file system that Docker's sandboxes start from.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from intercode.errors import SandboxUnavailable
from intercode.sandboxes.base import Backend, Image
from intercode.sandboxes.bubblewrap.backend import Bubblewrap


@pytest.fixture(scope="session")
def bubblewrap_backend() -> Iterator[Bubblewrap]:
    with Bubblewrap() as backend:
        _skip_unless_it_works(backend)
        yield backend


@pytest.fixture(scope="session")
def docker_backend() -> Iterator[Backend]:
    from intercode.sandboxes.docker.backend import Docker

    try:
        backend = Docker()
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    with backend:
        _skip_unless_it_works(backend)
        yield backend


@pytest.fixture(scope="session")
def docker_image(docker_backend: Backend) -> Image:
    """Imported once, and kept by the engine between test runs."""
    name = os.environ.get("INTERCODE_TEST_ROOTFS")
    if not name:
        pytest.skip("INTERCODE_TEST_ROOTFS names no root file system")
    if not Path(name).is_file():
        pytest.skip(f"INTERCODE_TEST_ROOTFS: there is no {name}")
    image = Image(f"tar:{name}")
    docker_backend.build(image)
    return image


def _skip_unless_it_works(backend: Backend) -> None:
    failed = next((check for check in backend.check() if not check.ok), None)
    if failed is not None:
        pytest.skip(f"{failed.name}: {failed.detail}")
