"""What MySQL says of a statement that it does not run."""

from __future__ import annotations

import re


class Fault(Exception):
    """The statement fails before it is run, with this message."""


def syntax(near: str, line: int = 1) -> Fault:
    return Fault(
        "You have an error in your SQL syntax; check the manual that corresponds to your MySQL"
        f" server version for the right syntax to use near '{near[:80]}' at line {line}"
    )


def no_table(database: str, table: str) -> Fault:
    return Fault(f"Table '{database}.{table}' doesn't exist")


def no_column(column: str, clause: str) -> Fault:
    return Fault(f"Unknown column '{column}' in '{clause}'")


def ambiguous(column: str, clause: str) -> Fault:
    return Fault(f"Column '{column}' in {clause} is ambiguous")


def no_function(database: str, name: str) -> Fault:
    return Fault(f"FUNCTION {database}.{name} does not exist")


def no_arguments_fit(name: str) -> Fault:
    return Fault(f"Incorrect parameter count in the call to native function '{name}'")


_SYNTAX = (
    "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server"
    " version for the right syntax to use near "
)
_PATTERNS = (
    (r"no such table: (?:main\.|temp\.)?(.+)", r"Table '{db}.\1' doesn't exist"),
    (r"no such column: (.+)", r"Unknown column '\1' in 'field list'"),
    (r"ambiguous column name: (.+)", r"Column '\1' in field list is ambiguous"),
    (r"no such function: (.+)", r"FUNCTION {db}.\1 does not exist"),
    (r"misuse of aggregate(?: function)?:? .*", "Invalid use of group function"),
    (r"UNIQUE constraint failed: (.+)", r"Duplicate entry for key '\1'"),
    (r"NOT NULL constraint failed: (?:[^.]+\.)?(.+)", r"Column '\1' cannot be null"),
    (r"FOREIGN KEY constraint failed", "Cannot add or update a child row: a foreign key fails"),
    (r"table (\S+) already exists", r"Table '\1' already exists"),
    (
        r"(?:SELECTs to the left and right of .*|.*do not have the same number of result columns)",
        "The used SELECT statements have a different number of columns",
    ),
    (r"sub-select returns (\d+) columns - expected (\d+)", r"Operand should contain \2 column(s)"),
    (r"row value misused", "Operand should contain 1 column(s)"),
    (
        r"wrong number of arguments to function (\w+)\(\)",
        r"Incorrect parameter count in the call to native function '\1'",
    ),
    (
        r"interrupted",
        "Query execution was interrupted, maximum statement execution time exceeded",
    ),
    (r"string or blob too big", "Result of function was larger than max_allowed_packet"),
    (r"database or disk is full", "The table is full"),
    (r"out of memory", "Out of memory"),
    (r'unrecognized token: "(.*)"', _SYNTAX + r"'\1' at line 1"),
    (r"incomplete input", _SYNTAX + "'' at line 1"),
    (r'near "(.*)": syntax error', _SYNTAX + r"'\1' at line 1"),
    (r"user-defined function raised exception", "Incorrect arguments to function"),
    (r"user-defined aggregate's 'step' method raised error", "Subquery returns more than 1 row"),
)


def in_mysql_words(error: str, database: str) -> str:
    """SQLite's message as MySQL would put it; one that is SQLite's alone stays."""
    for pattern, words in _PATTERNS:
        found = re.fullmatch(pattern, error)
        if found:
            return found.expand(words.replace("{db}", database.replace("\\", r"\\")))
    return error
