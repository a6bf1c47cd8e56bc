"""``intercode``: the command line.

What it can do is a table here, so that ``intercode --help`` needs nothing else. A verb's module is
imported when that verb is used; it has ``add_parser(subparsers)``, whose parsers set ``handler``, a
function that takes the parsed arguments and gives the exit code.

Exit codes: 0 all went well, 1 some of what was asked for failed, 2 it could not be begun, 130
interrupted.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import NoReturn

from intercode import __version__
from intercode.errors import InterCodeError, UsageError

VERBS: Mapping[str, str] = {
    "doctor": "say whether this machine can run sandboxes, and what would mend it",
    "data": "list, look into and fetch datasets",
    "eval": "let an agent do the tasks of a dataset, and say how well it did",
    "play": "be the agent yourself",
    "replay": "run recorded actions again and compare what they give",
    "runs": "list runs and look into them",
}
"""Each verb and its one line; the module of the same name in this package does it."""

_EPILOG = """\
examples:
  intercode doctor
  intercode play bundled
  intercode eval bundled --agent gold

'intercode COMMAND --help' says more of each.
"""

INTERRUPTED = 130
_BROKEN_PIPE = 141


def entry() -> NoReturn:
    """The console script."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # what agents print may be anything
    code = main(sys.argv[1:])
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        code = _hang_up()
    sys.exit(code)


def main(argv: Sequence[str]) -> int:
    """Does what ``argv`` (without the program's name) asks for; gives the exit code."""
    argv = argv or ["--help"]
    try:
        args = _parser(argv).parse_args(argv)
        code: int = args.handler(args)
        return code
    except SystemExit as end:  # how argparse ends after --help, or on what it cannot parse
        return end.code if isinstance(end.code, int) else 2
    except InterCodeError as error:
        print(f"intercode: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("intercode: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        return _hang_up()


def _parser(argv: Sequence[str]) -> argparse.ArgumentParser:
    """Everything about the verb that ``argv`` names; of the others, their one line."""
    parser = argparse.ArgumentParser(
        prog="intercode",
        description="Coding as an interactive, executable task.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"intercode {__version__}")
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True)
    wanted = next((word for word in argv if not word.startswith("-")), None)
    present = [verb for verb in VERBS if find_spec(f"intercode.cli.{verb}")]
    if wanted is not None and wanted not in present:
        raise _unknown(wanted, present)
    for verb in present:
        if verb == wanted:
            importlib.import_module(f"intercode.cli.{verb}").add_parser(subparsers)
        else:
            subparsers.add_parser(verb, help=VERBS[verb])
    return parser


def _unknown(verb: str, present: Sequence[str]) -> UsageError:
    import difflib

    close = difflib.get_close_matches(verb, present, n=1)
    return UsageError(
        f"there is no command {verb!r}",
        remedy=f"intercode {close[0]}" if close else "intercode --help",
    )


def _hang_up() -> int:
    """Whoever read our output has gone: say nothing more, not even when Python exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return _BROKEN_PIPE
