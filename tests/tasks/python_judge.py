"""A judge of Python submissions, to the letter of `intercode.tasks.sources.python_tests`.

It stands in for no environment: submissions are trusted here. One process, kept apart from pytest,
forks a child for each of them, and kills the child that takes too long.
"""

from __future__ import annotations

import copy
import io
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import redirect_stdout
from typing import Any

from intercode.tasks.sources.python_tests import INPUT_NAMES, CallCase, StdinCase, TestSpec


def judge(
    jobs: Iterable[tuple[Mapping[str, Any], str]],
    *,
    timeout_s: float = 20.0,
    python: str = sys.executable,
) -> list[list[bool | None]]:
    """For each reward and submission, what each test says; None for an input that is no test."""
    text = "".join(json.dumps([dict(reward), code]) + "\n" for reward, code in jobs)
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [python, __file__, str(timeout_s)],
            input=text, capture_output=True, encoding="utf-8", cwd=folder, check=False,
            env={"PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "PYTHONHASHSEED": "0",
                 "PATH": os.environ["PATH"], "MPLBACKEND": "agg"},
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def _serve(timeout_s: float) -> None:
    for line in sys.stdin.read().splitlines():
        reward, code = json.loads(line)
        spec = TestSpec.from_mapping(reward)
        found = _in_a_child(spec, code, timeout_s)
        os.write(1, (json.dumps(found + [False] * (spec.count - len(found))) + "\n").encode())


def _in_a_child(spec: TestSpec, code: str, timeout_s: float) -> list[bool | None]:
    read_end, write_end = os.pipe()
    child = os.fork()
    if not child:
        os.setsid()
        os.close(read_end)
        null = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(null, standard)
        try:
            for verdict in _verdicts(spec, code):
                os.write(write_end, _LETTERS[verdict])
        finally:
            os._exit(0)
    os.close(write_end)
    verdicts, end = b"", time.monotonic() + timeout_s
    while select.select([read_end], [], [], max(0.0, end - time.monotonic()))[0]:
        part = os.read(read_end, 1 << 16)
        if not part:
            break
        verdicts += part
    os.close(read_end)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return [_MEANING[verdict] for verdict in verdicts]


_LETTERS = {True: b"1", False: b"0", None: b"-"}
_MEANING: dict[int, bool | None] = {letter[0]: verdict for verdict, letter in _LETTERS.items()}


def _verdicts(spec: TestSpec, code: str) -> Iterator[bool | None]:
    space: dict[str, Any] = {"__name__": "__submission__"}
    if spec.style == "stdin":
        yield from (_prints(case, code) for case in spec.cases)
        return
    if spec.style == "source":
        _run(spec.tests[0], space)
        names = [name for name in ("test_string", "test_execution") if name in space]
        yield all(_passes(lambda name=name: space[name](code)) for name in names)
        return
    _run(spec.given, space)
    _run(code, space)
    _run(spec.setup, space)
    if spec.style == "asserts":
        yield from (_passes(lambda test=test: _run(test.strip(), space)) for test in spec.tests)
    elif spec.style == "check":
        _run(spec.tests[0], space)
        yield _passes(lambda: space["check"](space[spec.entry_point]))
    elif spec.style == "call":
        yield from (_gives(case, spec, space) for case in spec.cases)
    else:
        yield from _compared(spec, space)


def _run(program: str, space: dict[str, Any]) -> None:
    """As a program of its own: what this file imports from the future is not inherited."""
    exec(compile(program, "<submission>", "exec", dont_inherit=True), space)


def _passes(test: Any) -> bool:
    try:
        test()
    except BaseException:
        return False
    return True


def _gives(case: StdinCase | CallCase, spec: TestSpec, space: dict[str, Any]) -> bool:
    assert isinstance(case, CallCase)
    owner = space[spec.class_name]() if spec.class_name else None
    function = getattr(owner, spec.entry_point) if owner else space[spec.entry_point]
    try:
        found = json.loads(json.dumps(function(*copy.deepcopy(case.args))))
    except BaseException:
        return False
    wrapped = isinstance(case.result, list) and len(case.result) == 1
    return found == case.result or (spec.unwraps and wrapped and found == case.result[0])


def _prints(case: StdinCase | CallCase, code: str) -> bool:
    assert isinstance(case, StdinCase)
    printed = io.StringIO()
    sys.stdin = io.TextIOWrapper(io.BytesIO(case.input.encode()))
    try:
        with redirect_stdout(printed):
            _run(code, {"__name__": "__main__"})
    except SystemExit:
        pass
    except BaseException:
        return False
    return _lines(printed.getvalue()) == _lines(case.output)


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]


def _compared(spec: TestSpec, space: dict[str, Any]) -> Iterator[bool | None]:
    reference: dict[str, Any] = {}
    _run(spec.given, reference)
    _run(spec.reference, reference)
    _run(spec.agree, reference)
    for text in (*spec.base, *spec.plus):
        try:
            expected = reference[spec.entry_point](*_read(text))
            assert not spec.agree or reference["agree"](expected, expected, _read(text))
        except Exception:
            yield None
            continue
        try:
            result = space[spec.entry_point](*_read(text))
            if spec.agree:
                yield bool(reference["agree"](expected, result, _read(text)))
            else:
                yield expected == result or _close(expected, result, spec.atol or 1e-6)
        except BaseException:
            yield False


def _read(text: str) -> Any:
    return eval(text, dict(INPUT_NAMES))


def _close(expected: Any, result: Any, atol: float) -> bool:
    if isinstance(expected, float | complex) and isinstance(result, int | float | complex):
        both_nan = expected != expected and result != result
        return both_nan or abs(expected - result) <= atol or expected == result
    if isinstance(expected, list | tuple) and isinstance(result, list | tuple):
        pairs = zip(expected, result, strict=False)
        return len(expected) == len(result) and all(_close(a, b, atol) for a, b in pairs)
    return bool(expected == result)


if __name__ == "__main__":
    _serve(float(sys.argv[1]))
