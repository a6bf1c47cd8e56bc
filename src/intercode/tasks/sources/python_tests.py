"""How a Python task is tested: what its ``reward`` says, for loaders to write and the environment
to read.

A *submission* is program text, or a value of the agent's interpreter. Every task names a style:

``asserts``
    ``tests`` are statements, each of which raises when the submission is wrong. Each is a test.
``check``
    ``tests`` is one program text that defines ``check(candidate)``, which raises. One test.
``call``
    The submission's ``entry_point`` is called with each case's ``args``; its value must equal the
    case's ``result``. With ``class_name``, it is a method of a fresh instance of that class. Where
    ``unwraps`` is true, a result ``[x]`` also stands for ``x``; a tuple equals a list of the same.
``stdin``
    The submission is a program: with a case's ``input`` it prints ``output``. White space at the
    ends of lines and of the text does not count.
``inputs``
    Each text of ``base`` and ``plus`` is an expression for a list of arguments, over literals,
    ``inf``, ``nan`` and ``set()`` (`INPUT_NAMES`). The entry point's value must agree with what
    ``reference``, a program that defines the same name, gives for an equal but separate list; an
    input on which the reference raises is invalid, and no test.
    Values agree if they are equal, or if every float is within ``atol`` of its counterpart (within
    1e-6, where ``atol`` is 0); with ``agree``, a program that defines ``agree(expected, result,
    arguments)``, that decides instead, and an input where not even the reference's value agrees
    with itself is no test either.
``source``
    ``tests`` is one program text that defines ``test_execution(solution)``, and maybe
    ``test_string(solution)``; they take the submission as text and raise. One test.

``given`` is what the task hands to the solver: the agent's interpreter starts with it, and a test
process runs it before the submission. ``setup`` belongs to the tests: it is run after the
submission (it may use its classes) and before the first test. What it defines is for the tests
alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from intercode.errors import TaskError

Style = Literal["asserts", "check", "call", "stdin", "inputs", "source"]
STYLES: tuple[Style, ...] = get_args(Style)

INPUT_NAMES: Mapping[str, Any] = {
    "__builtins__": {},
    "inf": float("inf"),
    "nan": float("nan"),
    "set": set,
}
"""The names that the expressions of ``base`` and ``plus`` may use."""


@dataclass(frozen=True)
class StdinCase:
    input: str
    output: str


@dataclass(frozen=True)
class CallCase:
    """``args`` and ``result`` are plain JSON values."""

    args: tuple[Any, ...]
    result: Any


@dataclass(frozen=True)
class TestSpec:
    """The tests of one task; see the module for what each style uses. ``atol`` is absolute."""

    __test__ = False  # not a test class, whatever pytest makes of the name

    style: Style
    entry_point: str | None = None
    given: str = ""
    setup: str = ""
    tests: tuple[str, ...] = ()
    cases: tuple[StdinCase | CallCase, ...] = ()
    base: tuple[str, ...] = ()
    plus: tuple[str, ...] = ()
    reference: str = ""
    agree: str = ""
    atol: float = 0.0
    class_name: str | None = None
    unwraps: bool = False

    @property
    def count(self) -> int:
        """How many tests there are, invalid inputs counted."""
        return len(self.cases) or len(self.base) + len(self.plus) or len(self.tests)

    def to_mapping(self) -> dict[str, Any]:
        """A task's ``reward``: plain JSON, without what is empty but for the first four keys."""
        always: dict[str, Any] = {
            "style": self.style,
            "entry_point": self.entry_point,
            "setup": self.setup,
            "tests": list(self.tests),
        }
        rest = {
            "given": self.given,
            "cases": [_case_mapping(case) for case in self.cases],
            "base": list(self.base),
            "plus": list(self.plus),
            "reference": self.reference,
            "agree": self.agree,
            "atol": self.atol,
            "class_name": self.class_name,
            "unwraps": self.unwraps,
        }
        return always | {key: value for key, value in rest.items() if value}

    @classmethod
    def from_mapping(cls, reward: Mapping[str, Any], *, task: str = "") -> TestSpec:
        """The tests that a task's ``reward`` tells of; ``task`` is named where they are wrong.

        :raises TaskError: it is not what ``to_mapping`` writes, or there is nothing to test by.
        """
        read = _Reading(reward, f"task {task!r}" if task else "a Python task")
        style = read.style()
        spec = cls(
            style=style,
            entry_point=read.word("entry_point"),
            given=read.text("given"),
            setup=read.text("setup"),
            tests=read.texts("tests"),
            cases=read.cases(style),
            base=read.texts("base"),
            plus=read.texts("plus"),
            reference=read.text("reference"),
            agree=read.text("agree"),
            atol=read.number("atol"),
            class_name=read.word("class_name"),
            unwraps=bool(reward.get("unwraps", False)),
        )
        if not spec.count:
            raise read.error("has no tests")
        if style in ("check", "call", "inputs") and not spec.entry_point:
            raise read.error(f"names no entry_point, which the style {style} needs")
        if style == "inputs" and not spec.reference:
            raise read.error("has inputs but no reference")
        return spec


def _case_mapping(case: StdinCase | CallCase) -> dict[str, Any]:
    if isinstance(case, StdinCase):
        return {"input": case.input, "output": case.output}
    return {"args": list(case.args), "result": case.result}


class _Reading:
    """Fields out of a ``reward``, checked one by one."""

    def __init__(self, reward: Mapping[str, Any], whose: str) -> None:
        self._reward = reward
        self._whose = whose

    def error(self, problem: str) -> TaskError:
        return TaskError(
            f"{self._whose}: its reward {problem}",
            remedy="write what intercode.tasks.sources.python_tests describes",
        )

    def style(self) -> Style:
        found = self._reward.get("style")
        for style in STYLES:
            if style == found:
                return style
        raise self.error(f"has the style {found!r}, not one of {', '.join(STYLES)}")

    def text(self, field: str) -> str:
        value = self._reward.get(field, "")
        if not isinstance(value, str):
            raise self.error(f"has a {field} that is not text")
        return value

    def word(self, field: str) -> str | None:
        return None if self._reward.get(field) is None else self.text(field)

    def texts(self, field: str) -> tuple[str, ...]:
        value = self._reward.get(field, ())
        if not isinstance(value, list | tuple) or not all(isinstance(t, str) for t in value):
            raise self.error(f"has {field} that are not a list of texts")
        return tuple(value)

    def number(self, field: str) -> float:
        value = self._reward.get(field, 0.0)
        if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
            raise self.error(f"has an {field} that is not a number of 0 or more")
        return float(value)

    def cases(self, style: Style) -> tuple[StdinCase | CallCase, ...]:
        value = self._reward.get("cases", ())
        if not isinstance(value, list | tuple):
            raise self.error("has cases that are not a list")
        return tuple(self._case(case, style) for case in value)

    def _case(self, case: Any, style: Style) -> StdinCase | CallCase:
        match style, case:
            case "stdin", {"input": str(given), "output": str(printed)}:
                return StdinCase(given, printed)
            case "call", {"args": [*args], "result": result}:
                return CallCase(tuple(args), result)
        raise self.error(f"has a case that does not fit the style {style!r}")
