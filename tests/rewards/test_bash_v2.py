"""The corrected Bash reward: each rule by an example, then what must hold for all outcomes."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from intercode.envs import bash_v2 as env
from intercode.envs.runtime import Runtime
from intercode.errors import UsageError
from intercode.rewards import bash_equivalent, bash_output
from intercode.rewards.bash_rows import human_size
from intercode.rewards.bash_v2 import Judge, Outcome, score
from intercode.rewards.score import Score
from intercode.sandboxes.base import Change, ChangeKind, FileType
from intercode.sandboxes.registry import create
from intercode.tasks.model import Dataset, Task
from intercode.tasks.registry import load

SECOND = 10**9


def change(
    path: str,
    kind: ChangeKind = "created",
    type: FileType = "file",  # noqa: A002
    **facts: Any,
) -> Change:
    return Change(path, kind, type, **{"mode": 0o644, "digest": "d", **facts})


def judged(
    agent: str | Outcome,
    gold: str | Outcome,
    instruction: str = "",
    command: str = "find .",
    judge: Judge = "strict",
) -> Score:
    sides = [side if isinstance(side, Outcome) else Outcome(side) for side in (agent, gold)]
    return score(sides[0], sides[1], instruction=instruction, command=command, judge=judge)


def changed(*changes: Change, output: str = "", **facts: Any) -> Outcome:
    return Outcome(output, changes, **facts)


# -- state -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [
        change("/a", kind="modified"),
        change("/a", type="dir"),
        change("/a", digest="other"),
        change("/a", mode=0o600),
        change("/a", target="/elsewhere"),
        change("/a", uid=65534),
        change("/b"),
    ],
    ids=["kind", "type", "content", "mode", "target", "owner", "path"],
)
def test_each_fact_of_a_change_counts(wrong: Change) -> None:
    found = judged(changed(wrong), changed(change("/a")))
    assert not found.success
    assert found.reward < 1


def test_a_path_changed_not_quite_right_counts_half() -> None:
    gold = changed(change("/a"), change("/b"))
    nearly = judged(changed(change("/a"), change("/b", digest="other")), gold)
    assert nearly.components["state"] == pytest.approx(0.9 * 0.75)
    assert nearly.details["different"] == ["/b: content"]


def test_what_was_left_undone_is_named() -> None:
    found = judged(changed(), changed(change("/a"), change("/b", kind="deleted")))
    assert found.details["missing"] == ["/a", "/b"]


def test_a_deleted_file_is_deleted_whatever_it_was() -> None:
    gone = changed(change("/a", kind="deleted", digest=""))
    assert judged(gone, gone).success
    assert judged(changed(), gone).reward == 0


def test_harm_done_beside_the_task_is_a_failure() -> None:
    gold = changed(change("/a"))
    found = judged(changed(change("/a"), change("/b", kind="deleted")), gold)
    assert not found.success
    assert found.details["extra"] == ["/b"]


def test_harm_done_while_answering_is_a_failure() -> None:
    harmful = changed(change("/a", kind="deleted"), output="5\n")
    assert 0 < judged(harmful, "5\n").reward < 0.5


@pytest.mark.parametrize(
    "path",
    ["/tmp/x", "/var/tmp/x/y", "/root/.bash_history", "/home/me/.lesshst", "/root/.cache/pip/x"],
)
def test_traces_of_working_do_not_count(path: str) -> None:
    assert judged(changed(change(path), output="5\n"), "5\n").success


@pytest.mark.parametrize("path", ["/tmpx", "/root/.bashrc", "/srv/tmp/x", "/etc/.bash_history"])
def test_what_only_looks_like_a_trace_counts(path: str) -> None:
    assert not judged(changed(change(path), output="5\n"), "5\n").success


def test_scratch_places_count_where_the_gold_changes_them() -> None:
    gold = changed(change("/tmp/out", type="dir", digest=""), change("/tmp/out/a"))
    right = (*gold.changes, change("/tmp/notes"))
    assert judged(changed(*right), gold).success
    assert judged(changed(), gold).reward == 0
    assert not judged(changed(*right, change("/tmp/out/b")), gold).success


def test_caches_count_where_they_are_named() -> None:
    gold = changed(change("/var/cache/apt/pkgcache.bin"), output="curl\n")
    assert judged("curl\n", gold, "show the package").success
    assert not judged("curl\n", gold, "empty /var/cache").success


def test_time_stamps_moved_in_passing_are_tolerated() -> None:
    assert judged(changed(change("/a", kind="touched"), output="5\n"), "5\n").success


def at(seconds: float, began: int = 100, ended: int = 101) -> Outcome:
    touched = change("/a", kind="touched", mtime_ns=int(seconds * SECOND))
    return changed(touched, span=(began * SECOND, ended * SECOND))


def test_a_time_stamp_that_the_gold_moves_has_to_be_moved() -> None:
    assert judged(changed(), at(100.5)).reward == 0
    assert judged(at(5000.2, 5000, 5060), at(100.5)).success


def test_a_time_stamp_set_to_a_date_has_to_be_that_date() -> None:
    assert judged(at(7, 5000, 5060), at(7.5)).success
    assert not judged(at(5000.2, 5000, 5060), at(7)).success


def test_a_time_stamp_set_relative_to_now_moves_along() -> None:
    day = 86_400
    assert judged(
        at(20 * day - day, 20 * day, 20 * day + 5), at(9 * day, 10 * day, 10 * day)
    ).success


def test_archives_are_compared_by_what_is_in_them() -> None:
    gold = changed(change("/a.gz", digest="1"), canonical={"/a.gz": "gzip:x"})
    same = changed(change("/a.gz", digest="2"), canonical={"/a.gz": "gzip:x"})
    other = changed(change("/a.gz", digest="2"), canonical={"/a.gz": "gzip:y"})
    unread = changed(change("/a.gz", digest="2"))
    assert judged(same, gold).success
    assert not judged(other, gold).success
    assert not judged(unread, gold).success
    assert not judged(unread, replace(gold, canonical={})).success


# -- output ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("agent", "gold", "how"),
    [
        ("a\nb\n", "a\nb\n", "exact"),
        ("a\nb", "a\nb\n", "whitespace"),
        ("  a \t x\n\nb\n", "a x\nb\n", "whitespace"),
        ("b\na\n", "a\nb\n", "lines"),
    ],
)
def test_the_same_output_up_to_spacing_and_order(agent: str, gold: str, how: str) -> None:
    found = judged(agent, gold)
    assert found.success
    assert found.details["output"] == how


@pytest.mark.parametrize(
    ("agent", "gold"), [("a\na\n", "a\n"), ("a b\n", "a\nb\n"), ("A\n", "a\n")]
)
def test_other_output_is_a_failure(agent: str, gold: str) -> None:
    assert not judged(agent, gold).success


def test_where_the_gold_only_changes_files_output_does_not_matter() -> None:
    gold = changed(change("/a"))
    assert judged(changed(change("/a"), output="made /a\n"), gold).success


def test_where_the_gold_also_prints_output_matters() -> None:
    gold = changed(change("/a"), output="1\n")
    found = judged(changed(change("/a")), gold)
    assert found.components["state"] == 1
    assert not found.success


def test_lines_that_differ_are_named() -> None:
    found = judged("a\nc\n", "a\nb\n")
    assert (found.details["missing_lines"], found.details["extra_lines"]) == (["b"], ["c"])


def test_long_differences_are_shortened() -> None:
    found = judged("", "\n".join(f"line {n}" for n in range(100)))
    assert len(found.details["missing_lines"]) == 21
    assert found.details["missing_lines"][-1] == "… and 80 more"


@pytest.mark.parametrize(
    ("instruction", "command"),
    [
        ("sort the names", "find ."),
        ("print them in reverse order", "find ."),
        ("print the last 3 entries", "find ."),
        ("show the sizes", "du -a | sort -n"),
        ("show the sizes", "du -a | sort -n | cut -f1"),
        ("show the newest", "ls -t"),
        ("show some", "find . | head -n 3"),
        ("display the file", "cat notes.txt"),
        ("find the errors", "grep error log.txt"),
        ("show both", "cat a.txt; cat b.txt"),
    ],
)
def test_order_is_asked_for(instruction: str, command: str) -> None:
    assert bash_output.order_asked(instruction, command)


@pytest.mark.parametrize(
    ("instruction", "command"),
    [
        ("list the files", "ls"),
        ("find the files", "find / -name '*.txt' -exec grep -l x {} \\; | cut -d: -f1"),
        ("find files changed in the last 2 days", "find . -mtime -2"),
        ("print when each was last modified", "stat -c %y *"),
        ("find the errors", "grep -r error ."),
        ("print the unique lines", "sort -u notes.txt"),
        ("count each word", "sort words | uniq -c"),
        ("hash the files", "find . -type f | sort | xargs md5sum"),
        ("print each name", "for f in *; do echo $f; done"),
        ("an unfinished quote", "find . -name 'a"),
    ],
)
def test_order_is_not_asked_for(instruction: str, command: str) -> None:
    assert not bash_output.order_asked(instruction, command)


def test_where_order_is_asked_for_other_order_is_partial() -> None:
    found = judged("b\na\n", "a\nb\n", "sort the lines")
    assert found.reward == pytest.approx(0.9)


@pytest.mark.parametrize(
    "instruction",
    ["replace tabs by spaces", "remove the trailing whitespace", "print it without newlines",
     "format it as a table", "delete the empty lines"],
)  # fmt: skip
def test_where_spacing_is_asked_for_it_counts(instruction: str) -> None:
    assert not judged("a  b\n", "a b\n", instruction).success
    assert not judged("a  b\n", "a b\n", instruction, judge="lenient").success
    assert judged("a b", "a b\n", instruction).success


def test_space_on_a_disk_is_not_spacing() -> None:
    assert not bash_output.spacing_asked("print the free disk space and the space used")


# -- equivalent answers ----------------------------------------------------------------------------

QUESTION = "count the lines of /srv/log.txt in /srv"


@pytest.mark.parametrize(
    ("agent", "gold", "form"),
    [
        ("5 /srv/log.txt", "5", "more columns"),
        ("5", "5 /srv/log.txt", "label"),
        ("5 lines", "5", "more columns"),
        ("4.0K\t/srv/a\n48K\t/srv/b", "4\t/srv/a\n48\t/srv/b", "sizes"),
        ("4096 /srv/a", "4.0K /srv/a", "sizes"),
        ("./a\n./b/", "a\nb", "words"),
        ("srv/a", "/srv/a", "paths"),
        ("a\nb", "/srv/a\n/srv/b", "paths"),
        ("/srv/x/a\n/srv/b", "a\nb", "names"),
        ("'a.txt'", "a.txt", "words"),
        ("2.50", "2.5", "words"),
        ("a b c", "a\nb\nc", "line breaks"),
        ("     1\tone\n     2\ttwo", "one\ntwo", "numbered"),
        ("3:one\n7:two", "one\ntwo", "numbered"),
        ("/srv/a:one\n/srv/b:two", "one\ntwo", "prefix"),
        ("/srv/a:one\n/srv/a:two\n/srv/b:x", "/srv/b\n/srv/a", "matches"),
        (f"{'ab' * 16}  /srv/my file", "ab" * 16, None),
        (f"{'ab' * 16}  /srv/a\n{'cd' * 16}  /srv/my file", f"{'ab' * 16}\n{'cd' * 16}",
         "more columns"),
        ("a 5\nb 6", "5 a\n6 b", "columns"),
        ("2 a\n3 b", "2 a\n3 b\n5 total", "total"),
        ("-rw-r--r-- 1 root root 5 Jan  1 10:00 a\nlrwxrwxrwx 1 root root 1 Jan  1 2020 b -> a",
         "a\nb", "names of a listing"),
        ("total 8\n-rw-r--r-- 1 root root 4.0K Jan  1 10:00 a",
         "-rw-r--r-- 1 root root 4096 Jan  1 10:01 a", "listing"),
        (".\n|-- a\n`-- b\n    `-- c\n\n1 directory, 2 files", ".\n./a\n./b\n./b/c", None),
        ("srv\n|-- a\n`-- b", "|___srv\n| |___b\n| |___a", "tree"),
        ("find: '/x': Permission denied\n/srv/a", "/srv/a", "words"),
    ],
)  # fmt: skip
def test_the_same_answer_in_other_dress(agent: str, gold: str, form: str | None) -> None:
    found = bash_equivalent.compare(agent, gold, ordered=False, question=QUESTION)
    assert found.form == form


@pytest.mark.parametrize(
    ("agent", "gold"),
    [
        ("5 6", "5"),
        ("5 10 27 /srv/log.txt", "5"),
        ("1\n2\n3\n4\n5", "5"),
        ("it is 5 or 6", "5"),
        ("5 apples", "5"),
        ("6 /srv/log.txt", "5"),
        ("True False", "True"),
        ("/srv/a /srv/b", "/srv/a"),
        ("/srv/a\n/srv/b\n/srv/c", "/srv/a\n/srv/b"),
        ("/srv/a", "/srv/a\n/srv/b"),
        ("/etc/a", "a"),
        ("a\nb", "-rw-r--r-- 1 root root 5 Jan 1 10:00 a\n-rw-r--r-- 1 root root 5 Jan 1 10:00 b"),
        ("one\ntwo", "     1\tone\n     2\ttwo"),
        ("/srv/a\n/srv/b", "/srv/a:one\n/srv/b:two"),
        ("5", "5 6 /srv/log.txt"),
        ("8.0K /srv/a", "4 /srv/a"),
        ("5 b\n6 a", "5 a\n6 b"),
        ("b\na\n9 total", "a\nb\n5 total"),
        ("", "5"),
        ("5", ""),
        ("cat: /srv/x: No such file or directory", "wc: /srv/x: No such file or directory"),
    ],
)
def test_another_answer_is_not_equivalent(agent: str, gold: str) -> None:
    found = bash_equivalent.compare(agent, gold, ordered=False, question=QUESTION)
    assert found.form is None


def test_showing_everything_is_no_answer() -> None:
    everything = "".join(f"/srv/{n}:{m}:some line\n" for n in range(50) for m in range(20))
    for gold in ("7\n", "/srv/7\n", "/srv/7:7:some line\n", "some line\n"):
        assert not judged(everything, gold, QUESTION, judge="lenient").success


def test_order_counts_in_other_dress_too() -> None:
    rows = "2 /srv/b\n1 /srv/a", "/srv/a\n/srv/b"
    assert bash_equivalent.compare(*rows, ordered=False, question=QUESTION).form
    assert not bash_equivalent.compare(*rows, ordered=True, question=QUESTION).form


def test_where_nothing_else_is_wanted_nothing_may_be_added() -> None:
    assert judged("/srv/a", "a", f"names in {QUESTION}", judge="lenient").success
    assert not judged("/srv/a", "a", f"only the names in {QUESTION}", judge="lenient").success
    assert judged("4.0K", "4096", "the size only", judge="lenient").success


def test_a_report_of_what_was_done_is_no_answer() -> None:
    gold = changed(change("/a.tar"), output="tar: Removing leading `/' from member names\n")
    silent = changed(change("/a.tar"))
    assert judged(silent, gold, "pack and list /srv", judge="lenient").success
    assert not judged(silent, gold, "pack and list /srv").success
    told = replace(gold, output="/srv/a\n")
    assert judged(silent, told, "pack /srv", judge="lenient").success
    assert not judged(silent, told, "pack /srv and list its files", judge="lenient").success


def test_decoration_is_named_and_bounded() -> None:
    found = judged("5 /srv/log.txt", "5", QUESTION)
    assert found.components["decoration"] == pytest.approx(0.5)
    assert found.components["equivalent"] == 1
    assert not found.success
    long = f"/srv/a:{'word ' * 100}"
    assert not judged(long, "/srv/a", QUESTION, judge="lenient").success


def test_the_judge_decides() -> None:
    rows = ("5 /srv/log.txt", "5", QUESTION)
    assert not judged(*rows, judge="strict").success
    assert judged(*rows, judge="lenient").success


@pytest.mark.parametrize(
    ("size", "written"),
    [(0, "0"), (1023, "1023"), (1024, "1.0K"), (4097, "4.1K"), (10_239, "10K"), (10_240, "10K"),
     (1_048_575, "1.0M"), (1 << 20, "1.0M"), (5 << 30, "5.0G")],
)  # fmt: skip
def test_sizes_are_written_as_coreutils_write_them(size: int, written: str) -> None:
    assert human_size(size) == written


# -- what must hold for all ------------------------------------------------------------------------

paths = st.sampled_from(["/a", "/b", "/b/c", "/srv/d", "/tmp/e", "/root/.cache/f", "/var/tmp/g"])
kinds: st.SearchStrategy[ChangeKind] = st.sampled_from(
    ["created", "modified", "deleted", "touched"]
)
changes = st.builds(
    Change,
    path=paths,
    kind=kinds,
    type=st.sampled_from(["file", "dir", "symlink"]),
    mode=st.sampled_from([0o644, 0o755]),
    digest=st.sampled_from(["", "x", "y"]),
)
words = st.sampled_from(
    ["a", "b", "5", "7", "4.0K", "4096", "/srv/d", "./a", "total", "a:b", "1:a", "--", "x:", "0.50",
     "-rw-r--r--", "root", "Jan", "10:00", "|--", "ls:", "No such file or directory", "ab" * 16]
)  # fmt: skip
lines = st.lists(words, max_size=10).map(" ".join)
texts = st.one_of(st.lists(lines, max_size=5).map("\n".join), st.text(max_size=20))
outcomes = st.builds(
    Outcome,
    output=texts,
    changes=st.lists(changes, max_size=4, unique_by=lambda c: c.path).map(tuple),
    canonical=st.dictionaries(paths, st.sampled_from(["p", "q"]), max_size=2),
)
questions = st.sampled_from(
    [("list the files in /srv", "find /srv"), ("print it only", "cat a | sort"), ("", "sort -u a"),
     ("make /srv/d", "mkdir /srv/d"), ("remove the spaces", "tr -d ' '"), ("sort it", "ls -l")]
)  # fmt: skip
judges: st.SearchStrategy[Judge] = st.sampled_from(["strict", "lenient"])


@given(outcomes, questions, judges)
def test_doing_what_the_gold_does_is_success(
    gold: Outcome, question: tuple[str, str], judge: Judge
) -> None:
    assert judged(gold, gold, *question, judge).success


@given(outcomes, outcomes, questions)
def test_rewards_stay_in_bounds(agent: Outcome, gold: Outcome, question: tuple[str, str]) -> None:
    for judge in ("strict", "lenient"):
        found = judged(agent, gold, *question, judge)
        assert found.reward == 1 or 0 <= found.reward <= 0.95
        assert all(0 <= part <= 1 for part in found.components.values())
        state, output = found.components["state"], found.components["output"]
        accepted = {"strict": state == output == 1, "lenient": found.components["equivalent"] == 1}
        assert found.success == accepted[judge]


@given(outcomes, outcomes, questions)
def test_what_the_strict_judge_accepts_the_lenient_accepts(
    agent: Outcome, gold: Outcome, question: tuple[str, str]
) -> None:
    strict, lenient = (judged(agent, gold, *question, judge) for judge in ("strict", "lenient"))
    assert lenient.success or not strict.success
    assert lenient.reward >= strict.reward


@given(outcomes, questions, judges)
def test_doing_nothing_is_worth_nothing(
    gold: Outcome, question: tuple[str, str], judge: Judge
) -> None:
    asked = any(not change.path.startswith("/root/.cache") for change in gold.changes)
    assume(asked or gold.output.strip())
    assert judged(Outcome(""), gold, *question, judge).reward == 0


@given(st.lists(lines, max_size=6), st.randoms(), judges)
def test_any_order_will_do_where_none_is_asked_for(
    rows: list[str], chance: Any, judge: Judge
) -> None:
    shuffled = list(rows)
    chance.shuffle(shuffled)
    assert judged("\n".join(shuffled), "\n".join(rows), "list", "find .", judge).success


@given(outcomes, outcomes, questions, judges)
def test_unrelated_output_never_helps(
    agent: Outcome, gold: Outcome, question: tuple[str, str], judge: Judge
) -> None:
    babble = replace(agent, output=f"{agent.output}\nunrelated words")
    assert (
        judged(babble, gold, *question, judge).reward
        <= judged(agent, gold, *question, judge).reward
    )


@given(outcomes, outcomes, questions, judges)
def test_unrelated_changes_never_help(
    agent: Outcome, gold: Outcome, question: tuple[str, str], judge: Judge
) -> None:
    messy = replace(agent, changes=(*agent.changes, change("/opt/unrelated")))
    before, after = judged(agent, gold, *question, judge), judged(messy, gold, *question, judge)
    assert after.reward <= before.reward
    assert not after.success


@given(outcomes, outcomes, questions, judges, st.data())
def test_doing_one_more_thing_right_never_hurts(
    agent: Outcome, gold: Outcome, question: tuple[str, str], judge: Judge, data: st.DataObject
) -> None:
    assume(gold.changes)
    right = data.draw(st.sampled_from(gold.changes))
    others = tuple(c for c in agent.changes if c.path != right.path)
    canonical = {**agent.canonical, **gold.canonical}
    before = judged(replace(agent, canonical=canonical), gold, *question, judge)
    better = replace(agent, canonical=canonical, changes=(*others, right))
    assert judged(better, gold, *question, judge).reward >= before.reward


@given(outcomes, outcomes, questions)
def test_the_order_of_changes_does_not_matter(
    agent: Outcome, gold: Outcome, question: tuple[str, str]
) -> None:
    turned = [replace(side, changes=side.changes[::-1]) for side in (agent, gold)]
    assert judged(*turned, *question) == judged(agent, gold, *question)


@given(texts, texts, questions)
def test_agreement_on_output_is_mutual(one: str, other: str, question: tuple[str, str]) -> None:
    assert judged(one, other, *question).success == judged(other, one, *question).success


@given(st.text(), st.text())
def test_any_question_can_be_read(instruction: str, command: str) -> None:
    assert judged("a\nb", "b\na", instruction, command, "lenient").reward in (0.9, 1)


@pytest.mark.parametrize(
    "line", ["a", "/a", "1:", "./" * 9, "9" * 5000, "²", "x: Removing leading "]
)
def test_much_output_is_judged_in_time(line: str) -> None:
    text = (line + "\n") * (60_000 // (len(line) + 1))
    judged(text + "b", text + "c", QUESTION, judge="lenient")
    judged(text.replace("\n", " ") + "b", text.replace("\n", " ") + "c", QUESTION, judge="lenient")


# -- the environment's part ------------------------------------------------------------------------


class Files:
    """As much of a sandbox as reading archives takes."""

    def __init__(self, **files: bytes) -> None:
        self.files = files
        self.read: list[str] = []

    def read_file(self, path: str, *, max_bytes: int | None = None) -> bytes:
        self.read.append(path)
        if path[1:] not in self.files:
            raise FileNotFoundError(path)
        return self.files[path[1:]][:max_bytes]


def canonical(files: Files, outcome: Outcome, gold: Outcome | None = None) -> dict[str, str]:
    return dict(env._canonical(files, outcome, gold))  # type: ignore[arg-type]


def test_an_agents_archive_is_opened_only_where_the_golds_bytes_differ() -> None:
    packed = {"a": gzip.compress(b"x"), "b": gzip.compress(b"y"), "c": gzip.compress(b"z")}
    done = changed(*(change(f"/{name}", digest=name) for name in packed))
    gold = changed(change("/a", digest="a"), change("/b", digest="?"), change("/d", digest="d"))
    gold = replace(gold, canonical={"/a": "1", "/b": "2", "/d": "3"})
    files = Files(**packed)
    assert list(canonical(files, done, gold)) == ["/b"]
    assert set(files.read) == {"/b"}


def test_all_of_a_golds_archives_are_opened_and_nothing_else() -> None:
    files = Files(a=gzip.compress(b"x"), text=b"x" * 10_000)
    gold = changed(change("/a"), change("/text"), change("/gone", kind="deleted", digest=""))
    assert list(canonical(files, gold)) == ["/a"]
    assert files.read == ["/a", "/a", "/text"]


def test_an_archive_that_cannot_be_read_is_passed_over() -> None:
    assert canonical(Files(), changed(change("/a"))) == {}


def test_only_so_many_files_are_looked_at() -> None:
    files = Files()
    canonical(files, changed(*(change(f"/{n}") for n in range(10_000))))
    assert len(files.read) < 1000


def test_an_unknown_judge_is_refused() -> None:
    with pytest.raises(UsageError, match="strict, lenient"):
        env.BashV2(judge="kind")  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def runtime() -> Iterator[Runtime]:
    backend = create("bubblewrap")
    if failed := [check for check in backend.check() if not check.ok]:
        backend.close()
        pytest.skip(f"bubblewrap: {failed[0].detail}")
    with Runtime(backend) as runtime:
        yield runtime


def solved(runtime: Runtime, gold: str, action: str, judge: Judge = "strict") -> bool:
    setup = ("touch -d 2020-01-01 /old",)
    task = Task(id="t", env="bash", instruction="do it", gold=gold, setup=setup)
    environment = env.BashV2(Dataset("one", (task,)), judge=judge, runtime=runtime)
    environment.reset(options={"task": "t"})
    environment.step(action)
    twin = environment.fork()[0]
    verdicts = {one.score().success for one in (environment, twin)}
    twin.close()
    environment.close()
    assert len(verdicts) == 1
    return verdicts.pop()


@pytest.mark.bubblewrap
def test_in_a_sandbox_archives_of_other_times_and_levels_are_the_same(runtime: Runtime) -> None:
    gold = "mkdir /pack; cd /pack; echo text > a; tar -czf a.tgz a; gzip a"
    later = "mkdir /pack; cd /pack; echo text > a; touch -d 2001-01-01 a; tar -cf - a | gzip -9"
    assert solved(runtime, gold, f"{later} > a.tgz; gzip -1 a")
    assert not solved(runtime, gold, f"{later} > a.tgz; echo more >> a; gzip -1 a")


@pytest.mark.bubblewrap
def test_in_a_sandbox_touching_is_compared_by_the_clock(runtime: Runtime) -> None:
    assert solved(runtime, "touch /old", "touch -c /old")
    assert not solved(runtime, "touch /old", "touch -d 2001-01-01 /old")
    assert not solved(runtime, "touch /old", "true")


@pytest.mark.bubblewrap
def test_in_a_sandbox_the_judge_outlives_a_fork(runtime: Runtime) -> None:
    listing = ("ls /usr", "ls -l /usr")
    assert solved(runtime, *listing, judge="lenient")
    assert not solved(runtime, *listing, judge="strict")


@pytest.mark.data
def test_every_gold_of_alfa_agrees_with_itself_and_not_with_nothing(data: Path) -> None:
    for task in load("alfa", path=data):
        for gold in (task.gold, *task.alternatives):
            outcome = changed(change("/a"), output="b 1\na 2\n")
            rows = (outcome, task.instruction, gold, "lenient")
            assert judged(outcome, *rows).success
            assert judged("", *rows).reward == 0
