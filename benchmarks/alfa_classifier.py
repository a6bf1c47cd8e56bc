"""Rewards of Bash-v1 and Bash-v2 as classifiers of commands: right or wrong?

    python benchmarks/alfa_classifier.py --base tar:rootfs.tar

Each task of InterCode-ALFA has two golds. The second one is run as an agent would run it and should
be accepted; golds of other tasks, and the first gold with one word changed, should not be. Bash-v2
is asked for both its verdicts. Rewards are also taken as verdicts from that threshold on which
suits them best on the very rows they are reported for. A mutant that prints and changes just what
the gold does is no wrong answer: it is counted and left out.

The rules of Bash-v2 were made looking at the *development* half of the tasks only; three small ones
(sizes within listings, words for units, "only") came later, from errors in the *test* half, where
they gain two tasks. *Sound* tasks are those without a flag: no clock, no host, no network, nothing
missing. Published for this dataset, on pairs of its authors: F1 0.79 (execution and TF-IDF) and
0.95 (execution and a GPT-4 judge).
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from alfa_pairs import Pair, is_development, pairs
from intercode.envs.registration import environment_factory
from intercode.errors import InterCodeError
from intercode.tasks.model import Dataset
from intercode.tasks.registry import load


@dataclass
class Tried:
    """A pair, and what the rewards say of it. Nothing is accepted where running it failed."""

    pair: Pair
    v1: float = 0.0
    strict: bool = False
    lenient: bool = False
    v2: float = 0.0
    form: str | None = None
    same: bool = False
    """Whether it printed and changed exactly what the gold did."""
    error: str = ""

    def to_json(self) -> dict[str, Any]:
        facts = dataclasses.asdict(dataclasses.replace(self, pair=None))  # type: ignore[arg-type]
        pair = self.pair
        facts |= {"task": pair.task.id, "sound": pair.task.sound, "kind": pair.kind}
        facts |= {"command": pair.command, "development": is_development(pair.task)}
        del facts["pair"]
        return facts


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--base", help="the base image, such as tar:rootfs.tar (default: the back end's)")
    add("--sandbox", help="the back end (default: the first that works here)")
    add("--dataset", default="alfa", help="tasks with two golds each (default: alfa)")
    add("--limit", type=int, metavar="N", help="only the first N tasks")
    add("--json", type=Path, metavar="FILE", help="write every verdict there")
    options = parser.parse_args(arguments)
    dataset = load(options.dataset)
    tried = [Tried(pair) for pair in pairs(dataset.tasks[: options.limit])]
    for version, note in (("Bash-v1", _note_v1), ("Bash-v2", _note_v2)):
        _run(version, dataset, tried, note, options)
    if options.json:
        options.json.write_text(json.dumps([one.to_json() for one in tried], indent=1))
    report(tried)
    return 0


def _run(
    version: str,
    dataset: Dataset,
    tried: Sequence[Tried],
    note: Callable[[Tried, Any, str], None],
    options: argparse.Namespace,
) -> None:
    with environment_factory(version, dataset, sandbox=options.sandbox, base=options.base) as make:
        env = make()
        for count, one in enumerate(tried, start=1):
            if sys.stderr.isatty():
                print(f"\r{version}: {count} of {len(tried)}", end="", file=sys.stderr)
            task = dataclasses.replace(one.pair.task, alternatives=())
            try:
                env.reset(options={"task": task})
                observation = env.step(one.pair.command)[0]
                note(one, env.score(), observation)
            except InterCodeError as error:
                one.error = f"{version}: {error}"
    if sys.stderr.isatty():
        print(file=sys.stderr)


def _note_v1(one: Tried, score: Any, observation: str) -> None:
    one.v1 = score.reward


def _note_v2(one: Tried, score: Any, observation: str) -> None:
    parts, how = score.components, score.details["output"]
    one.strict = parts["state"] == parts["output"] == 1.0
    one.lenient = parts["equivalent"] == 1.0
    one.form = score.details["equivalent"]
    one.v2 = score.reward
    silent = how == "not asked" and not observation.strip()
    one.same = one.strict and (how == "exact" or silent)


# -- the report ------------------------------------------------------------------------------------


def report(tried: Sequence[Tried]) -> None:
    kinds = Counter(one.pair.kind for one in tried)
    idle = [one for one in tried if one.same and one.pair.kind not in ("gold2", "other")]
    failed = [one for one in tried if one.error]
    print(f"{len({one.pair.task.id for one in tried})} tasks: {kinds['gold2']} second golds,")
    print(f"{kinds['other']} golds of other tasks, {_mutants(kinds)} mutated golds, of which")
    print(f"{len(idle)} change nothing and are left out; {len(failed)} could not be run.")
    counted = [one for one in tried if one not in idle]
    for sound, of in ((False, "all tasks"), (True, "sound tasks")):
        for mutated, against in ((True, "others' and mutated golds"), (False, "others' golds")):
            chosen = [
                one for one in counted
                if (one.pair.task.sound or not sound)
                and (mutated or one.pair.kind in ("gold2", "other"))
            ]  # fmt: skip
            print(f"\n{of}, second golds against {against}")
            print(f"{'half':<13}{'scorer':<18}{'P':>6}{'R':>7}{'F1':>7}{'tp':>6}{'fp':>5}{'fn':>5}")
            for half, rows in _halves(chosen):
                _print_scorers(half, rows)


def _mutants(kinds: Counter[str]) -> int:
    return kinds.total() - kinds["gold2"] - kinds["other"]


def _halves(rows: Sequence[Tried]) -> list[tuple[str, list[Tried]]]:
    ours = [one for one in rows if is_development(one.pair.task)]
    theirs = [one for one in rows if not is_development(one.pair.task)]
    return [("development", ours), ("test", theirs), ("all", list(rows))]


def _print_scorers(half: str, rows: Sequence[Tried]) -> None:
    v1, v2 = _best(rows, lambda one: one.v1), _best(rows, lambda one: one.v2)
    scorers: dict[str, Callable[[Tried], bool]] = {
        "v1, reward 1": lambda one: one.v1 >= 1.0,
        f"v1, from {v1:.2f}": lambda one: one.v1 >= v1,
        "v2, strict": lambda one: one.strict,
        "v2, lenient": lambda one: one.lenient,
        f"v2, from {v2:.2f}": lambda one: one.v2 >= v2,
    }
    for name, accepts in scorers.items():
        tp, fp, fn = _counts(rows, accepts)
        precision, recall = _ratio(tp, tp + fp), _ratio(tp, tp + fn)
        print(
            f"{half:<13}{name:<18}{precision:>6.3f}{recall:>7.3f}"
            f"{_f1(rows, accepts):>7.3f}{tp:>6}{fp:>5}{fn:>5}"
        )
        half = ""


def _best(rows: Sequence[Tried], reward: Callable[[Tried], float]) -> float:
    """The threshold with the highest F1."""
    return max(set(map(reward, rows)), key=lambda at: _f1(rows, lambda one: reward(one) >= at))


def _counts(rows: Iterable[Tried], accepts: Callable[[Tried], bool]) -> tuple[int, int, int]:
    """True positives, false positives, false negatives."""
    seen = Counter((one.pair.positive, accepts(one)) for one in rows)
    return seen[True, True], seen[False, True], seen[True, False]


def _f1(rows: Iterable[Tried], accepts: Callable[[Tried], bool]) -> float:
    tp, fp, fn = _counts(rows, accepts)
    return _ratio(2 * tp, 2 * tp + fp + fn)


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


if __name__ == "__main__":
    raise SystemExit(main())
