"""``intercode eval``: an agent does a dataset's tasks, and a run's folder keeps what came of it."""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from intercode.cli.main import INTERRUPTED, VERBS
from intercode.errors import UsageError

if TYPE_CHECKING:
    from intercode.agents.base import AgentFactory
    from intercode.runs.record import EpisodeRecord
    from intercode.runs.store import RunStore
    from intercode.tasks.model import Dataset

_MOST_GROUPS = 24
"""A person does not want to see more at once; --json and runs show have them all."""

_EPILOG = """\
examples:
  intercode eval bundled --agent gold
  intercode eval nl2bash:fs_1 --agent noop --limit 10 -j 4
  intercode eval nl2bash --agent my_agent.py:MyAgent --out runs/mine
  intercode eval nl2bash --agent my_agent.py:MyAgent --out runs/mine --resume

Every finished episode is in the run's folder at once. After an interruption
--resume goes on where the run stopped, and tries again what failed. The exit
code is 1 if an episode failed for a reason that is not the agent's.
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "eval",
        help=VERBS["eval"],
        description="Let an agent do the tasks of a dataset, and say how well it did.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    # fmt: off
    add("dataset", metavar="DATASET", help="a name from 'intercode data list', or a table's path")
    add(
        "--agent",
        required=True,
        metavar="AGENT",
        help="gold, noop, replay:FILE, PATH.py:CLASS, or a name that a package brings",
    )
    add(
        "-j",
        "--jobs",
        type=_positive,
        metavar="N",
        default=len(os.sched_getaffinity(0)),
        help="episodes at once (default: one a core)",
    )
    add("--limit", type=_positive, metavar="N", help="no more than the first N tasks")
    add("--tasks", nargs="+", metavar="ID", help="only these: ids, positions, or ranges as 0-9")
    add("--sound-only", action="store_true", help="leave out tasks that carry a flag")
    add(
        "--max-turns",
        type=_positive,
        metavar="N",
        default=10,
        help="actions an episode may take (default: 10)",
    )
    add("--seed", type=int, metavar="N", default=0, help="default: 0")
    add_env_arguments(parser)
    add(
        "--out",
        type=Path,
        metavar="DIR",
        help="the run's folder (default: runs/TIME-DATASET-AGENT)",
    )
    add("--resume", action="store_true", help="go on with the run in --out")
    add("--json", action="store_true", help="print JSON")
    add("--no-color", action="store_true", help="as if NO_COLOR were set")
    # fmt: on
    parser.set_defaults(handler=evaluate)


def add_env_arguments(parser: argparse.ArgumentParser, default: str = "v2") -> None:
    """What decides where actions are executed; the same for every verb that executes some."""
    # fmt: off
    add = parser.add_argument
    add(
        "--env",
        metavar="ENV",
        help="environment: v1 (the paper's), v2, or one by its name, as Bash-v1 or SQL-v2 "
        f"(default: {default})",
    )
    add("--sandbox", metavar="NAME", help="bubblewrap or docker (default: the first that works)")
    add(
        "--engine",
        metavar="ENGINE",
        help="what runs SQL: sqlite (default), mysql, postgres, duckdb, or a server's URL",
    )
    add(
        "--option",
        action="append",
        type=_option,
        metavar="NAME=VALUE",
        default=[],
        help="an option of the environment, as judge=strict; may be repeated",
    )
    add(
        "--base",
        metavar="BASE",
        help="the base image: host, dir:PATH, tar:PATH, debian:SUITE, docker:NAME or recipe:ctf",
    )
    # fmt: on


def where(args: argparse.Namespace) -> dict[str, Any]:
    """Of the arguments that `add_env_arguments` adds, all but the environment's name."""
    named = {"sandbox": args.sandbox, "base": args.base, "engine": args.engine}
    return named | dict(args.option)


def _option(text: str) -> tuple[str, Any]:
    """A name and a value, which is read as JSON where it is some."""
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier() or name in ("sandbox", "base", "engine"):
        raise argparse.ArgumentTypeError(f"{text!r} is not an option: NAME=VALUE")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _without_password(engine: str | None) -> str | None:
    """A run's folder is there to be shown around."""
    return engine and re.sub(r"(://[^:/@]*):[^@]*@", r"\1:***@", engine)


def evaluate(args: argparse.Namespace) -> int:
    """Plays what is to be played, then reports on the whole run."""
    from intercode.agents.registry import agent_factory
    from intercode.runs.store import RunStore, refuse_occupied

    if args.agent == "human":
        raise UsageError("a person plays one task at a time", remedy="intercode play DATASET")
    if args.resume and args.out is None:
        raise UsageError("which run is to be resumed?", remedy="--out DIR --resume")
    dataset = chosen_dataset(args)
    agent = agent_factory(args.agent, tasks=dataset.tasks)
    config = _config(args, dataset, agent)
    folder = args.out or _new_folder(dataset.name, agent.name)
    if not args.resume:
        refuse_occupied(folder)
    with (RunStore.resume if args.resume else RunStore.create)(folder, config) as store:
        try:
            _play(args, dataset, agent, store)
            interrupted = False
        except KeyboardInterrupt:
            interrupted = True
        finally:
            records = {record.task_id: record for record in store.records}
            if not args.resume:
                store.discard_if_empty()
    done = [records[task.id] for task in dataset if task.id in records]
    if done:
        _report(args, config, folder, done, interrupted)
    if interrupted:
        _say_how_to_resume(args, folder, len(done), len(dataset))
        return INTERRUPTED
    return 1 if any(record.failed for record in done) else 0


def chosen_dataset(args: argparse.Namespace) -> Dataset:
    """The dataset that ``args`` name, with the tasks they choose.

    :raises UsageError: no such dataset, no such task, or none left.
    """
    from intercode.tasks import registry

    dataset = registry.load(args.dataset).select(
        args.tasks, limit=args.limit, sound_only=args.sound_only
    )
    if not len(dataset):
        raise UsageError(
            f"no task of {args.dataset!r} is left to do",
            remedy=f"intercode data info {shlex.quote(args.dataset)} --tasks",
        )
    return dataset


def _config(args: argparse.Namespace, dataset: Dataset, agent: AgentFactory) -> dict[str, Any]:
    """All that decides the results: a run is resumed only with the same."""
    from intercode.envs.registration import env_name

    return {
        "dataset": dataset.name,
        "tasks": len(dataset),
        "dataset_digest": dataset.digest,
        "env": env_name(args.env, dataset),
        "agent": agent.name,
        "agent_digest": agent.digest,
        "options": {
            "seed": args.seed,
            "max_turns": args.max_turns,
            "sandbox": args.sandbox,
            "base": args.base,
            "engine": _without_password(args.engine),
            **dict(args.option),
        },
    }


def _play(args: argparse.Namespace, dataset: Dataset, agent: AgentFactory, store: RunStore) -> None:
    from intercode.envs.registration import environment_factory
    from intercode.reports.progress import LiveProgress
    from intercode.runs.runner import RunOptions, run

    earlier = [record for record in store.records if not record.failed]
    with (
        environment_factory(args.env, dataset, jobs=args.jobs, **where(args)) as make_env,
        LiveProgress(earlier, colour=not args.no_color) as live,
    ):
        run(
            dataset.tasks,
            make_env=make_env,
            make_agent=agent,
            options=RunOptions(seed=args.seed, max_turns=args.max_turns),
            store=store,
            jobs=args.jobs,
            progress=live.update,
        )


def _report(
    args: argparse.Namespace,
    config: Mapping[str, Any],
    folder: Path,
    records: Sequence[EpisodeRecord],
    interrupted: bool,
) -> None:
    from intercode.reports.summary import groups, summarise
    from intercode.reports.table import console, failures, summary_table

    overall = summarise(records)
    if args.json:
        by_key = groups(records, fewest=1)
        body = {
            "run": str(folder),
            **{name: config[name] for name in ("dataset", "env", "agent")},
            "planned": config["tasks"],
            "interrupted": interrupted,
            **{name: value for name, value in overall.to_json().items() if name != "name"},
            "groups": {key: [s.to_json() for s in found] for key, found in by_key.items()},
        }
        print(json.dumps(body, indent=2))
        return
    screen = console(colour=not args.no_color)
    by_key = groups(records, ("env", "file_system", "database", "hardness"))
    few = {key: found for key, found in by_key.items() if len(found) <= _MOST_GROUPS}
    screen.print(summary_table(overall, few))
    # One message of the failed ones, since they often share their reason.
    first = next((f"first: {r.task_id}: {r.message}" for r in records if r.failed), "")
    for line in filter(None, [failures(overall), first, f"run: {folder}"]):
        print(line)


def _say_how_to_resume(args: argparse.Namespace, folder: Path, done: int, planned: int) -> None:
    if not folder.exists():
        print("intercode: interrupted before an episode had ended", file=sys.stderr)
        return
    print(
        f"intercode: interrupted; {done} of {planned} episodes are kept in {folder}\n"
        f"  go on with: {_resuming(args, folder)}",
        file=sys.stderr,
    )


def _resuming(args: argparse.Namespace, folder: Path) -> str:
    """The command line that goes on with this run."""
    words = ["intercode", "eval", args.dataset, "--agent", args.agent, "-j", str(args.jobs)]
    for name in ("limit", "max_turns", "seed", "env", "sandbox", "base"):
        value = getattr(args, name)
        if value is not None:
            words += [f"--{name.replace('_', '-')}", str(value)]
    words += ["--sound-only"] if args.sound_only else []
    words += ["--tasks", *args.tasks] if args.tasks else []
    return shlex.join([*words, "--out", str(folder), "--resume"])


def _new_folder(dataset: str, agent: str) -> Path:
    """``runs/TIME-DATASET-AGENT``, with a number behind it if that is taken."""
    short = agent.rpartition(":")[2] if ".py:" in agent else agent.partition(":")[0]
    time = datetime.now().strftime("%Y%m%d-%H%M%S")
    name = re.sub(r"[^\w.-]+", "_", f"{time}-{dataset}-{short}")
    folder, number = Path("runs", name), 1
    while folder.exists():
        number += 1
        folder = Path("runs", f"{name}-{number}")
    return folder


def _positive(text: str) -> int:
    number = int(text) if text.isascii() and text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return number
