"""Files of a container kept as an image of the engine, for as long as somebody holds them."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from intercode.sandboxes.docker.engine import Engine
from intercode.sandboxes.docker.marks import Marks
from intercode.sandboxes.docker.views import NOWHERE, Touched

_REPOSITORY = "intercode/snapshot"
_MOST_LAYERS = 100
"""An image of more than 125 cannot be started from; a branch of a branch of a branch gets there."""


@dataclass(frozen=True)
class Origin:
    """What a container starts from: an image of the engine, and how it differs from the sandbox's
    image (not at all, unless it is a snapshot)."""

    image: str
    touched: Touched = NOWHERE
    written_bytes: int = 0
    snapshot_id: str | None = None


class SnapshotStore:
    """Owns the snapshots of one back end. Safe to use from many threads."""

    def __init__(self, engine: Engine, marks: Marks, touched: Callable[[str], Touched]) -> None:
        """``touched``: where a container may differ from what it started from."""
        self._engine = engine
        self._marks = marks
        self._touched = touched
        self._holds: Counter[str] = Counter()
        self._lock = threading.Lock()

    def take(self, name: str, origin: Origin) -> Origin:
        """Keep the files of a container, which must not move, held once."""
        snapshot_id = self._marks.new_id()
        tagged = f"{_REPOSITORY}:{snapshot_id}"
        try:
            touched = origin.touched | self._touched(name)
            written = origin.written_bytes + self._engine.written_bytes(name)
            self._engine.commit(name, _REPOSITORY, snapshot_id, self._marks.labels)
            self._flatten(tagged, snapshot_id)
        except BaseException:
            self._engine.remove_image(tagged)
            raise
        kept = Origin(tagged, touched, written, snapshot_id)
        self.hold(kept)
        return kept

    def _flatten(self, tagged: str, snapshot_id: str) -> None:
        """Make an image of too many layers one of a single one."""
        image = self._engine.image(tagged)
        if len((image.get("RootFS") or {}).get("Layers") or []) >= _MOST_LAYERS:
            flatten(
                self._engine, self._marks, image["Id"], _REPOSITORY, snapshot_id, self._marks.labels
            )
            self._engine.remove_image(image["Id"])

    def hold(self, origin: Origin) -> None:
        """Keep a snapshot until one more `drop`."""
        if origin.snapshot_id is not None:
            with self._lock:
                self._holds[origin.snapshot_id] += 1

    def drop(self, origin: Origin) -> None:
        """Let go of it; the last one removes it."""
        if origin.snapshot_id is None:
            return
        with self._lock:
            self._holds[origin.snapshot_id] -= 1
            if self._holds[origin.snapshot_id] > 0:
                return
            del self._holds[origin.snapshot_id]
        self._engine.remove_image(origin.image)


def flatten(
    engine: Engine, marks: Marks, image: str, repository: str, tag: str, labels: dict[str, str]
) -> None:
    """Make another image of the same files: one layer, and none of the image's settings."""
    name = marks.new_container()
    try:
        engine.create(name, bare_config(image, marks))
        engine.import_tar(engine.export(name), repository, tag, labels)
    finally:
        engine.remove(name)


def bare_config(image: str, marks: Marks) -> dict[str, object]:
    """For a container that is looked at and never started."""
    return {
        "Image": image,
        "Entrypoint": ["/bin/true"],
        "Cmd": [],
        "Labels": marks.labels,
        "HostConfig": {"NetworkMode": "none", "LogConfig": {"Type": "none"}},
    }
