"""MySQL and MariaDB: an owned `mariadbd`, or a running server of either kind by its URL."""

from intercode.engines.mysql.engine import MySQL

__all__ = ["MySQL"]
