"""``python -m intercode``: the same as the console script."""

from intercode.cli.main import entry

entry()
