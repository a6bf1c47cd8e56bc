"""``intercode runs``: which runs there are, and what is in one."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from intercode.cli.main import VERBS
from intercode.errors import RunError, UsageError

if TYPE_CHECKING:
    from intercode.runs.folder import Run
    from intercode.runs.record import EpisodeRecord, TurnRecord

_EPILOG = """\
examples:
  intercode runs list
  intercode runs show runs/20260102-101112-nl2bash-gold
  intercode runs show runs/mine --task fs_1/3
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "runs",
        help=VERBS["runs"],
        description="List runs and look into them.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verbs = parser.add_subparsers(dest="runs_command", metavar="COMMAND", required=True)

    listing = verbs.add_parser("list", help="the runs in a folder, the latest first")
    listing.add_argument(
        "folder", nargs="?", type=Path, default=Path("runs"), metavar="DIR", help="default: runs"
    )
    listing.set_defaults(handler=list_runs)

    show = verbs.add_parser("show", help="a run's figures, its episodes, or one of them")
    show.add_argument("run", type=Path, metavar="RUN", help="a run's folder")
    show.add_argument("--task", metavar="ID", help="every turn of this task's episode")
    show.set_defaults(handler=show_run)

    for verb in (listing, show):
        verb.add_argument("--json", action="store_true", help="print JSON")


def list_runs(args: argparse.Namespace) -> int:
    from intercode.reports.table import add_row, console, new_table, percent, shortened

    if not args.folder.is_dir():
        raise RunError(
            f"there is no folder {args.folder}", remedy="intercode runs list DIR, or begin a run"
        )
    found = sorted(_runs(args.folder), key=lambda line: line["created_at"], reverse=True)
    if args.json:
        print(json.dumps(found, indent=2))
        return 0
    numbers = ("done", "solved", "reward", "failed")
    table = new_table("run", *numbers, numbers=numbers)
    for line in found:
        if "problem" in line:
            add_row(table, f"{line['run']}\n  {line['problem']}")
            continue
        reward = line["mean_reward"]
        what = f"{line['dataset']} · {line['agent']} · {line['env']}"
        add_row(
            table,
            f"{line['run']}\n  {shortened(what, 44)}",
            f"{line['tasks']}/{line['planned']}",
            percent(line["success_rate"]),
            "–" if reward is None else f"{reward:.3f}",
            str(line["failed"] or ""),
        )
    console().print(table)
    return 0


def show_run(args: argparse.Namespace) -> int:
    from intercode.runs.folder import read_run

    run = read_run(args.run)
    if args.task is None:
        _print_run(run, args.json)
        return 0
    record = next((r for r in run.records if r.task_id == args.task), None)
    if record is None:
        raise UsageError(
            f"{run.folder} has no episode of task {args.task!r}",
            remedy=f"intercode runs show {run.folder}",
        )
    if args.json:
        print(json.dumps(record.to_json(), indent=2))
    else:
        _print_episode(record)
    return 0


def _runs(folder: Path) -> Iterator[dict[str, Any]]:
    """A line for each run in ``folder``; one that cannot be read has its ``problem`` in it."""
    from intercode.reports.summary import summarise
    from intercode.runs.folder import RUN_FILE, read_run

    for path in sorted(folder.iterdir()):
        if not (path / RUN_FILE).is_file():
            continue
        try:
            run = read_run(path)
        except RunError as error:
            yield {"run": str(path), "created_at": "", "problem": error.args[0]}
            continue
        yield {"run": str(path), **_facts(run), **summarise(run.records).to_json()}


def _facts(run: Run) -> dict[str, Any]:
    """What is said of a run beside its figures; whoever made it may have left something out."""
    facts = {name: str(run.config.get(name, "?")) for name in ("dataset", "agent", "env")}
    return facts | {
        "planned": run.config.get("tasks", len(run.records)),
        "created_at": str(run.about.get("created_at", "")),
    }


def _print_run(run: Run, as_json: bool) -> None:
    from intercode.reports.summary import groups, summarise
    from intercode.reports.table import add_row, console, failures, new_table, summary_table

    overall = summarise(run.records)
    if as_json:
        episodes = [
            {"task_id": r.task_id, "reward": r.reward, "success": r.success, "end": r.end,
             "cause": r.cause, "turns": len(r.actions)}
            for r in run.records
        ]  # fmt: skip
        body = {"run": str(run.folder), **_facts(run), **overall.to_json(), "episodes": episodes}
        print(json.dumps(body, indent=2))
        return
    facts = _facts(run)
    print(f"{facts['dataset']} · {facts['agent']} · {facts['env']} · {facts['created_at']}")
    print(f"{len(run.records)} of {facts['planned']} tasks done\n")
    screen = console()
    screen.print(summary_table(overall, groups(run.records)))
    print(f"{failures(overall)}\n" if overall.failed else "")
    table = new_table("task", "reward", "turns", "instruction", numbers=("reward", "turns"))
    for record in run.records:
        reward = f"{record.reward:.2f}" if record.reward is not None else record.cause or "failed"
        add_row(table, record.task_id, reward, str(len(record.actions)), _short(record))
    screen.print(table)


def _short(record: EpisodeRecord) -> str:
    from intercode.reports.table import shortened

    return shortened(record.instruction, 44)


def _print_episode(record: EpisodeRecord) -> None:
    from intercode.reports.table import printable, reward_in_words

    print(f"task {record.task_id} · {record.agent} · seed {record.seed}")
    print(f"{printable(record.instruction)}\n")
    for turn in record.turns:
        print(f"> {printable(turn.action)}")
        if turn.observation and turn.executed is not None:
            print(printable(turn.observation).removesuffix("\n"))
        for remark in _remarks(turn):
            print(remark)
    if record.reward is None:
        print(f"\nfailed: {record.cause}: {printable(record.message or '')}")
        return
    print(f"\n{reward_in_words(record.reward, record.components)}")
    print(f"ended by: {record.end}; {len(record.actions)} turns in {record.duration_s:.2f} s")


def _remarks(turn: TurnRecord) -> Iterator[str]:
    """What a turn's observation does not say by itself."""
    if turn.timed_out:
        yield "[timed out]"
    elif turn.exit_code:
        yield f"[exit code {turn.exit_code}]"
    elif turn.executed is False:
        yield "[not executed]"
    if turn.reward is not None and turn.executed is not None:
        yield f"[reward {turn.reward:.2f}]"
