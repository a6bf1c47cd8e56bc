"""Both of our back ends keep every promise; the conformance suite notices one that does not."""

from __future__ import annotations

import pytest

from intercode.sandboxes import conformance
from intercode.sandboxes.base import Check, Image, Limits, Sandbox, Snapshot
from intercode.sandboxes.bubblewrap.backend import Bubblewrap
from intercode.sandboxes.docker.backend import Docker

_LIMITS = Limits()


class _Broken:
    """A back end that starts nothing and forgets to say so to the doctor."""

    name = "broken"

    def check(self) -> list[Check]:
        return []

    def build(self, image: Image) -> str:
        return ""

    def start(self, image: Image, limits: Limits, *, snapshot: Snapshot | None = None) -> Sandbox:
        raise RuntimeError("it is broken")

    def close(self) -> None: ...


def test_a_back_end_hears_which_promises_it_does_not_keep() -> None:
    kept = dict(conformance.run(_Broken(), Image()))
    assert len(kept) == len(conformance.PROMISES)
    assert "it is broken" in (kept["output_and_exit_code_are_told"] or "")
    assert kept["the_doctor_finds_it_well"] == "there is nothing to check"
    assert kept["limits_have_to_be_above_nothing"] is None


@pytest.mark.bubblewrap
@pytest.mark.parametrize("promise", conformance.PROMISES)
def test_bubblewrap(promise: conformance.Promise, bubblewrap_backend: Bubblewrap) -> None:
    promise(bubblewrap_backend, Image(), _LIMITS)
    assert bubblewrap_backend.live() == 0


@pytest.mark.docker
@pytest.mark.parametrize("promise", conformance.PROMISES)
def test_docker(promise: conformance.Promise, docker_backend: Docker, docker_image: Image) -> None:
    promise(docker_backend, docker_image, _LIMITS)
    assert docker_backend.live() == 0
