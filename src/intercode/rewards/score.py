"""What scoring answers with: a number, and the parts it is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Score:
    """``reward`` decides; ``components`` are its named parts; ``details`` explain them to a person.

    ``success`` is the paper's meaning of solved: a reward of exactly 1.
    """

    reward: float
    components: Mapping[str, float] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def success(self) -> bool:
        return self.reward == 1.0
