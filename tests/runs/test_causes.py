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
        ("unexplained", {"theirs": "x", "ours": "y"}),
    ],
)
def test_a_cause_is_named(expected: str, told_by: dict[str, str]) -> None:
    assert cause(**told_by) == expected
    assert expected in CAUSES
