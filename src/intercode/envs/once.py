"""Outcomes of golds, computed once for each key, whoever asks first."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

_T = TypeVar("_T")


class Outcomes(Protocol):
    """Where an environment asks for what a gold comes to."""

    def get(self, key: Any, compute: Callable[[], _T]) -> _T: ...


class Once:
    """Keeps every outcome. Safe to use from many threads; an error is not kept."""

    def __init__(self) -> None:
        self._found: dict[Any, Any] = {}
        self._locks: dict[Any, threading.Lock] = {}
        self._lock = threading.Lock()

    def get(self, key: Any, compute: Callable[[], _T]) -> _T:
        with self._lock:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            if key not in self._found:
                self._found[key] = compute()
            found: _T = self._found[key]
            return found


class Anew:
    """Keeps none: for those who ask whether a gold gives the same again."""

    def get(self, key: Any, compute: Callable[[], _T]) -> _T:
        return compute()
