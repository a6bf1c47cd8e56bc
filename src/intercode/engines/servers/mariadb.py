"""MariaDB as an owned server: small, fast, forgetful."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cached_property

from intercode.engines.servers.process import Places
from intercode.errors import EngineUnavailable

_REMEDY = "apt-get install mariadb-server, or give the URL of a running server"
_MEMORY_BYTES = 4 << 30
"""Of address space: a statement that wants more fails, instead of the machine."""
_INSTALL = (
    "--no-defaults", "--force", "--auth-root-authentication-method=normal", "--skip-test-db",
    "--skip-name-resolve", "--innodb-log-file-size=4M",
)  # fmt: skip
_SETTINGS = (
    # Reached by its socket alone, and by nobody's files.
    "--skip-networking", "--skip-name-resolve", "--local-infile=OFF", "--symbolic-links=OFF",
    # As the original's data was loaded, and the same everywhere.
    "--lower-case-table-names=1", "--character-set-server=utf8mb4",
    "--collation-server=utf8mb4_general_ci", "--default-time-zone=+00:00",
    # Nothing of it shall last.
    "--skip-log-bin", "--innodb-flush-log-at-trx-commit=0", "--innodb-doublewrite=OFF",
    "--innodb-flush-method=nosync", "--debug-no-sync", "--innodb-fast-shutdown=2",
    "--innodb-buffer-pool-dump-at-shutdown=OFF", "--innodb-buffer-pool-load-at-startup=OFF",
    # Small, with ends to what statements may take.
    "--innodb-buffer-pool-size=64M", "--innodb-log-file-size=4M", "--innodb-file-per-table=OFF",
    "--innodb-data-file-path=ibdata1:12M:autoextend:max:3G", "--innodb-autoextend-increment=8",
    "--innodb-temp-data-file-path=ibtmp1:12M:autoextend:max:1G", "--key-buffer-size=1M",
    "--aria-pagecache-buffer-size=8M", "--max-connections=2000", "--table-open-cache=2000",
    "--max-session-mem-used=512M", "--tmp-disk-table-size=512M", "--max-heap-table-size=32M",
    "--max-allowed-packet=16M", "--query-cache-type=OFF",
    "--query-cache-size=0", "--performance-schema=OFF", "--event-scheduler=OFF",
    # Rows of temporary tables are numbered on disk. In memory they go by their address, and which
    # of tied rows a LIMIT lets through would change from connection to connection.
    "--tmp-table-size=0",
    # Plans follow from the data, not from when a background thread counted it.
    "--innodb-stats-auto-recalc=OFF", "--innodb-stats-persistent=ON",
)  # fmt: skip


@dataclass(frozen=True)
class MariaDB:
    """The `mariadbd` of this machine. See `ServerKind`."""

    program: str

    name = "mariadb"
    socket_name = "sql"

    @classmethod
    def find(cls) -> MariaDB:
        """:raises EngineUnavailable: there is none."""
        program = shutil.which("mariadbd") or shutil.which(
            "mariadbd", path="/usr/sbin:/usr/libexec"
        )
        if program is None or shutil.which("mariadb-install-db") is None:
            raise EngineUnavailable("there is no MariaDB server on this machine", remedy=_REMEDY)
        return cls(program)

    @cached_property
    def version(self) -> str:
        said = subprocess.run([self.program, "--version"], capture_output=True, text=True).stdout
        found = re.search(r"(\d+\.\d+\.\d+)-MariaDB", said)
        return f"MariaDB {found[1]}" if found else said.strip()

    @cached_property
    def _steady(self) -> tuple[str, ...]:
        """Addresses that are the same at each start, where the kernel gives them: MariaDB orders
        equal groups of a GROUP BY … ORDER BY count(*) by where they lie in memory."""
        command = (shutil.which("setarch") or "setarch", "-R")
        try:
            works = subprocess.run([*command, "true"], capture_output=True).returncode == 0
        except OSError:
            works = False
        return command if works else ()

    def prepare(self, places: Places) -> list[str]:
        install = shutil.which("mariadb-install-db") or "mariadb-install-db"
        return [install, *_INSTALL, f"--datadir={places.data}"]

    def serve(self, places: Places) -> list[str]:
        limit = shutil.which("prlimit")
        bounded = (limit, f"--as={_MEMORY_BYTES}") if limit else ()
        return [
            *bounded, *self._steady, self.program, "--no-defaults", *_SETTINGS,
            f"--datadir={places.data}",
            f"--socket={places.run}/{self.socket_name}", f"--pid-file={places.scratch}/pid",
            f"--tmpdir={places.scratch}", f"--secure-file-priv={places.empty}",
        ]  # fmt: skip
