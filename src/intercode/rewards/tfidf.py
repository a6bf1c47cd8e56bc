"""How alike two texts are, as the paper's Bash reward sees it.

The paper compares the agent's output with the gold's by scikit-learn's ``TfidfVectorizer`` with its
defaults, fitted on just these two texts. Here is the same number without that dependency.

It is the same to the last bit, because the reward rounds it: of two texts whose cosine is one half,
0.33 of it lies on the edge between 0.16 and 0.17, and the order in which sums were taken decides.
That order was scikit-learn's up to 1.4: by a word's first appearance, the last one first. From 1.5
on it is the first one first, which differs in the last bits, and so in the reward only on an edge.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable

_WORD = re.compile(r"\b\w\w+\b")

_SHARED = 1.0
"""The smoothed idf, ln((1 + texts) / (1 + texts with the word)) + 1, of a word in both of two."""
_UNSHARED = math.log(3 / 2) + 1.0
"""The same of a word that only one of them has."""


def cosine(a: str, b: str) -> float:
    """The cosine of the two texts' TF-IDF vectors: 0 for no common word, about 1 for all in common.

    Case, order and everything that is not a word of two or more characters are ignored. Rounding
    may leave a few units in the last place above or below 1.

    :raises ValueError: neither text has a word.
    """
    left, right = _word_counts(a), _word_counts(b)
    order = list(reversed(left | right))
    if not order:
        raise ValueError("empty vocabulary: neither text has a word of two or more characters")
    left_vector, right_vector = _unit_vector(left, right, order), _unit_vector(right, left, order)
    return _sum(left_vector[word] * right_vector[word] for word in left_vector if word in right)


def _word_counts(text: str) -> Counter[str]:
    """How often each word occurs, by first appearance."""
    return Counter(_WORD.findall(text.lower()))


def _unit_vector(
    counts: Counter[str], other: Counter[str], order: Iterable[str]
) -> dict[str, float]:
    weights = {
        word: counts[word] * (_SHARED if word in other else _UNSHARED)
        for word in order
        if word in counts
    }
    length = math.sqrt(_sum(weight * weight for weight in weights.values()))
    return {word: weight / length for word, weight in weights.items()}


def _sum(terms: Iterable[float]) -> float:
    """Plain addition in the order given; the built-in ``sum`` compensates since Python 3.12."""
    total = 0.0
    for term in terms:
        total += term
    return total
