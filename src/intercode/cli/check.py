"""``intercode data check``: which tasks of a dataset deserve their reward, and why not the rest."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from intercode.cli.eval import _positive, add_env_arguments, chosen_dataset, where

if TYPE_CHECKING:
    from rich.table import Table

    from intercode.envs.check import Progress
    from intercode.envs.soundness import TaskCheck
    from intercode.tasks.model import Dataset

PLAIN_EVERY_S = 5.0
_NO_PLACE = "(none)"
_ERROR = "the check could not be done: see the message"

_EPILOG = """\
examples:
  intercode data check bundled
  intercode data check nl2bash --env Bash-v1 -j 4
  intercode data check my_tasks.json --strict --json

Each gold is run at two moments, and beside itself; doing nothing is scored too.
What is found joins what the dataset's labels say. In the list of unsound tasks
  clock     is labelled, and showed here
  +clock    showed here, and has no label: the dataset's labels lack it
  (clock)   is labelled, and did not show here; a clock or a host seldom does
Nothing is left out of a dataset for it: intercode eval has --sound-only.

With --strict the exit code is 1 if a task is unsound that carries no label;
for the bundled suite, if any is unsound.
"""


def add_parser(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds ``check`` to the verbs of ``intercode data``."""
    parser = verbs.add_parser(
        "check",
        help="run every gold and say which tasks are sound",
        description="Run every gold of a dataset and say which tasks are sound.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    # fmt: off
    add = parser.add_argument
    add("dataset", metavar="DATASET", help="a name from 'intercode data list', or a table's path")
    add(
        "-j", "--jobs", type=_positive, metavar="N", default=len(os.sched_getaffinity(0)),
        help="tasks at once (default: one a core)",
    )
    add("--limit", type=_positive, metavar="N", help="no more than the first N tasks")
    add("--tasks", nargs="+", metavar="ID", help="only these: ids, positions, or ranges as 0-9")
    add_env_arguments(parser)
    add("--strict", action="store_true", help="fail if a task is unsound that has no label")
    add("--json", action="store_true", help="print JSON")
    # fmt: on
    parser.set_defaults(handler=check, sound_only=False)


def check(args: argparse.Namespace) -> int:
    """Checks, reports, and gives the exit code."""
    from intercode.envs.check import check_dataset

    dataset = chosen_dataset(args)
    with _showing_progress(len(dataset)) as progress:
        checks = check_dataset(dataset, args.env, jobs=args.jobs, progress=progress, **where(args))
    if args.json:
        print(json.dumps(report(args, dataset, checks), indent=2, ensure_ascii=False))
    else:
        _print_report(checks)
    return 1 if args.strict and any(_is_news(dataset, c) for c in checks) else 0


def _is_news(dataset: Dataset, task: TaskCheck) -> bool:
    """Whether the task is unsound and nobody said so; of ours none may be, said or unsaid."""
    return not task.sound and (dataset.name.startswith("bundled") or not task.task.flags)


def report(
    args: argparse.Namespace, dataset: Dataset, checks: Sequence[TaskCheck]
) -> dict[str, Any]:
    from intercode.envs.registration import env_name

    return {
        "dataset": dataset.name,
        "digest": dataset.digest,
        "env": env_name(args.env, dataset),
        "sandbox": args.sandbox,
        "base": args.base,
        **_summary(checks),
        "places": {name: _summary(group) for name, group in _by_place(checks).items()},
        "task_list": [_entry(c) for c in checks],
    }


def _summary(checks: Sequence[TaskCheck]) -> dict[str, Any]:
    return {
        "tasks": len(checks),
        "sound": sum(c.sound for c in checks),
        "reasons": _counts(checks, "reasons"),
        "found": _counts(checks, "found"),
        "new": _counts(checks, "new"),
        "unseen": _counts(checks, "unseen"),
    }


def _counts(checks: Sequence[TaskCheck], which: str) -> dict[str, int]:
    """How many tasks have each reason, the most frequent first."""
    counted = Counter(name for c in checks for name in getattr(c, which))
    return dict(sorted(counted.items(), key=lambda item: (-item[1], item[0])))


def _by_place(checks: Sequence[TaskCheck]) -> Mapping[str, list[TaskCheck]]:
    groups: dict[str, list[TaskCheck]] = {}
    for c in checks:
        groups.setdefault(c.task.place or _NO_PLACE, []).append(c)
    return groups


def _entry(c: TaskCheck) -> dict[str, Any]:
    seen = c.measured
    return {
        "id": c.task.id,
        "place": c.task.place,
        "sound": c.sound,
        "reasons": list(c.reasons),
        "found": list(c.found),
        "labelled": list(c.task.flags),
        "new": list(c.new),
        "unseen": list(c.unseen),
        "gold_reward": c.gold_reward,
        "rewards": {"at_once": seen.at_once, "later": seen.later, "twin": seen.twin},
        "repeats": seen.repeats,
        "noop_reward": c.noop_reward,
        "exit_code": seen.exit_code,
        "timed_out": seen.timed_out,
        "changed": seen.changed,
        "background": seen.background,
        "error": seen.error or None,
        "gold": c.task.gold,
        "output": seen.output[:2000],
        "duration_s": round(c.duration_s, 4),
    }


# -- for people ------------------------------------------------------------------------------------


def _print_report(checks: Sequence[TaskCheck]) -> None:
    from intercode.reports.table import console

    screen = console()
    screen.print(_place_table(checks))
    unsound = [c for c in checks if not c.sound]
    if unsound:
        screen.print("", _reason_table(checks), "", _task_table(unsound))
    new, unseen = (sum(bool(getattr(c, which)) for c in checks) for which in ("new", "unseen"))
    if new or unseen:
        print(
            f"\n{new} with a reason that no label accounts for, {unseen} with a label unseen here"
        )


def _place_table(checks: Sequence[TaskCheck]) -> Table:
    from intercode.reports.table import add_row, new_table

    table = new_table("place", "tasks", "sound", "unsound", numbers=["tasks", "sound"])
    groups = _by_place(checks)
    # Where every task has a place of its own, places say nothing.
    rows = list(groups.items()) if len(groups) == 1 or len(groups) < len(checks) else []
    rows += [("all", list(checks))] if len(groups) > 1 else []
    for name, group in rows:
        summary = _summary(group)
        why = ", ".join(f"{reason} {count}" for reason, count in summary["reasons"].items())
        add_row(table, name, f"{summary['tasks']:,}", f"{summary['sound']:,}", why)
    return table


def _reason_table(checks: Sequence[TaskCheck]) -> Table:
    from intercode.reports.table import add_row, new_table
    from intercode.tasks.labels import FLAGS

    table = new_table("reason", "tasks", "new", "unseen", "", numbers=["tasks", "new", "unseen"])
    new, unseen = _counts(checks, "new"), _counts(checks, "unseen")
    for name, count in _counts(checks, "reasons").items():
        numbers = (f"{n:,}" if n else "" for n in (new.get(name, 0), unseen.get(name, 0)))
        add_row(table, name, f"{count:,}", *numbers, FLAGS.get(name, _ERROR))
    return table


def _task_table(unsound: Sequence[TaskCheck]) -> Table:
    from intercode.reports.table import add_row, new_table

    table = new_table("task", "reasons", "measured")
    for c in unsound:
        add_row(table, c.task.id, " ".join(_marked(c)), _facts(c))
    return table


def _marked(c: TaskCheck) -> Iterator[str]:
    for name in c.reasons:
        yield f"+{name}" if name in c.new else f"({name})" if name in c.unseen else name


def _facts(c: TaskCheck) -> str:
    """The numbers behind the verdict, those that are as they should be left out."""
    from intercode.envs.soundness import complaints
    from intercode.reports.table import shortened

    seen = c.measured
    facts = [
        f"{name} {reward:.2f}"
        for name, reward in (("gold", seen.at_once), ("later", seen.later), ("twin", seen.twin))
        if reward is not None and reward < 1
    ]
    if seen.noop is not None and seen.noop > 0:
        facts.append(f"nothing {seen.noop:.2f}")
    if seen.exit_code and not seen.timed_out:
        facts.append(f"exit {seen.exit_code}")
    if seen.background:
        facts.append(f"{seen.background} running")
    said = seen.error.splitlines()[:1] or complaints(c.task.gold, seen.output)[:1]
    if seen.timed_out:
        said = seen.output.splitlines()[-1:]  # the environment's own note
    return "; ".join([*facts, *(shortened(line, 60) for line in said)])


@contextmanager
def _showing_progress(total: int) -> Iterator[Progress]:
    """On a terminal a bar with the time left; elsewhere a line every few seconds."""
    from intercode.reports.table import console

    screen = console(sys.stderr)
    if not screen.is_terminal:
        yield _plain_progress()
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=screen, transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda done, total: bar.update(task, completed=done)


def _plain_progress() -> Progress:
    started = last = time.monotonic()

    def show(done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= PLAIN_EVERY_S and done < total:
            last = now
            left = (now - started) / done * (total - done)
            print(f"{done:,} of {total:,} done · {left:.0f} s left", file=sys.stderr, flush=True)

    return show
