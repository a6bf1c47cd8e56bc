"""LIKE and REGEXP."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from intercode.engines.sqlite.mysql import collate
from intercode.engines.sqlite.mysql.functions.patterns import Pattern
from intercode.engines.sqlite.mysql.functions.strings import strict
from intercode.engines.sqlite.mysql.functions.values import text

Value = Any


def _like(pattern: Value, value: Value, escape: Value = "\\") -> bool:
    return collate.like(text(pattern) or "", text(value) or "", text(escape) or "")


@lru_cache(maxsize=256)
def _pattern(said: str) -> Pattern:
    return Pattern(said)


def _regexp(value: Value, pattern: Value, *_: Value) -> bool:
    return _pattern(text(pattern) or "").search(text(value) or "") is not None


def _regexp_replace(value: Value, pattern: Value, new: Value, *_: Value) -> str:
    return _pattern(text(pattern) or "").replace(text(value) or "", text(new) or "")


def _regexp_substr(value: Value, pattern: Value, *_: Value) -> str | None:
    said = text(value) or ""
    found = _pattern(text(pattern) or "").search(said)
    return None if found is None else said[found[0] : found[1]]


def _regexp_instr(value: Value, pattern: Value, *_: Value) -> int:
    found = _pattern(text(pattern) or "").search(text(value) or "")
    return 0 if found is None else found[0] + 1


FUNCTIONS: dict[str, Callable[..., Value]] = {
    "like": strict(_like),
    "regexp": strict(_regexp),
    "regexp_replace": strict(_regexp_replace),
    "regexp_substr": strict(_regexp_substr),
    "regexp_instr": strict(_regexp_instr),
}
