"""Mappings whose values are made when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

_T = TypeVar("_T")


class Lazy(Mapping[str, _T]):
    """What the makers make, by name; each thing is made when it is first asked for."""

    def __init__(self, makers: Mapping[str, Callable[[], _T]]) -> None:
        self._makers = makers
        self._made: dict[str, _T] = {}

    def __getitem__(self, name: str) -> _T:
        if name not in self._made:
            self._made[name] = self._makers[name]()
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)

    def __contains__(self, name: object) -> bool:
        return name in self._makers


class Chain(Mapping[str, _T]):
    """Several mappings as one, none of whose values is asked for before it is needed."""

    def __init__(self, parts: Sequence[Mapping[str, _T]]) -> None:
        self._of = {name: part for part in parts for name in part}

    def __getitem__(self, name: str) -> _T:
        return self._of[name][name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._of)

    def __len__(self) -> int:
        return len(self._of)

    def __contains__(self, name: object) -> bool:
        return name in self._of
