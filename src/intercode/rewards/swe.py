"""The reward of a repair: which tests pass that should.

``FAIL_TO_PASS`` are the tests that show the bug gone, ``PASS_TO_PASS`` those that passed before and
have to go on passing. All of both: 1. Else ½ · (share of the first) · (share of the second): what
repairs nothing is worth nothing, and so is what breaks everything; what repairs a part, or repairs
all and breaks a little, lies strictly between 0 and ½.

SWE-bench's own verdict (Jimenez et al. 2024, arXiv:2310.06770) is ``resolved``: all or nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from intercode.errors import UsageError
from intercode.rewards.score import Score

PARTIAL = 0.5
"""The most that an incomplete repair comes near to."""


def score(fail_to_pass: Mapping[str, bool], pass_to_pass: Mapping[str, bool]) -> Score:
    """``fail_to_pass`` and ``pass_to_pass`` say of each test whether it passed.

    Components: ``fail_to_pass`` and ``pass_to_pass``, shares in [0, 1] (1 for none), and
    ``resolved``, 0 or 1. Details: the names of the tests that did not pass.

    :raises UsageError: without a test in ``fail_to_pass`` there is nothing to reward.
    """
    if not fail_to_pass:
        raise UsageError("a repair without a test in FAIL_TO_PASS cannot be scored")
    repaired, kept = _share(fail_to_pass), _share(pass_to_pass)
    resolved = all(fail_to_pass.values()) and all(pass_to_pass.values())
    return Score(
        1.0 if resolved else PARTIAL * repaired * kept,
        {"fail_to_pass": repaired, "pass_to_pass": kept, "resolved": float(resolved)},
        {
            "still_failing": [name for name, passed in fail_to_pass.items() if not passed],
            "broken": [name for name, passed in pass_to_pass.items() if not passed],
        },
    )


def nothing(why: str) -> Score:
    """The score of what needs no test to be worth 0."""
    return Score(0.0, {"fail_to_pass": 0.0, "resolved": 0.0}, {"why": why})


def _share(passed: Mapping[str, bool]) -> float:
    return sum(passed.values()) / len(passed) if passed else 1.0
