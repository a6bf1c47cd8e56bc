"""Images of the engine for `Image` recipes, each built once and found again by its digest.

The engine's own image store is the cache: ``intercode/<digest>``, labelled ``intercode.layer``,
kept between runs. ``docker image prune --all --filter label=intercode.layer`` empties it.
"""

from __future__ import annotations

import contextlib
import hashlib
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from intercode.errors import ImageError, SandboxError
from intercode.sandboxes.base import Image, Layer, Limits, Sandbox
from intercode.sandboxes.bubblewrap import bases
from intercode.sandboxes.docker.engine import Engine, NotThere
from intercode.sandboxes.docker.marks import Marks, layer_labels
from intercode.sandboxes.docker.snapshots import flatten

BUILD_LIMITS = Limits(timeout_s=600, memory_mib=2048, processes=512, disk_mib=2048, cpus=4)
_FORMAT = "docker 1"
_TAG = "latest"


@dataclass(frozen=True)
class Prepared:
    """An image that is ready: its name in the engine, and the variables it would set."""

    digest: str
    image: str
    env_names: tuple[str, ...] = ()


Starter = Callable[[Prepared], contextlib.AbstractContextManager[tuple[Sandbox, str]]]
"""A sandbox to build in, and its container's name."""


class ImageStore:
    """The engine's images as far as they are ours. Safe to use from many threads."""

    def __init__(self, engine: Engine, marks: Marks, start: Starter) -> None:
        self._engine = engine
        self._marks = marks
        self._start = start
        self._ready: dict[Image, Prepared] = {}
        self._lock = threading.Lock()

    def prepare(self, image: Image) -> Prepared:
        """The image, built if need be.

        :raises ImageError: with the output of the command that failed.
        """
        with self._lock:
            if image not in self._ready:
                self._ready[image] = self._prepare(image)
            return self._ready[image]

    def _prepare(self, image: Image) -> Prepared:
        made = self._base(image)
        for layer in image.layers:
            if layer.tar is not None or layer.setup:
                made = self._layer(layer, made)
        return made

    def _base(self, image: Image) -> Prepared:
        kind, _, name = image.base.partition(":")
        if kind == "host":
            raise ImageError(
                "containers cannot run on this machine's own /usr",
                remedy="use --base docker:ubuntu:22.04, or --sandbox bubblewrap",
            )
        if kind == "docker" and name and not image.packages:
            return self._named(name)
        digest = _digest(_FORMAT, bases.base_key(image))
        if (found := self._find(digest)) is None:
            with tempfile.TemporaryDirectory(prefix="intercode-") as work:
                tar = bases.make_base(image, Path(work))
                assert tar is not None
                self._engine.import_tar(tar, _repository(digest), _TAG, layer_labels(digest))
            found = Prepared(digest, _repository(digest))
        return found

    def _named(self, name: str) -> Prepared:
        """One of the engine's own images, as it is unless it asks for volumes: their files would
        lie outside the container's, uncounted and unseen."""
        try:
            info = self._engine.image(name)
        except NotThere:
            info = self._pull(name)
        digest = _digest(_FORMAT, f"docker {info['Id']}")
        config = info.get("Config") or {}
        if not config.get("Volumes"):
            return Prepared(digest, str(info["Id"]), _env_names(config))
        if (found := self._find(digest)) is None:
            labels = layer_labels(digest)
            flatten(self._engine, self._marks, info["Id"], _repository(digest), _TAG, labels)
            found = Prepared(digest, _repository(digest))
        return found

    def _pull(self, name: str) -> dict[str, Any]:
        try:
            self._engine.pull(name)
            return self._engine.image(name)
        except SandboxError as error:
            raise ImageError(
                f"the engine has no image {name!r}, and cannot pull it: {error}",
                remedy=f"docker pull {name}, or docker load, or another --base",
            ) from None

    def _layer(self, layer: Layer, below: Prepared) -> Prepared:
        content = hashlib.sha256(layer.tar.read_bytes()).hexdigest() if layer.tar else ""
        digest = _digest(below.digest, content, *layer.setup)
        if (found := self._find(digest)) is not None:
            return found
        with self._start(below) as (sandbox, container):
            if layer.tar is not None:
                sandbox.put_tree(layer.tar.read_bytes())
            for command in layer.setup:
                result = sandbox.run(command)
                if result.exit_code:
                    raise ImageError(
                        f"an image's set-up command failed with exit code {result.exit_code}:\n"
                        f"  {command.strip()[:500]}\n{result.output.strip()[-2000:]}"
                    )
            self._engine.commit(container, _repository(digest), _TAG, layer_labels(digest))
        return Prepared(digest, _repository(digest), below.env_names)

    def _find(self, digest: str) -> Prepared | None:
        try:
            info = self._engine.image(_repository(digest))
        except NotThere:
            return None
        return Prepared(digest, _repository(digest), _env_names(info.get("Config") or {}))


def _repository(digest: str) -> str:
    return f"intercode/{digest}"


def _env_names(config: dict[str, Any]) -> tuple[str, ...]:
    return tuple(variable.partition("=")[0] for variable in config.get("Env") or [])


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]
