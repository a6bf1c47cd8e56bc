"""``intercode data``: which datasets there are, what is in one, and how to get its files."""

from __future__ import annotations

import argparse
import importlib
import json
from collections import Counter
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from intercode.tasks.model import Dataset, Task

_EXAMPLES = """\
examples:
  intercode data list
  intercode data info nl2bash:fs_1 --tasks
  intercode data fetch nl2bash
  intercode data fetch nl2bash --from ~/Downloads/nl2bash
"""
_NAME_HELP = "a name from 'intercode data list', or the path of a .json, .jsonl, .csv or .tsv file"


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the verb ``data`` and its own verbs to the command line."""
    parser = _add(subparsers, "data", "list, look into and fetch datasets", _EXAMPLES)
    verbs = parser.add_subparsers(dest="data_command", metavar="COMMAND", required=True)

    listing = _add(
        verbs, "list", "all datasets and where they are",
        "examples:\n  intercode data list\n  intercode data list --json\n",
    )  # fmt: skip
    listing.set_defaults(handler=list_datasets)

    info = _add(
        verbs, "info", "what is in a dataset",
        "examples:\n  intercode data info nl2bash\n"
        "  intercode data info my_tasks.csv --tasks --json\n",
    )  # fmt: skip
    info.add_argument("name", metavar="NAME", help=_NAME_HELP)
    info.add_argument("--tasks", action="store_true", help="list every task with its flags")
    info.set_defaults(handler=show_dataset)

    fetching = _add(
        verbs, "fetch", "bring a dataset's files here",
        "examples:\n  intercode data fetch nl2bash\n"
        "  intercode data fetch alfa --from /media/usb/intercode_alfa\n\n"
        "A download that was interrupted goes on where it stopped.\n",
    )  # fmt: skip
    fetching.add_argument("name", metavar="NAME", help="a name from 'intercode data list'")
    fetching.add_argument(
        "--from", dest="source", metavar="PATH", type=Path,
        help="copy from this folder instead of downloading",
    )  # fmt: skip
    fetching.set_defaults(handler=fetch_dataset)

    if find_spec("intercode.cli.check"):
        importlib.import_module("intercode.cli.check").add_parser(verbs)


def _add(
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    summary: str,
    epilog: str,
) -> argparse.ArgumentParser:
    parser = subparsers.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.",
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    if name != "data":
        parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def list_datasets(args: argparse.Namespace) -> int:
    from intercode.tasks import registry

    infos = registry.names()
    if args.json:
        _print_json(
            [
                {
                    "name": info.name, "description": info.description, "tasks": info.tasks,
                    "licence": info.licence, "parts": list(info.parts), "present": info.present,
                    "bundled": info.bundled, "place": str(info.place) if info.place else None,
                }
                for info in infos
            ]
        )  # fmt: skip
        return 0
    table = _table("name", ("tasks", "right"), "licence", "what it is, and where")
    for info in infos:
        parts = f"\nparts: {info.parts[0]} … {info.parts[-1]}" if info.parts else ""
        tasks = f"{info.tasks:,}" if info.tasks is not None else ""
        where = f"{info.description}{parts}\n{info.where}"
        _row(table, info.name, tasks, info.licence, where)
    _console().print(table)
    return 0


def show_dataset(args: argparse.Namespace) -> int:
    from intercode.tasks import registry

    dataset = registry.load(args.name)
    if args.json:
        summary = _summary(dataset)
        if args.tasks:
            summary["task_list"] = [
                {"id": t.id, "instruction": t.instruction, "flags": list(t.flags)} for t in dataset
            ]
        _print_json(summary)
        return 0
    console = _console()
    _print_summary(console, dataset)
    if args.tasks:
        table = _table(("id", "left"), "instruction", "flags")
        for task in dataset:
            _row(table, task.id, _shortened(task.instruction, 44), " ".join(task.flags))
        console.print("", table)
    return 0


def fetch_dataset(args: argparse.Namespace) -> int:
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    from intercode.tasks import registry
    from intercode.tasks.fetch import fetch

    dest = registry.user_data_folder()
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    with Progress(*columns, console=_console(stderr=True), transient=True) as bar:
        task = bar.add_task("fetching", total=None)
        files = fetch(
            args.name,
            source=args.source,
            dest=dest,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    if args.json:
        _print_json({"name": args.name, "folder": str(dest), "files": [str(f) for f in files]})
    else:
        print(f"{args.name}: {len(files)} files below {dest}")
    return 0


def _summary(dataset: Dataset) -> dict[str, Any]:
    return {
        "name": dataset.name,
        "description": dataset.description,
        "source": dataset.source,
        "licence": dataset.licence,
        "digest": dataset.digest,
        "tasks": len(dataset),
        "sound": sum(task.sound for task in dataset),
        "file_systems": dict(Counter(_of(dataset, "file_system"))),
        "databases": _databases(dataset),
        "hardness": dict(Counter(_of(dataset, "hardness"))),
        "flags": _counts(flag for task in dataset for flag in task.flags),
        "notes": _counts(note for task in dataset for note in task.metadata.get("notes", ())),
    }


def _databases(dataset: Dataset) -> dict[str, dict[str, Any]]:
    tasks = Counter(task.database for task in dataset if task.database is not None)
    return {
        name: {
            "tasks": tasks[name],
            "dialect": database.dialect,
            "file": str(database.file) if database.file else None,
            "present": database.present,
        }
        for name, database in dataset.databases.items()
    }


def _of(dataset: Iterable[Task], key: str) -> Iterable[str]:
    return (str(task.metadata[key]) for task in dataset if task.metadata.get(key) is not None)


def _counts(names: Iterable[str]) -> dict[str, int]:
    """How often each name occurs, the most frequent first."""
    return dict(Counter(names).most_common())


def _print_summary(console: Console, dataset: Dataset) -> None:
    from intercode.tasks.labels import FLAGS, NOTES

    summary = _summary(dataset)
    facts = _table("", "")
    facts.show_header = False
    for key in ("name", "description", "source", "licence", "digest"):
        if summary[key]:
            _row(facts, key, summary[key])
    _row(facts, "tasks", f"{summary['tasks']:,}, of which {summary['sound']:,} carry no flag")
    console.print(facts)
    if summary["databases"]:
        console.print("", _databases_table(summary["databases"]))
    for key, meanings in (("file_systems", {}), ("hardness", {}), ("flags", FLAGS),
                          ("notes", NOTES)):  # fmt: skip
        if summary[key]:
            table = _table(key.replace("_", " "), ("tasks", "right"), "")
            for name, count in summary[key].items():
                _row(table, name, f"{count:,}", meanings.get(name, ""))
            console.print("", table)


def _databases_table(databases: dict[str, dict[str, Any]]) -> Any:
    """Those that can be used here one by one, of the others how many there are for each dialect."""
    here = {name: facts for name, facts in databases.items() if facts["present"]}
    table = _table("databases", ("tasks", "right"), "")
    for name, facts in here.items():
        where = f"{facts['dialect']}, {Path(facts['file']).name}"
        _row(table, name, f"{facts['tasks']:,}", where)
    absent = [facts for name, facts in databases.items() if name not in here]
    for dialect in dict.fromkeys(facts["dialect"] for facts in absent):
        those = [facts for facts in absent if facts["dialect"] == dialect]
        first = those[0]["file"]
        _row(
            table,
            f"({len(those)} not here)",
            f"{sum(facts['tasks'] for facts in those):,}",
            f"{dialect}, {first}{' …' if len(those) > 1 else ''}" if first else dialect,
        )
    return table


def _console(*, stderr: bool = False) -> Console:
    from rich.console import Console

    return Console(stderr=stderr, highlight=False)


def _table(*columns: str | tuple[str, Any]) -> Any:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in columns:
        header, justify = column if isinstance(column, tuple) else (column, None)
        table.add_column(header, justify=justify or "left", overflow="fold")
    return table


def _row(table: Any, *cells: str) -> None:
    """Adds cells as they are: brackets and colons in a command are not markup."""
    from rich.text import Text

    table.add_row(*(Text(_printable(cell)) for cell in cells))


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in text)


def _shortened(text: str, width: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= width else f"{line[: width - 1]}…"


def _print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False))
