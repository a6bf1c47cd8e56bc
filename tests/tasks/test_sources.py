"""Upstream's files are read as they are published."""

from __future__ import annotations

import json
import os
import subprocess
import tarfile
from collections import Counter
from pathlib import Path

import pytest

from intercode.errors import DatasetError
from intercode.tasks.sources import alfa, corpus, nl2bash


@pytest.fixture
def upstream() -> Path:
    folder = os.environ.get("INTERCODE_DATA")
    if not folder:
        pytest.skip("INTERCODE_DATA is not set")
    return Path(folder)


def publish(folder: Path, file: str, rows: list[dict[str, object]]) -> None:
    (folder / "filesystems").mkdir(parents=True, exist_ok=True)
    (folder / file).write_text(json.dumps(rows), encoding="utf-8")


def test_a_file_system_is_its_archive_or_else_the_script_that_makes_it(tmp_path: Path) -> None:
    publish(tmp_path, "nl2bash_fs_1.json", [{"query": "q", "gold": "g"}])
    script = tmp_path / "filesystems" / "setup_nl2b_fs_1.sh"
    script.write_text("mkdir /testbed\n")

    (made,) = nl2bash.load(tmp_path, ["fs_1"]).file_systems.values()
    archive = tmp_path / "filesystems" / "nl2bash_fs_1.tar"
    tarfile.open(archive, "w").close()
    (unpacked,) = nl2bash.load(tmp_path, ["fs_1"]).file_systems.values()

    # Either way the script's name is at the root, as in upstream's images.
    assert (made.tar, made.setup) == (None, ("mkdir /testbed\n", "touch /setup_nl2b_fs_1.sh"))
    assert (unpacked.tar, unpacked.setup) == (archive, ("touch /setup_nl2b_fs_1.sh",))


def test_a_missing_file_system_names_both_forms(tmp_path: Path) -> None:
    publish(tmp_path, "nl2bash_fs_1.json", [{"query": "q", "gold": "g"}])

    with pytest.raises(DatasetError, match=r"nl2bash_fs_1\.tar nor setup_nl2b_fs_1\.sh"):
        nl2bash.load(tmp_path, ["fs_1"])


def test_a_list_of_golds_is_one_command_line(tmp_path: Path) -> None:
    publish(tmp_path, "test_queries.json", [{"query": "q", "gold": ["cd /", "ls"]}])
    (tmp_path / "filesystems" / "setup_fs.sh").touch()

    assert nl2bash.load_test(tmp_path)[0].gold == "cd /;ls"


def test_alfa_keeps_the_script_that_its_golds_read(tmp_path: Path) -> None:
    text = "#!/bin/bash\necho 'END'\nEND\n"
    rows = [{"query": "q", "gold": "cat setup_nl2b_fs_1.sh", "gold2": "x", "difficulty": 2}]
    publish(tmp_path, "nl2bash_fs_1.json", rows)
    tarfile.open(tmp_path / "filesystems" / "nl2bash_fs_1.tar", "w").close()

    (without,) = alfa.load(tmp_path, ["fs_1"])
    (tmp_path / "filesystems" / "setup_nl2b_fs_1.sh").write_text(text)
    dataset = alfa.load(tmp_path, ["fs_1"])
    (command,) = dataset.file_systems["nl2bash_fs_1"].setup
    here = command.replace("/setup_nl2b_fs_1.sh", str(tmp_path / "copy.sh"))
    subprocess.run(["bash", "-c", here], check=True)

    assert without.flags == ("missing_path",)
    assert dataset[0].flags == ()
    assert (tmp_path / "copy.sh").read_text() == text


def test_corpus_files_that_do_not_match_are_refused(tmp_path: Path) -> None:
    (tmp_path / "all.nl").write_text("one\ntwo\n")
    (tmp_path / "all.cm").write_text("ls\n")

    with pytest.raises(DatasetError, match=r"all\.nl has 2 lines, .*all\.cm 1"):
        corpus.load(tmp_path)


def test_an_empty_line_in_the_corpus_is_named(tmp_path: Path) -> None:
    (tmp_path / "all.nl").write_text("one\ntwo\n")
    (tmp_path / "all.cm").write_text("ls\n\n")

    with pytest.raises(DatasetError, match="line 2: gold is empty"):
        corpus.load(tmp_path)


@pytest.mark.data
def test_nl2bash_has_its_200_tasks_in_order(upstream: Path) -> None:
    dataset = nl2bash.load(upstream / "nl2bash")
    published = [
        row
        for n in range(1, 5)
        for row in json.loads((upstream / f"nl2bash/nl2bash_fs_{n}.json").read_text("utf-8"))
    ]

    assert [(t.instruction, t.gold) for t in dataset] == [
        (r["query"], r["gold"]) for r in published
    ]
    assert (dataset[0].id, dataset[60].id, dataset[-1].id) == ("fs_1/0", "fs_2/0", "fs_4/26")
    assert Counter(t.file_system for t in dataset) == {
        "nl2bash_fs_1": 60, "nl2bash_fs_2": 53, "nl2bash_fs_3": 60, "nl2bash_fs_4": 27,
    }  # fmt: skip


@pytest.mark.data
def test_nl2bash_carries_what_was_measured(upstream: Path) -> None:
    dataset = nl2bash.load(upstream / "nl2bash")

    assert dataset["fs_1/2"].flags == ("unset_variable",)
    assert dataset["fs_2/49"].flags == ("failing_gold", "network")
    assert dataset["fs_1/8"].metadata["notes"] == ("duplicate_gold", "v1_quoting")
    assert sum(task.sound for task in dataset) == 134


@pytest.mark.data
def test_a_part_has_the_same_tasks_as_the_whole(upstream: Path) -> None:
    whole, part = nl2bash.load(upstream / "nl2bash"), nl2bash.load(upstream / "nl2bash", ["fs_3"])

    assert list(part) == list(whole)[113:173]
    assert list(part.file_systems) == ["nl2bash_fs_3"]


@pytest.mark.data
def test_the_test_tasks_share_one_file_system(upstream: Path) -> None:
    dataset = nl2bash.load_test(upstream / "nl2bash")

    assert len(dataset) == 24
    assert {t.file_system for t in dataset} == {"bash_fs"}


@pytest.mark.data
def test_alfa_has_300_tasks_with_two_golds_and_a_hardness(upstream: Path) -> None:
    dataset = alfa.load(upstream / "intercode_alfa")

    assert len(dataset) == 300
    assert all(len(task.alternatives) == 1 for task in dataset)
    assert Counter(task.metadata["hardness"] for task in dataset) == {
        "easy": 100, "medium": 100, "hard": 100,
    }  # fmt: skip
    assert dataset["fs_5/17"].file_system == "nl2bash_fs_5"


@pytest.mark.data
def test_the_corpus_has_a_command_for_every_sentence(upstream: Path) -> None:
    dataset = corpus.load(upstream / "nl2bash" / "raw")

    assert len(dataset) == 12_607
    assert dataset[0].gold.startswith("top -b")
