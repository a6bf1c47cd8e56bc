"""Each named cause of a disagreement, told from the task, the actions and the observations."""

from __future__ import annotations

import pytest

from intercode.agents.recording import RecordedTurn
from intercode.runs.causes import CAUSES, Comparison, cause_of
from intercode.tasks.model import Task


def cause(
    gold: str = "cat /a",
    action: str = "cat /a",
    theirs: str = "x",
    ours: str = "y",
    **metadata: object,
) -> str:
    task = Task("t", "bash", "do it", gold, metadata=metadata)
    return cause_of(Comparison(task, (action,), RecordedTurn(action, theirs, 1.0), ours, 0.5))


@pytest.mark.parametrize(
    ("expected", "told_by"),
    [
        ("clock", {"action": "find /a -mtime +3"}),
        ("clock", {"flags": ["clock"]}),
        ("host", {"action": "hostname"}),
        ("network", {"gold": "curl http://example.org"}),
        ("time limit", {"ours": "Command timed out"}),
        ("archive time stamps", {"action": "tar czf /b.tgz /a"}),
        ("places never reset", {"action": "ln -s /a ~/links"}),
        ("listing order", {"theirs": "a\nb", "ours": "b\na"}),
        ("disk usage", {"action": "du -s /a", "theirs": "4 /a", "ours": "0 /a"}),
        ("files missing when recorded", {"theirs": "ls: '/data': No such file or directory"}),
        ("error wording", {"theirs": "ls: no /a\nx", "ours": "ls: there is no /a\nx"}),
        ("other base image", {"theirs": "/usr/bin/a", "ours": "/usr/bin/b"}),
        ("gold came out otherwise", {"theirs": "x", "ours": "x"}),
        ("host", {"gold": "find -name '*php' | xargs cat"}),
        ("host", {"action": "find . -type f"}),
        ("host", {"gold": "find ${FOLDER} -type f | wc -l"}),
        ("host", {"action": "grep -rl hello . | xargs -n 1 dirname"}),
        ("host", {"gold": "grep -r Hello *"}),
        ("host", {"action": "tar cf /b.tar ..", "ours": "tar: ../sys/kernel/a: File shrank by 9"}),
        ("listing order", {"action": "find /a -exec basename {} +", "theirs": "b", "ours": "c"}),
        ("unexplained", {"action": "find /a -exec basename {} \\;", "theirs": "b", "ours": "c"}),
        ("listing order", {"theirs": "x: extra operand '/a/b'", "ours": "x: extra operand '/a/c'"}),
        (
            "host",
            {"action": "find . -name x", "theirs": "cat: './sys/x': No such file or directory"},
        ),
        ("listing order", {"action": "find /a", "theirs": "a\nb", "ours": "b\na"}),
        ("listing order", {"action": "grep -r x /a", "theirs": "a\nb", "ours": "b\na"}),
        ("unexplained", {"theirs": "x", "ours": "y"}),
    ],
)
def test_a_cause_is_named(expected: str, told_by: dict[str, str]) -> None:
    assert cause(**told_by) == expected
    assert expected in CAUSES


def test_files_that_were_missing_earlier_in_the_episode_were_missing() -> None:
    task = Task("t", "bash", "do it", "cat /a")
    missing = ("cat: /a: No such file or directory\n", "text\n")
    turn = RecordedTurn("submit", "", 0.67)
    for earlier, expected in (
        ((missing,), "files missing when recorded"),
        ((missing[:1] * 2,), "gold came out otherwise"),
    ):
        compared = Comparison(task, ("cat /a", "submit"), turn, "", 1.0, {}, earlier)
        assert cause_of(compared) == expected


@pytest.mark.parametrize(
    ("published", "replayed", "equal_content", "expected"),
    [
        (0.67, 1.0, 0.33, "archive time stamps"),
        (1.0, 0.67, 0.0, "archive time stamps"),
        (0.84, 1.0, 0.33, "archive time stamps"),
        (0.67, 0.84, 0.0, "gold came out otherwise"),
        (1.0, 0.67, 0.33, "gold came out otherwise"),
    ],
)
def test_an_archives_bytes_explain_what_the_comparison_of_contents_can(
    published: float, replayed: float, equal_content: float, expected: str
) -> None:
    task = Task("t", "bash", "do it", "tar czf /b.tgz /a")
    turn = RecordedTurn(task.gold, "x", published)
    parts = {"file_changes": equal_content}
    assert cause_of(Comparison(task, (task.gold,), turn, "x", replayed, parts)) == expected
