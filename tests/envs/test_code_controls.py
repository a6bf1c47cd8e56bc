"""What becomes of tests that are made wrong on purpose: the expectation changes, the input not."""

from __future__ import annotations

import pytest

from intercode.envs.code_controls import COUNT, controls

LINES = {
    "JavaScript": ("  assert.deepEqual(candidate([1, 2], 0.3),true);",
                   "  assert.deepEqual(candidate([1, 2], 0.3),false);"),
    "Ruby": ("    assert_equal([3, 5], candidate.call(3))",
             "    assert_equal([4, 6], candidate.call(3))"),
    "Lua": ("    lu.assertEquals(candidate('a(b', 2), 'xy')",
            "    lu.assertEquals(candidate('a(b', 2), 'xyq')"),
    "Perl": ('        if(eq_deeply($candidate->("x"),"ab")) {',
             '        if(eq_deeply($candidate->("x"),"abq")) {'),
    "R": ("    if(!identical(candidate(c(1, 2)), 7)){quit('no', 1)}",
          "    if(!identical(candidate(c(1, 2)), 8)){quit('no', 1)}"),
    "C++": ('    assert(candidate((std::vector<long>({(long)1}))) == (12));',
            '    assert(candidate((std::vector<long>({(long)1}))) == (13));'),
    "Java": ('    assert(twice((2l)) == (4l));', '    assert(twice((2l)) == (5l));'),
    "Java's texts": ('    assert(f(("a")).equals(("b")));', '    assert(f(("a")).equals(("bq")));'),
    "Go": ('    { actual: candidate(1, "x"), expected: -5 },',
           '    { actual: candidate(1, "x"), expected: -6 },'),
    "Rust": ('    assert_eq!(candidate(vec![1.5]), 0.25);',
             '    assert_eq!(candidate(vec![1.5]), 1.25);'),
}  # fmt: skip


@pytest.mark.parametrize("language", LINES)
def test_the_expectation_is_another_and_the_input_the_same(language: str) -> None:
    right, wrong = LINES[language]

    assert controls(right)[0] == wrong


@pytest.mark.parametrize(
    "line",
    [
        "const assert = require('node:assert');",
        "require 'test/unit'",
        "#include <assert.h>",
        "import 'assert'",
        "    auto candidate = f1;",
        "    candidate = method(:f2)",
        "        exit 1;",
        "// assert(candidate(1) == 2)",
    ],
)
def test_what_expects_nothing_stays(line: str) -> None:
    assert controls(line) == []


def test_every_control_expects_something_else() -> None:
    tests = "import x\nassert_eq!(candidate(1), 2);\nassert_eq!(candidate(2), 30);\n"
    found = controls(tests)

    assert len(set(found)) == COUNT
    assert all(text.splitlines()[0] == "import x" for text in found)
    assert all("candidate(1), 2)" not in text for text in found)
    assert all("candidate(2), 30)" not in text for text in found)
