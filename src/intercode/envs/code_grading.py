"""Judging a program: its hidden cases, run in a sandbox that no agent has touched.

The program's text is all that crosses. For cases, what is expected never enters a sandbox: inputs
go in, and what comes out is compared outside. Tests that are put after a program are within its
reach; see `code_controls` for what that is worth.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from intercode.envs.code_controls import controls
from intercode.envs.code_toolchain import WORK, toolchain
from intercode.rewards import code
from intercode.rewards.score import Score
from intercode.sandboxes.base import Sandbox
from intercode.tasks.languages import language_spec
from intercode.tasks.sources.code_tests import CodeSpec, assembled

Fresh = Callable[[], AbstractContextManager[Sandbox]]
_SPARE_BYTES = 4096


def judged(spec: CodeSpec, source: bytes, fresh: Fresh) -> Score:
    """The score of a program. ``fresh`` gives sandboxes that nobody has used."""
    return _cases(spec, source, fresh) if spec.cases else _tests(spec, source, fresh)


def _cases(spec: CodeSpec, source: bytes, fresh: Fresh) -> Score:
    language = language_spec(spec.language)
    with fresh() as sandbox:
        tools = toolchain(sandbox, language)
        sandbox.write_file(f"{WORK}/{language.file}", source)
        built = tools.compiled(sandbox, language.file)
        if built is not None and built.exit_code != 0:
            return code.score([False] * len(spec.cases), compiled=False)
        passed = []
        for case in spec.cases:
            wanted = case.output.encode()
            result = tools.answer(
                sandbox,
                language.file,
                case.input.encode(),
                timeout_s=spec.timeout_s,
                most=2 * len(wanted) + _SPARE_BYTES,
            )
            passed.append(
                result.exit_code == 0
                and not result.timed_out
                and not result.truncated
                and code.same_output(case.output, result.raw)
            )
    return code.score(passed, compiled=True)


def _tests(spec: CodeSpec, source: bytes, fresh: Fresh) -> Score:
    program = assembled(spec, source.decode("utf-8", "replace"))
    if not _passes(spec, program, spec.tests, fresh):
        return code.score([False])
    spoiled = controls(spec.tests)
    forged = any(_passes(spec, program, tests, fresh) for tests in spoiled)
    return code.score([not forged], forged=forged, controls=len(spoiled))


def _passes(spec: CodeSpec, program: str, tests: str, fresh: Fresh) -> bool:
    language = language_spec(spec.language)
    file = language.test_file or language.file
    with fresh() as sandbox:
        tools = toolchain(sandbox, language)
        sandbox.write_file(f"{WORK}/{file}", f"{program}\n{tests}".encode())
        built = None if language.test else tools.compiled(sandbox, file)
        if built is not None and built.exit_code != 0:
            return False
        result = tools.test(sandbox, file, timeout_s=spec.timeout_s)
    return result.exit_code == 0 and not result.timed_out
