"""What stands in Tidal's hand-written files, by path below ``/project``."""

from __future__ import annotations

TEXTS: dict[str, str] = {}


def _file(path: str, text: str) -> None:
    TEXTS[path] = text.lstrip("\n")


# --- what a visitor reads first ---------------------------------------------------------------

_file(
    "README.md",
    """
# Tidal

Tidal predicts the height of the tide. The command is Python, the inner loop is C,
and a small page draws the curve.

Read [the guide](docs/v2/guide.md), or [contribute](CONTRIBUTING.md).
""",
)
_file(
    "CONTRIBUTING.md",
    """
# Contributing

## Code
Keep functions short. Mark open ends as `TODO(name): what`.

## Releasing
The version is written in exactly these places; change all of them and nothing else:

1. `VERSION`
2. `__version__` in `src/tidal/__init__.py`
3. `TIDAL_VERSION` in `native/tide.h`
4. the package's own `"version"` in `web/package.json`
5. in `CHANGELOG.md` the heading `## Unreleased` becomes `## ` and the new version

Documents, fixtures and third-party files keep the numbers they were written with.
""",
)
_file(
    "CHANGELOG.md",
    """
# Changes

## Unreleased
- stations can be given by number
- calc_level no longer rounds

## 1.4.2
- repaired the moon's node correction

## 1.4.1
- first version with a page
""",
)
_file("VERSION", "1.4.2\n")
_file(
    "Makefile",
    """
CC = cc
OBJECTS = native/tide.o native/level.o native/util.o
GENERATED = build/tables.txt build/stations.idx
SCRATCH = $(wildcard native/*.tmp)

all: $(OBJECTS) $(GENERATED)

native/%.o: native/%.c native/tide.h
\t$(CC) -c -o $@ $<

build/tables.txt: tools/gen_tables.py
\ttools/gen_tables.py > $@

test: all
\ttools/lint.sh
\tpython3 -m unittest discover tests

clean:
\trm -f $(OBJECTS) $(GENERATED) $(SCRATCH) build/*.log

.PHONY: all test clean
""",
)
_file(".editorconfig", "root = true\n\n[*]\nend_of_line = lf\n")
_file(".ci/pipeline.yml", "steps:\n  - make\n  - make test  # TODO run on arm too\n")
_file("settings/default.ini", "[tidal]\nstation = brest\nunits = metric\n")
_file("settings/secrets.env", "UPLOAD_TOKEN=not-a-real-one\n")

# --- the command ------------------------------------------------------------------------------

_file(
    "src/tidal/__init__.py",
    '''
"""Predict the height of the tide."""

__version__ = "1.4.2"
''',
)
_file(
    "src/tidal/cli.py",
    '''
#!/usr/bin/env python3
"""The command: parse what was typed, print a table."""

import argparse

from tidal import report
from tidal.harmonics import calc_level
from tidal.stations import find_station


def main() -> int:
    parser = argparse.ArgumentParser(prog="tidal")
    parser.add_argument("station")
    parser.add_argument("--hours", type=int, default=24)
    args = parser.parse_args()
    station = find_station(args.station)
    # TODO(mira): accept a date
    levels = [calc_level(station, hour) for hour in range(args.hours)]
    print(report.table(levels))
    return 0
''',
)
_file(
    "src/tidal/harmonics.py",
    '''
"""The sum of cosines that a tide is."""

import math

from .units import to_radians

# TODO: node corrections for more than nineteen years
TODOS_PER_YEAR = 12


def calc_level(station, hour):
    """Metres above the station's datum."""
    level = station.datum
    for part in station.parts:
        phase = to_radians(part.speed * hour - part.lag)
        level += part.amplitude * math.cos(phase)
    return level


def recalc_level(station, hour):
    return calc_level(station, hour)  # TODO(jonas): drop once nobody calls it


def calc_levels(station, hours):
    return [calc_level(station, hour) for hour in hours]
''',
)
_file(
    "src/tidal/stations.py",
    '''
"""Where tides are known."""

import csv
from pathlib import Path

from tidal.formats import Station, parse_row

TABLE = Path(__file__).with_name("stations.csv")


def find_station(name: str) -> Station:
    # TODO(mira): match names without accents
    with TABLE.open(encoding="utf-8") as table:
        for row in csv.reader(table):
            if row[0] == name:
                return parse_row(row)
    raise SystemExit(f"no station {name}")
''',
)
_file(
    "src/tidal/formats.py",
    '''
"""Rows in, objects out."""

from dataclasses import dataclass


@dataclass
class Part:
    speed: float
    amplitude: float
    lag: float


@dataclass
class Station:
    name: str
    datum: float
    parts: list


def parse_row(row):
    # todo lower case does not count
    return Station(row[0], float(row[1]), [Part(28.98, float(row[2]), 0.0)])
''',
)
_file(
    "src/tidal/units.py",
    '''
"""Conversions."""

import math


def to_radians(degrees):
    return degrees * math.pi / 180


def to_feet(metres):
    # TODO TODO really needed?
    return metres / 0.3048
''',
)
_file(
    "src/tidal/report.py",
    '''
"""Tables for people."""

from .plugins import csv_out


def table(levels):
    """One line per hour."""
    return csv_out.write(levels)
''',
)
_file("src/tidal/plugins/__init__.py", '"""Ways to write a table."""\n')
_file(
    "src/tidal/plugins/csv_out.py",
    """
def write(levels):
    return "\\n".join(f"{hour},{level:.2f}" for hour, level in enumerate(levels))
""",
)
_file(
    "src/tidal/plugins/json_out.py",
    """
import json


def write(levels):
    # TODO(mira): agree on a schema; see also TODO(jonas) elsewhere
    return json.dumps(levels)
""",
)
_file(
    "src/tidal/legacy.py",
    '''
"""The first version's formula, kept to compare with. Was: import legacy in report."""


def old_level(hour):
    return (hour % 12) / 6
''',
)
_file(
    "src/tidal/moon.py",
    '''
"""The moon's age, for the page's picture."""


def age(day):
    return day % 29.53  # TODO(jonas): good enough?
'''.rstrip("\n"),
)
_file("src/tidal/cli.py.orig", "# before the merge\nimport argparse\n")
_file("src/tidal/harmonics.py~", "import math  # TODO(mira): older copy\n")

# --- the inner loop ---------------------------------------------------------------------------

_file(
    "native/tide.h",
    """
#ifndef TIDE_H
#define TIDE_H

#define TIDAL_VERSION "1.4.2"
#define TABLE_FORMAT "1.4.2" /* of the files, not of the program */

double calc_level(const double *parts, int count, double hour);

#endif
""",
)
_file(
    "native/tide.c",
    """
#include <stdio.h>
#include "tide.h"
#include "util.h"

/* TODO(mira): read the parts from a file */
int main(void)
{
    double parts[] = {1.2, 28.98};
    printf("%.2f\\n", clamp(calc_level(parts, 1, 6.0)));
    return 0;
}
""",
)
_file(
    "native/level.c",
    """
#include <math.h>
#include "tide.h"
# include "level.h"
// #include "old_tables.h"

double calc_level(const double *parts, int count, double hour)
{
    double level = 0.0;
    for (int i = 0; i < count; i++)
        level += parts[2 * i] * cos(parts[2 * i + 1] * hour / DEGREES);
    return level; /* calc_level() of Python does the same */
}
""",
)
_file("native/level.h", '#include "constants.h"\n#define MAX_PARTS 37\n')
_file("native/constants.h", "#define DEGREES 57.29577951308232\n")
_file("native/util.h", "double clamp(double level);\nvoid recalc_level_table(void);")
_file(
    "native/util.c",
    """
#include "util.h"

double clamp(double level)
{
    return level > 20.0 ? 20.0 : level;
}
""",
)
_file("native/old_tables.h", "static const double M2[] = {1.0, 0.5};\n")
_file("native/compat.h", "/* for compilers that nobody has any more */\n")
_file("native/tide.o", "object file of tide.c\n")
_file("native/util.o", "object file of util.c\n")
_file("native/main.o", "object file of a file long gone\n")
_file("native/trace-1.tmp", "0.1\n")
_file("native/trace-2.tmp", "0.2\n")
_file("native/tide.c.rej", "@@ -3,1 +3,1 @@\n-calc_level\n+level\n")
_file("build/tables.txt", "M2 28.98\nS2 30.00\n")
_file("build/compile.log", "cc -c native/tide.c\n")
_file("build/tables.log", "2 rows\n")
_file("build/README.md", "Made by `make`; nothing here is worth keeping but this.\n")

# --- the page ---------------------------------------------------------------------------------

_file(
    "web/package.json",
    """
{
  "name": "tidal-page",
  "version": "1.4.2",
  "dependencies": {
    "chartlet": "1.4.2"
  }
}
""",
)
_file(
    "web/app.js",
    """
import { draw } from "./chart.js";

// TODO(jonas): show the moon
fetch("levels.json")
  .then((answer) => answer.json())
  .then((levels) => draw(document.querySelector("#curve"), levels));
""",
)
_file(
    "web/chart.js",
    """
import { chartlet } from "./vendor/chartlet.js";

export function draw(place, levels) {
  // values come from calc_level in the command
  chartlet(place, levels.map((level, hour) => [hour, level]));
}
""".rstrip("\n"),
)
_file(
    "third_party/chartlet/chartlet.js",
    "/* chartlet 1.4.2, TODO(mira) is theirs */\n"
    "export function chartlet(p, d) { p.textContent = d.length; }\n"
    "/* calc_level is a name they use as well */\n",
)
_file("third_party/chartlet/NOTICE", "Used with permission. Do not edit; replace as a whole.\n")

# --- tools ------------------------------------------------------------------------------------

_file("tools/build.sh", "#!/bin/sh\nset -eu\nmake all\n")
_file("tools/lint.sh", "#!/bin/sh\nset -eu\n! grep -rn 'calc_level ' native\n")
_file("tools/release.sh", '#!/bin/bash\nset -eu\nprintf "releasing %s\\n" "$(cat VERSION)"\n')
_file("tools/check-sums", "#!/bin/bash\nmd5sum -c sums.md5\n")
_file(
    "tools/gen_tables.py",
    '''
#!/usr/bin/env python3
"""Write the constants' table."""

from tidal import units

for name, speed in (("M2", 28.9841042), ("S2", 30.0)):
    print(name, units.to_radians(speed))
''',
)
_file("tools/env.sh", "# sourced, never run\nPATH=$PATH:/project/tools\n")
_file("tools/README.txt", "build.sh builds, lint.sh looks for trouble.\n")
_file(
    "tools/stations.csv",
    "brest,4.1,2.04\ncuxhaven,1.7,1.34\nesbjerg,0.9,0.66\ngalway,2.9,1.5\nvigo,2.1,1.08\n",
)
_file("tools/tables.cache", "M2=0.5058\n")

# --- tests ------------------------------------------------------------------------------------

_file(
    "tests/unit/test_harmonics.py",
    """
from tidal.harmonics import calc_level, calc_levels


def test_rest():
    assert calc_level is not calc_levels
""",
)
_file(
    "tests/unit/test-units.py",
    """
from tidal.units import to_feet


def test_feet():
    assert round(to_feet(1), 2) == 3.28
""",
)
_file("tests/unit/nested/deep/test-edge-cases.py", "def test_edge():\n    assert True\n")
_file("tests/unit/nested/test-table-format.py", "TABLE_FORMAT = '1.4.2'\n")
_file("tests/end-to-end/test-command-line.py", "import subprocess\n")
_file("tests/end-to-end/helper-data.py", "LEVELS = [1.0, 2.0]\n")
_file("tests/end-to-end/test-plan.md", "1. run the command\n2. compare\n")
_file("tests/fixtures/sample-1.csv", "hour,level\n0,1.10\n1,1.32\n")
_file("tests/fixtures/sample-2.csv", "hour,level\n0,0.80\n1,0.97\n")
_file("tests/fixtures/names with spaces.txt", " #!/bin/sh\nA space before it: this is no script.\n")
_file("tests/fixtures/merge.orig", "kept: the merge tool is tested with it\n")
_file("tests/fixtures/patches/hunk.rej", "kept: likewise\n")
_file("tests/fixtures/notes.txt~", "kept: likewise\n")
_file("tests/fixtures/calls.c", "double x = calc_level(0, 0, 0); /* parsed in a test */\n")

# --- documents --------------------------------------------------------------------------------

_file(
    "docs/index.md",
    """
# Documents

- [Install](install.md)
- [Guide](v2/guide.md#first-steps) and [reference](v2/reference.md)
- [The old guide](v1/guide.md) and [older still](v0/guide.md)
- [Source](https://example.org/tidal) or [write to us](mailto:tidal@example.org)
- [top](#documents)
""",
)
_file(
    "docs/install.md",
    """
# Install

Unpack, then run [the build](../tools/build.sh). See the [licence](../LICENCE.md).
Version 1.4.2 or newer is needed.
""",
)
_file(
    "docs/v1/guide.md",
    """
# Guide (version 1)

Superseded; read [the new one](../v2/guide.md). ![A curve](../img/curve.svg)
""",
)
_file(
    "docs/v2/guide.md",
    """
# Guide

## First steps
Type `tidal brest`. ![A wave](../img/wave.svg)

## Next
Look into the [reference](reference.md#options), the [stations](stations.md)
or the [glossary](../glossary.md#datum).
""",
)
_file("docs/v2/reference.md", "# Reference\n\nBack to the [guide](guide.md#next-steps).\n")
_file("docs/img/wave.svg", "<svg/>\n")
_file("docs/SIGNING.txt", "Releases are signed by two people.\n")
_file("docs/install.md~", "# Install\n")

# --- translations -----------------------------------------------------------------------------

_file(
    "i18n/en.properties",
    """
# the words everything else is translated from
app.title = Tide tables
app.quit = Quit
curve.high = High water
curve.low = Low water
curve.now = Now
error.station = No such station
error.date = Not a date
moon.full = Full moon
moon.new = New moon
""",
)
_file(
    "i18n/de.properties",
    """
app.title = Gezeitentafeln
app.quit = Beenden
curve.high = Hochwasser
curve.low = Niedrigwasser
#curve.now = Jetzt
error.station = Unbekannter Ort
error.date =
moon.full = Vollmond
moon.new = Neumond
moon.half = Halbmond
""",
)
_file(
    "i18n/fr.properties",
    """
app.title=Tables des marées
curve.high=Pleine mer
curve.low=Basse mer
curve.now=Maintenant
error.date=Date invalide
moon.full=Pleine lune
moon.new=Nouvelle lune
""",
)
_file(
    "i18n/ja.properties",
    """
app.title = 潮汐表
app.quit = 終了
curve.high = 満潮
curve.low = 干潮
error.station = 観測所がありません
error.date = 日付ではありません
moon.full =
# moon.new = 新月
""",
)
