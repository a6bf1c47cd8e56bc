"""Where containers differ from their image, by the quickest way that this engine allows."""

from __future__ import annotations

import threading

from intercode.sandboxes.base import Change
from intercode.sandboxes.docker.changes import compare, for_engine, from_diff
from intercode.sandboxes.docker.engine import Engine
from intercode.sandboxes.docker.marks import Marks
from intercode.sandboxes.docker.snapshots import Origin, bare_config
from intercode.sandboxes.docker.views import EngineView, Folders, RememberedView, Touched, View

_MOST_READ_BYTES = 4 << 30


class Scanner:
    """Owns one never-started container for each image that was compared by the engine's API."""

    def __init__(self, engine: Engine, marks: Marks, *, folders: bool) -> None:
        """``folders``: whether to read overlay2's folders where they can be read."""
        self._engine = engine
        self._marks = marks
        self._use_folders = folders
        self._image_folders: dict[str, Folders | None] = {}
        self._references: dict[str, tuple[str, View]] = {}
        self._lock = threading.Lock()

    def touched(self, name: str) -> Touched:
        """Where a container may differ from what it started from."""
        folders = self._folders(name)
        return folders.touched() if folders else from_diff(self._engine.diff(name))

    def changes(self, name: str, origin: Origin, image: str) -> list[Change]:
        """How a container differs from an image, of which its origin descends."""
        folders, image_folders = self._folders(name), self._folders_of_image(image)
        if folders is not None and image_folders is not None:
            touched = origin.touched | folders.touched()
            with folders.view() as now, image_folders.view() as was:
                return compare(now, was, touched)
        touched = for_engine(origin.touched | from_diff(self._engine.diff(name)))
        view = EngineView(self._engine, name, _MOST_READ_BYTES)
        return compare(view, self._reference(image), touched)

    def _folders(self, name: str) -> Folders | None:
        return Folders.of(self._engine.inspect(name)) if self._use_folders else None

    def _folders_of_image(self, image: str) -> Folders | None:
        if not self._use_folders:
            return None
        if image not in self._image_folders:
            self._image_folders[image] = Folders.of(self._engine.image(image))
        return self._image_folders[image]

    def _reference(self, image: str) -> View:
        with self._lock:
            if image not in self._references:
                name = self._marks.new_container()
                self._engine.create(name, bare_config(image, self._marks))
                view = RememberedView(EngineView(self._engine, name, 1 << 62))
                self._references[image] = (name, view)
            return self._references[image][1]

    def close(self) -> None:
        with self._lock:
            names = [name for name, _ in self._references.values()]
            self._references.clear()
        for name in names:
            self._engine.remove(name)
