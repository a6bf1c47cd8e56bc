"""Control tests: a right program fails every one, and nothing but expectations differs."""

from __future__ import annotations

import ast
import unittest
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intercode.envs.swe_controls import spoiled

SUITE = '''\
import unittest

ANSWER = 42


class T(unittest.TestCase):
    """Not a test: 42."""

    def helper(self):
        self.assertEqual(1, 1)

    def test_number(self):
        self.assertEqual(int("42"), 42, "a message: 42")

    def test_text(self):
        self.assertEqual("ä" + "b", "äb")

    def test_lines(self):
        self.assertEqual(
            ["a", "b"],
            [
                "a",
                "b",
            ],
        )

    def test_yoda(self):
        self.assertEqual([1, 2], sorted([2, 1]))

    def test_nested(self):
        self.assertEqual(dict(a=[1, (2.5, None)]), {"a": [1, (2.5, None)]})

    def test_names(self):
        self.assertEqual(int("42"), ANSWER)

    def test_false(self):
        self.assertEqual(bool(0), False)

    def test_true(self):
        self.assertTrue(ANSWER)

    def test_in(self):
        self.assertIn(1, [1])

    def test_error(self):
        with self.assertRaises(KeyError):
            {}[1]

    def test_error_text(self):
        with self.assertRaisesRegex(ValueError, "invalid"):
            int("x")

    def test_bare(self):
        assert int("7") == 7

    def test_bare_truth(self):
        assert ANSWER > 3, "why"

    def test_bytes(self):
        self.assertEqual(b"a" * 2, b"aa")

    def test_empty(self):
        self.assertEqual("".strip(), "")
'''
NAMES = [n.name for n in ast.walk(ast.parse(SUITE)) if getattr(n, "name", "").startswith("test_")]


def outcomes(source: bytes) -> dict[str, bool]:
    scope: dict[str, Any] = {"__name__": "suite"}
    exec(compile(source, "suite.py", "exec"), scope)
    found = {}
    for name in NAMES:
        result = unittest.TestResult()
        scope["T"](name).run(result)
        found[name] = result.wasSuccessful()
    return found


@given(st.text(max_size=8))
def test_right_code_fails_every_control(seed: str) -> None:
    changed = spoiled(SUITE.encode(), seed)
    assert changed is not None
    assert set(outcomes(SUITE.encode()).values()) == {True}
    assert set(outcomes(changed).values()) == {False}


@given(st.text(max_size=8))
def test_what_equals_everything_passes_controls_of_values(seed: str) -> None:
    """That is how it is found out: a changed ``==`` passes the right test and the wrong one."""
    changed = spoiled(SUITE.encode(), seed)
    assert changed is not None
    always = changed.replace(b'int("42")', b"ALWAYS").replace(
        b"ANSWER = 42",
        b"ANSWER = 42\nALWAYS = type('A', (), {'__eq__': lambda *a: True})()",
    )
    assert outcomes(always)["test_number"]


@given(st.text(max_size=8))
def test_lines_and_everything_outside_of_tests_stay(seed: str) -> None:
    changed = spoiled(SUITE.encode(), seed)
    assert changed is not None
    before, after = SUITE.splitlines(), changed.decode().splitlines()
    assert len(before) == len(after)
    assert sum(a != b for a, b in zip(before, after, strict=True)) == len(NAMES)
    assert before[:11] == after[:11]


def test_the_seed_decides() -> None:
    source = SUITE.encode()
    assert spoiled(source, "a") == spoiled(source, "a")
    assert len({spoiled(source, str(n)) for n in range(20)}) > 10


@pytest.mark.parametrize("source", [b"def test(:\n", b"\0", b"\xff = 1\n"])
def test_what_is_not_python_has_no_control(source: bytes) -> None:
    assert spoiled(source, "") is None


def test_a_file_without_tests_stays() -> None:
    assert spoiled(b"x = 1\n", "") == b"x = 1\n"
