"""``intercode eval``: what it does, what it keeps, what it says and how it ends."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from fake_envs import FakeEnv, Workshop, install

from intercode.cli.main import main
from intercode.errors import SandboxUnavailable
from intercode.runs.folder import read_run


@pytest.fixture
def workshop(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Workshop:
    return install(monkeypatch, tmp_path)


def evaluated(capsys: pytest.CaptureFixture[str], *argv: str, code: int = 0) -> dict[str, Any]:
    assert main(["eval", *argv, "--json"]) == code
    body: dict[str, Any] = json.loads(capsys.readouterr().out)
    return body


def test_figures_as_json(workshop: Workshop, capsys: pytest.CaptureFixture[str]) -> None:
    body = evaluated(capsys, "six", "--agent", "gold", "-j", "2")
    assert (body["tasks"], body["planned"], body["failed"]) == (6, 6, 0)
    assert (body["success_rate"], body["mean_reward"], body["mean_turns"]) == (1.0, 1.0, 1.0)
    assert [(g["name"], g["tasks"]) for g in body["groups"]["file_system"]] == [
        ("fs_1", 3), ("fs_2", 3),
    ]  # fmt: skip
    assert len(read_run(Path(body["run"])).records) == 6
    assert all(env.closed for env in workshop.envs)


def test_figures_as_a_table(workshop: Workshop, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "six", "--agent", "noop"]) == 0
    out = capsys.readouterr().out
    assert "0.0%" in out
    assert "0.500" in out
    assert "fs_2" in out
    assert "run: runs/" in out
    assert "\x1b" not in out
    assert max(map(len, out.splitlines())) <= 80


def test_a_run_is_named_by_time_dataset_and_agent(
    workshop: Workshop, capsys: pytest.CaptureFixture[str]
) -> None:
    first = evaluated(capsys, "six", "--agent", "gold")["run"]
    second = evaluated(capsys, "six", "--agent", "gold")["run"]
    assert first != second
    assert first.startswith("runs/2")
    assert "-six-gold" in first


def test_results_do_not_depend_on_how_many_go_at_once(
    workshop: Workshop, capsys: pytest.CaptureFixture[str]
) -> None:
    def results(jobs: str) -> Any:
        folder = Path(evaluated(capsys, "six", "--agent", "gold", "-j", jobs)["run"])
        return {r.task_id: (r.seed, r.reward) for r in read_run(folder).records}

    assert results("1") == results("4")


@pytest.mark.parametrize(
    ("words", "tasks"),
    [
        (["--limit", "2"], ["t/0", "t/1"]),
        (["--tasks", "t/4", "1"], ["t/4", "t/1"]),
        (["--sound-only"], ["t/0", "t/1", "t/2", "t/3", "t/4"]),
    ],
)
def test_tasks_can_be_chosen(
    workshop: Workshop, capsys: pytest.CaptureFixture[str], words: list[str], tasks: list[str]
) -> None:
    body = evaluated(capsys, "six", "--agent", "gold", "-j", "1", *words)
    assert [r.task_id for r in read_run(Path(body["run"])).records] == tasks


def test_what_the_environment_is_made_of(workshop: Workshop) -> None:
    where = ["--env", "Bash-v1", "--sandbox", "docker", "--base", "docker:x", "--engine", "mysql"]
    options = ["--option", "judge=strict", "--option", "copies=3"]
    main(["eval", "six", "--agent", "noop", *where, *options, "-j", "3", "--limit", "5"])
    assert workshop.asked == [
        {"env_id": "Bash-v1", "tasks": 5, "sandbox": "docker", "base": "docker:x", "jobs": 3,
         "engine": "mysql", "judge": "strict", "copies": 3}
    ]  # fmt: skip


def test_a_password_stays_out_of_the_run_folder(workshop: Workshop, tmp_path: Path) -> None:
    url = "mysql://me:secret@db:3306/"
    main(["eval", "six", "--agent", "noop", "--engine", url, "--out", str(tmp_path / "run")])
    assert workshop.asked[0]["engine"] == url
    kept = (tmp_path / "run" / "run.json").read_text()
    assert "secret" not in kept
    assert "mysql://me:***@db:3306/" in kept


@pytest.mark.parametrize("word", ["judge", "=x", "engine=mysql", "a b=1"])
def test_an_option_that_is_none(
    workshop: Workshop, capsys: pytest.CaptureFixture[str], word: str
) -> None:
    assert main(["eval", "six", "--agent", "noop", "--option", word]) == 2
    assert "NAME=VALUE" in capsys.readouterr().err


def test_an_agent_from_a_file(workshop: Workshop, capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine.py").write_text(
        "class Mine:\n    def start(self, task): pass\n"
        "    def act(self, observation, reward, info): return 'fail'\n"
    )
    body = evaluated(capsys, "six", "--agent", "mine.py:Mine", "--max-turns", "3")
    assert (body["mean_turns"], body["error_rate"], body["success_rate"]) == (3.0, 1.0, 0.0)
    assert body["run"].endswith("-six-Mine")


# Failures


def test_an_episode_that_failed_is_counted_apart_and_said_in_the_exit_code(
    workshop: Workshop, capsys: pytest.CaptureFixture[str]
) -> None:
    body = evaluated(capsys, "broken", "--agent", "gold", code=1)
    assert (body["tasks"], body["scored"], body["failed"]) == (6, 5, 1)
    assert (body["failed_by_cause"], body["success_rate"]) == ({"sandbox": 1}, 1.0)
    assert main(["eval", "broken", "--agent", "gold"]) == 1
    assert "1 failed: 1 sandbox" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["six", "--agent", "glod"], "did you mean gold"),
        (["six", "--agent", "human"], "intercode play"),
        (["six", "--agent", "replay:gone.json"], "there is no file gone.json"),
        (["six", "--agent", "gone.py:X"], "there is no file gone.py"),
        (["six", "--agent", "gold", "--tasks", "t/9"], "no task 't/9'"),
        (["six", "--agent", "gold", "--tasks", "5", "--sound-only"], "no task of 'six' is left"),
        (["six", "--agent", "gold", "--resume"], "--out DIR --resume"),
        (["six", "--agent", "gold", "--resume", "--out", "gone"], "there is no run in gone"),
        (["six", "--agent", "gold", "-j", "0"], "not a whole number above 0"),
        (["six", "--agent", "gold", "--limit", "many"], "not a whole number above 0"),
        (["six"], "--agent"),
    ],
)
def test_bad_words_are_refused_before_anything_is_begun(
    workshop: Workshop, capsys: pytest.CaptureFixture[str], words: list[str], problem: str
) -> None:
    assert main(["eval", *words]) == 2
    assert problem in capsys.readouterr().err
    assert workshop.asked == []
    assert not Path("runs").exists()


def test_a_run_that_could_not_begin_leaves_nothing(
    workshop: Workshop, capsys: pytest.CaptureFixture[str]
) -> None:
    def none() -> FakeEnv:
        raise SandboxUnavailable("no back end works", remedy="intercode doctor")

    workshop.make = none
    assert main(["eval", "six", "--agent", "gold", "--out", "mine"]) == 2
    assert capsys.readouterr().err == "intercode: no back end works\n  try: intercode doctor\n"
    assert not Path("mine").exists()


def test_a_folder_with_a_run_is_not_written_over(
    workshop: Workshop, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["eval", "six", "--agent", "gold", "--out", "mine"])
    assert main(["eval", "six", "--agent", "gold", "--out", "mine"]) == 2
    assert "--resume" in capsys.readouterr().err


# Interruption and resuming


class InterruptedEnv(FakeEnv):
    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        if action == "g3":
            raise KeyboardInterrupt
        return super().step(action)


def interrupt(workshop: Workshop, *words: str) -> None:
    workshop.make = InterruptedEnv
    assert main(["eval", "six", "--agent", "gold", "-j", "1", *words]) == 130
    workshop.make = FakeEnv


def test_an_interrupt_keeps_what_is_done_and_says_how_to_go_on(
    workshop: Workshop, capsys: pytest.CaptureFixture[str]
) -> None:
    interrupt(workshop, "--max-turns", "4")
    assert all(env.closed for env in workshop.envs)
    shown = capsys.readouterr()
    assert "3 of 6 episodes are kept" in shown.err
    assert "100.0%" in shown.out
    command = shlex.split(shown.err.split("go on with: ")[1])
    assert command[0] == "intercode"
    assert main(command[1:]) == 0
    folder = Path(command[command.index("--out") + 1])
    assert [r.task_id for r in read_run(folder).records] == [f"t/{n}" for n in range(6)]


def test_an_interrupt_gives_json_of_what_is_done(
    workshop: Workshop, capsys: pytest.CaptureFixture[str]
) -> None:
    interrupt(workshop, "--json")
    body = json.loads(capsys.readouterr().out)
    assert (body["interrupted"], body["tasks"], body["planned"]) == (True, 3, 6)


def test_an_interrupt_before_the_first_result_leaves_nothing(
    workshop: Workshop, capsys: pytest.CaptureFixture[str]
) -> None:
    interrupt(workshop, "--tasks", "t/3", "--out", "mine")
    assert not Path("mine").exists()
    assert "before an episode had ended" in capsys.readouterr().err


def test_a_resumed_run_plays_only_what_is_left(
    workshop: Workshop, capsys: pytest.CaptureFixture[str]
) -> None:
    interrupt(workshop, "--out", "mine")
    capsys.readouterr()
    before = (Path("mine") / "episodes.jsonl").read_bytes()
    body = evaluated(capsys, "six", "--agent", "gold", "--out", "mine", "--resume")
    assert (body["tasks"], body["interrupted"]) == (6, False)
    after = (Path("mine") / "episodes.jsonl").read_bytes()
    assert after.startswith(before)
    assert after.count(b"\n") == 6


@pytest.mark.parametrize(
    ("words", "field"),
    [
        (["--agent", "noop"], "agent"),
        (["--agent", "gold", "--env", "Bash-v1"], "env"),
        (["--agent", "gold", "--seed", "1"], "options.seed"),
        (["--agent", "gold", "--limit", "3"], "tasks"),
        (["--agent", "gold", "--tasks", *"102345"], "dataset_digest"),
    ],
)
def test_a_run_is_not_resumed_with_other_words(
    workshop: Workshop, capsys: pytest.CaptureFixture[str], words: list[str], field: str
) -> None:
    interrupt(workshop, "--out", "mine")
    assert main(["eval", "six", *words, "--out", "mine", "--resume"]) == 2
    assert f"its {field} was" in capsys.readouterr().err
