"""PostgreSQL as an owned server: small, fast, forgetful."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from intercode.engines.servers.process import Places
from intercode.errors import EngineUnavailable

ADMIN = "intercode"
_REMEDY = "apt-get install postgresql, or give the URL of a running server"
_BACKEND_BYTES = 1536 << 20
"""Of address space for each of its processes: one serves one session."""
_SETTINGS = {
    # Reached by its socket alone.
    "listen_addresses": "", "unix_socket_permissions": "0700",
    # Nothing of it shall last.
    "fsync": "off", "synchronous_commit": "off", "full_page_writes": "off",
    "wal_level": "minimal", "max_wal_senders": "0", "autovacuum": "off",
    "min_wal_size": "32MB", "max_wal_size": "256MB", "checkpoint_timeout": "1h",
    # The same everywhere.
    "timezone": "UTC", "log_timezone": "UTC", "datestyle": "ISO, YMD",
    # Small, with ends to what statements may take.
    "shared_buffers": "64MB", "max_connections": "1000", "work_mem": "16MB",
    "temp_file_limit": "1GB", "jit": "off", "max_parallel_workers": "0",
    "max_parallel_workers_per_gather": "0", "max_worker_processes": "0",
    "max_locks_per_transaction": "256", "log_min_messages": "fatal",
    "log_min_error_statement": "panic", "max_prepared_transactions": "0",
}  # fmt: skip


@dataclass(frozen=True)
class PostgreSQL:
    """The `postgres` of this machine: the newest. See `ServerKind`."""

    program: str

    name = "postgres"
    socket_name = ".s.PGSQL.5432"

    @classmethod
    def find(cls) -> PostgreSQL:
        """:raises EngineUnavailable: there is none."""
        installed = sorted(
            Path("/usr/lib/postgresql").glob("*/bin/postgres"),
            key=lambda path: int(path.parts[-3]) if path.parts[-3].isdigit() else 0,
        )
        program = str(installed[-1]) if installed else shutil.which("postgres")
        if program is None or not Path(program).resolve().with_name("initdb").exists():
            raise EngineUnavailable("there is no PostgreSQL on this machine", remedy=_REMEDY)
        return cls(str(Path(program).resolve()))

    @cached_property
    def version(self) -> str:
        said = subprocess.run([self.program, "--version"], capture_output=True, text=True).stdout
        found = re.search(r"\d+(\.\d+)*", said)
        return f"PostgreSQL {found[0]}" if found else said.strip()

    def prepare(self, places: Places) -> list[str]:
        return [
            str(Path(self.program).with_name("initdb")), "-D", places.data, "-U", ADMIN,
            "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync",
        ]  # fmt: skip

    def serve(self, places: Places) -> list[str]:
        limit = shutil.which("prlimit")
        argv = [limit, f"--as={_BACKEND_BYTES}"] if limit else []
        argv += [self.program, "-D", places.data, "-c", f"unix_socket_directories={places.run}"]
        for key, value in _SETTINGS.items():
            argv += ["-c", f"{key}={value}"]
        return argv
