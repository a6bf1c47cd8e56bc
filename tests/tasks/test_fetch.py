"""Fetching, against a real server on this machine that can be made to misbehave."""

from __future__ import annotations

import hashlib
import tarfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from intercode.errors import DatasetError, UsageError
from intercode.tasks import packages
from intercode.tasks.catalogue import SOURCES
from intercode.tasks.fetch import fetch
from intercode.tasks.packages import Tree, Upstream

BODY = bytes(range(256)) * 1024


@dataclass
class Home:
    """A public home. ``cuts``: after how many bytes each coming answer ends too early."""

    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    cuts: list[int] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    takes_ranges: bool = True
    asked: list[str | None] = field(default_factory=list)


@pytest.fixture
def home() -> Iterator[Home]:
    home = Home(files={"/repo/body": BODY})

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wanted = self.headers.get("Range")
            home.asked.append(wanted)
            body = home.files.get(self.path)
            if body is None or home.statuses:
                return self.send_error(home.statuses.pop(0) if home.statuses else 404)
            start = 0
            if wanted and home.takes_ranges:
                start = int(wanted.removeprefix("bytes=").removesuffix("-"))
                if start >= len(body):
                    return self.send_error(416)
                self.send_response(206)
                self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
            else:
                self.send_response(200)
            self.send_header("Content-Length", str(len(body) - start))
            self.end_headers()
            end = start + home.cuts.pop(0) if home.cuts else None
            self.wfile.write(body[start:end])
            return None

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    home.url = f"http://127.0.0.1:{server.server_address[1]}"
    yield home
    server.shutdown()
    server.server_close()
    thread.join()


Publish = Callable[..., None]


@pytest.fixture
def publish(monkeypatch: pytest.MonkeyPatch) -> Publish:
    """Offers one file as the dataset ``toy``."""

    def publish(sha256: str | None = hashlib.sha256(BODY).hexdigest(), **more: Any) -> None:
        file = Upstream("toy/body", "repo/body", sha256, **more)
        monkeypatch.setitem(packages.PACKAGES, "toy", [file])

    publish()
    return publish


@pytest.mark.usefixtures("publish")
def test_a_file_is_downloaded_and_its_progress_told(home: Home, tmp_path: Path) -> None:
    told: list[tuple[int, int | None]] = []

    files = fetch("toy", dest=tmp_path, base=home.url, progress=lambda *seen: told.append(seen))

    assert files == [tmp_path / "toy" / "body"]
    assert files[0].read_bytes() == BODY
    assert told[0] == (0, len(BODY))
    assert told[-1] == (len(BODY), len(BODY))
    assert [path.name for path in (tmp_path / "toy").iterdir()] == ["body"]


@pytest.mark.usefixtures("publish")
def test_what_is_there_is_not_fetched_again(home: Home, tmp_path: Path) -> None:
    fetch("toy", dest=tmp_path, base=home.url)
    fetch("toy", dest=tmp_path, base=home.url)

    assert len(home.asked) == 1


@pytest.mark.usefixtures("publish")
def test_a_damaged_file_is_fetched_again(home: Home, tmp_path: Path) -> None:
    fetch("toy", dest=tmp_path, base=home.url)
    (tmp_path / "toy" / "body").write_bytes(b"damaged")

    fetch("toy", dest=tmp_path, base=home.url)

    assert (tmp_path / "toy" / "body").read_bytes() == BODY


@pytest.mark.usefixtures("publish")
def test_a_cut_connection_is_taken_up_where_it_stopped(home: Home, tmp_path: Path) -> None:
    home.cuts = [1000, 500]

    (file,) = fetch("toy", dest=tmp_path, base=home.url)

    assert file.read_bytes() == BODY
    assert home.asked == [None, "bytes=1000-", "bytes=1500-"]


@pytest.mark.usefixtures("publish")
def test_a_later_run_goes_on_where_an_earlier_one_gave_up(home: Home, tmp_path: Path) -> None:
    home.cuts = [100] * 4
    with pytest.raises(DatasetError, match="could not be had: the connection was cut"):
        fetch("toy", dest=tmp_path, base=home.url)
    assert not (tmp_path / "toy" / "body").exists()

    (file,) = fetch("toy", dest=tmp_path, base=home.url)

    assert file.read_bytes() == BODY
    assert home.asked[-1] == "bytes=400-"


@pytest.mark.usefixtures("publish")
def test_a_server_without_ranges_is_read_from_the_start(home: Home, tmp_path: Path) -> None:
    home.takes_ranges = False
    home.cuts = [1000]

    (file,) = fetch("toy", dest=tmp_path, base=home.url)

    assert file.read_bytes() == BODY


@pytest.mark.usefixtures("publish")
def test_a_part_longer_than_the_file_is_thrown_away(home: Home, tmp_path: Path) -> None:
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "body.part").write_bytes(b"x" * (len(BODY) + 1))

    (file,) = fetch("toy", dest=tmp_path, base=home.url)

    assert file.read_bytes() == BODY


@pytest.mark.usefixtures("publish")
def test_a_server_in_trouble_is_asked_again(home: Home, tmp_path: Path) -> None:
    home.statuses = [503, 500]

    fetch("toy", dest=tmp_path, base=home.url)

    assert len(home.asked) == 3


def test_a_wrong_checksum_leaves_nothing_behind(
    home: Home, tmp_path: Path, publish: Publish
) -> None:
    publish(sha256="0" * 64)

    with pytest.raises(DatasetError, match=r"toy/body: .* not 0000[\s\S]*fetch it again"):
        fetch("toy", dest=tmp_path, base=home.url)

    assert list((tmp_path / "toy").iterdir()) == []


@pytest.mark.usefixtures("publish")
def test_a_missing_file_is_named_with_its_address(home: Home, tmp_path: Path) -> None:
    home.files.clear()

    with pytest.raises(DatasetError, match=r"/repo/body could not be had: .*404[\s\S]*--from"):
        fetch("toy", dest=tmp_path, base=home.url)

    assert len(home.asked) == 1


@pytest.mark.usefixtures("publish")
def test_no_network_is_an_error_with_a_way_out(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"could not be had: [\s\S]*--from FOLDER"):
        fetch("toy", dest=tmp_path, base="http://127.0.0.1:9")


@pytest.mark.usefixtures("publish")
def test_a_place_that_cannot_be_written_is_named(home: Home, tmp_path: Path) -> None:
    (tmp_path / "toy").write_text("in the way")

    with pytest.raises(DatasetError, match=r"toy: .*[\s\S]*XDG_DATA_HOME"):
        fetch("toy", dest=tmp_path, base=home.url)


@pytest.mark.usefixtures("publish")
@pytest.mark.parametrize("place", ["toy/body", "body"])
def test_files_are_copied_from_a_folder(tmp_path: Path, place: str) -> None:
    (tmp_path / "from" / place).parent.mkdir(parents=True)
    (tmp_path / "from" / place).write_bytes(BODY)

    (file,) = fetch("toy", source=tmp_path / "from", dest=tmp_path / "to")

    assert file == tmp_path / "to" / "toy" / "body"
    assert file.read_bytes() == BODY


@pytest.mark.usefixtures("publish")
def test_copying_a_folder_onto_itself_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "body").write_bytes(BODY)

    (file,) = fetch("toy", source=tmp_path, dest=tmp_path)

    assert file.read_bytes() == BODY


@pytest.mark.usefixtures("publish")
def test_a_copy_with_a_wrong_checksum_is_refused_and_kept_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "body").write_bytes(b"other")

    with pytest.raises(DatasetError, match="has the SHA-256"):
        fetch("toy", source=tmp_path, dest=tmp_path / "to")

    assert (tmp_path / "body").exists()
    assert not (tmp_path / "to").exists()


def test_an_archive_may_stand_in_for_a_script(tmp_path: Path, publish: Publish) -> None:
    publish(stand_in="toy/fs.tar")
    tarfile.open(tmp_path / "fs.tar", "w").close()

    (alone,) = fetch("toy", source=tmp_path, dest=tmp_path / "to")
    (tmp_path / "body").write_bytes(BODY)
    both = fetch("toy", source=tmp_path, dest=tmp_path / "to")

    assert alone == tmp_path / "to" / "toy" / "fs.tar"
    assert [path.name for path in both] == ["body", "fs.tar"]


def test_what_calls_itself_an_archive_is_looked_at(tmp_path: Path, publish: Publish) -> None:
    publish(stand_in="toy/fs.tar")
    (tmp_path / "fs.tar").write_text("no archive")

    with pytest.raises(DatasetError, match=r"fs\.tar is not a tar archive"):
        fetch("toy", source=tmp_path, dest=tmp_path / "to")


def test_another_name_may_stand_in_as_it_is(tmp_path: Path, publish: Publish) -> None:
    publish(stand_in="toy/tasks.json")
    (tmp_path / "tasks.json").write_text("[]")

    (file,) = fetch("toy", source=tmp_path, dest=tmp_path / "to")

    assert file == tmp_path / "to" / "toy" / "tasks.json"


def test_of_a_file_with_editions_a_copy_is_taken_as_it_is_and_a_download_checked(
    home: Home, tmp_path: Path, publish: Publish
) -> None:
    publish(sha256="0" * 64, editions=True)
    (tmp_path / "body").write_bytes(b"another edition")

    (file,) = fetch("toy", source=tmp_path, dest=tmp_path / "to")

    assert file.read_bytes() == b"another edition"
    with pytest.raises(DatasetError, match="not 0000"):
        fetch("toy", dest=tmp_path / "other", base=home.url)


@pytest.mark.usefixtures("publish")
@pytest.mark.parametrize("place", ["toy/dbs", "dbs", "toy/others"])
def test_what_comes_in_archives_only_is_copied_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    tree = Tree("toy/dbs", "*/*.sqlite", also=("toy/others",))
    monkeypatch.setitem(packages.TREES, "toy", [tree])
    (tmp_path / "from" / place / "a").mkdir(parents=True)
    (tmp_path / "from" / place / "a" / "a.sqlite").write_bytes(b"data")
    (tmp_path / "from" / place / "a" / "notes.txt").touch()
    (tmp_path / "from" / "body").write_bytes(BODY)

    files = fetch("toy", source=tmp_path / "from", dest=tmp_path / "to")

    kept = tmp_path / "to" / "toy"
    assert files == [kept / "body", kept / "dbs" / "a" / "a.sqlite"]
    assert files[1].read_bytes() == b"data"
    assert not (kept / "dbs" / "a" / "notes.txt").exists()


@pytest.mark.usefixtures("publish")
def test_what_is_not_there_of_archives_is_no_error(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(packages.TREES, "toy", [Tree("toy/dbs", "*/*.sqlite")])
    (tmp_path / "body").write_bytes(BODY)

    assert len(fetch("toy", source=tmp_path, dest=tmp_path / "to")) == 1
    assert len(fetch("toy", dest=tmp_path / "other", base=home.url)) == 1


@pytest.mark.usefixtures("publish")
def test_a_folder_without_the_file_or_no_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="there is no body below"):
        fetch("toy", source=tmp_path, dest=tmp_path / "to")
    with pytest.raises(DatasetError, match="is not a folder"):
        fetch("toy", source=tmp_path / "gone", dest=tmp_path / "to")


def test_an_unknown_dataset_is_refused_with_those_that_can_be_fetched(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nothing to fetch for 'bundled'[\s\S]*nl2bash, "):
        fetch("bundled", dest=tmp_path)


def test_every_dataset_that_has_a_name_can_be_fetched() -> None:
    for source in SOURCES.values():
        assert source.package in packages.PACKAGES
        assert packages.ALIASES.get(source.name, source.name) in packages.PACKAGES


def test_everything_in_a_repository_is_pinned_to_a_commit() -> None:
    for files in packages.PACKAGES.values():
        assert len({file.path for file in files}) == len(files)
        for file in files:
            assert file.sha256 is None or len(file.sha256) == 64
            if "://" not in file.address:
                _, _, commit, *_ = file.address.split("/")
                assert len(commit) == 40


def test_an_address_in_full_needs_no_public_home(
    home: Home, tmp_path: Path, publish: Publish, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = Upstream("toy/body", f"{home.url}/repo/body")
    monkeypatch.setitem(packages.PACKAGES, "toy", [file])

    (path,) = fetch("toy", dest=tmp_path, base="http://127.0.0.1:9/nowhere")
    assert path.read_bytes() == BODY
