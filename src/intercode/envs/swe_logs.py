"""Verdicts out of what Django's and SymPy's own test runners print.

SWE-bench names the tests of these as they are printed: with Django a test that has a docstring goes
by its first line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_DJANGO = re.compile(r"(?P<name>.+?) \.\.\. (?P<rest>.*)")
_DJANGO_END = re.compile(r"(?:^|.* )?(?P<word>ok|OK|FAIL|ERROR|skipped.*|expected failure)\s*$")
_FAILED = re.compile(r"(?:FAIL|ERROR): (?P<name>.+)")
_SYMPY = re.compile(r"(?P<name>test_\w+) (?P<word>ok|[FEXfswK])\b")
_SYMPY_FAILED = re.compile(r"_{3,} .*:(?P<name>test_\w+) _{3,}")


def verdicts(harness: str, log: str) -> Mapping[str, str]:
    """By test: ``passed``, ``failed`` or ``skipped``. What failed once has failed."""
    return {"django": _django, "sympy": _sympy}[harness](log)


def _django(log: str) -> dict[str, str]:
    found: dict[str, str] = {}
    waiting: str | None = None
    for line in log.splitlines():
        if failed := _FAILED.fullmatch(line):
            found[failed["name"].strip()] = "failed"
            continue
        rest = line
        if named := _DJANGO.match(line):
            waiting, rest = named["name"].strip(), named["rest"]
        # A test that prints something pushes its verdict to a later line.
        if waiting is not None and (end := _DJANGO_END.match(rest)):
            passed = end["word"] in ("ok", "OK", "expected failure")
            verdict = "passed" if passed else end["word"].split()[0].lower()
            if found.get(waiting) != "failed":
                found[waiting] = {"fail": "failed", "error": "failed"}.get(verdict, verdict)
            waiting = None
    return found


def _sympy(log: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in log.splitlines():
        if failed := _SYMPY_FAILED.match(line):
            found[failed["name"]] = "failed"
        elif (named := _SYMPY.match(line)) and found.get(named["name"]) != "failed":
            word = named["word"]
            passed, left_out = word in ("ok", "f", "X"), word in ("s", "w", "K")
            found[named["name"]] = "passed" if passed else "skipped" if left_out else "failed"
    return found
