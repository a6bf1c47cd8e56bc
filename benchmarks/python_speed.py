"""Python episodes: ours, against a bare ``python -c`` and a bare interpreter that lasts.

    python benchmarks/python_speed.py
    python benchmarks/python_speed.py --episodes 200 --workers 1 2 4

Latencies are medians in milliseconds, sandboxes being ready ahead of time; episodes are MBPP golds
(or, without upstream's data, of the bundled tasks): reset, the gold, submit. The bare ones have no
isolation, no limits and no scoring.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence

from intercode.envs.base import Shared
from intercode.envs.python_v1 import PythonV1
from intercode.envs.python_v2 import PythonV2
from intercode.errors import DatasetError
from intercode.tasks import registry
from intercode.tasks.model import Dataset, Task

_LASTING = "import sys\nfor line in sys.stdin: exec(eval(line)); print(flush=True)"


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--episodes", type=int, default=100)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--pause", type=float, default=0.2, help="before each latency, seconds")
    args = parser.parse_args(argv)
    dataset = _dataset()
    for name, value in _bare().items():
        print(f"{name:<36}{value:>10.2f} ms")
    for name, value in _latencies(dataset, args.pause).items():
        print(f"{name:<36}{value:>10.2f} ms")
    for env_class in (PythonV1, PythonV2):
        for workers in args.workers:
            rate = _episodes(env_class, dataset, args.episodes, workers)
            print(f"{env_class.__name__}, {workers} at once{'':<18}{rate:>10.1f} episodes/s")
    return 0


def _dataset() -> Dataset:
    try:
        return registry.load("mbpp:intercode")
    except DatasetError:
        return registry.load("bundled:python")


def _median_ms(count: int, act: Callable[[], object], pause_s: float = 0.0) -> float:
    times = []
    for _ in range(count):
        time.sleep(pause_s)
        began = time.perf_counter()
        act()
        times.append(1000 * (time.perf_counter() - began))
    return statistics.median(times)


def _bare() -> dict[str, float]:
    found = {
        "python -c pass": _median_ms(
            20, lambda: subprocess.run([sys.executable, "-c", "pass"], check=True)
        )
    }
    with subprocess.Popen(
        [sys.executable, "-c", _LASTING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as bare:
        assert bare.stdin is not None
        assert bare.stdout is not None
        to, of = bare.stdin, bare.stdout

        def step() -> None:
            to.write(repr("1 + 1") + "\n")
            to.flush()
            of.readline()

        found["a step of a bare interpreter"] = _median_ms(200, step)
        to.close()
    return found


def _latencies(dataset: Dataset, pause_s: float) -> dict[str, float]:
    task = dataset[0]
    env = PythonV2(dataset)
    try:
        env.reset(options={"task": task})
        found = {"reset": _median_ms(15, lambda: env.reset(options={"task": task}), pause_s)}
        found["step"] = _median_ms(200, lambda: env.step("1 + 1"))
        env.reset(options={"task": task})
        env.step(task.gold)
        found["score, three tests"] = _median_ms(15, env.score, pause_s)
        found["snapshot"] = _median_ms(50, env.snapshot)
        found["fork, one action"] = _median_ms(15, lambda: env.fork()[0].close(), pause_s)
    finally:
        env.close()
    return found


def _episodes(
    env_class: type[PythonV1 | PythonV2], dataset: Dataset, count: int, workers: int
) -> float:
    tasks = [dataset.tasks[n % len(dataset)] for n in range(count)]
    runtime = env_class.shared(Shared(jobs=workers))
    lock = threading.Lock()

    def work() -> None:
        env = env_class(dataset, runtime=runtime)
        while True:
            with lock:
                if not tasks:
                    break
                task = tasks.pop()
            _episode(env, task)
        env.close()

    with runtime:
        threads = [threading.Thread(target=work) for _ in range(workers)]
        began = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return count / (time.perf_counter() - began)


def _episode(env: PythonV1 | PythonV2, task: Task) -> None:
    env.reset(options={"task": task})
    env.step(task.gold)
    env.step(f"submit {task.reward.get('entry_point')}")


if __name__ == "__main__":
    raise SystemExit(main())
