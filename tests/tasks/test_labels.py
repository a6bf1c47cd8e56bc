"""Labels: what a gold gives away, what was measured, and what becomes of it in a dataset."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from intercode.tasks import labels
from intercode.tasks.labels import (
    FLAGS,
    NOTES,
    known_flags,
    known_notes,
    labelled,
    static_flags,
)
from intercode.tasks.model import Task

TABLE = Path(labels.__file__).with_name("labels.json")


@pytest.mark.parametrize(
    ("gold", "flags"),
    [
        ("date +%F", {"clock"}),
        ("echo $(date) > log", {"clock"}),
        ("find . -mtime -1", {"clock"}),
        ("find . -newermt '1 day ago'", {"clock"}),
        ("find . -printf '%T@ %p\\n'", {"clock"}),
        ("ls -la | sort", {"clock"}),
        ("ls -t | awk '{print $1}'", {"clock"}),
        ("stat file", {"clock"}),
        ("cal -3", {"clock"}),
        ("time sleep 1", {"clock"}),
        ("echo $SECONDS", {"clock"}),
        ("awk 'BEGIN {print systime()}'", {"clock"}),
        ("uptime", {"clock", "host"}),
        ("ps aux | wc -l", {"host"}),
        ("hostname", {"host"}),
        ("awk -v h=\"$(hostname)\" '{print h}' f", {"host"}),
        ("cat /proc/cpuinfo", {"host"}),
        ("wc -l < /etc/passwd", {"host"}),
        ("env | sort", {"host"}),
        ("echo $$", {"host"}),
        ("find / -name core", {"host"}),
        ("curl http://example.com", {"network"}),
        ("apt-get install -y jq", {"network"}),
        ("git clone u", {"network"}),
        ("exec 3<>/dev/tcp/h/80", {"network"}),
        ("scp a h:b", {"network"}),
        ("shuf f", {"random"}),
        ("echo $RANDOM", {"random"}),
        ("head -c 8 /dev/urandom | xxd", {"random"}),
        ("sort -R f", {"random"}),
        ("cp a $(mktemp)", {"random"}),
        ("find ${DIRECTORY} -type f", {"unset_variable"}),
        ("X=$FILES; echo $X", {"unset_variable"}),
    ],
)
def test_a_gold_that_depends_on_its_surroundings_is_flagged(gold: str, flags: set[str]) -> None:
    assert set(static_flags(gold)) == flags


@pytest.mark.parametrize(
    "gold",
    [
        "grep 'date' f", "echo ping", "cat date ps who", "sed 's/^/$(hostname): /' f",
        "awk '{print $NF, $w}' f", "wc -w f", "ls -1 | sort", "ls -l | wc -l", "ls -S",
        "stat -c %s f", "cal 12 2120", "find . -type f -exec mv -t / {} +",
        "address=1; echo $address", "for i in a b; do echo $i; done", "echo $HOME ${LC_ALL}",
        "echo ${MISSING:-default}", "env LANG=C sort f", "printenv PATH", "git log",
        "echo /proc/cpuinfo", "ssh -V", "curl --version", "find . -name '*time*'", "",
    ],
)  # fmt: skip
def test_a_word_in_the_wrong_place_is_not_a_reason(gold: str) -> None:
    assert static_flags(gold) == ()


def test_an_instruction_about_a_variable_that_nothing_sets_is_flagged() -> None:
    assert static_flags("cat a b | md5sum", 'Hash the files in "$FILES"') == ("unset_variable",)
    assert static_flags("FILES=a; cat $FILES", 'Set "$FILES" to a and print it') == ()
    assert static_flags("grep '$FILES' f", "Find the word $FILES in f") == ()


def test_every_known_label_is_one_that_is_explained() -> None:
    table = json.loads(TABLE.read_text("utf-8"))

    for dataset in table.values():
        assert {flag for flags in dataset["flags"].values() for flag in flags} <= set(FLAGS)
        assert {note for notes in dataset["notes"].values() for note in notes} <= set(NOTES)


def test_known_labels_belong_to_the_published_dataset_only() -> None:
    assert known_flags("nl2bash", "fs_1/55") == ("empty_answer", "failing_gold", "timeout")
    assert known_notes("nl2bash-test", "18") == ("needs_gnu_find",)
    assert known_flags("mine", "fs_1/55") == known_notes("nl2bash", "nowhere") == ()


def test_labels_are_joined_sorted_and_kept_apart() -> None:
    tasks = [
        Task("fs_4/12", "bash", "i", "date; dig x", metadata={"flags": ("missing_path",)}),
        Task("fs_4/13", "bash", "i", "date; dig x "),
    ]

    first, second = labelled(tasks, "nl2bash")

    assert first.flags == ("clock", "empty_answer", "missing_path", "network")
    assert second.flags == ("clock", "network")
    assert first.metadata["notes"] == second.metadata["notes"] == ("duplicate_gold",)


def test_golds_in_other_languages_are_not_read_as_bash() -> None:
    (task,) = labelled([Task("0", "sql", "Today?", "date")])

    assert task.sound


@pytest.mark.data
def test_static_labels_agree_with_what_was_measured() -> None:
    """Precision and recall over the 224 verified tasks, for the labels that both can give."""
    folder = os.environ.get("INTERCODE_DATA")
    if not folder:
        pytest.skip("INTERCODE_DATA is not set")
    readable = {"clock", "host", "network", "unset_variable"}
    both = static_only = measured_only = 0
    for dataset, file, prefix in [
        *(("nl2bash", f"nl2bash_fs_{n}.json", f"fs_{n}/") for n in range(1, 5)),
        ("nl2bash-test", "test_queries.json", ""),
    ]:
        for index, row in enumerate(json.loads(Path(folder, "nl2bash", file).read_text("utf-8"))):
            measured = readable & set(known_flags(dataset, f"{prefix}{index}"))
            static = readable & set(static_flags(row["gold"], row["query"]))
            both += len(measured & static)
            static_only += len(static - measured)
            measured_only += len(measured - static)

    assert both / (both + static_only) > 0.95
    assert both / (both + measured_only) > 0.95
