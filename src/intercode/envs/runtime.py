"""What several environments share: a back end, its pool of warm sandboxes, and gold outcomes."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from intercode.envs.once import Once, Outcomes
from intercode.sandboxes.base import Backend, Image, Layer, Limits, Sandbox
from intercode.sandboxes.pool import Pool, Prepare
from intercode.tasks.model import Dataset, Task

_T = TypeVar("_T")


class Runtime:
    """Owns a back end and closes it. Safe to use from many threads."""

    def __init__(
        self,
        backend: Backend,
        *,
        base: str | None = None,
        packages: tuple[str, ...] = (),
        warm: int = 1,
        max_starting: int = 2,
        max_running: int | None = None,
        outcomes: Outcomes | None = None,
    ) -> None:
        self.backend = backend
        self.base = base or str(getattr(backend, "default_base", "host"))
        self.packages = packages
        self.pool = Pool(backend, warm=warm, max_starting=max_starting, max_running=max_running)
        self._outcomes = outcomes or Once()
        self._idle: dict[Any, list[Sandbox]] = {}
        self._lock = threading.Lock()

    def image(self, dataset: Dataset, task: Task, *finish: str) -> Image:
        """The task's file system on our base; ``finish`` are set-up commands of the environment's
        own, put below the task's set-up so that all tasks of a file system share the layer."""
        layers = []
        env: tuple[tuple[str, str], ...] = ()
        if task.file_system is not None:
            files = dataset.file_systems[task.file_system]
            env = files.env
            layers.append(Layer(files.tar, files.setup))
        if finish:
            layers.append(Layer(setup=finish))
        if task.setup:
            layers.append(Layer(setup=task.setup))
        return Image(self.base, self.packages, tuple(layers), env)

    def sandbox(self, image: Image, limits: Limits, prepare: Prepare | None = None) -> Sandbox:
        return self.pool.take(image, limits, prepare)

    @contextlib.contextmanager
    def own(self, image: Image, limits: Limits, prepare: Prepare) -> Iterator[Sandbox]:
        """A sandbox of ours, that no agent's code ever enters: so it is used again, one user at a
        time. Whatever is raised meanwhile ends it."""
        key = (image, limits, prepare)
        with self._lock:
            idle = self._idle.setdefault(key, [])
            sandbox = idle.pop() if idle else None
        sandbox = sandbox or self.pool.take(*key)
        try:
            yield sandbox
        except BaseException:
            self.pool.give_back(sandbox)
            raise
        with self._lock:
            idle.append(sandbox)

    def _let_go(self) -> None:
        with self._lock:
            idle = [sandbox for found in self._idle.values() for sandbox in found]
            for found in self._idle.values():
                found.clear()
        for sandbox in idle:
            self.pool.give_back(sandbox)

    def gold(self, key: Any, compute: Callable[[], _T]) -> _T:
        """The outcome of a gold, computed once for each key, whoever asks first."""
        return self._outcomes.get(key, compute)

    def live(self) -> int:
        """Sandboxes that are open once those given back have been closed; takes no new ones."""
        self._let_go()
        self.pool.close()
        return int(getattr(self.backend, "live", lambda: 0)())

    def close(self) -> None:
        try:
            self._let_go()
            self.pool.close()
        finally:
            self.backend.close()

    def __enter__(self) -> Runtime:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
