"""``intercode doctor``: which sandboxes and SQL engines work here, and what would mend the rest."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from intercode.cli.main import VERBS

if TYPE_CHECKING:
    from rich.console import Console

    from intercode.sandboxes.base import Check

_EPILOG = """\
examples:
  intercode doctor
  intercode doctor --json

The exit code is 0 if at least one sandbox back end works.
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "doctor",
        help=VERBS["doctor"],
        description="Try every sandbox back end and SQL engine; say what mends what does not work.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(handler=examine)


def examine(args: argparse.Namespace) -> int:
    """Checks all back ends and engines, and reports."""
    from intercode.engines.registry import OWN_ENGINES
    from intercode.sandboxes import registry

    found = {name: _checked(name) for name in registry.names()}
    works = {name: all(check.ok for check in checks) for name, checks in found.items()}
    engines = {name: _engine(name) for name in OWN_ENGINES}
    if args.json:
        backends = {
            name: {"works": works[name], "checks": [asdict(check) for check in checks]}
            for name, checks in found.items()
        }
        told = {name: {"works": one.ok, "checks": [asdict(one)]} for name, one in engines.items()}
        version = sys.version.split()[0]
        print(json.dumps({"python": version, "backends": backends, "engines": told}))
    else:
        _print(found, works, engines)
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


def _engine(name: str) -> Check:
    """Whether a query is answered; a server is started for it."""
    from contextlib import closing

    from intercode.engines.probe import probe
    from intercode.engines.registry import choose
    from intercode.errors import InterCodeError
    from intercode.sandboxes.base import Check

    try:
        with closing(choose(name)) as engine:
            said = probe(engine)
            return Check(name, said == "works", f"{engine.version}, says {said!r}")
    except InterCodeError as error:
        return Check(name, False, str(error.args[0]), error.remedy)


def _print(
    found: dict[str, list[Check]], works: dict[str, bool], engines: dict[str, Check]
) -> None:
    from intercode.reports.table import console

    out = console()
    for name, checks in found.items():
        state = "[green]works[/]" if works[name] else "[red]does not work[/]"
        out.print(f"[bold]{name}[/] {state}", highlight=False)
        for check in checks:
            _print_check(out, check)
    out.print("[bold]SQL engines[/]", highlight=False)
    for check in engines.values():
        _print_check(out, check)
    first = next((name for name, good in works.items() if good), None)
    out.print(
        f"\nthe default is {first}" if first else "\nno back end works here: see 'try' above",
        highlight=False,
    )


def _print_check(out: Console, check: Check) -> None:
    mark = "[green]✓[/]" if check.ok else "[red]✗[/]"
    out.print(f"  {mark} {check.name}: ", end="", highlight=False)
    out.print(check.detail, markup=False, highlight=False, soft_wrap=True)
    if check.remedy:
        out.print(f"      try: {check.remedy}", markup=False, highlight=False)
