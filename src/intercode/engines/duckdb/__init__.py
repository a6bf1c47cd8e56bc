"""DuckDB in processes of its own: in memory, nothing to start, and nothing that cannot be stopped.

DuckDB is a library, and some of its functions neither heed an interruption nor a limit on memory.
So it runs in worker processes, one for each session that is open, kept for the next ones: a
statement that does not end is interrupted, and if it does not heed that its process is ended.
"""

from intercode.engines.duckdb.engine import DuckDB

__all__ = ["DuckDB"]
