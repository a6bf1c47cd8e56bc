"""The SQL environments on the engine that is always there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from gymnasium.utils.env_checker import check_env

from intercode.envs.sql_v1 import SqlV1
from intercode.envs.sql_v2 import SqlV2
from intercode.errors import EngineError, TaskError, UsageError
from intercode.tasks.model import Database, Dataset, Task

SCRIPT = """
CREATE TABLE pets (id INTEGER PRIMARY KEY, name TEXT, kind TEXT, weight REAL);
INSERT INTO pets VALUES (1, 'Rex', 'dog', 12.5), (2, 'Tom', 'cat', 4.0), (3, 'Ida', 'dog', 30.0),
  (4, 'Mia', 'cat', NULL), (5, 'Bo', 'bird', 0.1);
CREATE TABLE visits (pet INTEGER REFERENCES pets(id), day TEXT, cost INTEGER);
INSERT INTO visits VALUES (1, '2024-01-03', 40), (1, '2024-02-01', 15), (3, '2024-02-01', 60);
"""
GOLDS = {
    "names": "SELECT name FROM pets WHERE kind = 'dog'",
    "sorted": "SELECT name FROM pets ORDER BY kind",
    "none": "SELECT name FROM pets WHERE kind = 'fish'",
    "heal": "UPDATE pets SET weight = 5 WHERE weight IS NULL",
    "broken": "SELECT nosuch FROM pets",
    "table": "CREATE TABLE dogs AS SELECT name FROM pets WHERE kind = 'dog'",
}


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    script = tmp_path_factory.mktemp("db") / "pets.sql"
    script.write_text(SCRIPT)
    tasks = tuple(
        Task(
            id=name, env="sql", instruction=f"Do: {name}", gold=gold, database="pets",
            limits={"policy": "ddl"} if name == "table" else {},
            metadata={"evidence": "a dog barks"} if name == "names" else {},
        )
        for name, gold in GOLDS.items()
    )  # fmt: skip
    return Dataset("pets", tasks, databases={"pets": Database("pets", script=script)})


@pytest.fixture
def v2(dataset: Dataset) -> Iterator[SqlV2]:
    env = SqlV2(dataset)
    yield env
    env.close()


@pytest.fixture
def v1(dataset: Dataset) -> Iterator[SqlV1]:
    env = SqlV1(dataset)
    yield env
    env.close()


def played(env: Any, task: str, *actions: str) -> float:
    """The reward of submitting after the actions."""
    env.reset(options={"task": task})
    for action in actions:
        env.step(action)
    reward: float = env.step("submit")[1]
    return reward


# -- both ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [SqlV1, SqlV2])
def test_gymnasium_is_content(dataset: Dataset, version: Any) -> None:
    env = version(dataset.select(["names"]))
    try:
        check_env(env, skip_render_check=True)
    finally:
        env.close()


def test_an_episode(v2: SqlV2) -> None:
    assert v2.reset(options={"task": "names"}) == ("Do: names", {"task": "names"})
    observation, reward, terminated, truncated, info = v2.step("SELECT name, weight FROM pets")
    assert observation == (
        "name | weight\nRex | 12.5\nTom | 4.0\nIda | 30.0\nMia | NULL\nBo | 0.1\n(5 rows)"
    )
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert info["action_executed"]
    assert v2.score().reward < 1
    v2.step(GOLDS["names"])
    assert v2.step("submit")[1:4] == (1.0, True, False)


def test_each_episode_begins_with_pristine_data(v1: SqlV1, v2: SqlV2) -> None:
    for env in (v1, v2):
        for _ in range(2):
            env.reset(options={"task": "names"})
            assert "5" in env.step("SELECT count(*) FROM pets")[0]
            env.step("DELETE FROM visits")
            env.step("COMMIT")
            env.step("DELETE FROM pets")
            assert "0" in env.step("SELECT count(*) FROM pets")[0]


def test_errors_are_the_engines_own(v1: SqlV1, v2: SqlV2) -> None:
    for env, head in ((v1, "Error executing query: "), (v2, "Error: ")):
        env.reset(options={"task": "names"})
        observation, _, _, _, info = env.step("SELECT nosuch FROM pets")
        assert observation == f"{head}no such column: nosuch"
        assert not info["action_executed"]


def test_a_fork_goes_its_own_way(v2: SqlV2) -> None:
    v2.reset(options={"task": "heal"})
    v2.step("DELETE FROM visits WHERE cost = 15")
    left, right = v2.fork(2)
    left.step("INSERT INTO visits VALUES (1, '2024-01-01', 15)")
    assert "2" in right.step("SELECT count(*) FROM visits")[0]
    assert "3" in left.step("SELECT count(*) FROM visits")[0]
    assert "2" in v2.step("SELECT count(*) FROM visits")[0]
    left.close()
    right.close()


def test_a_snapshot_is_a_moment_to_come_back_to(v2: SqlV2) -> None:
    v2.reset(options={"task": "heal"})
    v2.step(GOLDS["heal"])
    moment = v2.snapshot()
    v2.step("DELETE FROM pets")
    assert v2.score().reward < 1
    v2.restore(moment)
    assert v2.score().reward == 1.0
    v2.step("submit")
    v2.restore(moment)
    assert v2.score().reward == 1.0


def test_hints_are_shown_on_demand(dataset: Dataset) -> None:
    env = SqlV2(dataset, hints=["schema", "evidence"])
    try:
        observation, _ = env.reset(options={"task": "names"})
        assert observation == (
            "Do: names\n\nHint: a dog barks\n\n"
            "Tables:\npets(id, name, kind, weight)\nvisits(pet, day, cost)"
        )
        env.step("CREATE TEMP TABLE more(x)")
        assert env.get_schema().startswith("pets(id, name, kind, weight)")
    finally:
        env.close()


@pytest.mark.parametrize(
    "wrong", [{"hints": ["answers"]}, {"policy": "all"}, {"copies": -1}, {"columns": "any"}]
)
def test_options_that_are_none(dataset: Dataset, wrong: Any) -> None:
    with pytest.raises(UsageError):
        SqlV2(dataset, **wrong)


def test_a_policy_decides_what_is_allowed(dataset: Dataset) -> None:
    env = SqlV2(dataset, policy="read-only")
    try:
        env.reset(options={"task": "heal"})
        _, _, _, _, info = env.step(GOLDS["heal"])
        assert info["refused"]
        assert env.session.changed() == {}
    finally:
        env.close()


@pytest.mark.parametrize("url", ["mysql://me:secret@127.0.0.1:1/", "postgresql://me@127.0.0.1:1/"])
def test_a_server_that_cannot_be_reached_is_told_at_once(dataset: Dataset, url: str) -> None:
    pytest.importorskip("mysql.connector" if url.startswith("mysql") else "psycopg")
    with pytest.raises(EngineError, match="cannot be reached") as raised:
        SqlV2(dataset, engine=url)
    assert "secret" not in str(raised.value)


# -- v1 --------------------------------------------------------------------------------------------


def test_v1_prints_rows_as_python_does(v1: SqlV1) -> None:
    v1.reset(options={"task": "names"})
    assert (
        v1.step("SELECT name, weight FROM pets WHERE id > 3")[0] == "[('Mia', None), ('Bo', 0.1)]"
    )
    assert v1.step("UPDATE pets SET weight = 1")[0] == "None"
    assert v1.step("")[0] == "None"


def test_v1_takes_one_statement(v1: SqlV1) -> None:
    v1.reset(options={"task": "names"})
    observation, _, _, _, info = v1.step("SELECT 1; SELECT 2")
    assert observation.startswith("Error executing query: ")
    assert not info["action_executed"]
    assert v1.step("SELECT 1;")[0] == "[(1,)]"


def test_v1_rewards_the_share_of_rows_in_order(v1: SqlV1) -> None:
    assert played(v1, "names", GOLDS["names"]) == 1.0
    assert played(v1, "names", "SELECT name FROM pets WHERE kind = 'dog' ORDER BY id DESC") == -1.0
    assert played(v1, "names", "SELECT name FROM pets WHERE id = 1") == 0.5
    assert played(v1, "names") == 0.0


def test_v1_knows_the_papers_variants(dataset: Dataset) -> None:
    for variant, expected in (("tau", -1.0), ("iou", 1.0), ("tau01", 0.0)):
        env = SqlV1(dataset, variant=variant)
        try:
            backwards = "SELECT name FROM pets WHERE kind = 'dog' ORDER BY id DESC"
            assert played(env, "names", backwards) == expected
        finally:
            env.close()


def test_v1_runs_the_gold_on_what_the_episode_made_of_the_data(v1: SqlV1) -> None:
    """The paper's environment does: a reward for deleting what is asked for."""
    nothing = "SELECT 1 FROM pets WHERE 1 = 0"
    assert played(v1, "names", nothing) == 0.0
    assert played(v1, "names", "DELETE FROM visits", "DELETE FROM pets", nothing) == 1.0


def test_v1_takes_a_failing_gold_for_an_empty_result(v1: SqlV1) -> None:
    assert played(v1, "broken", "SELECT 1 FROM pets WHERE 1 = 0") == 1.0
    assert played(v1, "broken", "SELECT 1") == 0.0


# -- v2 --------------------------------------------------------------------------------------------


def test_v2_wants_an_order_only_where_the_gold_has_one(v2: SqlV2) -> None:
    backwards = "SELECT name FROM pets WHERE kind = 'dog' ORDER BY id DESC"
    assert played(v2, "names", backwards) == 1.0
    assert played(v2, "sorted", "SELECT name FROM pets ORDER BY kind, name") == 1.0  # ties are free
    assert played(v2, "sorted", "SELECT name FROM pets ORDER BY kind DESC") < 1


def test_v2_is_not_deceived_by_luck(v2: SqlV2) -> None:
    assert played(v2, "names", "SELECT 'Rex' UNION ALL SELECT 'Ida'") < 1
    assert played(v2, "names", "SELECT name FROM pets WHERE id IN (1, 3)") < 1
    assert played(v2, "none", "SELECT name FROM pets WHERE 1 = 0") < 1
    assert played(v2, "none", GOLDS["none"]) == 1.0


def test_v2_trusts_this_data_if_told_to(dataset: Dataset) -> None:
    env = SqlV2(dataset, copies=0)
    try:
        assert played(env, "names", "SELECT 'Rex' UNION ALL SELECT 'Ida'") == 1.0
    finally:
        env.close()


def test_v2_gives_nothing_for_nothing(v2: SqlV2) -> None:
    for task in ("names", "sorted", "none", "heal"):
        assert played(v2, task) == 0.0
        assert played(v2, task, "SELECT nosuch") == 0.0


def test_v2_compares_what_a_writing_gold_leaves(v2: SqlV2) -> None:
    assert played(v2, "heal", "UPDATE pets SET weight = 5.0 WHERE id = 4") == 1.0
    assert played(v2, "heal", "UPDATE pets SET weight = 5") < 1
    assert played(v2, "heal", GOLDS["heal"], "SELECT * FROM pets") == 1.0
    assert played(v2, "table", GOLDS["table"]) == 1.0


def test_v2_does_not_want_data_changed_that_were_only_to_be_read(v2: SqlV2) -> None:
    assert played(v2, "names", "DELETE FROM visits", GOLDS["names"]) < 1


def test_v2_follows_an_answer_through_tables_of_the_agents_own(v2: SqlV2) -> None:
    made = "CREATE TEMP TABLE mine AS SELECT name FROM pets WHERE kind = 'dog'"
    assert played(v2, "names", made, "SELECT name FROM mine") == 1.0


def test_v2_does_not_score_by_a_gold_that_fails(v2: SqlV2) -> None:
    v2.reset(options={"task": "broken"})
    v2.step("SELECT 1")
    with pytest.raises(TaskError, match="no such column: nosuch"):
        v2.score()


def test_several_statements_are_shown_one_after_another(v2: SqlV2) -> None:
    v2.reset(options={"task": "heal"})
    observation = v2.step("UPDATE pets SET weight = 1 WHERE id < 3; SELECT id FROM pets; nonsense")[
        0
    ]
    assert observation.startswith("OK, 2 rows changed\nid\n1\n2\n3\n4\n5\n(5 rows)\nError: ")


def test_leftovers(dataset: Dataset, tmp_path: Path) -> None:
    env = SqlV2(dataset)
    for task in ("names", "heal", "names"):
        played(env, task, GOLDS["heal"])
    assert env._runtime.live() == 0
    env.reset(options={"task": "names"})
    is_open = env.still_open()
    assert is_open()
    env.close()
    assert not is_open()
