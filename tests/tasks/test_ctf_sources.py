"""InterCode-CTF and NYU CTF: what enters a task's folder, what does not, and which are whole."""

from __future__ import annotations

import io
import json
import re
import tarfile
from pathlib import Path
from typing import Any

import pytest

from intercode.errors import DatasetError
from intercode.tasks.fetch import fetch
from intercode.tasks.model import Dataset, FileSystem
from intercode.tasks.registry import load
from intercode.tasks.sources import ctf, nyu_ctf

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"
FILES = {
    "0/note.txt": b"look closer",
    "0/run.py": b"print(1)",
    "0/solution/README.md": b"the flag is picoCTF{one}",
    "0/deep/solution/flag.txt": b"picoCTF{one}",
    "3/solution": b"a file of that name is none of theirs",
    "70/suspicious.dd.sda1": POINTER,
    "README.md": b"of no task",
}
ROWS = [
    {"task_id": 0, "query": "Look.", "gold": "picoCTF{one}", "source": "http://x", "tags": ["A"]},
    {"task_id": 3, "query": "Again.", "gold": "0x1", "tags": ["B", "C"], "setup": "wget http://x"},
    {"task_id": 70, "query": "The image.", "gold": "picoCTF{two}", "tags": []},
]


def as_folder(home: Path) -> None:
    for name, data in FILES.items():
        path = home / "task_assets" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def as_archive(home: Path, below: str = "") -> None:
    with tarfile.open(home / "task_assets.tar.gz", "w:gz") as tar:
        for name, data in FILES.items():
            member = tarfile.TarInfo(f"{below}task_assets/{name}")
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
        link = tarfile.TarInfo(f"{below}task_assets/0/link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)


def as_repository(home: Path) -> None:
    as_archive(home, "intercode-c3e46d8/data/ctf/")


def loaded(home: Path, layout: Any = as_archive) -> Dataset:
    (home / "ic_ctf.json").write_text(json.dumps(ROWS))
    layout(home)
    return ctf.load(home)


def inside(system: FileSystem) -> dict[str, bytes]:
    assert system.tar is not None
    with tarfile.open(system.tar) as tar:
        files = (member for member in tar if member.isfile())
        return {member.name: tar.extractfile(member).read() for member in files}  # type: ignore[union-attr]


@pytest.mark.parametrize("layout", [as_folder, as_archive, as_repository])
def test_a_tasks_files_are_those_of_its_own_folder(tmp_path: Path, layout: Any) -> None:
    system = loaded(tmp_path, layout).file_systems["ctf_0"]
    assert inside(system) == {"ctf/0/note.txt": b"look closer", "ctf/0/run.py": b"print(1)"}
    assert system.cwd == "/ctf/0"


@pytest.mark.parametrize("layout", [as_folder, as_archive, as_repository])
def test_nothing_of_a_solutions_folder_is_anywhere(tmp_path: Path, layout: Any) -> None:
    dataset = loaded(tmp_path, layout)
    for name in dataset.file_systems:
        assert not any(b"picoCTF{" in data for data in inside(dataset.file_systems[name]).values())
    assert list(inside(dataset.file_systems["ctf_3"])) == ["ctf/3/solution"]


def test_a_row_becomes_a_task(tmp_path: Path) -> None:
    task = loaded(tmp_path)["3"]
    assert (task.env, task.instruction, task.gold) == ("ctf", "Again.", "0x1")
    assert task.metadata["tags"] == ("B", "C")
    assert task.metadata["published_setup"] == "wget http://x"
    assert task.setup == ()


def test_scripts_say_what_they_need(tmp_path: Path) -> None:
    assert loaded(tmp_path)["0"].metadata["needs"] == ("python3", "python3:cryptography")


def test_a_pointer_in_place_of_a_file_is_no_file(tmp_path: Path) -> None:
    dataset = loaded(tmp_path)
    assert inside(dataset.file_systems["ctf_70"]) == {}
    assert "missing_asset" in dataset["70"].flags


def test_a_promised_file_that_is_there_takes_the_flag_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(FILES, "70/suspicious.dd.sda1", b"a disk")
    assert loaded(tmp_path)["70"].flags == ()


def test_tasks_without_their_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"(?s)task_assets.*data fetch ctf"):
        loaded(tmp_path, lambda home: None)


def test_a_damaged_archive_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"task_assets\.tar\.gz cannot be read"):
        loaded(tmp_path, lambda home: (home / "task_assets.tar.gz").write_bytes(b"\x1f\x8b junk"))


@pytest.mark.parametrize("number", ["0", True, -1, None])
def test_a_task_number_that_is_none_is_refused(tmp_path: Path, number: Any) -> None:
    (tmp_path / "ic_ctf.json").write_text(json.dumps([{**ROWS[0], "task_id": number}]))
    as_archive(tmp_path)
    with pytest.raises(DatasetError, match="task 0: task_id"):
        ctf.load(tmp_path)


# -- upstream's own --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def published(data: Path) -> Dataset:
    return load("ctf", path=data)


@pytest.mark.data
def test_all_hundred_are_there(published: Dataset) -> None:
    assert [task.id for task in published] == [str(number) for number in range(100)]
    assert published["76"].gold == "0x6e8"


@pytest.mark.data
def test_tasks_that_need_a_host_or_a_file_that_is_absent_say_so(published: Dataset) -> None:
    flagged = {
        flag: [int(task.id) for task in published if flag in task.flags]
        for flag in ("network", "missing_asset")
    }
    hosts = {1, 9, 16, 28, 29, 35, 39, 42, 43, 54, 57, 62, 66, 73, 87, 88, 89, 95}
    # Beyond those that name a host and a port: hosts in other words, a link, and a look into whois.
    assert set(flagged["network"]) == hosts | {20, 41} | {7} | {59}
    assert flagged["missing_asset"] == [1, 65, 66, 70]
    assert sum(task.sound for task in published) == 76


@pytest.mark.data
def test_whoever_names_a_host_is_flagged(published: Dataset) -> None:
    naming = [t for t in published if re.search(r"picoctf\.(net|org)|https?:", t.instruction)]
    assert len(naming) > 15
    assert all("network" in task.flags for task in naming)


@pytest.mark.data
def test_no_task_sees_the_files_of_another(published: Dataset) -> None:
    for number in ("0", "8", "37", "96"):
        names = inside(published.file_systems[f"ctf_{number}"])
        assert names
        assert all(name.startswith(f"ctf/{number}/") for name in names)


@pytest.mark.data
def test_the_files_can_be_brought_from_a_folder(data: Path, tmp_path: Path) -> None:
    fetch("ctf", source=data, dest=tmp_path)
    assert load("ctf", path=tmp_path).digest == load("ctf", path=data).digest


# -- NYU CTF ---------------------------------------------------------------------------------------

INDEX = {
    "2021f-rev-maze": {
        "year": "2021", "event": "CSAW-Finals", "category": "rev", "challenge": "maze",
        "path": "test/2021/CSAW-Finals/rev/maze",
    },
    "2021f-web-shop": {
        "year": "2021", "event": "CSAW-Finals", "category": "web", "challenge": "shop",
        "path": "test/2021/CSAW-Finals/web/shop",
    },
}  # fmt: skip
MAZE = {
    "name": "A maze", "category": "rev", "description": "Find the way.", "flag": "flag{left}",
    "files": ["maze.py", "data/walls"], "points": 100,
}  # fmt: skip


def nyu(home: Path, **challenges: Any) -> Dataset:
    (home / "test_dataset.json").write_text(json.dumps(INDEX))
    (home / "development_dataset.json").write_text("{}")
    for category, challenge in challenges.items():
        name = next(row["path"] for row in INDEX.values() if row["category"] == category)
        folder = home / name
        (folder / "data").mkdir(parents=True)
        (folder / "challenge.json").write_text(json.dumps(challenge))
        (folder / "maze.py").write_text("print('left?')")
        (folder / "data/walls").write_text("####")
        (folder / "flag.txt").write_text("flag{left}")
    return nyu_ctf.load(home)


def test_a_challenge_becomes_a_task_with_the_files_a_player_gets(tmp_path: Path) -> None:
    dataset = nyu(tmp_path, rev=MAZE)
    task = dataset["2021f-rev-maze"]
    assert task.instruction == "A maze: Find the way.\nFiles: maze.py, data/walls"
    assert (task.gold, task.flags, task.metadata["tags"]) == ("flag{left}", (), ("rev",))
    system = dataset.file_systems["2021f-rev-maze"]
    assert sorted(inside(system)) == [
        "ctf/2021f-rev-maze/data/walls", "ctf/2021f-rev-maze/maze.py",
    ]  # fmt: skip
    assert system.cwd == "/ctf/2021f-rev-maze"


def test_a_challenge_with_a_server_or_without_a_file_says_so(tmp_path: Path) -> None:
    web = {**MAZE, "box": "web.chal", "internal_port": 80, "compose": True, "files": ["lost.py"]}
    task = nyu(tmp_path, web=web)["2021f-web-shop"]
    assert task.instruction.endswith("Server: web.chal 80")
    assert task.flags == ("missing_asset", "needs_service")


def test_an_index_alone_gives_tasks_that_nobody_can_play(tmp_path: Path) -> None:
    assert [task.flags for task in nyu(tmp_path)] == [("missing_asset", "no_gold")] * 2


@pytest.mark.parametrize("path", ["../flag.txt", "/etc/passwd", "a/../../b"])
def test_a_file_outside_the_challenge_is_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(DatasetError, match="leads elsewhere"):
        nyu(tmp_path, rev={**MAZE, "files": [path]})


def test_a_challenge_without_a_flag_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"challenge\.json.*flag"):
        nyu(tmp_path, rev={**MAZE, "flag": ""})


@pytest.mark.data
def test_both_published_indices_load(data: Path) -> None:
    assert len(load("nyu-ctf", path=data)) == 257
    assert len(load("nyu-ctf:development", path=data)) == 57
