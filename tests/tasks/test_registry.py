"""Datasets are found by name, and where they are not, it is said how to get them."""

from __future__ import annotations

import json
import tarfile
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from intercode.errors import DatasetError, UsageError
from intercode.tasks import registry
from intercode.tasks.model import Dataset, Task
from intercode.tasks.registry import load, names


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Neither the environment nor the user's data folder offers anything."""
    monkeypatch.delenv("INTERCODE_DATA", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    return tmp_path


def publish(folder: Path, *, gold: str = "ls", parts: int = 4) -> Path:
    (folder / "filesystems").mkdir(parents=True)
    for n in range(1, parts + 1):
        rows = [{"query": f"task over {n}", "gold": gold}]
        (folder / f"nl2bash_fs_{n}.json").write_text(json.dumps(rows))
        tarfile.open(folder / "filesystems" / f"nl2bash_fs_{n}.tar", "w").close()
    return folder


def info(name: str) -> registry.DatasetInfo:
    return next(info for info in names() if info.name == name)


def test_a_dataset_is_loaded_whole_or_in_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(tmp_path / "data" / "nl2bash")
    monkeypatch.setenv("INTERCODE_DATA", str(tmp_path / "data"))

    assert [t.id for t in load("nl2bash")] == ["fs_1/0", "fs_2/0", "fs_3/0", "fs_4/0"]
    assert [t.id for t in load("nl2bash:fs_3")] == ["fs_3/0"]
    assert load("nl2bash:fs_3").name == "nl2bash:fs_3"


def test_the_callers_folder_comes_before_the_environment_before_the_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(tmp_path / "share" / "intercode" / "nl2bash", gold="from-user")
    assert load("nl2bash")[0].gold == "from-user"

    publish(tmp_path / "data" / "nl2bash", gold="from-environment")
    monkeypatch.setenv("INTERCODE_DATA", str(tmp_path / "data"))
    assert load("nl2bash")[0].gold == "from-environment"

    named = publish(tmp_path / "other" / "nl2bash", gold="from-caller")
    assert load("nl2bash", path=tmp_path / "other")[0].gold == "from-caller"
    assert load("nl2bash", path=named)[0].gold == "from-caller"


def test_a_folder_without_the_dataset_does_not_hide_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(tmp_path / "share" / "intercode" / "nl2bash")
    monkeypatch.setenv("INTERCODE_DATA", str(tmp_path / "empty"))

    assert len(load("nl2bash")) == 4


def test_a_dataset_that_is_not_here_says_how_to_get_it() -> None:
    with pytest.raises(
        DatasetError, match=r"nl2bash_fs_1\.json in [\s\S]*intercode data fetch nl2bash"
    ):
        load("nl2bash")
    assert not info("nl2bash").present
    assert info("nl2bash-test").where == "not present: intercode data fetch nl2bash"


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    folder = publish(tmp_path / "nl2bash")
    (folder / "nl2bash_fs_3.json").unlink()

    with pytest.raises(DatasetError, match=r"nl2bash_fs_3\.json is missing[\s\S]*INTERCODE_DATA"):
        load("nl2bash", path=tmp_path)
    assert len(load("nl2bash:fs_2", path=tmp_path)) == 1


def test_the_list_says_what_is_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(tmp_path / "nl2bash")
    monkeypatch.setenv("INTERCODE_DATA", str(tmp_path))

    assert info("bundled").where == "bundled"
    assert info("nl2bash").where == f"present at {tmp_path / 'nl2bash'}"
    assert info("nl2bash").tasks == 200
    assert info("alfa").parts[-1] == "alfa:fs_5"
    assert all(entry.description for entry in names())


@pytest.mark.parametrize(("name", "meant"), [("nl2bsh", "nl2bash"), ("Alfa", "alfa")])
def test_a_misspelt_name_gets_a_suggestion(name: str, meant: str) -> None:
    with pytest.raises(
        UsageError, match=rf"no dataset '{name}'[\s\S]*did you mean.*{meant}.*data list"
    ):
        load(name)


@pytest.mark.parametrize("name", ["nl2bash:fs_9", "nl2bash:", "alfa:gs_1"])
def test_a_part_that_does_not_exist_is_refused_with_those_that_do(name: str) -> None:
    with pytest.raises(UsageError, match=r"has no part[\s\S]*:fs_1"):
        load(name)
    with pytest.raises(UsageError, match=r"nl2bash-test.*has no part"):
        load("nl2bash-test:fs_1")


def test_a_table_is_loaded_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("query,gold\nq,g\n")

    assert load(str(path)).name == "mine"
    assert load("called so", path=path).name == "called so"


def test_a_path_that_is_no_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()

    with pytest.raises(DatasetError, match="there is no file"):
        load(str(tmp_path / "gone.jsonl"))
    with pytest.raises(DatasetError, match="unknown kind of table"):
        load(str(tmp_path / "notes.txt"))
    with pytest.raises(UsageError, match="is a folder"):
        load(str(tmp_path))


def theirs(path: Path | None) -> Dataset:
    return Dataset("theirs", (Task("0", "bash", "q", "g", metadata={"path": path}),))


def plug_in(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    point = EntryPoint("theirs", value, registry.ENTRY_POINTS)

    def entry_points(**_: Any) -> list[EntryPoint]:
        return [point]

    monkeypatch.setattr(registry, "entry_points", entry_points)


def test_an_installed_package_can_offer_a_dataset(monkeypatch: pytest.MonkeyPatch) -> None:
    plug_in(monkeypatch, f"{__name__}:theirs")

    assert load("theirs", path=Path("x"))[0].metadata["path"] == Path("x")
    assert info("theirs").present


def test_a_package_that_does_not_work_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    plug_in(monkeypatch, "no_such_module_anywhere:load")
    with pytest.raises(UsageError, match="'theirs' of package no_such_module_anywhere"):
        load("theirs")

    plug_in(monkeypatch, "builtins:repr")
    with pytest.raises(DatasetError, match="gave str, not a Dataset"):
        load("theirs")
