"""A space of all texts: what an agent may say, and what an environment may answer."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Space

_SAMPLE_ALPHABET = "abc XYZ 019 -_/.|<>$'\"\\\n\té漢🙂"


class UnicodeText(Space[str]):
    """Every Python string, of any length and any characters.

    Gymnasium's own ``Text`` wants a fixed alphabet and a maximal length, which neither code nor
    what it prints has. Samples are short strings over a small, nasty alphabet.
    """

    def __init__(self, seed: int | np.random.Generator | None = None) -> None:
        super().__init__(dtype=str, seed=seed)

    def sample(self, mask: Any | None = None, probability: Any | None = None) -> str:
        length = int(self.np_random.integers(0, 24))
        picks = self.np_random.integers(0, len(_SAMPLE_ALPHABET), size=length)
        return "".join(_SAMPLE_ALPHABET[int(i)] for i in picks)

    def contains(self, x: Any) -> bool:
        return isinstance(x, str)

    @property
    def is_np_flattenable(self) -> bool:
        return False

    def to_jsonable(self, sample_n: Any) -> list[Any]:
        return list(sample_n)

    def from_jsonable(self, sample_n: list[Any]) -> list[str]:
        return [str(sample) for sample in sample_n]

    def __repr__(self) -> str:
        return "UnicodeText()"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UnicodeText)

    def __hash__(self) -> int:
        return hash(UnicodeText)
