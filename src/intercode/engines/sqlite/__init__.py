"""SQLite in this process: the default engine, with nothing to start."""

from intercode.engines.sqlite.engine import SQLite

__all__ = ["SQLite"]
