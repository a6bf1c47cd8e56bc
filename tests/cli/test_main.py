"""The command line answers at once and fails in one clear line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import types
from pathlib import Path

import pytest

from intercode import __version__
from intercode.cli import main as module
from intercode.cli.main import main
from intercode.errors import SandboxUnavailable

HEAVY = {"gymnasium", "numpy", "rich", "docker", "intercode.envs.base", "intercode.runs.store"}


def imported_by(code: str) -> set[str]:
    """What a fresh interpreter has imported after ``code``."""
    script = f"import sys\n{code}\nimport json\nprint('\\n' + json.dumps(list(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_help_imports_nothing_heavy() -> None:
    modules = imported_by("from intercode.cli.main import main; main(['--help'])")
    assert not modules & HEAVY
    assert not modules & {f"intercode.cli.{verb}" for verb in module.VERBS}


@pytest.mark.parametrize("verb", ["eval", "play", "runs"])
def test_help_of_a_verb_imports_nothing_heavy(verb: str) -> None:
    modules = imported_by(f"from intercode.cli.main import main; main(['{verb}', '--help'])")
    assert not modules & HEAVY


def test_importing_the_library_imports_nothing_heavy() -> None:
    assert not imported_by("import intercode") & HEAVY


@pytest.mark.parametrize("argv", [[], ["--help"]])
def test_help_lists_the_verbs(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(argv) == 0
    out = capsys.readouterr().out
    for verb in ("data", "eval", "play", "runs"):
        assert f"    {verb} " in out
        assert module.VERBS[verb] in out


def test_every_line_of_help_fits_into_80_columns(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for argv in (["--help"], ["eval", "-h"], ["play", "-h"], ["runs", "-h"]):
        assert main(argv) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"intercode {__version__}\n"


def test_a_typing_error_is_answered_with_the_likely_verb(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["evla"]) == 2
    assert capsys.readouterr().err == (
        "intercode: there is no command 'evla'\n  try: intercode eval\n"
    )


def test_a_verb_whose_module_is_missing_is_hidden(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "VERBS", {"gone": "do nothing", "eval": "evaluate"})
    main(["--help"])
    assert "gone" not in capsys.readouterr().out
    assert main(["gone"]) == 2


def raising(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Makes ``intercode runs`` raise ``error``."""

    def handler(args: object) -> int:
        raise error

    fake = types.ModuleType("intercode.cli.runs")
    fake.add_parser = lambda subparsers: subparsers.add_parser("runs").set_defaults(  # type: ignore[attr-defined]
        handler=handler
    )
    monkeypatch.setattr(module.importlib, "import_module", lambda name: fake)


def test_an_error_of_ours_is_one_message_and_its_remedy(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    raising(monkeypatch, SandboxUnavailable("no back end works", remedy="intercode doctor"))
    assert main(["runs"]) == 2
    assert capsys.readouterr().err == (
        "intercode: no back end works\n  try: intercode doctor\n"
    )  # fmt: skip


def test_an_interrupt_has_the_shells_exit_code(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    raising(monkeypatch, KeyboardInterrupt())
    assert main(["runs"]) == 130
    assert "interrupted" in capsys.readouterr().err


@pytest.mark.parametrize(
    "argv", [["--help"], ["runs", "list", "."], ["runs", "list", ".", "--json"]]
)
def test_nothing_is_said_to_a_reader_that_went_away(argv: list[str], tmp_path: Path) -> None:
    """As in ``intercode --help | true``."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-c", "from intercode.cli.main import entry; entry()", *argv],
            stdout=writing, stderr=subprocess.PIPE, cwd=tmp_path, timeout=60,
        )  # fmt: skip
    finally:
        os.close(writing)
    assert done.stderr == b""
