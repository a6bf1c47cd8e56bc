"""``intercode replay``: recorded actions again, in our environment, compared turn by turn."""

from __future__ import annotations

import argparse
import json
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from intercode.cli.eval import add_env_arguments, where
from intercode.cli.main import VERBS
from intercode.errors import DatasetError

if TYPE_CHECKING:
    from intercode.agents.recording import Recording
    from intercode.runs.replay import ReplayedEpisode, ReplayReport

_DATASETS = {"bash": "nl2bash", "sql": "spider", "python": "mbpp:intercode", "ctf": "ctf"}
_PAPERS = {"bash": "BashShared-v1"}
"""Where the paper's environment of a kind is not the one that is named for its version."""
_EPILOG = """\
examples:
  intercode replay ic_bash_multiturn_gpt-4_10_turns_fs_1.json
  intercode replay ic_bash_react_10_turns_fs_3.json -j 4 --json
  intercode replay ic_sql_multiturn_gpt-4_10_turns.json --engine mysql
  intercode replay runs/mine

Recordings of the original are replayed in the paper's environments, where
every action was scored; the cause of each disagreement is named. The paper's
Bash runs had the same two containers for all tasks, cleaned by git alone: so
they are replayed in order, in BashShared-v1. --env Bash-v1 gives each episode
a clean start, and uses --jobs. The paper's rewards were of several variants:
the one that agrees best is found. The exit code is 1 if an episode failed for
a reason that is not the recording's.
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "replay",
        help=VERBS["replay"],
        description="Execute every action of recorded trajectories again and compare rewards.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    # fmt: off
    add = parser.add_argument
    add("file", type=Path, metavar="FILE", help="recorded trajectories, or a run's folder")
    add("--dataset", metavar="DATASET", help="what was recorded (default: told from the file)")
    add(
        "-j", "--jobs", type=int, metavar="N", default=len(os.sched_getaffinity(0)),
        help="episodes at once (default: one a core)",
    )
    add_env_arguments(parser, default="as recorded")
    add("--all", action="store_true", help="list every disagreement, not the first twenty")
    add("--json", action="store_true", help="print JSON")
    # fmt: on
    parser.set_defaults(handler=replay_file)


def replay_file(args: argparse.Namespace) -> int:
    """Replays and reports."""
    from intercode.agents.trajectories import read_recording
    from intercode.envs.registration import env_name, environment_factory
    from intercode.runs.replay import replay
    from intercode.tasks import registry

    recording = read_recording(args.file)
    dataset = registry.load(args.dataset or _dataset_of(recording))
    if recording.environment is not None:
        dataset = dataset.of_kind(recording.environment)
    env_id = env_name(args.env or _environment_of(recording), dataset)
    jobs = 1 if _is_consecutive(env_id) else args.jobs
    with (
        environment_factory(env_id, dataset, jobs=jobs, **where(args)) as make_env,
        _Progress(len(recording.episodes), quiet=args.json) as progress,
    ):
        readings = _readings(env_id, args)
        report = replay(
            recording, dataset, make_env, jobs=jobs, progress=progress.update, **readings
        )
    if args.json:
        print(json.dumps({"file": str(args.file), "kind": recording.kind, **report.to_json()}))
    else:
        _print(recording, report, everything=args.all)
    return 1 if any(episode.error for episode in report.episodes) else 0


def _environment_of(recording: Recording) -> str:
    """A run of ours in what it was played in; upstream's in the paper's."""
    if recording.kind == "run":
        return str(recording.meta.get("env") or "v1")
    return _PAPERS.get(recording.environment or "", "v1")


def _is_consecutive(env_id: str) -> bool:
    from intercode.envs.registration import VERSIONS, env_class

    return env_id not in VERSIONS and bool(getattr(env_class(env_id), "consecutive", False))


def _readings(env_id: str, args: argparse.Namespace) -> dict[str, Any]:
    """The paper's rewards were of several kinds, and no file says which: it is found out, unless
    one is asked for."""
    from intercode.rewards import bash_v1, sql_v1

    if "variant" in dict(args.option):
        return {}
    if env_id == "SQL-v1":
        return {"readings": {v: partial(sql_v1.in_variant, variant=v) for v in sql_v1.VARIANTS}}
    if env_id in ("Bash-v1", _PAPERS["bash"]):
        return {"readings": {v: partial(bash_v1.in_variant, variant=v) for v in bash_v1.VARIANTS}}
    return {}


def _dataset_of(recording: Recording) -> str:
    if recording.kind == "run" and recording.meta.get("dataset"):
        return str(recording.meta["dataset"])
    if recording.environment in _DATASETS:
        return _DATASETS[recording.environment]
    raise DatasetError(
        f"{recording.path}: recordings of {recording.environment or 'an unknown environment'} "
        "cannot be replayed yet",
        remedy="--dataset NAME, if it is one of Bash, SQL, Python or CTF",
    )


class _Progress:
    """A line on stderr while it lasts: episodes done, agreement so far."""

    def __init__(self, total: int, *, quiet: bool) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

        console = Console(stderr=True)
        self._turns = self._agree = 0
        self._bar = Progress(
            "{task.description}", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
            console=console, transient=True, disable=quiet or not console.is_terminal,
        )  # fmt: skip
        self._task = self._bar.add_task("replaying", total=total)

    def update(self, done: ReplayedEpisode) -> None:
        self._turns += done.turns
        self._agree += done.turns - len(done.disagreements)
        share = f"{self._agree / self._turns:.1%}" if self._turns else "–"
        self._bar.update(self._task, advance=1, description=f"replaying, {share} agree")

    def __enter__(self) -> _Progress:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()


def _print(recording: Recording, report: ReplayReport, *, everything: bool) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    console = Console()
    facts = report.to_json()
    console.print(f"{recording.path.name} ({recording.kind})", highlight=False)
    console.print(
        f"  {facts['tasks']} tasks, {facts['turns']} turns: {facts['turns_agree']} agree "
        f"({facts['agreement']:.2%})\n"
        f"  success: {facts['success_published']:.1%} published, "
        f"{facts['success_replayed']:.1%} replayed",
        highlight=False,
    )
    if "leaked_turns" in facts:
        console.print(
            f"  {len(facts['leaked_turns'])} turns are rewarded for a gold that was left behind; "
            f"success without them: {facts['success_without_leaks']:.1%}",
            highlight=False,
        )
    for span in report.ranges:
        tasks = f"tasks {span.first} to {span.last}"
        console.print(f"  reward: variant {span.variant!r} agrees best, {tasks}", highlight=False)
    if not facts["disagreements"]:
        return
    causes = Table("cause", "turns", box=box.SIMPLE)
    for cause, count in facts["causes"].items():
        causes.add_row(cause, str(count))
    console.print(causes)
    table = Table(box=box.SIMPLE, width=80)
    for name, width in (("task", 8), ("turn", 4), ("was", 5), ("is", 5)):
        table.add_column(name, min_width=width, no_wrap=True)
    table.add_column("cause", no_wrap=True)
    table.add_column("action", no_wrap=True, overflow="ellipsis", ratio=1)
    shown = report.disagreements if everything else report.disagreements[:20]
    for one in shown:
        replayed = "–" if one.replayed is None else f"{one.replayed:.2f}"
        action = one.action.replace("\n", "⏎")
        table.add_row(
            one.task, str(one.turn), f"{one.published:.2f}", replayed, one.cause, action
        )  # fmt: skip
    console.print(table, markup=False)
    if len(shown) < len(report.disagreements):
        console.print(f"  … {len(report.disagreements) - len(shown)} more: --all", highlight=False)
