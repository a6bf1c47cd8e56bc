"""Engines by name or address, ours and those that other packages bring (`intercode.engines`)."""

from __future__ import annotations

import difflib
from importlib import import_module, metadata

from intercode.engines.base import Engine
from intercode.errors import EngineUnavailable, UsageError

_OURS = {
    "sqlite": "intercode.engines.sqlite:SQLite",
    "mysql": "intercode.engines.mysql:MySQL",
    "postgres": "intercode.engines.postgres:Postgres",
    "duckdb": "intercode.engines.duckdb:DuckDB",
}
OWN_ENGINES = tuple(_OURS)
_ALIASES = {"mariadb": "mysql", "postgresql": "postgres"}
_SERVERS = ("mysql", "postgres")


def names() -> list[str]:
    """What `choose` takes, besides the address of a server."""
    theirs = [point.name for point in metadata.entry_points(group="intercode.engines")]
    return [*_OURS, *_ALIASES, *sorted(set(theirs) - set(_OURS) - set(_ALIASES))]


def choose(name_or_url: str = "sqlite") -> Engine:
    """The engine of that name; a server's is InterCode's own, started when it is first needed. An
    address (``mysql://user:password@host:port``, ``postgresql://…``) is of a server that runs.

    :raises UsageError: there is no such engine.
    :raises EngineUnavailable: it needs what is not installed.
    """
    scheme, mark, _ = name_or_url.partition("://")
    name = _ALIASES.get(scheme.lower(), scheme.lower())
    url = name_or_url if mark else None
    if url is not None and name not in _SERVERS:
        raise UsageError(
            f"{name} is not a server with an address" if name in _OURS else _unknown(scheme),
            remedy="mysql://user:password@host:port or postgresql://user:password@host:port",
        )
    if name in _OURS:
        made = _load(name)
        engine: Engine = made(url=url) if name in _SERVERS else made()
        return engine
    for point in metadata.entry_points(group="intercode.engines"):
        if point.name == name_or_url:
            theirs: Engine = point.load()()
            return theirs
    close = difflib.get_close_matches(name, names(), 1)
    raise UsageError(_unknown(name_or_url), remedy=close[0] if close else f"one of {_listed()}")


def _load(name: str) -> type:
    module, _, kind = _OURS[name].partition(":")
    try:
        found: type = getattr(import_module(module), kind)
    except ImportError as error:
        raise EngineUnavailable(
            f"the {name} engine needs {error.name}", remedy="pip install 'intercode[sql]'"
        ) from error
    return found


def _unknown(name: str) -> str:
    return f"there is no SQL engine {name!r}"


def _listed() -> str:
    return ", ".join(names())
