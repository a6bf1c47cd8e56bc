"""The cosine is scikit-learn's, so that the paper's rewards come out the same."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from intercode.rewards.tfidf import cosine

DATA = os.environ.get("INTERCODE_DATA")

words = st.sampled_from(["aa", "bb", "cc", "Bb", "x", "7", "10", "été", "İstanbul", "a_b", "ǅ"])
outputs = st.one_of(
    st.text(max_size=60),
    st.lists(words, max_size=40).map(" ".join),
    st.lists(words, max_size=40).map("\n/".join),
    st.lists(st.from_regex(r"[a-f]{1,3}", fullmatch=True), max_size=200).map("/".join),
)


def reference(a: str, b: str) -> float:
    text = pytest.importorskip("sklearn.feature_extraction.text", reason="needs scikit-learn")
    vectors = text.TfidfVectorizer().fit_transform([a, b])
    return float((vectors * vectors.T).toarray()[0][1])


def reference_or_none(a: str, b: str) -> float | None:
    try:
        return reference(a, b)
    except ValueError:
        return None


def cosine_or_none(a: str, b: str) -> float | None:
    try:
        return cosine(a, b)
    except ValueError:
        return None


def on_an_edge(alike: float) -> bool:
    """Whether the last bit decides how the reward rounds this."""
    return round(0.33 * (alike - 1e-12), 2) != round(0.33 * (alike + 1e-12), 2)


@settings(deadline=None, max_examples=400)
@given(outputs, outputs)
def test_cosine_is_that_of_scikit_learn(a: str, b: str) -> None:
    expected, found = reference_or_none(a, b), cosine_or_none(a, b)
    assert (expected is None) == (found is None)
    assert found == expected or found == pytest.approx(expected, rel=0, abs=1e-14)


@settings(deadline=None, max_examples=400)
@given(outputs, outputs)
def test_reward_is_that_of_scikit_learn(a: str, b: str) -> None:
    expected, found = reference_or_none(a, b), cosine_or_none(a, b)
    if expected is not None and found is not None and not on_an_edge(expected):
        assert round(0.33 * found, 2) == round(0.33 * expected, 2)


@pytest.mark.parametrize(
    ("left", "right", "part"),
    [((1, 1, 6, 2), (1, 6, 2, 1), 0.17), ((1, 1, 3, 4, 3), (3, 6, 6, 6, 2), 0.28)],
)
def test_on_an_edge_the_last_bit_falls_as_in_the_paper(
    left: tuple[int, ...], right: tuple[int, ...], part: float
) -> None:
    """Where scikit-learn before 1.5, which the paper used, and later ones give another reward."""
    alike = cosine(repeated(left), repeated(right))
    assert on_an_edge(alike)
    assert round(0.33 * alike, 2) == part


def repeated(counts: tuple[int, ...]) -> str:
    return " ".join(f"word{i} " * count for i, count in enumerate(counts))


@pytest.mark.data
def test_published_similarities_are_reproduced_to_the_last_bit() -> None:
    if not DATA:
        pytest.skip("needs upstream's data: INTERCODE_DATA is not set")
    checked = 0
    with gzip.open(Path(DATA) / "reward_goldens" / "bash_reward_cases.jsonl.gz", "rt") as rows:
        for row in map(json.loads, rows):
            found = cosine_or_none(row["agent_obs"], row["eval_obs"] or "")
            if found is not None and row["eval_obs"] is not None:
                assert found == row["answer_similarity"], row
                checked += 1
    assert checked > 350


def test_equal_texts_are_alike() -> None:
    assert round(cosine("alpha beta gamma", "alpha beta gamma"), 12) == 1.0


def test_order_case_and_symbols_do_not_count() -> None:
    assert round(cosine("alpha, BETA!", "beta <Alpha>"), 12) == 1.0


def test_words_of_one_character_do_not_count() -> None:
    assert round(cosine("7 files", "5 files"), 12) == 1.0


def test_nothing_in_common_is_zero() -> None:
    assert cosine("alpha", "beta") == 0.0


def test_one_text_without_words_is_zero() -> None:
    assert cosine("alpha", "7 . -") == 0.0
    assert cosine("", "alpha") == 0.0


@pytest.mark.parametrize(("a", "b"), [("", ""), ("7", "5"), ("1.5\n", "2.7\n")])
def test_no_word_in_either_is_refused(a: str, b: str) -> None:
    with pytest.raises(ValueError, match="empty vocabulary"):
        cosine(a, b)
