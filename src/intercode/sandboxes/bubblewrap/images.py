"""Images as stacks of folders, each built once and kept in the cache by its digest.

A layer's digest covers everything below it, so equal beginnings are shared: the Debian base under
four task file systems is one folder. A layer appears in the cache by one rename, whole or not at
all, and is never written again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shlex
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from intercode.errors import ImageError
from intercode.sandboxes.base import Image, Layer, Limits, Sandbox
from intercode.sandboxes.bubblewrap import bases
from intercode.sandboxes.bubblewrap.client import Helpers
from intercode.sandboxes.owner import new_name, owner_is_alive

BUILD_LIMITS = Limits(timeout_s=600, memory_mib=2048, processes=512, disk_mib=2048, cpus=4)
_FORMAT = "1"
_HOSTS = """\
127.0.0.1\tlocalhost
::1\tlocalhost ip6-localhost ip6-loopback
fe00::0\tip6-localnet
ff00::0\tip6-mcastprefix
ff02::1\tip6-allnodes
ff02::2\tip6-allrouters
"""
"""What Docker writes above a container's own line."""


@dataclass(frozen=True)
class Prepared:
    """An image that is ready: its layers, top-most first, and what is bound over them."""

    digest: str
    lowers: tuple[Path, ...]
    binds: tuple[tuple[str, str], ...]


Starter = Callable[[Prepared, Limits, Path | None], Sandbox]
"""How a layer's set-up commands get a sandbox: from what is below, with files already in place."""


class ImageStore:
    """The cache of layers below one folder."""

    def __init__(self, folder: Path, client: Helpers, start: Starter) -> None:
        self._folder = folder
        self._client = client
        self._start = start
        self._ready: dict[Image, Prepared] = {}
        self._lock = threading.Lock()
        # The owners of files differ between root and an ordinary user, and so do the layers.
        self._salt = f"{_FORMAT} {client.id_base}"

    def prepare(self, image: Image) -> Prepared:
        """The image, built if need be.

        :raises ImageError: with the output of the command that failed.
        """
        with self._lock:
            if image not in self._ready:
                self._ready[image] = self._prepare(image)
            return self._ready[image]

    def _prepare(self, image: Image) -> Prepared:
        digest = _digest(self._salt, bases.base_key(image))
        binds = tuple(bases.binds(image))
        lowers: tuple[Path, ...] = (self._layer(digest, lambda to: self._build_base(image, to)),)
        for layer in (*image.layers, *_naming(image)):
            below = Prepared(digest, lowers, binds)
            digest = _layer_digest(digest, layer)
            if layer.tar is None and not layer.setup:
                continue

            def build(target: Path, layer: Layer = layer, below: Prepared = below) -> None:
                self._build_layer(layer, below, target)

            lowers = (self._layer(digest, build), *lowers)
        return Prepared(digest, lowers, binds)

    def _layer(self, digest: str, build: Callable[[Path], None]) -> Path:
        place = self._folder / digest
        if not (place / "fs").is_dir():
            with self._scratch() as work:
                build(work / "fs")
                (work / "made.json").write_text(json.dumps({"format": _FORMAT}))
                with contextlib.suppress(OSError):
                    # Somebody else was quicker: theirs is as good.
                    work.rename(place)
        return place / "fs"

    @contextlib.contextmanager
    def _scratch(self) -> Iterator[Path]:
        work = self._folder / f"new-{new_name()}"
        work.mkdir(parents=True)
        try:
            yield work
        finally:
            self._client.remove(work)

    def _build_base(self, image: Image, target: Path) -> None:
        target.mkdir()
        os.chown(target, self._client.id_base or -1, self._client.id_base or -1)
        tar = bases.make_base(image, target.parent)
        if tar is None:
            bases.host_skeleton(target, self._client.id_base)
            return
        self._unpack(tar, target)
        if tar.parent == target.parent:
            tar.unlink()

    def _build_layer(self, layer: Layer, below: Prepared, target: Path) -> None:
        target.mkdir()
        os.chown(target, self._client.id_base or -1, self._client.id_base or -1)
        if layer.tar is not None:
            self._unpack(layer.tar, target)
        if not layer.setup:
            return
        sandbox = self._start(below, BUILD_LIMITS, target)
        try:
            for command in layer.setup:
                result = sandbox.run(command)
                if result.exit_code:
                    raise ImageError(
                        f"an image's set-up command failed with exit code {result.exit_code}:\n"
                        f"  {command.strip()[:500]}\n{result.output.strip()[-2000:]}"
                    )
            self._client.remove(target)
            target.mkdir()
            self._client.copy_upper(sandbox.upper, target)  # type: ignore[attr-defined]
        finally:
            sandbox.close()

    def _unpack(self, tar: Path, target: Path) -> None:
        root = os.open(target, os.O_RDONLY | os.O_DIRECTORY)
        try:
            archive = os.open(tar, os.O_RDONLY)
        except OSError as error:
            os.close(root)
            raise ImageError(f"cannot read {tar}: {error.strerror}") from None
        try:
            self._client.unpack(root, archive, "/")
        finally:
            os.close(root)
            os.close(archive)

    def sweep(self) -> None:
        """Remove what builders left that were killed half-way."""
        for path in self._folder.glob("new-*"):
            if not owner_is_alive(path.name.removeprefix("new-")):
                self._client.remove(path)


def _naming(image: Image) -> tuple[Layer, ...]:
    """A layer with the files in which names stand: the machine's own, and who to ask for others."""
    said = []
    if image.address:
        name = shlex.quote(image.hostname)
        hosts = shlex.quote(f"{_HOSTS}{image.address}\t{image.hostname}\n")
        said += [f"echo {name} > /etc/hostname", f"printf %s {hosts} > /etc/hosts"]
    if image.console:
        said += ["echo nameserver 127.0.0.1 > /etc/resolv.conf"]
    return (Layer(setup=("; ".join(said),)),) if said else ()


def _layer_digest(below: str, layer: Layer) -> str:
    content = hashlib.sha256(layer.tar.read_bytes()).hexdigest() if layer.tar else ""
    return _digest(below, content, *layer.setup)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]
