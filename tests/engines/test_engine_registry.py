"""Engines by name and by address."""

from importlib import metadata

import pytest

from intercode.engines import registry
from intercode.engines.base import Engine
from intercode.engines.registry import choose, names
from intercode.engines.sqlite import SQLite
from intercode.errors import EngineUnavailable, UsageError


def test_sqlite_is_the_default() -> None:
    engine: Engine = choose()
    assert isinstance(engine, SQLite)
    assert (engine.name, engine.dialect) == ("sqlite", "sqlite")
    assert engine.version.startswith("SQLite 3.")
    engine.close()


def test_an_unknown_name_gets_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"no SQL engine 'sqlit'\s+try: sqlite"):
        choose("sqlit")
    with pytest.raises(UsageError, match="one of sqlite, mysql"):
        choose("zzz")


@pytest.mark.parametrize("address", ["sqlite://x", "duckdb://x", "oracle://x"])
def test_only_servers_have_addresses(address: str) -> None:
    with pytest.raises(UsageError, match=r"mysql://user:password@host:port"):
        choose(address)


def test_a_server_is_given_its_address(monkeypatch) -> None:
    seen = []
    monkeypatch.setattr(registry, "_load", lambda name: lambda **given: seen.append((name, given)))
    for asked in ("mariadb", "MariaDB://a:b@c:1", "postgresql://x", "postgres", "duckdb"):
        choose(asked)
    assert seen == [
        ("mysql", {"url": None}),
        ("mysql", {"url": "MariaDB://a:b@c:1"}),
        ("postgres", {"url": "postgresql://x"}),
        ("postgres", {"url": None}),
        ("duckdb", {}),
    ]


def test_what_is_not_installed_is_unavailable(monkeypatch) -> None:
    monkeypatch.setitem(registry._OURS, "duckdb", "no.such.module:DuckDB")
    with pytest.raises(EngineUnavailable, match=r"intercode\[sql\]"):
        choose("duckdb")


def test_other_packages_bring_engines(monkeypatch) -> None:
    point = metadata.EntryPoint("theirs", "intercode.engines.sqlite:SQLite", "intercode.engines")
    monkeypatch.setattr(registry.metadata, "entry_points", lambda group: [point])
    assert "theirs" in names()
    engine = choose("theirs")
    assert engine.name == "sqlite"
    engine.close()
