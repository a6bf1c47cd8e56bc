"""Actions become the processes, and ``cd`` the directories, that they were in the paper."""

from __future__ import annotations

import gzip
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intercode.rewards.v1_action import argv, cd_command, cd_target, is_cd

DATA = os.environ.get("INTERCODE_DATA")
MALFORMED = "Malformed command"

paths = st.text(alphabet="ab./~ \"'$;&", max_size=30)
names = st.sampled_from(["a", "b c", "x; pwd", "&& ls"])
cwds = st.lists(names, max_size=4).map(lambda segments: "/" + "/".join(segments))
anything = st.text(alphabet=st.characters(exclude_categories=()))
"""Also lone surrogates, which a model's answer may hold."""


def oracle() -> Path:
    if not DATA:
        pytest.skip("needs upstream's data: INTERCODE_DATA is not set")
    return Path(DATA) / "oracle"


def script(action: str) -> list[str] | None:
    """What Bash gets to read, and its ``$0`` and arguments."""
    words = argv(action)
    return words and words[2:]


# Words


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ("ls -l", ["ls -l"]),
        ("  ls -l\n", ["ls -l"]),
        ("", [""]),
        ('echo "a   b" c', ["echo a", "b c"]),
        ('find . -name "*.py"', ["find . -name *.py"]),
        ("echo 'a   b'", ["echo 'a   b'"]),
        ('echo \\"q r\\"', ['echo "q r"']),
        ("find . -exec ls {} \\\\;", ["find . -exec ls {} \\;"]),
        ("find . -exec ls {} \\;", ["find . -exec ls {} \\;"]),
        ("echo a\\\\nb", ["echo a\\nb"]),
        ("printf 'x\\ty\\n'", ["printf 'x\\ty\\n'"]),
        ("echo $HOME `whoami`\ntrue", ["echo $HOME `whoami`\ntrue"]),
        ('awk "BEGIN{print 1}"', ["awk BEGIN{print", "1}"]),
    ],
)
def test_double_quotes_and_backslashes_are_mangled(action: str, expected: list[str]) -> None:
    assert argv(action) == ["/bin/bash", "-c", *expected]


@pytest.mark.parametrize("action", ['echo "unbalanced', 'echo \\""', "echo a\\", "echo \0"])
def test_what_cannot_be_split_is_malformed(action: str) -> None:
    assert argv(action) is None


def test_another_shell_may_be_used() -> None:
    assert argv("ls", shell="/bin/sh") == ["/bin/sh", "-c", "ls"]


def test_lone_surrogates_become_characters_that_can_be_passed() -> None:
    assert argv("echo \udcff \ud83d\ude00") == ["/bin/bash", "-c", "echo \ufffd \U0001f600"]


@given(anything)
def test_any_action_becomes_words_that_can_be_passed_or_is_malformed(action: str) -> None:
    words = argv(action)
    if words is not None:
        assert words[:2] == ["/bin/bash", "-c"]
        assert len(words) >= 3
        assert all("\0" not in word for word in words)
        assert "".join(words).encode()


@given(st.text().map(lambda text: re.sub(r'["\\\0]', "", text)))
def test_without_double_quotes_and_backslashes_an_action_arrives_whole(action: str) -> None:
    assert script(action) == [action.strip()]


# Change of directory


@pytest.mark.parametrize("action", ["cd", "cd /tmp", "cdrom", "cdecl x", "cd;ls"])
def test_every_action_that_starts_with_cd_is_one(action: str) -> None:
    assert is_cd(action)


@pytest.mark.parametrize("action", ["ls; cd /tmp", " cd /tmp", "CD /tmp", ""])
def test_no_other_action_is_a_cd(action: str) -> None:
    assert not is_cd(action)


@pytest.mark.parametrize(
    ("cwd", "action", "target"),
    [
        ("/", "cd testbed", "/testbed"),
        ("/testbed", "cd dir1", "/testbed/dir1"),
        ("/testbed", "cd /tmp", "/tmp"),
        ("/testbed", "cd ..", "/"),
        ("/", "cd ../../..", "/"),
        ("/a/b", "cd .././c//d/", "/a/c/d"),
        ("/a", "cd //b", "/b"),
        ("/a", "cd   b  ", "/a/b"),
        ("/testbed", "cd dir1; pwd", "/testbed/dir1; pwd"),
        ("/testbed/dir1; pwd", "cd ..", "/testbed"),
        ("/", "cd /testbed && ls | head -2", "/testbed && ls | head -2"),
        ("/", "cd /testbed && ls 2>/dev/null", "/testbed && ls 2>/dev/null"),
        ("/", "cd /testbed && ls dir1/../dir2", "/dir2"),
        ("/testbed", "cd ~", "/testbed/~"),
        ("/testbed", "cd -", "/testbed/-"),
        ("/testbed", 'cd "/testbed/dir1"', '/testbed/"/testbed/dir1"'),
        ("/", "cdrom && cd /testbed", "/testbed"),
        ("/testbed", "cd ", "/testbed"),
    ],
)
def test_the_rest_of_the_action_is_the_path(cwd: str, action: str, target: str) -> None:
    assert cd_target(cwd, action) == target


@pytest.mark.parametrize("action", ["cd", "cdrom", "cd\t/tmp", "cd;ls", "cd&&ls -l"])
def test_a_cd_without_an_argument_goes_nowhere(action: str) -> None:
    assert cd_target("/", action) is None


def test_the_path_that_is_run_loses_its_quotes() -> None:
    target = cd_target("/testbed", 'cd "/testbed/dir1"')
    assert target is not None
    assert script(cd_command(target)) == ["cd /testbed//testbed/dir1"]


@given(cwds, paths)
def test_a_target_is_an_absolute_path_in_simplest_form(cwd: str, path: str) -> None:
    target = cd_target(cwd, f"cd {path}")
    assert target is not None
    assert target.startswith("/")
    segments = target.split("/")[1:]
    assert target == "/" or not {"", ".", ".."} & set(segments)


@given(cwds, names)
def test_going_down_and_up_again_ends_where_it_began(cwd: str, name: str) -> None:
    below = cd_target(cwd, f"cd {name}")
    assert below is not None
    assert cd_target(below, "cd ..") == cwd


@given(cwds, anything)
def test_any_cd_has_an_absolute_target_or_none(cwd: str, rest: str) -> None:
    target = cd_target(cwd, f"cd{rest}")
    assert (target is None) == ("cd " not in f"cd{rest}")
    assert target is None or target.startswith("/")


# Recorded sessions


def sessions() -> Iterator[tuple[str, list[Any]]]:
    """Every hand-made probe's ``[action, observation, valid, cwd after it]``, in order."""
    for line in (oracle() / "probes_bash.jsonl").read_text().splitlines():
        probe = json.loads(line)
        if isinstance(probe["original"], list) and isinstance(probe["inputs"]["args"], list):
            turns = [turn for turn in probe["original"] if turn[0] != "submit"]
            assert [turn[0] for turn in turns] == probe["inputs"]["args"][0], probe["name"]
            yield probe["name"], turns


@pytest.mark.data
def test_probed_actions_leave_the_directory_they_left() -> None:
    seen = 0
    for name, turns in sessions():
        cwd = "/"
        for action, observation, *rest in turns:
            seen += 1
            target = cd_target(cwd, action) if is_cd(action) else cwd
            if not rest:
                assert "substring not found" in observation
                assert target is None, (name, action)
                continue
            valid, cwd_after = rest
            if valid:
                assert target is not None, (name, action)
                cwd = target
            assert cwd == cwd_after, (name, action)
    assert seen > 60


@pytest.mark.data
def test_probed_cd_errors_name_the_path_that_is_run() -> None:
    found = 0
    for name, turns in sessions():
        cwd = "/"
        for action, observation, *rest in turns:
            target = cd_target(cwd, action) if is_cd(action) else None
            missing = re.search(r"line 1: cd: (.*): No such file", observation)
            if target and missing:
                assert script(cd_command(target)) == [f"cd {missing[1]}"], (name, action)
                found += 1
            if rest:
                cwd = rest[1]
    assert found == 4


@pytest.mark.data
def test_recorded_actions_were_malformed_where_ours_are() -> None:
    checked = 0
    for action, observation in recorded_actions():
        if "gzip" not in action:  # whose output is not text, which is called malformed too
            assert (argv(action) is None) == (observation == MALFORMED), action
            checked += 1
    assert checked > 1500


@pytest.mark.data
def test_recorded_complaints_of_bash_come_from_the_name_that_is_left_over() -> None:
    """What follows the script on Bash's command line is its ``$0``, the name it complains under."""
    checked = 0
    for action, observation in recorded_actions():
        complaint = re.match(r"(.*?): -c: line \d+: unexpected EOF", observation, re.DOTALL)
        if complaint:
            _, *rest = script(action) or []
            assert complaint[1] == (rest[0] if rest else "/bin/bash"), action
            checked += 1
    assert checked > 20


def recorded_actions() -> Iterator[tuple[str, str]]:
    """What was executed and what it printed; of a ``cd``, the command run for it."""
    for _, turns in sessions():
        cwd = "/"
        for action, observation, *rest in turns:
            if rest:
                yield executed(cwd, action), observation
                cwd = rest[1]
    for file in sorted(oracle().glob("replay_bash_*.jsonl.gz")):
        with gzip.open(file, "rt") as lines:
            for turns in (json.loads(line)["turns"] for line in lines):
                cwd = "/"
                for turn in turns:
                    action = executed(cwd, turn["action"])
                    if isinstance(turn["observation"], str):  # long ones were not kept
                        yield action, turn["observation"]
                    if is_cd(turn["action"]) and turn["valid"]:
                        cwd = action.removeprefix("cd ")


def executed(cwd: str, action: str) -> str:
    target = cd_target(cwd, action) if is_cd(action) else None
    return action if target is None else cd_command(target)
