"""Tests made wrong on purpose, which right programs have to fail.

A program and the tests that are put after it are one process, which says by its exit code alone
whether they passed: so does a program that ends before they begin, or that reads what is expected
out of its own text. Whoever passes the tests passes these too, unless it computes.

An expectation is a number, a text or a truth value that stands beside a call of ``candidate``, as
MultiPL-E names what it tests, or behind the last ``==`` of an assertion. Tests without any have no
controls.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

COUNT = 3
"""How many there are: each expects something else."""

_LITERAL = re.compile(
    r"""(?P<text>"(?:[^"\\\n]|\\.)+"|'(?:[^'\\\n]|\\.){2,}')"""
    r"""|(?P<char>'[A-Za-z0-9]')"""
    r"""|(?<![\w.])(?P<number>\d+)(?![\w]*\()"""
    r"""|(?<![\w.])(?P<truth>true|false|True|False|TRUE|FALSE)(?!\w)"""
)
_ASSERTION = re.compile(r"assert|expected|identical|eq_deeply|\bis_deeply\b|\bif\b")
_OTHER = re.compile(r"^\s*(?:(?:require|import|include|use|using)\b|#|//|--)|require\(")
_TRUTHS = {"true": "false", "True": "False", "TRUE": "FALSE"}
_TRUTHS |= {after: before for before, after in _TRUTHS.items()}


def controls(tests: str) -> list[str]:
    """At most `COUNT` texts of tests, each wrong in every line in which something can be."""
    found = ["\n".join(_spoiled(line, amount) for line in tests.split("\n"))
             for amount in range(1, COUNT + 1)]  # fmt: skip
    return [text for text in dict.fromkeys(found) if text != tests]


def _spoiled(line: str, amount: int) -> str:
    spans = list(_expected(line))
    for start, end in reversed(spans):
        part = _LITERAL.sub(lambda found: _another(found, amount), line[start:end])
        line = line[:start] + part + line[end:]
    return line


def _expected(line: str) -> Iterator[tuple[int, int]]:
    """The parts of a line in which expectations are."""
    if not _ASSERTION.search(line) or _OTHER.search(line):
        return
    end = len(line)
    for failing in (r"\{\s*(?:quit|exit)", r"\)\s*(?:quit|exit)\b"):
        if found := re.search(failing, line):
            end = min(end, found.start())
    if call := re.search(r"\bcandidate\b[\w.>-]*\s*\(", line):
        # What comes first is the name of the assertion and maybe what it expects.
        first = re.match(r"[^(]*", line)
        assert first is not None
        yield first.end(), max(first.end(), call.start())
        yield _closing(line, call.end() - 1), end
    elif "==" in line or ".equals(" in line:
        yield max(line.rfind("=="), line.rfind(".equals(")), end


def _closing(line: str, opening: int) -> int:
    """Where the parenthesis ends that opens there; texts may hold others."""
    depth = 0
    for found in re.finditer(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|[()]', line[opening:]):
        depth += {"(": 1, ")": -1}.get(found[0], 0)
        if depth == 0:
            return opening + found.end()
    return len(line)


def _another(found: re.Match[str], amount: int) -> str:
    said = found[0]
    if found["text"]:
        return said[:-1] + "qzx"[:amount] + said[-1]
    if found["char"]:
        letters = "abcdefghijklmnop"
        return f"'{letters[(ord(said[1]) + amount) % len(letters)]}'"
    if found["number"]:
        return str(int(said) + amount)
    return _TRUTHS[said]
