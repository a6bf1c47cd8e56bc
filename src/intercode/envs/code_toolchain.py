"""Building and running a program of some language in a sandbox."""

from __future__ import annotations

from dataclasses import dataclass

from intercode.errors import ToolchainMissing
from intercode.sandboxes.base import CommandResult, Sandbox
from intercode.tasks.languages import LanguageSpec, Words

WORK = "/work"
_BINARY = "/tmp/build/program"
COMPILE_S = 30.0

_BUILD = 'mkdir -p /tmp/build && rm -rf /tmp/build/program && exec "$@"'
_RUN = 'exec "$@"'
_QUIET = 'exec "$@" 2> /dev/null'
_WITH_INPUT = 'if [ -f input.txt ]; then exec "$@" < input.txt; else exec "$@"; fi'


@dataclass(frozen=True)
class Toolchain:
    """A language whose program is ``program`` in an image."""

    language: LanguageSpec
    program: str

    def compiled(self, sandbox: Sandbox, file: str) -> CommandResult | None:
        """What the compiler said; None where there is nothing to compile."""
        if not self.language.compile:
            return None
        return self._do(sandbox, _BUILD, self.language.compile, file, timeout_s=COMPILE_S)

    def run(self, sandbox: Sandbox, file: str, *, timeout_s: float, most: int) -> CommandResult:
        """Run it as the agent sees it, with what is in ``input.txt``."""
        return self._do(
            sandbox, _WITH_INPUT, self.language.run, file, timeout_s=timeout_s, most=most
        )

    def answer(
        self, sandbox: Sandbox, file: str, stdin: bytes, *, timeout_s: float, most: int
    ) -> CommandResult:
        """Run it on an input; only what it prints to its standard output is kept."""
        return self._do(
            sandbox, _QUIET, self.language.run, file, stdin=stdin, timeout_s=timeout_s, most=most
        )

    def test(self, sandbox: Sandbox, file: str, *, timeout_s: float) -> CommandResult:
        """Run a text that has its tests in it, once it is compiled."""
        words = self.language.test or self.language.run
        return self._do(sandbox, _RUN, words, file, timeout_s=timeout_s)

    def _do(
        self,
        sandbox: Sandbox,
        script: str,
        words: Words,
        file: str,
        *,
        timeout_s: float,
        stdin: bytes = b"",
        most: int | None = None,
    ) -> CommandResult:
        known = {"program": self.program, "file": file, "binary": _BINARY}
        command = [word.format(**known) for word in words]
        return sandbox.run(
            ["/bin/bash", "-c", script, "run", *command],
            cwd=WORK,
            env=dict(self.language.env),
            stdin=stdin,
            timeout_s=timeout_s,
            max_output_bytes=most,
        )


def toolchain(sandbox: Sandbox, language: LanguageSpec) -> Toolchain:
    """What a fresh sandbox has for a language.

    :raises ToolchainMissing: nothing.
    """
    names = " ".join(language.programs)
    found = sandbox.query(f"for name in {names}; do command -v $name && exit; done; exit 1")
    if found.exit_code != 0:
        base = sandbox.image.base
        raise ToolchainMissing(
            f"the image ({base}) has no {language.programs[0]}, which {language.title} needs",
            remedy=f"apt-get install {language.package}"
            + ("" if base == "host" else ", in the image")
            + ", or --base recipe:code",
        )
    return Toolchain(language, found.output.strip())


def prove(sandbox: Sandbox, language: LanguageSpec) -> None:
    """Whether a program that prints ``hello`` does so in a fresh sandbox.

    :raises ToolchainMissing: it does not: something else is missing, or broken.
    """
    tools = toolchain(sandbox, language)
    sandbox.write_file(f"{WORK}/{language.file}", language.hello.encode())
    result = tools.compiled(sandbox, language.file)
    if result is None or result.exit_code == 0:
        result = tools.run(sandbox, language.file, timeout_s=COMPILE_S, most=1 << 16)
    if "hello" not in result.output.splitlines():
        said = result.output.strip().splitlines() or [f"exit code {result.exit_code}"]
        raise ToolchainMissing(
            f"{language.title} does not work in the image ({sandbox.image.base}): {said[0]}",
            remedy="--base recipe:code, or another image that has all of it",
        )
