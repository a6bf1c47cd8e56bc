"""MySQL's functions for SQLite, each under its name behind ``my_``."""

from __future__ import annotations

import sqlite3

from intercode.engines.sqlite import text
from intercode.engines.sqlite.mysql import collate
from intercode.engines.sqlite.mysql.functions import aggregates, dates, matching, numbers, strings

__all__ = ["PREFIX", "register"]

PREFIX = "my_"


def register(connection: sqlite3.Connection) -> None:
    """On a new connection, with the collation and without the functions that take too long."""
    text.register(connection)
    connection.create_collation(collate.NAME, collate.compare)
    for module in (strings, numbers, dates, matching):
        for name, function in module.FUNCTIONS.items():
            connection.create_function(PREFIX + name, -1, function, deterministic=True)
    for name, function in (*numbers.CHANGING.items(), *dates.CHANGING.items()):
        connection.create_function(PREFIX + name, -1, function)
    for name, aggregate in aggregates.AGGREGATES.items():
        connection.create_aggregate(PREFIX + name, -1, aggregate)
