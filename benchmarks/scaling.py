"""What grows with what: reading changes and starting, with an image's size and with what changed.

    python benchmarks/scaling.py --base tar:/path/to/rootfs.tar

Expected: both are flat in the number of files an image has, and linear in the number of files that
were changed. What is called reset here is a new sandbox, which is how an episode begins. The sizes
take turns, and a line is fitted through the medians: its slope says what 1,000 files more cost.
"""

from __future__ import annotations

import contextlib
import io
import tarfile
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from common import Sample, Spread, interleaved, line_fit, parser, report, spread_cell, table, timed
from intercode.sandboxes import registry
from intercode.sandboxes.base import Backend, Image, Layer, Limits

_PER_FOLDER = 100
_LIMITS = Limits(disk_mib=512)


def main() -> None:
    made = parser(__doc__)
    made.add_argument("--base", default="host")
    made.add_argument("--sandbox", default="bubblewrap")
    made.add_argument("--sizes", type=int, nargs="+", default=[100, 1_000, 10_000, 50_000])
    made.add_argument("--changes", type=int, nargs="+", default=[10, 100, 1_000, 5_000])
    made.add_argument("--rounds", type=int, default=10)
    options = made.parse_args()
    backend = registry.choose(options.sandbox)
    with contextlib.closing(backend), tempfile.TemporaryDirectory() as folder:
        images = {size: _image(options.base, size, Path(folder)) for size in options.sizes}
        for image in images.values():
            backend.build(image)
        by_size = _by_size(backend, images, options.rounds)
        by_changes = _by_changes(backend, images[max(images)], options.changes, options.rounds)
    text = _shown("files in the image", by_size) + "\n" + _shown("files changed", by_changes)
    report(options, text, {"by_size": by_size, "by_changes": by_changes})


Growth = dict[str, dict[int, Spread]]
"""Measure → number of files → seconds."""


def _by_size(backend: Backend, images: dict[int, Image], rounds: int) -> Growth:
    """Ten files changed in each, whatever its size."""

    def start(image: Image) -> float:
        begun = time.perf_counter()
        box = backend.start(image, _LIMITS)
        took = time.perf_counter() - begun
        box.close()
        return took

    with contextlib.ExitStack() as opened:
        boxes = {
            size: opened.enter_context(contextlib.closing(backend.start(image, _LIMITS)))
            for size, image in images.items()
        }
        for box in boxes.values():
            box.put_tree(_files(10, "changed"))
        return {
            "reset": _turns({n: lambda i=i: start(i) for n, i in images.items()}, rounds),
            "changes()": _turns(
                {n: lambda b=b: timed(b.changes) for n, b in boxes.items()}, rounds
            ),
        }


def _by_changes(backend: Backend, image: Image, counts: Sequence[int], rounds: int) -> Growth:
    with contextlib.ExitStack() as opened:
        boxes: dict[int, Any] = {}
        for count in counts:
            box = opened.enter_context(contextlib.closing(backend.start(image, _LIMITS)))
            box.put_tree(_files(count, "changed"))
            assert sum(change.type == "file" for change in box.changes()) == count
            boxes[count] = box

        def close_changed(count: int) -> float:
            box = backend.start(image, _LIMITS)
            box.put_tree(_files(count, "changed"))
            return timed(box.close)

        def fork(box: Any) -> float:
            begun = time.perf_counter()
            (twin,) = box.fork()
            took = time.perf_counter() - begun
            twin.close()
            return took

        acts: dict[str, dict[int, Sample]] = {
            "changes()": {n: lambda b=b: timed(b.changes) for n, b in boxes.items()},
            "close": {n: lambda n=n: close_changed(n) for n in boxes},
        }
        if all(hasattr(box, "fork") for box in boxes.values()):
            acts["fork"] = {n: lambda b=b: fork(b) for n, b in boxes.items()}
        return {name: _turns(samples, rounds) for name, samples in acts.items()}


def _turns(samples: dict[int, Sample], rounds: int) -> dict[int, Spread]:
    spreads = interleaved({str(n): sample for n, sample in samples.items()}, rounds)
    return {int(n): spread for n, spread in spreads.items()}


def _image(base: str, size: int, folder: Path) -> Image:
    path = folder / f"{size}.tar"
    path.write_bytes(_files(size, "many"))
    return Image(base, layers=(Layer(tar=path),))


def _files(count: int, top: str) -> bytes:
    """A tar of so many small files, a hundred to a folder."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w") as archive:
        for number in range(count):
            content = f"file {number}\n".encode()
            member = tarfile.TarInfo(f"{top}/{number // _PER_FOLDER}/{number}.txt")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return written.getvalue()


def _shown(axis: str, growth: Growth) -> str:
    numbers = list(next(iter(growth.values())))
    rows = []
    for name, spreads in growth.items():
        slope, _ = line_fit((n, spread.median) for n, spread in spreads.items())
        ratio = spreads[numbers[-1]].median / spreads[numbers[0]].median
        rows.append(
            [name, *(spread_cell(spreads[n]) for n in numbers),
             f"{1e6 * slope:+.2f}", f"{ratio:.1f} x"]
        )  # fmt: skip
    head = ["", *(f"{n:,}" for n in numbers), "ms/1,000", "last/first"]
    return table(f"Milliseconds, median (p90), by {axis}", head, rows)


if __name__ == "__main__":
    main()
