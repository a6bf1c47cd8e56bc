"""A source tree in several languages: Tidal, an invented command that predicts tides.

It is untidy as real trees are: leftovers of editors and merges, wrong permissions, links that
lead nowhere, copies of files, translations that lag behind.
"""

from __future__ import annotations

from intercode.tasks.bundled.dice import Dice
from intercode.tasks.bundled.project_text import TEXTS
from intercode.tasks.tree import Entry, noon

# Where the permissions are not 0644: some as they should be, some not.
_MODES = {
    ".ci/pipeline.yml": 0o646,
    "docs/SIGNING.txt": 0o444,
    "settings/secrets.env": 0o600,
    "src/tidal/cli.py": 0o755,
    "tests/fixtures/sample-1.csv": 0o666,
    "tools/README.txt": 0o755,
    "tools/release.sh": 0o755,
    "tools/stations.csv": 0o755,
    "tools/tables.cache": 0o666,
    "web/app.js": 0o755,
}
_LINKS = {
    "assets/logo/favicon.svg": "../icons/wave.svg",
    "docs/api.md": "../build/api.md",
    "docs/current": "/project/docs/v2",
    "docs/latest-guide.md": "v2/guide.md",
    "native/level_old.c": "level_v1.c",
    "src/tidal/stations.csv": "/project/tools/stations.csv",
    "tests/fixtures/latest.csv": "/project/tests/fixtures/sample-2.csv",
    "tests/unit/nested/deep/fixtures": "../../../fixtures",
    "tools/interpreter": "/usr/bin/python3.99",
    "tools/sums": "/project/tools/check-sums",
    "web/vendor": "/project/third_party/chartlet",
}
_ICONS = ("anchor", "boat", "buoy", "gull", "moon", "shell", "star", "sun", "wave", "wind")
# A copy's path, and the icon it is a copy of.
_COPIES = {
    "assets/icons/crescent.svg": "moon",
    "assets/icons/small/moon.svg": "moon",
    "assets/icons/small/wave.svg": "wave",
    "assets/logo/mark.svg": "wave",
    "assets/print/star.svg": "star",
}


def entries() -> list[Entry]:
    tree = [
        Entry(f"project/{path}", text, mode=_MODES.get(path), mtime=noon("2024-05-14"))
        for path, text in TEXTS.items()
    ]
    tree += [Entry(f"project/{path}", link=target) for path, target in _LINKS.items()]
    return [*tree, *_icons(), *_tide_tables()]


def _icons() -> list[Entry]:
    drawings = {name: _drawing(seed) for seed, name in enumerate(_ICONS)}
    originals = [
        Entry(f"project/assets/icons/{name}.svg", drawing) for name, drawing in drawings.items()
    ]
    copies = [Entry(f"project/{path}", drawings[name]) for path, name in _COPIES.items()]
    unlike = Entry("project/assets/icons/small/sun.svg", _drawing(99))
    return [*originals, *copies, unlike]


def _drawing(seed: int) -> str:
    dice = Dice(seed)
    points = " ".join(f"{dice.below(64)},{dice.below(64)}" for _ in range(6))
    return f'<svg viewBox="0 0 64 64"><polyline points="{points}"/></svg>\n'


def _tide_tables() -> list[Entry]:
    """Measured levels in centimetres, one file per station; ``-999`` marks a failed gauge."""
    stations = ("brest", "cuxhaven", "esbjerg", "galway", "vigo")
    return [
        Entry(f"project/tests/fixtures/levels/{name}.tsv", _levels(seed))
        for seed, name in enumerate(stations, start=500)
    ]


def _levels(seed: int) -> str:
    dice = Dice(seed)
    rows = []
    for hour in range(48):
        level = -999 if dice.chance(10) else dice.between(-240, 380)
        rows.append(f"2023-11-{1 + hour // 24:02}T{hour % 24:02}:00\t{level}\n")
    return "time\tlevel_cm\n" + "".join(rows)
