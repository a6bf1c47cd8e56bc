"""Judging tasks: by worked examples, and for real where bubblewrap works."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from intercode.envs.check import check_dataset
from intercode.envs.soundness import Measurement, TaskCheck, complaints, judge
from intercode.errors import UsageError
from intercode.sandboxes.registry import create
from intercode.tasks.model import Dataset, Task

GOOD = Measurement(output="42\n", exit_code=0, at_once=1.0, later=1.0, twin=1.0, noop=0.0)
BUBBLEWRAP = pytest.mark.skipif(
    not all(check.ok for check in create("bubblewrap").check()), reason="bubblewrap does not work"
)


def task(gold: str = "cat /answer", *flags: str, name: str = "t", instruction: str = "Do.") -> Task:
    return Task(name, "bash", instruction, gold, metadata={"flags": flags})


# -- the judge -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("facts", "reasons"),
    [
        ({}, ()),
        ({"timed_out": True, "exit_code": 137, "at_once": None}, ("timeout",)),
        ({"later": 0.4}, ("clock",)),
        ({"at_once": 0.4, "later": 0.4, "repeats": False}, ("unstable",)),
        ({"twin": 0.4, "repeats": False}, ("unstable",)),
        ({"twin": 0.4, "later": 0.4, "repeats": False}, ("unstable",)),
        ({"at_once": 0.66, "later": 0.66, "twin": 0.66}, ("failing_gold",)),
        ({"at_once": 0.66}, ("unstable",)),
        ({"noop": 1.0}, ("empty_answer",)),
        ({"noop": 0.1}, ("empty_answer",)),
        ({"noop": 0.67, "floor": 1.0}, ()),
        ({"noop": 1.0, "floor": 1.0}, ("empty_answer",)),
        ({"background": 2}, ("background",)),
        ({"error": "the shell ends", "blames_task": True}, ("failing_gold",)),
        ({"error": "no sandbox"}, ("error",)),
        ({"exit_code": 127}, ("missing_program",)),
        ({"exit_code": 139}, ("failing_gold",)),
        ({"exit_code": 1}, ()),
        ({"exit_code": 1, "output": ""}, ()),
        ({"exit_code": 2, "output": ""}, ("failing_gold",)),
        ({"exit_code": 2, "output": "", "changed": 1}, ()),
        ({"exit_code": 1, "output": "cat: x: Is a directory\n"}, ("failing_gold",)),
        ({"exit_code": 1, "output": "cat: x: Is a directory\n42\n"}, ()),
        ({"output": "cat: x: No such file or directory\n42\n"}, ("missing_path",)),
        ({"output": "cat: x: No such file or directory\n", "changed": 1}, ()),
        ({"output": "cat: /answer: No such file or directory\n", "changed": 1}, ("missing_path",)),
        ({"output": "log: x: No such file or directory\n"}, ()),
        ({"output": "bash: line 1: ncal: command not found\n"}, ("missing_program",)),
    ],
)
def test_what_is_seen_decides_the_reasons(
    facts: Mapping[str, object], reasons: tuple[str, ...]
) -> None:
    assert judge(task(), replace(GOOD, **facts)) == reasons  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("gold", "output", "exit_code"),
    [
        ("curl example.org", "", 0),
        ("sudo x", "ping: a.b: Temporary failure in name resolution\n", 2),
        ("rsync a b", "rsync: connect: Network is unreachable (101)\n", 0),
    ],
)
def test_a_gold_that_needs_a_network_says_so_in_its_text_or_its_output(
    gold: str, output: str, exit_code: int
) -> None:
    seen = replace(GOOD, output=output, exit_code=exit_code)
    assert "network" in judge(task(gold), seen)


def test_a_log_that_speaks_of_name_resolution_needs_no_network() -> None:
    log = "12:01 mail: Temporary failure in name resolution\n"
    assert judge(task("cat /var/log/mail"), replace(GOOD, output=log)) == ()


def test_complaints_are_what_the_golds_own_programs_say() -> None:
    said = "find: '/x': No such file or directory\nerror: disk full\n/bin/bash: line 1: oh: no\n"
    assert complaints("find /x | xargs wc", said) == [
        "find: '/x': No such file or directory", "/bin/bash: line 1: oh: no",
    ]  # fmt: skip


def test_the_gold_is_worth_its_worst_run() -> None:
    assert replace(GOOD, later=0.5).gold_reward == 0.5
    assert Measurement().gold_reward is None


@pytest.mark.parametrize(
    ("found", "flags", "new", "unseen"),
    [
        ((), (), (), ()),
        (("clock",), (), ("clock",), ()),
        (("unstable",), ("clock",), (), ()),
        ((), ("clock",), (), ("clock",)),
        (("failing_gold",), ("network",), (), ()),
        (("clock",), ("network",), (), ()),
        (("empty_answer",), ("clock",), ("empty_answer",), ("clock",)),
    ],
)
def test_what_is_found_is_held_against_the_labels(
    found: tuple[str, ...], flags: tuple[str, ...], new: tuple[str, ...], unseen: tuple[str, ...]
) -> None:
    verdict = TaskCheck(task("true", *flags), found)
    assert verdict.reasons == tuple(sorted({*found, *flags}))
    assert verdict.sound == (not found and not flags)
    assert (verdict.new, verdict.unseen) == (new, unseen)


# -- real runs -------------------------------------------------------------------------------------

GOLDS = {
    "output": "echo 42",
    "file": "mkdir /made && echo 42 > /made/file",
    "clock": "date +%s",
    "random": "echo $RANDOM$RANDOM",
    "empty": "cat /dev/null",
    "fails": "cat /nowhere",
    "background": "sleep 60 > /dev/null 2>&1 & echo started",
    "ends": "echo bye; exit 3",
    "slow": "sleep 30",
}


@pytest.mark.bubblewrap
@BUBBLEWRAP
def test_each_kind_of_unsound_task_is_found_and_the_sound_ones_pass() -> None:
    told: list[tuple[int, int]] = []
    tasks = tuple(task(gold, name=name) for name, gold in GOLDS.items())
    checks = check_dataset(
        Dataset("handmade", tasks), sandbox="bubblewrap", jobs=2,
        progress=lambda done, total: told.append((done, total)),
    )  # fmt: skip
    found = {check.task.id: set(check.found) for check in checks}
    assert list(found) == list(GOLDS)
    assert not found["output"]
    assert not found["file"]
    assert found["clock"] & {"clock", "unstable"}
    assert found["random"] == {"unstable"}
    assert found["empty"] == {"empty_answer"}
    assert {"failing_gold", "missing_path"} <= found["fails"]
    assert found["background"] == {"background"}
    assert found["ends"] == {"failing_gold"}
    assert found["slow"] == {"timeout"}
    assert told[-1] == (len(GOLDS), len(GOLDS))
    sound = checks[0]
    assert (sound.gold_reward, sound.noop_reward) == (1.0, 0.0)
    assert sound.duration_s > 0


@pytest.mark.bubblewrap
@BUBBLEWRAP
def test_under_the_papers_reward_doing_nothing_may_be_worth_something() -> None:
    tasks = (task("echo 42", name="output"), task("true", name="empty"))
    output, empty = check_dataset(Dataset("handmade", tasks), "Bash-v1", sandbox="bubblewrap")
    assert output.sound
    assert 0 < (output.noop_reward or 0) < 1
    assert empty.found == ("empty_answer",)


def test_an_unknown_environment_ends_the_check_before_it_begins() -> None:
    with pytest.raises(UsageError, match="Bash-v9"):
        check_dataset(Dataset("handmade", (task(),)), "Bash-v9")
