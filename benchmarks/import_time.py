"""How long `import intercode` and `intercode --help` take, beside a bare interpreter.

python benchmarks/import_time.py
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

from common import interleaved, parser, report, spread_cell, table, timed, times_cell

COMMANDS = {
    "bare python": ["-c", "pass"],
    "import intercode": ["-c", "import intercode"],
    "intercode --help": ["-m", "intercode", "--help"],
    "import intercode.envs.bash_v2": ["-c", "import intercode.envs.bash_v2"],
    "import gymnasium": ["-c", "import gymnasium"],
}


def main() -> None:
    made = parser(__doc__)
    made.add_argument("--rounds", type=int, default=20)
    options = made.parse_args()
    spreads = interleaved(
        {name: lambda args=args: timed(lambda: _python(args)) for name, args in COMMANDS.items()},
        options.rounds,
    )
    bare = spreads["bare python"].median
    rows = [
        [name, spread_cell(spread), f"{1e3 * (spread.median - bare):.0f}",
         times_cell(spread.median / bare)]
        for name, spread in spreads.items()
    ]  # fmt: skip
    head = ["", "median (p90)", "beyond bare", "ratio"]
    report(options, table("Milliseconds", head, rows), {"seconds": spreads})


def _python(arguments: Sequence[str]) -> None:
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)


if __name__ == "__main__":
    main()
