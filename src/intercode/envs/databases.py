"""What several SQL environments share: an engine, the databases it holds, and gold outcomes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from intercode.engines.base import Engine, Policy, Session
from intercode.engines.content import Content
from intercode.envs.once import Once, Outcomes
from intercode.errors import DatasetError
from intercode.tasks.model import Database

_T = TypeVar("_T")


class EngineRuntime:
    """Owns an engine and closes it. Safe to use from many threads."""

    def __init__(self, engine: Engine, *, outcomes: Outcomes | None = None) -> None:
        self.engine = engine
        self._contents = Once()
        self._outcomes = outcomes or Once()

    def content(self, database: Database) -> Content:
        """What the database holds, read once.

        :raises DatasetError: its file is missing or damaged.
        """
        return self._contents.get(database, lambda: self._read(database))

    def _read(self, database: Database) -> Content:
        from intercode.engines.read import from_script, from_sqlite, sections

        path = database.require()
        if database.sqlite is not None:
            return from_sqlite(path, name=database.name)
        if database.section is None:
            return from_script(path, database.script_dialect, name=database.name)
        # A dump of many databases is read once for all of them.
        key = (path, database.script_dialect)
        whole = self._contents.get(key, lambda: sections(path, database.script_dialect))
        if database.section not in whole:
            raise DatasetError(f"{path}: there is no database {database.section!r} in it")
        return replace(whole[database.section], name=database.name)

    def perturbed(self, database: Database, seed: int, queries: tuple[str, ...]) -> Content:
        """The database with other rows, such that the ``queries`` find some; the same for the same
        arguments."""
        from intercode.engines.literals import literals
        from intercode.engines.perturb import perturbed

        def make() -> Content:
            named = {value for sql in queries for value in literals(sql, database.dialect)}
            return perturbed(self.content(database), seed, keep=sorted(named, key=repr))

        return self._contents.get((database, seed, queries), make)

    def open(self, content: Content, *, policy: Policy, dialect: str) -> Session:
        return self.engine.open(content, policy=policy, dialect=dialect)

    def gold(self, key: Any, compute: Callable[[], _T]) -> _T:
        """The outcome of a gold, computed once for each key, whoever asks first."""
        return self._outcomes.get(key, compute)

    def live(self) -> int:
        return self.engine.live()

    def close(self) -> None:
        self.engine.close()
