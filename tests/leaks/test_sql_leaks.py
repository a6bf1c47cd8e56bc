"""What episodes that write leave of the data that others begin with, and of us: nothing.

`INTERCODE_LEAK_EPISODES` (default 200) episodes on each engine; a server that is killed in the
middle of a run costs the run nothing but time.
"""

from __future__ import annotations

import os
import shutil
import signal
import threading
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from counting import counts, settled

from intercode.agents.registry import agent_factory
from intercode.engines.registry import choose
from intercode.envs.databases import EngineRuntime
from intercode.envs.sql_v1 import SqlV1
from intercode.envs.sql_v2 import SqlV2
from intercode.errors import EngineError
from intercode.runs.runner import RunOptions, run
from intercode.runs.store import RunStore
from intercode.tasks.model import Database, Dataset, Task

EPISODES = int(os.environ.get("INTERCODE_LEAK_EPISODES", "200"))
SCRIPT = """
CREATE TABLE pets (id INTEGER PRIMARY KEY, name VARCHAR(20), weight INTEGER);
CREATE TABLE visits (pet INTEGER, cost INTEGER);
""" + "".join(
    f"INSERT INTO pets VALUES ({n}, 'pet {n}', {n * 7 % 31});\n"
    f"INSERT INTO visits VALUES ({n}, {n * 3 % 17});\n"
    for n in range(1, 60)
)
WRITES = (
    "UPDATE pets SET weight = weight + 1",
    "DELETE FROM visits WHERE cost > 5",
    "INSERT INTO pets VALUES (1001, 'new', 5)",
    "DROP TABLE visits",
    "CREATE TABLE more (x INTEGER)",
    "BEGIN; DELETE FROM pets; COMMIT",
    "COMMIT",
    "CREATE TEMPORARY TABLE mine AS SELECT name FROM pets",
)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    script = tmp_path_factory.mktemp("pets") / "pets.sql"
    script.write_text(SCRIPT)
    tasks = tuple(
        Task(str(n), "sql", "heavy pets", f"SELECT name FROM pets WHERE weight > {n % 30}",
             database="pets")
        for n in range(60)
    )  # fmt: skip
    return Dataset("pets", tasks, databases={"pets": Database("pets", script=script)})


@pytest.fixture(params=["sqlite", "duckdb", "mysql", "postgres"])
def engine(request: pytest.FixtureRequest) -> str:
    name = str(request.param)
    if name == "mysql" and not shutil.which("mariadbd", path="/usr/sbin:/usr/bin"):
        pytest.skip("needs mariadbd: apt-get install mariadb-server")
    if name == "postgres" and not (
        shutil.which("postgres") or any(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    ):
        pytest.skip("needs postgres: apt-get install postgresql")
    return name


def everything(runtime: EngineRuntime, dataset: Dataset) -> list[Any]:
    """All that a session finds at its beginning."""
    content = runtime.content(dataset.databases["pets"])
    session = runtime.open(content, policy="read-only", dialect="sqlite")
    try:
        rows = [
            session.execute(f"SELECT * FROM {table} ORDER BY 1, 2")[0].rows
            for table in ("pets", "visits")
        ]
        return [rows, dict(session.schema())]
    finally:
        session.close()


def test_episodes_that_write_leave_nothing(engine: str, dataset: Dataset) -> None:
    before = counts()
    runtime = EngineRuntime(choose(engine))
    try:
        pristine = everything(runtime, dataset)
        env = SqlV1(dataset, runtime=runtime)
        for number in range(EPISODES):
            env.reset(options={"task": number % len(dataset)})
            env.step(WRITES[number % len(WRITES)])
            env.step(WRITES[(number * 5 + 3) % len(WRITES)])
            if number % 3:
                env.step("submit")
            if number % 50 == 0:
                assert everything(runtime, dataset) == pristine
        env.close()
        assert everything(runtime, dataset) == pristine
        assert runtime.live() == 0
    finally:
        runtime.close()
    assert settled(before, docker=False, patience_s=10) == before


@pytest.mark.parametrize("name", ["mysql", "postgres"])
def test_a_run_outlives_its_server(name: str, dataset: Dataset, tmp_path: Path) -> None:
    """Killed four times in mid-run: every episode is there in the end, once, with its reward."""
    try:
        runtime = EngineRuntime(choose(name))
        everything(runtime, dataset)
    except EngineError as error:
        pytest.skip(f"needs a {name} server: {error}")
    kills = iter((5, 15, 25, 40))
    at = next(kills)
    done = 0
    lock = threading.Lock()

    def killing(_: Any) -> None:
        nonlocal at, done
        with lock:
            done += 1
            engine: Any = runtime.engine
            # Not while another thread has it started again.
            if done >= at and engine.server.owned.alive():
                at = next(kills, 10**9)
                with suppress(ProcessLookupError):
                    os.kill(engine.server.owned.pid, signal.SIGKILL)

    with closing(runtime), RunStore.create(tmp_path / "run", {"dataset": "pets"}) as store:
        records = run(
            dataset.tasks,
            make_env=lambda: SqlV2(dataset, runtime=runtime),
            make_agent=agent_factory("gold"),
            options=RunOptions(retries=3),
            store=store,
            jobs=2,
            progress=killing,
        )
        assert next(kills, None) is None
        assert sorted(int(r.task_id) for r in records) == list(range(60))
        assert [(r.task_id, r.reward, r.message) for r in records if r.reward != 1.0] == []
