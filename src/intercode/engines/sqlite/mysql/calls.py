"""MySQL's functions by name: how many arguments, what type of result, which function of ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from intercode.engines.sqlite.mysql import kinds
from intercode.engines.sqlite.mysql.kinds import DATE, DATETIME, DOUBLE, INT, TEXT, TIME, Kind

Rule = Callable[[Sequence[Kind], Sequence[Any]], Kind]
"""From the kinds of the arguments, and the arguments."""


@dataclass(frozen=True)
class Call:
    """``target`` is the function of ours, without its prefix. ``takes`` says what the arguments
    become first: ``text`` as MySQL writes them, or as they are."""

    target: str
    least: int
    most: int
    result: Kind | Rule
    takes: str = ""


def _same(given: Sequence[Kind], _: Sequence[Any]) -> Kind:
    first = kinds.plain(given[0])
    return first if first.numeric else DOUBLE


def _rounded(given: Sequence[Kind], arguments: Sequence[Any]) -> Kind:
    first = _same(given, arguments)
    if first.family == "float" and len(arguments) > 1:
        return replace(first, single=False, fixed=_literal(arguments[1]))
    if first.family != "decimal":
        return replace(first, fixed=None)
    digits = _literal(arguments[1]) if len(arguments) > 1 else 0
    return kinds.decimal(first.scale if digits is None else min(max(digits, 0), first.scale))


def _literal(node: Any) -> int | None:
    said = str(node.this) if type(node).__name__ == "Literal" else ""
    return int(said) if said.isdigit() else None


def _whole(given: Sequence[Kind], _: Sequence[Any]) -> Kind:
    return INT if given[0].exact else DOUBLE


def _merged(given: Sequence[Kind], _: Sequence[Any]) -> Kind:
    return kinds.merged(given)


def _modulo(given: Sequence[Kind], _: Sequence[Any]) -> Kind:
    return kinds.arithmetic("%", given[0], given[1])


def _parsed(_: Sequence[Kind], arguments: Sequence[Any]) -> Kind:
    """STR_TO_DATE: by what the form has."""
    form = str(arguments[1].this) if getattr(arguments[1], "is_string", False) else "%Y%H"
    clock = any("%" + letter in form for letter in "HkhIlisSfTr")
    day = any("%" + letter in form for letter in "YymcMbdeDj")
    return (DATETIME if day else TIME) if clock else DATE


def _of(
    names: str, target: str, least: int, most: int, result: Kind | Rule, takes: str = ""
) -> dict[str, Call]:
    call = Call(target, least, most, result, takes)
    return dict.fromkeys(names.split(), call)


def _plainly(
    names: str, least: int, most: int, result: Kind | Rule, takes: str = ""
) -> dict[str, Call]:
    return {name: Call(name.lower(), least, most, result, takes) for name in names.split()}


MANY = 99

CALLS: dict[str, Call] = {
    # text
    **_plainly("CONCAT CONCAT_WS", 1, MANY, TEXT, "text"),
    **_plainly("LEFT RIGHT REPEAT", 2, 2, TEXT, "text"),
    **_plainly("LPAD RPAD", 2, 3, TEXT, "text"),
    **_plainly("SUBSTRING_INDEX REPLACE", 3, 3, TEXT, "text"),
    **_of("SUBSTR SUBSTRING MID", "substring", 2, 3, TEXT, "text"),
    **_plainly("TRIM", 1, 3, TEXT, "text"),
    **_plainly("LTRIM RTRIM REVERSE QUOTE SOUNDEX MD5 TO_BASE64 SPACE", 1, 1, TEXT, "text"),
    **_of("LOWER LCASE", "lower", 1, 1, TEXT, "text"),
    **_of("UPPER UCASE", "upper", 1, 1, TEXT, "text"),
    **_of("SHA SHA1", "sha1", 1, 1, TEXT, "text"),
    **_plainly("SHA2", 2, 2, TEXT, "text"),
    **_plainly("INSERT", 4, 4, TEXT, "text"),
    **_plainly("FORMAT", 2, 3, TEXT),
    **_plainly("HEX BIN OCT", 1, 1, TEXT),
    **_plainly("UNHEX FROM_BASE64", 1, 1, kinds.BLOB),
    **_plainly("CONV", 3, 3, TEXT, "text"),
    **_plainly("CHAR", 1, MANY, kinds.BLOB),
    **_plainly("ELT", 2, MANY, lambda given, nodes: kinds.merged(given[1:])),
    **_of("LENGTH OCTET_LENGTH", "length", 1, 1, INT, "text"),
    **_of("CHAR_LENGTH CHARACTER_LENGTH", "char_length", 1, 1, INT, "text"),
    **_plainly("BIT_LENGTH ASCII ORD CRC32", 1, 1, INT, "text"),
    **_plainly("LOCATE", 2, 3, INT, "text"),
    **_plainly("INSTR FIND_IN_SET STRCMP", 2, 2, INT, "text"),
    **_plainly("FIELD", 2, MANY, INT, "text"),
    **_of("REGEXP_LIKE", "regexp", 2, 3, INT, "text"),
    **_plainly("REGEXP_REPLACE", 3, 6, TEXT, "text"),
    **_plainly("REGEXP_SUBSTR", 2, 5, TEXT, "text"),
    **_plainly("REGEXP_INSTR", 2, 6, INT, "text"),
    # numbers
    **_plainly("ABS", 1, 1, _same),
    **_plainly("ROUND", 1, 2, _rounded),
    **_plainly("TRUNCATE", 2, 2, _rounded),
    **_plainly("FLOOR", 1, 1, _whole),
    **_of("CEIL CEILING", "ceil", 1, 1, _whole),
    **_plainly("MOD", 2, 2, _modulo),
    **_plainly("SIGN", 1, 1, INT),
    **_of("POW POWER", "pow", 2, 2, DOUBLE),
    **_plainly("SQRT EXP LN LOG2 LOG10 SIN COS TAN COT ASIN ACOS RADIANS DEGREES", 1, 1, DOUBLE),
    **_plainly("LOG", 1, 2, DOUBLE),
    **_of("ATAN ATAN2", "atan", 1, 2, DOUBLE),
    **_plainly("RAND", 0, 1, DOUBLE),
    **_plainly("GREATEST LEAST", 2, MANY, _merged),
    **_plainly("INTERVAL", 2, MANY, INT),
    # dates
    **_plainly("YEAR MONTH QUARTER DAYOFWEEK WEEKDAY DAYOFYEAR WEEKOFYEAR", 1, 1, INT),
    **_of("DAY DAYOFMONTH", "dayofmonth", 1, 1, INT),
    **_plainly("HOUR MINUTE SECOND MICROSECOND TIME_TO_SEC TO_DAYS", 1, 1, INT),
    **_plainly("WEEK YEARWEEK", 1, 2, INT),
    **_plainly("MONTHNAME DAYNAME", 1, 1, TEXT),
    **_plainly("DATE LAST_DAY", 1, 1, DATE),
    **_plainly("TIME SEC_TO_TIME", 1, 1, TIME),
    **_of("TIMESTAMP", "datetime", 1, 1, DATETIME),
    **_plainly("DATEDIFF PERIOD_DIFF", 2, 2, INT),
    **_plainly("TIMEDIFF", 2, 2, TIME),
    **_plainly("ADDTIME SUBTIME", 2, 2, lambda given, nodes: kinds.plain(given[0])),
    **_plainly("DATE_FORMAT TIME_FORMAT", 2, 2, TEXT),
    **_plainly("STR_TO_DATE", 2, 2, _parsed),
    **_plainly("MAKEDATE", 2, 2, DATE),
    **_plainly("MAKETIME", 3, 3, TIME),
    **_plainly("FROM_DAYS", 1, 1, DATE),
    **_plainly("FROM_UNIXTIME", 1, 2, lambda given, nodes: DATETIME if len(given) == 1 else TEXT),
    **_of("NOW SYSDATE LOCALTIME LOCALTIMESTAMP CURRENT_TIMESTAMP", "now", 0, 1, DATETIME),
    **_of("UTC_TIMESTAMP", "now", 0, 1, DATETIME),
    **_of("CURDATE CURRENT_DATE UTC_DATE", "curdate", 0, 0, DATE),
    **_of("CURTIME CURRENT_TIME UTC_TIME", "curtime", 0, 1, TIME),
}  # fmt: skip
"""UNIX_TIMESTAMP, TIMESTAMPDIFF, DATE_ADD and the like are expressions of their own."""

AGGREGATES: dict[str, tuple[str, Kind | None]] = {
    "COUNT": ("COUNT", INT),
    "SUM": ("SUM", None),
    "AVG": ("AVG", None),
    "MIN": ("MIN", None),
    "MAX": ("MAX", None),
    "ANY_VALUE": ("my_first", None),
    "STD": ("my_stddev_pop", None),
    "STDDEV": ("my_stddev_pop", None),
    "STDDEV_POP": ("my_stddev_pop", None),
    "STDDEV_SAMP": ("my_stddev_samp", None),
    "VARIANCE": ("my_var_pop", None),
    "VAR_POP": ("my_var_pop", None),
    "VAR_SAMP": ("my_var_samp", None),
    "BIT_AND": ("my_bit_and", INT),
    "BIT_OR": ("my_bit_or", INT),
    "BIT_XOR": ("my_bit_xor", INT),
    "JSON_ARRAYAGG": ("my_json_arrayagg", TEXT),
}
"""MySQL's name to SQLite's, and the kind of the result where the argument's does not matter."""

WINDOWS: dict[str, Kind | None] = {
    "ROW_NUMBER": INT,
    "RANK": INT,
    "DENSE_RANK": INT,
    "NTILE": INT,
    "PERCENT_RANK": DOUBLE,
    "CUME_DIST": DOUBLE,
    "LAG": None,
    "LEAD": None,
    "FIRST_VALUE": None,
    "LAST_VALUE": None,
    "NTH_VALUE": None,
}

CONSTANTS: dict[str, str | int] = {
    "VERSION": "8.0.32",
    "USER": "admin@localhost",
    "CURRENT_USER": "admin@%",
    "SESSION_USER": "admin@localhost",
    "SYSTEM_USER": "admin@localhost",
    "CONNECTION_ID": 1,
    "FOUND_ROWS": 0,
    "SLEEP": 0,
    "BENCHMARK": 0,
}
"""Nothing of the host: the same wherever and whenever it runs."""

NATIVE: dict[str, tuple[str, Rule]] = {
    "COALESCE": ("COALESCE", _merged),
    "IFNULL": ("IFNULL", _merged),
    "NULLIF": ("NULLIF", lambda given, nodes: kinds.plain(given[0])),
    "ISNULL": ("ISNULL", lambda given, nodes: INT),
    "LAST_INSERT_ID": ("LAST_INSERT_ROWID", lambda given, nodes: INT),
    "ROW_COUNT": ("CHANGES", lambda given, nodes: INT),
    "JSON_EXTRACT": ("JSON_EXTRACT", lambda given, nodes: TEXT),
    "JSON_VALID": ("JSON_VALID", lambda given, nodes: INT),
    "JSON_ARRAY": ("JSON_ARRAY", lambda given, nodes: TEXT),
    "JSON_OBJECT": ("JSON_OBJECT", lambda given, nodes: TEXT),
}
"""Functions that SQLite has as they are."""
