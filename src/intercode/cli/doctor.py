"""``intercode doctor``: which sandbox back ends work on this machine, and what would mend it."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from intercode.cli.main import VERBS

if TYPE_CHECKING:
    from intercode.sandboxes.base import Check

_EPILOG = """\
examples:
  intercode doctor
  intercode doctor --json

The exit code is 0 if at least one back end works.
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "doctor",
        help=VERBS["doctor"],
        description="Try every sandbox back end, part by part; say what mends what does not work.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(handler=examine)


def examine(args: argparse.Namespace) -> int:
    """Checks all back ends and reports."""
    from intercode.sandboxes import registry

    found = {name: _checked(name) for name in registry.names()}
    works = {name: all(check.ok for check in checks) for name, checks in found.items()}
    if args.json:
        backends = {
            name: {"works": works[name], "checks": [asdict(check) for check in checks]}
            for name, checks in found.items()
        }
        print(json.dumps({"python": sys.version.split()[0], "backends": backends}))
    else:
        _print(found, works)
    return 0 if any(works.values()) else 1


def _checked(name: str) -> list[Check]:
    """A back end's own checks and, where they pass, a sandbox really started."""
    from intercode.errors import InterCodeError
    from intercode.sandboxes import registry
    from intercode.sandboxes.base import Check, Image, Limits

    try:
        backend = registry.create(name)
    except InterCodeError as error:
        return [Check("package", False, error.args[0], error.remedy)]
    try:
        checks = backend.check()
        if all(check.ok for check in checks) and name == "bubblewrap":
            sandbox = backend.start(Image(), Limits())
            output = sandbox.run("echo works").output.strip()
            sandbox.close()
            checks.append(Check("a sandbox", output == "works", f"started, and says {output!r}"))
        return checks
    except InterCodeError as error:
        return [*checks, Check("a sandbox", False, error.args[0], error.remedy)]
    finally:
        backend.close()


def _print(found: dict[str, list[Check]], works: dict[str, bool]) -> None:
    from intercode.reports.table import console

    out = console()
    for name, checks in found.items():
        state = "[green]works[/]" if works[name] else "[red]does not work[/]"
        out.print(f"[bold]{name}[/] {state}", highlight=False)
        for check in checks:
            mark = "[green]✓[/]" if check.ok else "[red]✗[/]"
            out.print(f"  {mark} {check.name}: ", end="", highlight=False)
            out.print(check.detail, markup=False, highlight=False, soft_wrap=True)
            if check.remedy:
                out.print(f"      try: {check.remedy}", markup=False, highlight=False)
    first = next((name for name, good in works.items() if good), None)
    out.print(
        f"\nthe default is {first}" if first else "\nno back end works here: see 'try' above",
        highlight=False,
    )
