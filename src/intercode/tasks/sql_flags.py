"""What the text of a SQL gold gives away: that its answer depends on the clock, on chance, or on
the server it is asked of.

Any text can be read, in any dialect. Quoted names, strings and comments are not mistaken for calls.
"""

from __future__ import annotations

import re

_TOKEN = re.compile(
    r"(?P<comment>--[^\n]*|/\*.*?(?:\*/|\Z))"
    r"|(?P<string>'(?:[^'\\]|''|\\.)*(?:'|\Z))"
    r'|(?P<quoted>"(?:[^"]|"")*(?:"|\Z)|`[^`]*(?:`|\Z))'
    r"|(?P<word>@@|[A-Za-z_]\w*)"
    r"|(?P<other>\S)",
    re.DOTALL,
)

_WORDS = {
    **dict.fromkeys(
        ["current_date", "current_time", "current_timestamp", "localtime", "localtimestamp"],
        "clock",
    ),
    **dict.fromkeys(["current_user", "session_user", "current_role", "@@"], "host"),
}
_CALLS = {
    **dict.fromkeys(
        [
            "now", "curdate", "curtime", "sysdate", "utc_date", "utc_time", "utc_timestamp",
            "getdate", "clock_timestamp", "transaction_timestamp", "statement_timestamp", "today",
        ],
        "clock",
    ),
    **dict.fromkeys(
        ["rand", "random", "randomblob", "uuid", "uuid_short", "gen_random_uuid", "newid"],
        "random",
    ),
    **dict.fromkeys(
        ["user", "version", "connection_id", "sqlite_version", "pg_backend_pid"], "host"
    ),
}  # fmt: skip
_CLOCK_IF_EMPTY = {"date", "time", "datetime", "julianday", "unixepoch", "unix_timestamp"}
_BEFORE_A_NAME = {".", "into", "table", "exists", "references", "on", "view"}
_READS_NOW = _CLOCK_IF_EMPTY | {"strftime", "timediff", "to_date", "timestamp"}


def sql_flags(gold: str) -> tuple[str, ...]:
    """The flags ``clock``, ``host`` and ``random``, as far as they apply, sorted."""
    tokens = [
        (match.lastgroup or "", match[0].lower())
        for match in _TOKEN.finditer(gold)
        if match.lastgroup != "comment"
    ]
    texts = [text for _, text in tokens]
    flags = set()
    reads_time = False
    for place, (kind, text) in enumerate(tokens):
        before, following = texts[max(place - 1, 0)], texts[place + 1 : place + 3]
        if kind == "word" and before in _BEFORE_A_NAME:
            continue
        if kind == "word" and following[:1] == ["("]:
            flags.add(_CALLS.get(text))
            flags.add("clock" if text in _CLOCK_IF_EMPTY and following == ["(", ")"] else None)
            reads_time |= text in _READS_NOW
        elif kind == "string" and text == "'now'" and reads_time:
            flags.add("clock")
        if kind == "word":
            flags.add(_WORDS.get(text))
    return tuple(sorted(flag for flag in flags if flag))
