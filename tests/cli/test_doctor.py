"""What ``intercode doctor`` says of SQL engines; of sandboxes, the back ends tell."""

from __future__ import annotations

import json

import pytest

from intercode.cli.main import main
from intercode.engines import registry
from intercode.errors import EngineUnavailable


@pytest.fixture(autouse=True)
def no_sandboxes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("intercode.sandboxes.registry.names", list)
    monkeypatch.setattr(registry, "OWN_ENGINES", ("sqlite", "mysql"))
    ours = registry.choose

    def choose(name: str) -> object:
        if name == "mysql":
            raise EngineUnavailable("there is no server", remedy="apt-get install one")
        return ours(name)

    monkeypatch.setattr(registry, "choose", choose)


def test_each_engine_answers_a_query_or_says_what_mends_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(["doctor"])
    out = capsys.readouterr().out
    assert "✓ sqlite: SQLite 3." in out
    assert "says 'works'" in out
    assert "✗ mysql: there is no server\n      try: apt-get install one\n" in out


def test_the_same_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 1  # no sandbox works
    engines = json.loads(capsys.readouterr().out)["engines"]
    assert {name: one["works"] for name, one in engines.items()} == {"sqlite": True, "mysql": False}
