"""SQL episodes: ours on each engine, against a plain client on the same engine.

    python benchmarks/sql_speed.py
    python benchmarks/sql_speed.py --engines sqlite mysql --episodes 2000

The floor is a loop that has one connection and runs each query twice (once for the agent, once for
the gold) and compares the rows: no isolation, no limits, no reset, no copies with other data. It is
what the paper's environment does. Subjects take turns within each measure. Engines that do not work
here are left out.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Any, Protocol

from common import (
    Sample,
    Spread,
    interleaved,
    parser,
    report,
    spread_cell,
    table,
    timed,
    times_cell,
)
from intercode.engines.content import Content
from intercode.engines.ddl import create_table
from intercode.engines.registry import choose
from intercode.engines.translate import translate
from intercode.envs.databases import EngineRuntime
from intercode.envs.sql_v1 import SqlV1
from intercode.envs.sql_v2 import SqlV2
from intercode.errors import DatasetError, InterCodeError
from intercode.tasks import registry as tasks
from intercode.tasks.model import Dataset, Task

ENGINES = ("sqlite", "duckdb", "mysql", "postgres")
WRITE = "DELETE FROM {table}"


class Floor(Protocol):
    """A client that answers with all rows."""

    def query(self, task: Task) -> list[Any]: ...

    def close(self) -> None: ...


class _Loaded:
    """Connections by database, each with the content loaded once."""

    dialect = ""

    def __init__(self, runtime: EngineRuntime, data: Dataset, chosen: Sequence[Task]) -> None:
        self._texts = {
            task.id: translate(task.gold, data.databases[task.database or ""].dialect, self.dialect)
            for task in chosen
        }
        self._connections: dict[str, Any] = {}
        for name in dict.fromkeys(task.database for task in chosen if task.database):
            self._connections[name] = self._connect(runtime.content(data.databases[name]))

    def query(self, task: Task) -> list[Any]:
        found: list[Any] = self._run(self._connections[task.database or ""], self._texts[task.id])
        return found

    def _connect(self, content: Content) -> Any:
        raise NotImplementedError

    def _run(self, connection: Any, sql: str) -> list[Any]:
        rows: list[Any] = connection.execute(sql).fetchall()
        return rows

    def _fill(self, connection: Any, content: Content, mark: str) -> None:
        for made in content.tables:
            bare = made if self.dialect == "mysql" else replace(made, foreign_keys=(), ddl=None)
            connection.execute(create_table(bare, content.dialect, self.dialect))
        for made in content.tables:
            marks = ", ".join([mark] * len(made.columns))
            if made.rows:
                name = f"`{made.name}`" if self.dialect == "mysql" else f'"{made.name}"'
                rows = [tuple(map(self._plain, row)) for row in made.rows]
                connection.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)

    def _plain(self, value: Any) -> Any:
        """As the client takes it."""
        return value

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()


class SQLiteFloor(_Loaded):
    dialect = "sqlite"

    def _connect(self, content: Content) -> Any:
        import sqlite3

        connection = sqlite3.connect(":memory:", check_same_thread=False)
        self._fill(connection, content, "?")
        return connection

    def _plain(self, value: Any) -> Any:
        if isinstance(value, Decimal):
            return float(value)
        return value.isoformat(" ") if isinstance(value, datetime) else value


class DuckDBFloor(_Loaded):
    dialect = "duckdb"

    def _connect(self, content: Content) -> Any:
        import duckdb

        connection = duckdb.connect()
        self._fill(connection, content, "?")
        return connection


class MySQLFloor(_Loaded):
    """One connection to the server that our engine owns, a database a content, ``USE`` between."""

    dialect = "mysql"

    def __init__(self, runtime: EngineRuntime, data: Dataset, chosen: Sequence[Task]) -> None:
        import mysql.connector

        engine: Any = runtime.engine
        engine.server.ensure()
        self._connection: Any = mysql.connector.connect(
            unix_socket=engine.server.owned.socket, user="root", autocommit=True, use_pure=True
        )
        self._cursor = self._connection.cursor()
        self._now = ""
        super().__init__(runtime, data, chosen)

    def _connect(self, content: Content) -> Any:
        name = f"floor_{content.digest}"
        for statement in (f"CREATE DATABASE {name}", f"USE {name}", "SET foreign_key_checks = 0"):
            self._cursor.execute(statement)
        self._fill(self._cursor, content, "%s")
        return name

    def _run(self, connection: Any, sql: str) -> list[Any]:
        if connection != self._now:
            self._cursor.execute(f"USE {connection}")
            self._now = connection
        self._cursor.execute(sql)
        rows: list[Any] = self._cursor.fetchall()
        return rows

    def close(self) -> None:
        for name in self._connections.values():
            self._cursor.execute(f"DROP DATABASE {name}")
        self._connection.close()


FLOORS: dict[str, Callable[..., Floor]] = {
    "sqlite": SQLiteFloor, "duckdb": DuckDBFloor, "mysql": MySQLFloor,
}  # fmt: skip


class Ours:
    """One engine with both environments on it."""

    def __init__(self, name: str, data: Dataset, workers: int) -> None:
        self.name = name
        self.runtime = EngineRuntime(choose(name))
        self.v1 = [SqlV1(data, runtime=self.runtime) for _ in range(workers)]
        self.v2 = [SqlV2(data, runtime=self.runtime) for _ in range(workers)]

    def samples(self, task: Task, table_name: str) -> dict[str, Sample]:
        v1, v2 = self.v1[0], self.v2[0]
        options = {"task": task}

        def after_write(env: Any) -> float:
            env.reset(options=options)
            env.step(WRITE.format(table=table_name))
            return timed(lambda: env.reset(options=options))

        def scored(env: Any) -> float:
            env.reset(options=options)
            env.step(task.gold)
            return timed(env.score)

        def stepped(env: Any) -> float:
            env.reset(options=options)
            return timed(lambda: env.step(task.gold))

        return {
            "reset": lambda: timed(lambda: v1.reset(options=options)),
            "reset after a write": lambda: after_write(v1),
            "step": lambda: stepped(v1),
            "score v1": lambda: scored(v1),
            "score v2, 3 copies": lambda: scored(v2),
        }

    def close(self) -> None:
        for env in (*self.v1, *self.v2):
            env.close()
        self.runtime.close()


def play(envs: Sequence[Any], chosen: Sequence[Task]) -> float:
    """Seconds for one episode on each task, shared out among the environments."""

    def mine(env: Any, part: Sequence[Task]) -> None:
        for task in part:
            env.reset(options={"task": task})
            env.step(task.gold)
            env.step("submit")

    threads = [
        threading.Thread(target=mine, args=(env, chosen[n :: len(envs)]))
        for n, env in enumerate(envs)
    ]
    begun = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - begun


def loop(floor: Floor, chosen: Sequence[Task]) -> float:
    begun = time.perf_counter()
    for task in chosen:
        agent, gold = floor.query(task), floor.query(task)
        assert agent == gold or len(agent) == len(gold)
    return time.perf_counter() - begun


def dataset() -> Dataset:
    """Spider where it is at hand, else the bundled tasks; what only asks, and works everywhere."""
    try:
        whole = tasks.load("spider")
    except DatasetError:
        whole = tasks.load("bundled:sql")
    asking = [task.id for task in whole if task.sound and task.metadata.get("kind") != "state"]
    return whole.select(asking)


@contextlib.contextmanager
def subjects(names: Sequence[str], data: Dataset, workers: int) -> Iterator[list[Ours]]:
    made: list[Ours] = []
    try:
        for name in names:
            try:
                one = Ours(name, data, workers)
                made.append(one)
                one.v1[0].reset(options={"task": data[0]})
            except InterCodeError as error:
                print(f"{name} is left out: {str(error).splitlines()[0]}")
                made.remove(one)
        yield made
    finally:
        for one in made:
            one.close()


def works(one: Ours, task: Task) -> bool:
    """Whether the engine can run the gold, and finds it right."""
    env = one.v1[0]
    try:
        env.reset(options={"task": task})
        env.step(task.gold)
        return env.score().success
    except InterCodeError:
        return False


def main() -> None:
    options_parser = parser(__doc__)
    options_parser.add_argument("--engines", nargs="+", default=list(ENGINES), choices=ENGINES)
    options_parser.add_argument("--episodes", type=int, default=300, help="tasks of each round")
    options_parser.add_argument("--rounds", type=int, default=5)
    options_parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    options = options_parser.parse_args()
    data = dataset()
    with subjects(options.engines, data, options.workers) as made:
        spread_over = data.tasks[:: max(1, len(data) // options.episodes)][: options.episodes]
        chosen = [task for task in spread_over if all(works(one, task) for one in made)]
        first = chosen[0]
        name = next(iter(made[0].runtime.content(data.databases[first.database or ""]).tables)).name
        samples = {one.name: one.samples(first, name) for one in made}
        latencies: dict[str, dict[str, Spread]] = {
            measure: interleaved({who: has[measure] for who, has in samples.items()}, 40)
            for measure in next(iter(samples.values()))
        }
        rates = _rates(made, data, chosen, options)
    rows = [
        (measure, *(spread_cell(spreads[one.name]) for one in made))
        for measure, spreads in latencies.items()
    ]
    heads = [one.name for one in made]
    text = [table("milliseconds, median (and 90th percentile)", ["", *heads], rows)]
    text.append(
        table(
            f"episodes a second over {len(chosen)} tasks of {data.name}: reset, gold, submit",
            ["", *heads],
            [(who, *(_rate(rates[name].get(who)) for name in heads)) for who in _WHO(options)],
        )
    )
    against = [
        (
            who,
            *(
                times_cell(rates[name][who] / rates[name]["plain client"])
                if "plain client" in rates[name]
                else "-"
                for name in heads
            ),
        )
        for who in _WHO(options)[1:]
    ]
    text.append(table("the same, to the plain client without isolation", ["", *heads], against))
    facts = {"tasks": len(chosen), "latency_s": latencies, "episodes_per_s": rates}
    report(options, "\n".join(text), facts)


def _WHO(options: Any) -> list[str]:  # noqa: N802
    many = f"{options.workers} workers"
    return ["plain client", "SQL-v1", f"SQL-v1, {many}", "SQL-v2", f"SQL-v2, {many}"]


def _rate(rate: float | None) -> str:
    return "-" if rate is None else f"{rate:,.0f}"


def _rates(
    made: Sequence[Ours], data: Dataset, chosen: Sequence[Task], options: Any
) -> dict[str, dict[str, float]]:
    who = _WHO(options)
    found: dict[str, dict[str, float]] = {}
    for one in made:
        with contextlib.ExitStack() as stack:
            subjects: dict[str, Sample] = {
                who[1]: lambda one=one: play(one.v1[:1], chosen),  # type: ignore[misc]
                who[2]: lambda one=one: play(one.v1, chosen),  # type: ignore[misc]
                who[3]: lambda one=one: play(one.v2[:1], chosen),  # type: ignore[misc]
                who[4]: lambda one=one: play(one.v2, chosen),  # type: ignore[misc]
            }
            if one.name in FLOORS:
                floor = FLOORS[one.name](one.runtime, data, chosen)
                stack.callback(floor.close)
                subjects = {who[0]: lambda floor=floor: loop(floor, chosen), **subjects}  # type: ignore[misc]
            spreads = interleaved(subjects, options.rounds)
        found[one.name] = {name: len(chosen) / s.median for name, s in spreads.items()}
    return found


if __name__ == "__main__":
    main()
