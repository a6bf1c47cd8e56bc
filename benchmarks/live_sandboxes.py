"""Many sandboxes at once: how long to start and close all, and what one takes while it lives.

    python benchmarks/live_sandboxes.py --base tar:/path/to/rootfs.tar --count 500

Memory is told in two ways: the proportional set size (PSS) of the sandboxes' processes, which is
theirs alone, and by how much the machine's available memory fell, which holds the kernel's part too
(namespaces, mounts, control groups) and whatever else the machine did meanwhile.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from common import milliseconds, parser, report, table
from intercode.sandboxes import registry
from intercode.sandboxes.base import Backend, Image, Limits, Sandbox


def main() -> None:
    made = parser(__doc__)
    made.add_argument("--base", default="host")
    made.add_argument("--sandbox", default="bubblewrap")
    made.add_argument("--count", type=int, default=500)
    made.add_argument("--starters", type=int, default=2, help="threads that start and close")
    options = made.parse_args()
    held_before = _descriptors()
    backend = registry.choose(options.sandbox)
    with contextlib.closing(backend):
        backend.start(Image(options.base), Limits()).close()  # the image is built, the spawner up
        facts, theirs = _fill(backend, Image(options.base), options.count, options.starters)
    facts["processes left"] = str(_left(theirs))
    facts["descriptors left"] = str(_descriptors() - held_before)
    title = f"{options.count} live {options.sandbox} sandboxes at once"
    report(options, table(title, ["", "measured"], facts.items()), facts)


def _fill(
    backend: Backend, image: Image, count: int, starters: int
) -> tuple[dict[str, str], set[int]]:
    processes, available, held = _processes(), _available(), _descriptors()
    limits = Limits(disk_mib=64)
    with ThreadPoolExecutor(starters) as pool:
        begun = time.perf_counter()
        boxes = list(pool.map(lambda _: backend.start(image, limits), range(count)))
        started = time.perf_counter() - begun
        theirs = _sandboxed(_processes() - processes)
        memory, kernel = _pss(theirs), available - _available()
        descriptors = _descriptors() - held
        answered = _in_all(boxes)
        begun = time.perf_counter()
        list(pool.map(lambda box: box.close(), boxes))
        closed = time.perf_counter() - begun
    facts = {
        "start all": f"{started:.1f} s",
        "start, for each": f"{milliseconds(started / count)} ms",
        "processes of each": f"{len(theirs) / count:.1f}",
        "PSS of each": f"{memory / count / 1024:.0f} KiB",
        "available memory taken by each": f"{kernel / count / 1024:.0f} KiB",
        "descriptors of the host for each": f"{descriptors / count:.1f}",
        "a command in each, all in turn": answered,
        "close all": f"{closed:.1f} s",
        "close, for each": f"{milliseconds(closed / count)} ms",
    }
    return facts, theirs


def _in_all(boxes: Sequence[Sandbox]) -> str:
    begun = time.perf_counter()
    right = sum(box.run("echo $((6 * 7))").raw == b"42\n" for box in boxes)
    each = milliseconds((time.perf_counter() - begun) / len(boxes))
    return f"{right} of {len(boxes)} right, {each} ms each"


def _processes() -> set[int]:
    return {int(name) for name in os.listdir("/proc") if name.isdigit()}


def _sandboxed(new: set[int]) -> set[int]:
    """Which of the new processes are the sandboxes': our descendants; an engine's are not ours."""
    elsewhere = {pid for pid in new if _is_sandbox(pid)}
    return {pid for pid in elsewhere if os.getpid() in _ancestors(pid)} or elsewhere


def _ancestors(pid: int) -> Iterator[int]:
    while facts := _stat(pid):
        pid = int(facts[1])
        yield pid


def _left(pids: set[int]) -> int:
    """How many still are, once the dead had time to go; zombies do not count."""
    deadline = time.monotonic() + 2.0
    while True:
        alive = sum(_stat(pid)[:1] not in ([], ["Z"], ["X"]) for pid in pids)
        if not alive or time.monotonic() > deadline:
            return alive
        time.sleep(0.1)


def _stat(pid: int) -> list[str]:
    """State, parent, and so on."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return []


def _is_sandbox(pid: int) -> bool:
    """Whether it lives in another mount namespace than we."""
    with contextlib.suppress(OSError):
        return os.readlink(f"/proc/{pid}/ns/mnt") != os.readlink("/proc/self/ns/mnt")
    return False


def _pss(pids: set[int]) -> int:
    """Bytes; pages that several share are counted once, in parts."""
    return 1024 * sum(_numbers(pids, "smaps_rollup", "Pss:"))


def _numbers(pids: set[int], file: str, key: str) -> Iterator[int]:
    for pid in pids:
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{pid}/{file}").read_text().splitlines():
                if line.startswith(key):
                    yield int(line.split()[1])


def _available() -> int:
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))


def _descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


if __name__ == "__main__":
    main()
