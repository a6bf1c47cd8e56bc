"""Bash sandboxes and episodes: ours against the bare machine and against the original's way.

    python benchmarks/bash_speed.py --base tar:/path/to/rootfs.tar

Subjects take turns within each measure: `bubblewrap`, `docker`, `host` (bare ``bash -c`` as a
subprocess, no sandbox at all) and `original` (see ``original.py``). Those that do not work here are
left out, and so are measures that a subject does not have.
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from common import (
    Sample,
    Spread,
    interleaved,
    parser,
    report,
    spread_cell,
    table,
    timed,
    times_cell,
)
from intercode.envs.bash_v1 import GIT_SETUP, VOLATILE, BashV1
from intercode.envs.runtime import Runtime
from intercode.errors import DatasetError, InterCodeError, SandboxError
from intercode.sandboxes import registry as sandboxes
from intercode.sandboxes.base import Limits
from intercode.tasks import registry as tasks
from intercode.tasks.labels import static_flags
from intercode.tasks.model import Dataset, FileSystem, Task

MEASURES = {
    "start cold": "a new sandbox",
    "reset": "a fresh sandbox, where one waits in the pool",
    "step :": "a builtin in the persistent shell",
    "step true": "`true` in the persistent shell",
    "run true": "`true` in a Bash of its own",
    "v1 step": "`true` as an action of Bash-v1",
    "score": "the paper's reward, after one new file",
    "snapshot": "the sandbox's files and shell kept",
    "fork": "a second sandbox that goes on from here",
    "close": "a sandbox let go",
}
_SKIPPED = {"network", "timeout"}  # their golds wait, for a network or for ever


class Subject(Protocol):
    name: str

    def samples(self) -> dict[str, Sample]:
        """One sample of each measure it has."""

    def episodes(self, chosen: Sequence[Task], workers: int) -> float | None:
        """Seconds for an episode on each task; None where it cannot have so many workers."""

    def close(self) -> None: ...


class Ours:
    """A back end of ours, with `Bash-v1` on top."""

    def __init__(self, name: str, base: str, data: Dataset, task: Task, workers: int) -> None:
        self.name = name
        self._data, self._task, self._limits = data, task, Limits()
        self._runtime = Runtime(sandboxes.choose(name), base=base, warm=workers + 1)
        self._backend = self._runtime.backend
        self._envs = [BashV1(data, runtime=self._runtime) for _ in range(workers)]
        self._image = self._runtime.image(data, task, GIT_SETUP)
        self._box = self._backend.start(self._image, self._limits)
        self._shell = self._box.shell()
        self._shell.run(":")
        self._started_in_s = 0.0

    def samples(self) -> dict[str, Sample]:
        env = self._envs[0]
        env.reset(options={"task": self._task})
        env.step("echo new > /benchmark.txt")
        env.score()  # the gold's outcome is kept from here on
        box: Any = self._box
        return {
            "start cold": self._start,
            "reset": self._take,
            "step :": lambda: timed(lambda: self._shell.run(":")),
            "step true": lambda: timed(lambda: self._shell.run("true")),
            "run true": lambda: timed(lambda: box.run("true")),
            "v1 step": lambda: timed(lambda: env.step("true")),
            "score": lambda: timed(env.score),
            "snapshot": self._snapshot,
            "fork": self._fork,
            "close": lambda: timed(self._backend.start(self._image, self._limits).close),
        }

    def episodes(self, chosen: Sequence[Task], workers: int) -> float | None:
        def play(env: BashV1, mine: Sequence[Task]) -> None:
            for task in mine:
                env.reset(options={"task": task})
                env.step(task.gold)
                env.step("submit")

        threads = [
            threading.Thread(target=play, args=(env, chosen[n::workers]))
            for n, env in enumerate(self._envs[:workers])
        ]
        begun = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return time.perf_counter() - begun

    def close(self) -> None:
        for env in self._envs:
            env.close()
        self._runtime.close()

    def _start(self) -> float:
        begun = time.perf_counter()
        box = self._backend.start(self._image, self._limits)
        self._started_in_s = time.perf_counter() - begun
        box.close()
        return self._started_in_s

    def _take(self) -> float:
        self._runtime.pool.give_back(self._runtime.pool.take(self._image, self._limits))
        # The pool works behind our back: let it have another ready.
        time.sleep(0.05 + 4 * self._started_in_s)
        begun = time.perf_counter()
        box = self._runtime.pool.take(self._image, self._limits)
        took = time.perf_counter() - begun
        self._runtime.pool.give_back(box)
        return took

    def _snapshot(self) -> float:
        box: Any = self._box
        begun = time.perf_counter()
        kept = box.snapshot()
        took = time.perf_counter() - begun
        self._backend.release(kept)  # type: ignore[attr-defined]
        return took

    def _fork(self) -> float:
        box: Any = self._box
        begun = time.perf_counter()
        (twin,) = box.fork()
        took = time.perf_counter() - begun
        twin.close()
        return took


class Host:
    """No sandbox at all: what any of them cannot be quicker than."""

    name = "host"

    def samples(self) -> dict[str, Sample]:
        shell = subprocess.Popen(
            ["/bin/bash"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )
        self._shell = shell
        assert shell.stdin is not None
        assert shell.stdout is not None
        write, read = shell.stdin.write, shell.stdout.read

        def in_shell(command: bytes) -> None:
            write(command + b"; echo\n")
            read(1)

        def bare() -> None:
            subprocess.run(["/bin/bash", "-c", "true"], capture_output=True)

        return {
            "step :": lambda: timed(lambda: in_shell(b":")),
            "step true": lambda: timed(lambda: in_shell(b"true")),
            "run true": lambda: timed(bare),
            "v1 step": lambda: timed(bare),
        }

    def episodes(self, chosen: Sequence[Task], workers: int) -> float | None:
        return None

    def close(self) -> None:
        self._shell.terminate()
        self._shell.communicate()


class AsOriginal:
    """One container, ``docker exec`` and git: see ``original.py``."""

    name = "original"

    def __init__(self, base: str, data: Dataset, task: Task) -> None:
        from original import Original

        self._box = Original(base)
        self._data, self._task = data, task
        for files in _files_of(data):
            self._box.use(files)
        self._files = data.file_systems[task.file_system or ""]

    def samples(self) -> dict[str, Sample]:
        box, files, gold = self._box, self._files, self._task.gold
        box.use(files)
        box.reset()
        box.step("echo new > /benchmark.txt")
        closing = [box.start(files)]

        def start() -> float:
            begun = time.perf_counter()
            closing.append(box.start(files))
            took = time.perf_counter() - begun
            box.close_one(closing.pop())
            return took

        def close() -> float:
            old = closing.pop()
            closing.append(box.start(files))
            return timed(lambda: box.close_one(old))

        self._closing = closing
        return {
            "start cold": start,
            "reset": lambda: timed(box.reset),
            "run true": lambda: timed(lambda: box.step("true")),
            "v1 step": lambda: timed(lambda: box.step("true")),
            "score": lambda: timed(lambda: box.score(gold)),
            "close": close,
        }

    def episodes(self, chosen: Sequence[Task], workers: int) -> float | None:
        if workers > 1:  # its environments share a container
            return None
        begun = time.perf_counter()
        for task in chosen:
            self._box.episode(self._data.file_systems[task.file_system or ""], task.gold)
        return time.perf_counter() - begun

    def close(self) -> None:
        for container in self._closing:
            self._box.close_one(container)
        self._box.close()


def _files_of(data: Dataset) -> list[FileSystem]:
    names = dict.fromkeys(task.file_system for task in data if task.file_system)
    return [data.file_systems[name] for name in names]


@contextlib.contextmanager
def subjects(options: argparse.Namespace, data: Dataset, task: Task) -> Iterator[list[Subject]]:
    made: list[Subject] = []
    makers: dict[str, Callable[[], Subject]] = {
        name: lambda name=name: Ours(name, options.base, data, task, max(options.workers))
        for name in ("bubblewrap", "docker")
    }
    makers["host"] = Host
    makers["original"] = lambda: AsOriginal(options.base, data, task)
    try:
        for name in options.subjects:
            try:
                made.append(makers[name]())
            except (InterCodeError, SandboxError, ImportError, OSError) as error:
                print(f"{name} is left out: {str(error).splitlines()[0]}")
        yield made
    finally:
        for subject in made:
            subject.close()


def dataset() -> Dataset:
    """Upstream's tasks where they are at hand; else the bundled ones."""
    try:
        found = tasks.load("nl2bash")
    except DatasetError:
        found = tasks.load("bundled")
    kept = [task.id for task in found if not _SKIPPED & _flags(task) and task.file_system]
    return found.select(kept)


def _flags(task: Task) -> set[str]:
    return {*task.flags, *static_flags(task.gold, task.instruction)}


def measure(made: Sequence[Subject], options: argparse.Namespace) -> dict[str, dict[str, Spread]]:
    samples = {subject.name: subject.samples() for subject in made}
    spreads = {}
    for name in MEASURES:
        sharing = {who: has[name] for who, has in samples.items() if name in has}
        quick = not {"original", "docker"} & sharing.keys() or name.startswith("step")
        spreads[name] = interleaved(sharing, options.rounds * (5 if quick else 1))
    return spreads


def rates(
    made: Sequence[Subject], options: argparse.Namespace, data: Dataset
) -> dict[str, dict[str, float]]:
    """Episodes a second. Every subject plays the same tasks, a slice a turn.

    Played once before by ours, so that images and the golds' outcomes are at hand, as they are in
    all but the first minute of a run.
    """
    chosen = [data.tasks[n * len(data) // options.tasks] for n in range(options.tasks)]
    slices = [chosen[n :: options.turns] for n in range(options.turns)]
    for subject in made:
        if isinstance(subject, Ours):
            subject.episodes(chosen, max(options.workers))
    found: dict[str, dict[str, float]] = {}
    for workers in options.workers:
        taken: dict[str, list[float | None]] = {subject.name: [] for subject in made}
        for part in slices:
            for subject in made:
                taken[subject.name].append(subject.episodes(part, workers))
        found[f"episodes/s, {workers} at once"] = {
            name: len(chosen) / sum(seconds)  # type: ignore[arg-type]
            for name, seconds in taken.items()
            if None not in seconds
        }
    return found


def shown(
    spreads: dict[str, dict[str, Spread]], found: dict[str, dict[str, float]], names: Sequence[str]
) -> str:
    rows = [[name, *(spread_cell(has.get(who)) for who in names)] for name, has in spreads.items()]
    players = [name for name in names if name != Host.name]
    rates_rows = [
        [name, *(f"{has[who]:.1f}" if who in has else "-" for who in players)]
        for name, has in found.items()
    ]
    ours = [name for name in names if name in ("bubblewrap", "docker")]
    ratio_rows = []
    for name, has in spreads.items():
        medians = {who: spread.median for who, spread in has.items()}
        ratio_rows.append([name, *_ratios(medians, ours, higher_is_better=False)])
    for name, speeds in found.items():
        base = found[next(iter(found))].get("original")
        speeds = speeds | ({"original": base} if base else {})
        ratio_rows.append([name, *_ratios(speeds, ours, higher_is_better=True)])
    beyond = [f"{who} - host" for who in ours]
    beyond_rows = []
    for name in ("step :", "step true", "run true", "v1 step"):
        has = spreads[name]
        if "host" in has:
            extra = [has[who].median - has["host"].median for who in ours]
            beyond_rows.append([name, *(f"{1e3 * seconds:.2f}" for seconds in extra)])
    parts = [
        table("Milliseconds, median (p90)", ["", *names], rows),
        table("Episodes a second", ["", *players], rates_rows),
    ]
    if AsOriginal.name in names:
        parts.append(table("Times as fast as the original's way", ["", *ours], ratio_rows))
    if beyond_rows:
        parts.append(table("Milliseconds beyond the bare command's", ["", *beyond], beyond_rows))
    return "\n".join(parts)


def _ratios(has: dict[str, float], ours: Sequence[str], *, higher_is_better: bool) -> list[str]:
    floor = has.get("original")
    if not floor:
        return ["-" for _ in ours]
    return [
        times_cell(has[who] / floor if higher_is_better else floor / has[who])
        if who in has
        else "-"
        for who in ours
    ]


def main() -> None:
    made = parser(__doc__)
    made.add_argument("--base", default="docker:ubuntu:22.04", help="an image base with git in it")
    made.add_argument("--rounds", type=int, default=20)
    made.add_argument("--tasks", type=int, default=100, help="episodes of each subject")
    made.add_argument("--turns", type=int, default=5, help="slices they are played in")
    made.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    made.add_argument("--subjects", nargs="+", default=["bubblewrap", "docker", "host", "original"])
    options = made.parse_args()
    if "original" in options.subjects and not shutil.which("docker"):
        options.subjects.remove("original")
    data = dataset()
    options.tasks = min(options.tasks, len(data))
    task = next(task for task in data if not VOLATILE & _flags(task))
    with subjects(options, data, task) as chosen:
        names = [subject.name for subject in chosen]
        spreads = measure(chosen, options)
        found = rates(chosen, options, data)
    facts = {"dataset": data.name, "ms": spreads, "episodes_per_s": found}
    report(options, shown(spreads, found, names), facts)


if __name__ == "__main__":
    main()
