"""Tables of one's own: what is read, and what is said when it cannot be."""

from __future__ import annotations

import csv
import io
import json
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intercode.errors import DatasetError
from intercode.tasks.sources.table import load

PAIRS = [("List the files.", "ls"), ('Say "hi",\nthen leave.', "echo 'hi';\texit")]


def written(pairs: list[tuple[str, str]], kind: str) -> str:
    objects = [{"query": query, "gold": gold} for query, gold in pairs]
    if kind == "json":
        return json.dumps(objects)
    if kind == "jsonl":
        return "\n".join(json.dumps(o, ensure_ascii=False) for o in objects)
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter="\t" if kind == "tsv" else ",")
    writer.writerows([("query", "gold"), *pairs])
    return out.getvalue()


def table(tmp_path: Path, name: str, text: str | bytes) -> Path:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    return path


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")).filter(str.strip)


@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=8))
def test_the_same_pairs_come_out_of_every_kind_of_table(pairs: list[tuple[str, str]]) -> None:
    with TemporaryDirectory() as folder:
        for kind in ("json", "jsonl", "csv", "tsv"):
            path = table(Path(folder), f"t.{kind}", written(pairs, kind))
            assert [(t.instruction, t.gold) for t in load(path)] == pairs


def test_a_row_needs_no_more_than_a_query_and_a_gold(tmp_path: Path) -> None:
    dataset = load(table(tmp_path, "mine.csv", written(PAIRS, "csv")))
    task = dataset[0]

    assert dataset.name == "mine"
    assert (task.id, task.env, task.file_system, task.setup) == ("0", "bash", None, ())
    assert task.metadata["source"] == "mine.csv"


def test_every_column_is_taken_up(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "files.tar", "w") as archive:
        archive.addfile(tarfile.TarInfo("a"))
    row = {
        "id": 7, "query": "q", "gold": ["cd /", "date"], "gold2": "date -u", "env": "bash",
        "tar": "files.tar", "hardness": "hard", "tags": ["time", "cd"], "setup": ["touch x"],
        "author": "me",
    }  # fmt: skip

    dataset = load(table(tmp_path, "t.json", json.dumps({"tasks": [row]})))
    task = dataset["7"]

    assert task.gold == "cd /;date"
    assert task.alternatives == ("date -u",)
    assert task.setup == ("touch x",)
    assert dataset.file_systems[task.file_system].tar == tmp_path / "files.tar"
    assert task.metadata["hardness"] == "hard"
    assert task.metadata["tags"] == ("time", "cd")
    assert task.metadata["extra"] == {"author": "me"}
    assert task.flags == ("clock",)


def test_tags_in_a_csv_are_separated_by_commas(tmp_path: Path) -> None:
    dataset = load(table(tmp_path, "t.csv", 'query,gold,tags\nq,g,"find, sort"\n'))

    assert dataset[0].metadata["tags"] == ("find", "sort")


@pytest.mark.parametrize("kind", ["json", "jsonl", "csv", "tsv"])
def test_a_byte_order_mark_and_windows_line_ends_do_no_harm(tmp_path: Path, kind: str) -> None:
    text = written(PAIRS[:1] * 2, kind).replace("\r\n", "\n").replace("\n", "\r\n")

    dataset = load(table(tmp_path, f"t.{kind}", b"\xef\xbb\xbf" + text.encode()))

    assert [(t.instruction, t.gold) for t in dataset] == PAIRS[:1] * 2


def test_blank_lines_are_no_rows(tmp_path: Path) -> None:
    assert len(load(table(tmp_path, "t.csv", "\nquery,gold\n\nq,g\n\n\n"))) == 1
    assert len(load(table(tmp_path, "t.jsonl", '\n{"query":"q","gold":"g"}\n \n'))) == 1


def test_a_line_separator_inside_a_json_line_ends_no_line(tmp_path: Path) -> None:
    dataset = load(table(tmp_path, "t.jsonl", '{"query":"a\u2028b","gold":"g"}'))

    assert dataset[0].instruction == "a\u2028b"


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("t.csv", "", "t.csv is empty"),
        ("t.json", " \n", "t.json is empty"),
        ("t.csv", "query,gold\n", "no tasks in it"),
        ("t.json", "[]", "no tasks in it"),
        ("t.csv", "query,golden\nq,g\n", r"line 1: no column 'gold'.*query, golden[\s\S]*rename"),
        ("t.csv", "a,b\nq,g\n", r"no column 'query'[\s\S]*add 'query'"),
        ("t.csv", "query,gold,gold\nq,g,h\n", "two columns 'gold'"),
        ("t.csv", "query,gold\nq,g\n ,g\n", "line 3: query is empty"),
        ("t.csv", 'query,gold\n"a\nb",g\nq,\n', "line 4: gold is empty"),
        ("t.csv", "query,gold\nq,g,h\n", r"line 2: 3 fields under 2 columns[\s\S]*doubled"),
        ("t.tsv", "query\tgold\nq\n", "line 2: 1 fields under 2 columns"),
        ("t.csv", 'query,gold\nq,"g\n', "line 2: unexpected end of data"),
        ("t.csv", 'query,gold\n"q"x,g\n', "line 2: .*expected after"),
        ("t.csv", "query,gold,id\nq,g,1\nq,g,1\n", "line 3: id '1' is taken by line 2"),
        ("t.csv", "query,gold,tar\nq,g,no.tar\n", "line 2: tar: there is no file 'no.tar'"),
        ("t.csv", "query,gold\nq,\0\n", "line 2: a NUL character"),
        ("t.csv", b"query,gold\nq,g\nq,\xe9\n", "line 3: byte 0xe9 is not UTF-8"),
        ("t.json", "\ufeffhello".encode("utf-16"), "is not UTF-8"),
        ("t.json", '[\n{"query": "q",}\n]', r"line 2, column \d+: not JSON"),
        ("t.json", "[" * 100_000, "not readable JSON"),
        ("t.json", "9" * 5000, "not readable JSON"),
        ("t.json", '{"query": "q"}', "the top is an object, not a list"),
        ("t.json", "3", "the top is a number"),
        ("t.json", '["q"]', "task 0: a string, not an object"),
        ("t.json", '[{"query": "q"}]', "task 0: no field 'gold'"),
        ("t.json", '[{"querry": "q", "gold": "g"}]', r"no field 'query'[\s\S]*rename 'querry'"),
        ("t.json", '[{"query": "q", "gold": null}]', "task 0: gold is empty"),
        ("t.json", '[{"query": 3, "gold": "g"}]', "task 0: query is int, not text"),
        ("t.json", '[{"query": "q", "gold": []}]', "gold is an empty list"),
        ("t.json", '[{"query": "q", "gold": ["a", 1]}]', "gold holds something that is not text"),
        ("t.json", '[{"query": "q", "gold": "g", "env": {}}]', "env is dict, not text"),
        ("t.json", '[{"query": "q", "gold": "g", "id": true}]', "id is bool, not text"),
        ("t.json", '[{"query": "q", "gold": "\\u0000"}]', "gold has a NUL character"),
        ("t.json", '[{"query": "\\ud800", "gold": "g"}]', "half of a surrogate pair"),
        ("t.jsonl", '{"query": "q", "gold": "g"}\n{"query"\n', "line 2, column 9: not JSON"),
        ("t.jsonl", '{"query": "q", "gold": "g"}\n[]\n', "line 2: a list, not an object"),
        ("t.txt", "q", "unknown kind of table '.txt'"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(
    tmp_path: Path, name: str, text: str | bytes, complaint: str
) -> None:
    with pytest.raises(DatasetError, match=complaint) as caught:
        load(table(tmp_path, name, text))

    assert name in str(caught.value)


def test_a_file_that_is_no_archive_is_refused(tmp_path: Path) -> None:
    table(tmp_path, "files.tar", "not an archive, but long enough to be looked at")

    with pytest.raises(DatasetError, match=r"line 2: file_system: 'files\.tar' is not a tar"):
        load(table(tmp_path, "t.csv", "query,gold,file_system\nq,g,files.tar\n"))


def test_a_missing_table_and_a_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"there is no file .*gone\.csv"):
        load(tmp_path / "gone.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(DatasetError, match=r"folder\.csv cannot be read"):
        load(tmp_path / "folder.csv")
