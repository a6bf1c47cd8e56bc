"""Promises of interpreters that last, on images that have their programs."""

from __future__ import annotations

from collections.abc import Callable

from intercode.errors import SandboxError
from intercode.sandboxes.base import Backend, Image, Limits, Sandbox
from intercode.sandboxes.conformance.tools import expect, fresh, prints, same
from intercode.sandboxes.languages import Interpreter

_Trial = Callable[[Sandbox, Interpreter], None]


def _tried(backend: Backend, image: Image, limits: Limits, trial: _Trial) -> None:
    with fresh(backend, image, limits) as sandbox:
        python = sandbox.interpreter("python")
        try:
            python.start()
        except SandboxError:
            return  # an image without Python promises nothing about it
        trial(sandbox, python)


def an_interpreter_remembers(backend: Backend, image: Image, limits: Limits) -> None:
    def trial(sandbox: Sandbox, python: Interpreter) -> None:
        prints(python.run("x = 6"), b"")
        prints(sandbox.interpreter("python").run("print('so')\nx * 7"), b"so\n42\n")
        same("exit code of an exception", python.run("1 / 0").exit_code, 1)
        same("processes", sandbox.process_count(), 0)

    _tried(backend, image, limits, trial)


def an_interpreter_that_ends_is_started_again_and_says_so(
    backend: Backend, image: Image, limits: Limits
) -> None:
    def trial(sandbox: Sandbox, python: Interpreter) -> None:
        python.run("x = 6")
        ended = python.run("print(x, flush=True); import os; os._exit(5)")
        same("output", ended.raw, b"6\n")
        same("exit code", ended.exit_code, 5)
        expect(ended.restarted is not None, "nobody says that the interpreter was started again")
        same("exit code", python.run("x").exit_code, 1)
        late = python.run("while True: pass", timeout_s=0.3)
        expect(late.exit_code in (124, 137), f"an endless loop ends with {late.exit_code}")
        prints(python.run("1"), b"1\n")

    _tried(backend, image, limits, trial)


def shell_and_interpreter_share_files_and_nothing_else(
    backend: Backend, image: Image, limits: Limits
) -> None:
    def trial(sandbox: Sandbox, python: Interpreter) -> None:
        shell = sandbox.shell()
        shell.run("cd /usr; x=5; echo hi > /f")
        prints(python.run("x = 7; print(open('/f').read(), end='')"), b"hi\n")
        prints(shell.run("pwd; echo $x"), b"/usr\n5\n")
        expect(shell.run("exit 3").restarted is not None, "the shell did not end")
        prints(python.run("x"), b"7\n")
        python.run("import os; os._exit(1)")
        expect(shell.run("true").restarted is None, "the shell ended with the interpreter")
        prints(sandbox.run("echo fresh"), b"fresh\n")

    _tried(backend, image, limits, trial)


PROMISES = (
    an_interpreter_remembers,
    an_interpreter_that_ends_is_started_again_and_says_so,
    shell_and_interpreter_share_files_and_nothing_else,
)
