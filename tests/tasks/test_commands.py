"""Which programs a command line runs, whatever it is wrapped in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intercode.tasks.commands import read_script


def programs(text: str) -> list[str]:
    return [command.name for command in read_script(text).commands]


@pytest.mark.parametrize(
    ("text", "run"),
    [
        ("ls -l | wc -l", ["ls", "wc"]),
        ("a && b || c; d & e", ["a", "b", "c", "d", "e"]),
        ("echo $(date) `hostname`", ["date", "hostname", "echo"]),
        ('echo "it is $(date +%F)"', ["date", "echo"]),
        ("diff <(ls a) <(ls b)", ["ls", "ls", "diff"]),
        ("find . -exec md5sum {} + | sort", ["find", "md5sum", "sort"]),
        ("find . -exec chmod 7 {} \\; -exec cat {} \\;", ["find", "chmod", "cat"]),
        ("xargs -I {} -n 1 basename {}", ["xargs", "basename"]),
        ("sudo -u me env A=1 date", ["sudo", "env", "date"]),
        ("timeout -s KILL 5 ping x", ["timeout", "ping"]),
        ("bash -c 'date; ps'", ["bash", "date", "ps"]),
        ("eval 'date | cat'", ["eval", "date", "cat"]),
        ("if test -f a; then date; fi", ["test", "date"]),
        ("for f in *; do cat $f; done | sort", ["cat", "sort"]),
        ("A=1 B=2 /bin/date", ["date"]),
        ("cat <<END\ndate\nEND\nps", ["cat", "ps"]),
        ("ls 2>/dev/null >out &>all", ["ls"]),
        ("ls # date", ["ls"]),
        ("a=(date ps)", []),
        ("time ls", ["time", "ls"]),
    ],
)
def test_programs_are_found_where_they_run(text: str, run: list[str]) -> None:
    assert programs(text) == run


@pytest.mark.parametrize(
    "text", ["grep 'date' f", 'grep -r "date" .', "echo date", "cat date", "sed s/a/`:`date/ f"]
)
def test_a_word_that_is_not_run_is_no_program(text: str) -> None:
    assert "date" not in programs(text)


@pytest.mark.parametrize(
    ("text", "reads", "assigns"),
    [
        ("echo $A ${B} ${#C} ${D%/*}", {"A", "B", "C", "D"}, set()),
        ("echo ${A:-x} ${B=y}", set(), set()),
        ("echo '$A' \\$B", set(), set()),
        ('echo "$A" "`echo $B`"', {"A", "B"}, set()),
        ("A=1; read B; for C in x; do :; done; export D=2", set(), {"A", "B", "C", "D"}),
        ("echo $((1 + $N))", {"N"}, set()),
        ("sh -c 'echo $Q'", {"Q"}, set()),
        ("awk '{print $NF}'", set(), set()),
    ],
)
def test_variables_are_told_from_text(text: str, reads: set[str], assigns: set[str]) -> None:
    script = read_script(text)

    assert (script.reads, script.assigns) == (reads, assigns)


def test_a_command_knows_where_its_output_goes() -> None:
    feeds = {c.name: c.feeds for c in read_script("find . -exec ls -l {} \\; | wc -l").commands}

    assert feeds == {"find": "wc", "ls": "wc", "wc": ""}


def test_redirections_are_not_arguments() -> None:
    script = read_script("sort < in > out 2>> log")

    assert script.commands[0].words == ("sort",)
    assert script.redirects == ["in", "out", "log"]


@given(st.text(alphabet="ab $(){}`'\"\\|;&<>#=!\n-x0", max_size=60))
def test_any_text_can_be_read(text: str) -> None:
    read_script(text)


@pytest.mark.parametrize(
    "text", ["$(" * 5000, "(" * 5000, "`" * 5000, "eval " * 5000, "find -exec " * 5000, "${" * 5000]
)
def test_deep_nesting_is_read_in_good_time(text: str) -> None:
    read_script(text)
