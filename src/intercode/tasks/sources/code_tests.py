"""How a program in some language is tested: what a task's ``reward`` says.

A task names its ``language`` (`intercode.tasks.languages`) and has tests in one of two shapes:

``cases``
    The program is run once for each, with ``input`` as its standard input; it has to print
    ``output`` and to end with 0. White space at the ends of lines and of the text does not count.
``tests``
    A text to be put after the program; the whole has to end with 0, within the time of one case.
    ``prompt`` is the beginning of the program, which the solver was given to go on from;
    ``stop_tokens`` are texts at which such a continuation ends.

``file``, where it is set, is the file in the agent's sandbox that a submission stands for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from intercode.errors import TaskError, UsageError
from intercode.tasks.languages import language_spec
from intercode.tasks.sources.python_tests import StdinCase

TIMEOUT_S = 10.0
"""What one case may take where the task does not say."""

_FIELDS = ("language", "cases", "tests", "prompt", "stop_tokens", "file", "timeout_s")


@dataclass(frozen=True)
class CodeSpec:
    """See the module."""

    language: str
    cases: tuple[StdinCase, ...] = ()
    tests: str = ""
    prompt: str = ""
    stop_tokens: tuple[str, ...] = ()
    file: str = ""
    timeout_s: float = TIMEOUT_S

    def to_mapping(self) -> dict[str, Any]:
        """A task's ``reward``: plain JSON, without what is empty."""
        found = {
            "language": self.language,
            "cases": [{"input": case.input, "output": case.output} for case in self.cases],
            "tests": self.tests,
            "prompt": self.prompt,
            "stop_tokens": list(self.stop_tokens),
            "file": self.file,
            "timeout_s": self.timeout_s,
        }
        return {key: value for key, value in found.items() if value}

    @classmethod
    def from_mapping(cls, reward: Mapping[str, Any], *, task: str = "") -> CodeSpec:
        """:raises TaskError: it is not what ``to_mapping`` writes, or there is nothing to test."""

        def wrong(problem: str) -> TaskError:
            return TaskError(
                f"task {task!r}: its reward {problem}",
                remedy="write what intercode.tasks.sources.code_tests describes",
            )

        if unknown := sorted(set(reward) - set(_FIELDS)):
            raise wrong(f"has an unknown field {unknown[0]!r}")
        for field in ("language", "tests", "prompt", "file"):
            if not isinstance(reward.get(field, ""), str):
                raise wrong(f"has a {field} that is not text")
        try:
            language = language_spec(reward.get("language", "")).name
        except UsageError as error:
            raise wrong(f"names no language: {error}") from error
        seconds = reward.get("timeout_s", TIMEOUT_S)
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0:
            raise wrong("has a timeout_s that is not a number above 0")
        tokens = reward.get("stop_tokens", ())
        if not isinstance(tokens, list | tuple) or not all(isinstance(t, str) for t in tokens):
            raise wrong("has stop_tokens that are not a list of texts")
        cases = reward.get("cases", ())
        if not isinstance(cases, list | tuple):
            raise wrong("has cases that are not a list")
        read = []
        for case in cases:
            match case:
                case {"input": str(given), "output": str(printed)}:
                    read.append(StdinCase(given, printed))
                case _:
                    raise wrong("has a case without an input and an output")
        tests = reward.get("tests", "")
        if bool(read) == bool(tests):
            raise wrong("needs either cases or tests")
        return cls(
            language=language,
            cases=tuple(read),
            tests=tests,
            prompt=reward.get("prompt", ""),
            stop_tokens=tuple(tokens),
            file=reward.get("file", ""),
            timeout_s=float(seconds),
        )


def assembled(spec: CodeSpec, submission: str) -> str:
    """The program to put the tests after.

    A submission that has the last line of the prompt, which is the signature, is a whole program.
    Its last closing braces go where the tests begin with them. Any other one continues the prompt,
    and ends at its first stop token.
    """
    if not spec.prompt.strip():
        return submission
    signature = spec.prompt.strip().splitlines()[-1].strip()
    if signature not in submission:
        ends = [submission.find(token) for token in spec.stop_tokens if token]
        found = [end for end in ends if end >= 0]
        return spec.prompt + (submission[: min(found)] if found else submission)
    if spec.tests.lstrip().startswith("}"):
        for _ in range(_open_braces(spec.prompt) - _open_braces(submission)):
            head, brace, _ = submission.rpartition("}")
            submission = head if brace else submission
    return submission


def _open_braces(text: str) -> int:
    return text.count("{") - text.count("}")
