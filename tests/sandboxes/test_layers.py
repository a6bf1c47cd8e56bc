"""What a sandbox changed, read from its overlay's upper directory: as a full walk would tell it."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from intercode.errors import SandboxError
from intercode.sandboxes import linux
from intercode.sandboxes.base import Change
from intercode.sandboxes.layers import IdMap, LayerStack, scan
from intercode.sandboxes.trees import copy_upper, tree_bytes

OWN_NAMESPACE = Path("/proc/self/uid_map").read_text().split() != ["0", "0", "4294967295"]
USERXATTR = ",userxattr" if OWN_NAMESPACE else ""
SAME = IdMap(0)
OVERLAY_KINDS = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "dir",
    stat.S_IFLNK: "symlink",
    stat.S_IFIFO: "fifo",
    stat.S_IFSOCK: "socket",
}

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to mount overlays")


def umount(path: Path) -> None:
    ctypes.CDLL(None).umount2(os.fsencode(path), ctypes.c_int(2))  # MNT_DETACH


class Ground:
    """A file system in memory to make layers in, and overlays of them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._count = 0

    def folder(self) -> Path:
        self._count += 1
        made = self.path / str(self._count)
        made.mkdir()
        made.chmod(0o755)
        return made

    @contextmanager
    def overlay(self, lowers: list[Path], upper: Path) -> Iterator[Path]:
        work, merged = self.folder(), self.folder()
        linux.mount(
            "overlay",
            str(merged),
            "overlay",
            0,
            f"lowerdir={':'.join(map(str, lowers))},upperdir={upper},workdir={work}"
            f",redirect_dir=nofollow,metacopy=off,index=off{USERXATTR}",
        )
        try:
            yield merged
        finally:
            umount(merged)


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    place = tmp_path / "ground"
    place.mkdir()
    linux.mount("tmpfs", str(place), "tmpfs", 0, "size=64m,mode=755")
    try:
        yield Ground(place)
    finally:
        umount(place)


# -- the reference: walk everything, before and after ----------------------------------------------

Facts = tuple[str, int, int, int, int, int, str]  # type mode uid gid size mtime content


def walked(top: Path) -> dict[str, Facts]:
    found = {}
    for folder, folders, files in os.walk(top):
        for name in folders + files:
            path = Path(folder, name)
            status = path.lstat()
            kind = OVERLAY_KINDS.get(stat.S_IFMT(status.st_mode), "device")
            content = ""
            if kind == "file":
                content = hashlib.sha256(path.read_bytes()).hexdigest()
            elif kind == "symlink":
                content = str(path.readlink())
            found["/" + str(path.relative_to(top))] = (
                kind,
                stat.S_IMODE(status.st_mode),
                status.st_uid,
                status.st_gid,
                status.st_size if kind == "file" else 0,
                status.st_mtime_ns,
                content,
            )
    return found


def compared(before: dict[str, Facts], after: dict[str, Facts]) -> list[Change]:
    changes = []
    for path, (kind, mode, uid, gid, size, mtime, content) in after.items():
        old = before.get(path)
        if old is None:
            what = "created"
        elif (old[:5], old[6]) != ((kind, mode, uid, gid, size), content):
            what = "modified"
        elif kind != "dir" and old[5] != mtime:
            what = "touched"
        else:
            continue
        digest = content if kind == "file" else ""
        target = content if kind == "symlink" else ""
        changes.append(Change(path, what, kind, mode, digest, target, uid, gid, size, mtime))  # type: ignore[arg-type]
    for path, facts in before.items():
        parent = path.rpartition("/")[0]
        if path not in after and (not parent or after.get(parent, ("",))[0] == "dir"):
            changes.append(Change(path, "deleted", facts[0]))  # type: ignore[arg-type]
    return sorted(changes)


# -- random work -----------------------------------------------------------------------------------

names = st.sampled_from(["a", "a", "a", "b", "b", "ü é", "new\nline", " sp ", "\udcff"])
paths = st.lists(names, min_size=1, max_size=3).map("/".join)
contents = st.sampled_from([b"", b"one", b"two", b"x" * 5000])
operations = st.one_of(
    st.tuples(st.just("write"), paths, contents),
    st.tuples(st.just("mkdir"), paths),
    st.tuples(st.just("delete"), paths),
    st.tuples(st.just("remake"), paths),
    st.tuples(st.just("hollow"), paths),
    st.tuples(st.just("rename"), paths, paths),
    st.tuples(st.just("chmod"), paths, st.sampled_from([0o600, 0o644, 0o755, 0o1777])),
    st.tuples(st.just("chown"), paths, st.sampled_from([0, 7])),
    st.tuples(st.just("symlink"), paths, st.sampled_from(["a", "/nowhere", "../b", " sp "])),
    st.tuples(st.just("link"), paths, paths),
    st.tuples(st.just("fifo"), paths),
    st.tuples(st.just("utime"), paths, st.sampled_from([1, 10**18 + 1])),
)
stages = st.lists(st.lists(operations, max_size=12), min_size=2, max_size=4)


def straight(top: Path, path: str) -> bool:
    """Whether the way there leads through no link: work must stay inside ``top``."""
    return not any((top / path).parents[i].is_symlink() for i in range(path.count("/")))


def perform(top: Path, operation: tuple[object, ...]) -> None:
    what, path, *rest = operation
    at = top / str(path)
    if not straight(top, str(path)):
        return
    with suppress(OSError):
        match what, *rest:
            case "write", bytes(content):
                if not at.is_fifo() and not at.is_symlink():  # a fifo would wait for a reader
                    at.write_bytes(content)
            case ("mkdir",):
                at.mkdir(parents=True)
            case ("delete",):
                shutil.rmtree(at) if at.is_dir() and not at.is_symlink() else at.unlink()
            case ("remake",):
                perform(top, ("delete", path))
                at.mkdir()
            case ("hollow",):  # the same directories once more, all empty
                folders = [folder for folder, _, _ in os.walk(at)]
                perform(top, ("delete", path))
                for folder in folders:
                    Path(folder).mkdir()
            case "rename", str(target):
                if straight(top, target):
                    at.rename(top / target)
            case "chmod", int(mode):
                if not at.is_symlink():
                    at.chmod(mode)
            case "chown", int(owner):
                os.chown(at, owner, owner, follow_symlinks=False)
            case "symlink", str(target):
                at.symlink_to(target)
            case "link", str(target):
                if straight(top, target):
                    os.link(at, top / target, follow_symlinks=False)
            case ("fifo",):
                os.mkfifo(at)
            case "utime", int(when):
                os.utime(at, ns=(when, when), follow_symlinks=False)
            case _:
                raise AssertionError(operation)


Layers = list[tuple[list[Path], Path, dict[str, Facts], dict[str, Facts]]]


def layered(ground: Ground, work: list[list[tuple[object, ...]]]) -> Layers:
    """Each stage's work on top of those before: its lowers, its upper, the views before, after."""
    bottom = ground.folder()
    for operation in work[0]:
        perform(bottom, operation)
    lowers, history = [bottom], []
    for operations_ in work[1:]:
        upper = ground.folder()
        with ground.overlay(lowers, upper) as merged:
            before = walked(merged)
            for operation in operations_:
                perform(merged, operation)
            after = walked(merged)
        history.append((lowers, upper, before, after))
        lowers = [upper, *lowers]
    return history


lively = settings(
    max_examples=150,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@lively
@given(work=stages)
def test_random_changes_are_those_a_full_walk_finds(
    ground: Ground, work: list[list[tuple[object, ...]]]
) -> None:
    for lowers, upper, before, after in layered(ground, work):
        assert scan(upper, lowers, ids=SAME) == compared(before, after)


@lively
@given(work=stages)
def test_random_copies_mount_as_the_same_tree(
    ground: Ground, work: list[list[tuple[object, ...]]]
) -> None:
    for lowers, upper, _, after in layered(ground, work):
        copy = ground.folder()
        copy_upper(upper, copy)
        with ground.overlay(lowers, copy) as merged:
            assert walked(merged) == after
        assert scan(copy, lowers, ids=SAME) == scan(upper, lowers, ids=SAME)


@lively
@given(work=stages)
def test_random_stacks_are_walked_as_they_would_be_mounted(
    ground: Ground, work: list[list[tuple[object, ...]]]
) -> None:
    for lowers, upper, _, after in layered(ground, work):
        with LayerStack([upper, *lowers]) as stack:
            seen = {entry.path: (entry.type, entry.content) for entry in stack.walk()}
            assert seen == {path: (facts[0], facts[6]) for path, facts in after.items()}
            for path, kind_and_content in seen.items():
                entry = stack.lookup(path)
                assert entry
                assert (entry.type, entry.content) == kind_and_content


@pytest.mark.skipif(OWN_NAMESPACE, reason="this is already the run inside")
def test_the_same_holds_for_an_ordinary_users_overlays(tmp_path: Path) -> None:
    unshare = ["unshare", "-Urm"]
    script = "mount -t tmpfs t /tmp && mkdir /tmp/l /tmp/u /tmp/w && mount -t overlay o -o "
    script += "lowerdir=/tmp/l,upperdir=/tmp/u,workdir=/tmp/w,userxattr /tmp/l"
    try:
        subprocess.run([*unshare, "sh", "-c", script], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no overlays in user namespaces here: {error}")
    pytest_ = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__]
    picked = ["-k", "random or opaque or attribute", "--basetemp", str(tmp_path / "inside")]
    done = subprocess.run(
        [*unshare, *pytest_, *picked], capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stdout[-4000:]
    assert "passed" in done.stdout
    assert "skipped" not in done.stdout


# -- one promise at a time -------------------------------------------------------------------------


@contextmanager
def sandbox(ground: Ground, *lowers: Path) -> Iterator[tuple[Path, Path]]:
    upper = ground.folder()
    with ground.overlay(list(lowers), upper) as merged:
        yield merged, upper


@pytest.fixture
def image(ground: Ground) -> Path:
    lower = ground.folder()
    (lower / "etc" / "deep").mkdir(parents=True)
    (lower / "etc" / "conf").write_text("conf")
    (lower / "etc" / "deep" / "file").write_text("deep")
    (lower / "file").write_text("file")
    (lower / "link").symlink_to("etc")
    return lower


def told(upper: Path, *lowers: Path) -> list[tuple[str, str, str]]:
    return [(c.path, c.kind, c.type) for c in scan(upper, lowers, ids=SAME)]


def test_a_deleted_directory_is_one_change(ground: Ground, image: Path) -> None:
    with sandbox(ground, image) as (merged, upper):
        shutil.rmtree(merged / "etc")
        assert told(upper, image) == [("/etc", "deleted", "dir")]


def test_a_created_directory_is_a_change_and_so_is_each_entry(ground: Ground, image: Path) -> None:
    with sandbox(ground, image) as (merged, upper):
        (merged / "new" / "sub").mkdir(parents=True)
        (merged / "new" / "f").write_text("12")
        assert told(upper, image) == [
            ("/new", "created", "dir"),
            ("/new/f", "created", "file"),
            ("/new/sub", "created", "dir"),
        ]


def test_an_opaque_directory_reports_what_it_hides(ground: Ground, image: Path) -> None:
    with sandbox(ground, image) as (merged, upper):
        shutil.rmtree(merged / "etc")
        (merged / "etc").mkdir()
        (merged / "etc" / "conf").write_text("other")
        assert told(upper, image) == [
            ("/etc/conf", "modified", "file"),
            ("/etc/deep", "deleted", "dir"),
        ]


def test_opaqueness_reaches_into_directories_made_again_below(ground: Ground, image: Path) -> None:
    with sandbox(ground, image) as (merged, upper):
        shutil.rmtree(merged / "etc")
        (merged / "etc" / "deep").mkdir(parents=True)
        assert told(upper, image) == [
            ("/etc/conf", "deleted", "file"),
            ("/etc/deep/file", "deleted", "file"),
        ]


def test_a_directory_and_a_file_may_take_each_others_place(ground: Ground, image: Path) -> None:
    with sandbox(ground, image) as (merged, upper):
        shutil.rmtree(merged / "etc")
        (merged / "etc").write_text("now a file")
        (merged / "file").unlink()
        (merged / "file").mkdir()
        (merged / "file" / "in").touch()
        assert told(upper, image) == [
            ("/etc", "modified", "file"),
            ("/file", "modified", "dir"),
            ("/file/in", "created", "file"),
        ]


def test_the_same_file_made_again_is_only_touched(ground: Ground, image: Path) -> None:
    with sandbox(ground, image) as (merged, upper):
        (merged / "file").unlink()
        (merged / "file").write_text("file")
        assert told(upper, image) == [("/file", "touched", "file")]


def test_what_is_put_back_exactly_is_no_change(ground: Ground, image: Path) -> None:
    with sandbox(ground, image) as (merged, upper):
        when = (merged / "file").stat().st_mtime_ns
        (merged / "file").unlink()
        (merged / "file").write_text("file")
        os.utime(merged / "file", ns=(when, when))
        (merged / "etc" / "conf").chmod(0o600)
        (merged / "etc" / "conf").chmod(0o644)
        (merged / "etc" / "x").touch()
        (merged / "etc" / "x").unlink()
        assert told(upper, image) == []


@pytest.mark.skipif(OWN_NAMESPACE, reason="needs more than one user")
def test_owner_and_mode_are_told_as_the_sandbox_sees_them(ground: Ground, image: Path) -> None:
    with sandbox(ground, image) as (merged, upper):
        os.chown(merged / "file", 100_005, 100_006)
        os.chown(merged / "etc" / "conf", 99_999, 100_000 + 65536)
        (merged / "etc").chmod(0o700)
        assert [
            (c.path, c.kind, c.uid, c.gid, c.mode, c.size)
            for c in scan(upper, [image], ids=IdMap(100_000))
        ] == [
            ("/etc", "modified", 65534, 65534, 0o700, 0),
            ("/file", "modified", 5, 6, 0o644, 4),
        ]  # /etc/conf was nobody's and still is


def test_a_descriptor_serves_as_well_as_a_path(ground: Ground, image: Path) -> None:
    with sandbox(ground, image) as (merged, upper):
        (merged / "file").write_text("other")
        fd = os.open(upper, os.O_RDONLY | os.O_DIRECTORY)
        try:
            assert scan(fd, [image], ids=SAME) == scan(upper, [image], ids=SAME) != []
            copy_upper(fd, ground.path / "copy")
            assert tree_bytes(fd) == tree_bytes(ground.path / "copy") > 0
        finally:
            os.close(fd)


def test_only_the_directories_of_upper_are_looked_into(
    ground: Ground, image: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with sandbox(ground, image) as (merged, upper):
        (merged / "etc" / "conf").write_text("other")
        listed: list[int] = []
        real = os.listdir

        def listing(fd: int) -> list[str]:
            listed.append(os.fstat(fd).st_ino)
            return real(fd)

        monkeypatch.setattr(os, "listdir", listing)
        scan(upper, [image], ids=SAME)
    assert sorted(listed) == sorted(p.stat().st_ino for p in (upper, upper / "etc"))


def test_lookup_does_not_follow_links_nor_go_up(ground: Ground, image: Path) -> None:
    with LayerStack([image]) as stack:
        found = stack.lookup("/etc//conf")
        assert found
        assert found.content == hashlib.sha256(b"conf").hexdigest()
        link = stack.lookup("link")
        assert link
        assert (link.type, link.content) == ("symlink", "etc")
        for path in ("/link/conf", "/etc/../file", "/file/x", "/none", "/..", "/etc/none/x"):
            assert stack.lookup(path) is None


def test_attribute_whiteouts_are_marks_too(ground: Ground, image: Path) -> None:
    middle = ground.folder()
    (middle / "file").touch()
    os.setxattr(middle / "file", LayerStack([]).marks + "whiteout", b"")
    with LayerStack([middle, image]) as stack:
        assert stack.lookup("/file") is None
    assert told(middle, image) == [("/file", "deleted", "file")]


def test_whiteouts_of_lower_layers_hide_what_is_below(ground: Ground, image: Path) -> None:
    with sandbox(ground, image) as (merged, middle):
        (merged / "file").unlink()
        shutil.rmtree(merged / "etc")
        (merged / "etc").mkdir()
    with sandbox(ground, middle, image) as (merged, upper):
        (merged / "file").write_text("file")
        (merged / "etc" / "conf").write_text("conf")
        assert told(upper, middle, image) == [
            ("/etc/conf", "created", "file"),
            ("/file", "created", "file"),
        ]


def test_a_file_ends_the_merging_of_directories(ground: Ground, image: Path) -> None:
    top, middle = ground.folder(), ground.folder()
    (top / "etc").mkdir()
    (middle / "etc").write_text("a file")
    with LayerStack([top, middle, image]) as stack:
        assert [entry.path for entry in stack.walk("/etc")] == []


# -- against an adversary --------------------------------------------------------------------------


@pytest.mark.skipif(OWN_NAMESPACE, reason="there the kernel guards the marks itself")
def test_marks_that_anyone_may_set_are_not_believed(ground: Ground, image: Path) -> None:
    with sandbox(ground, image) as (merged, upper):
        (merged / "etc" / "new").touch()
        os.setxattr(merged / "etc" / "new", "user.overlay.whiteout", b"")
        os.setxattr(merged / "etc", "user.overlay.opaque", b"y")
        assert told(upper, image) == [("/etc/new", "created", "file")]
        assert told(upper, image) != [
            (c.path, c.kind, c.type) for c in scan(upper, [image], ids=SAME, userxattr=True)
        ]


def test_links_in_the_tree_lead_nowhere(ground: Ground, image: Path) -> None:
    with sandbox(ground, image) as (merged, upper):
        shutil.rmtree(merged / "etc")
        (merged / "etc").symlink_to("/etc")
        (merged / "up").symlink_to("../../..")
        assert told(upper, image) == [
            ("/etc", "modified", "symlink"),
            ("/up", "created", "symlink"),
        ]
        copy_upper(upper, ground.path / "copy")
        assert (ground.path / "copy" / "etc").readlink() == Path("/etc")


def test_a_fifo_does_not_hold_us(ground: Ground, image: Path) -> None:
    with sandbox(ground, image) as (merged, upper):
        (merged / "file").unlink()
        os.mkfifo(merged / "file")
        assert told(upper, image) == [("/file", "modified", "fifo")]


def test_directories_beyond_any_path_are_left_out_at_little_cost(ground: Ground) -> None:
    with sandbox(ground, ground.folder()) as (merged, upper):
        here = os.open(merged, os.O_RDONLY | os.O_DIRECTORY)
        for _ in range(5000):
            os.mkdir("d", dir_fd=here)
            deeper = os.open("d", os.O_RDONLY | os.O_DIRECTORY, dir_fd=here)
            os.close(here)
            here = deeper
        os.close(here)
        changes = scan(upper, [], ids=SAME)
        assert max(len(change.path) for change in changes) in (4094, 4095)
        copy_upper(upper, ground.path / "copy")
        assert scan(ground.path / "copy", [], ids=SAME) == changes
        assert tree_bytes(upper) >= 0
        # Nothing below can be named, so rm -r of the test's folder needs the mount gone: it goes.


def test_a_file_of_holes_costs_what_is_in_it(ground: Ground) -> None:
    def made(path: Path, data: bytes) -> None:
        with path.open("wb") as file:
            file.truncate(1 << 50)
            file.seek((1 << 49) + 5000)
            file.write(data)

    lower = ground.folder()
    made(lower / "same", b"data")
    made(lower / "other", b"data")
    upper = ground.folder()
    made(upper / "same", b"data")
    made(upper / "other", b"atad")
    assert [(c.path, c.kind) for c in scan(upper, [lower], ids=SAME)] == [
        ("/other", "modified"),
        ("/same", "touched"),
    ]
    copy_upper(upper, ground.path / "copy")
    assert tree_bytes(ground.path / "copy") == tree_bytes(upper) < 1 << 20
    assert all(
        c.kind == "touched" for c in scan(ground.path / "copy", [upper], ids=SAME)
    )  # no more than touched, that is


def test_no_descriptor_is_left_open_even_after_a_failure(ground: Ground, image: Path) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    with sandbox(ground, image) as (merged, upper):
        (merged / "etc" / "deep" / "file").write_text("x")
        scan(upper, [image], ids=SAME)
        copy_upper(upper, ground.path / "copy")
        with pytest.raises(SandboxError, match="missing"):
            scan(upper, [image, ground.path / "missing"], ids=SAME)
        with pytest.raises(SandboxError, match="cannot be copied"):
            copy_upper(upper, ground.path / "copy")  # is not empty
    assert len(list(Path("/proc/self/fd").iterdir())) == before


# -- copies ----------------------------------------------------------------------------------------


def test_a_copy_keeps_links_times_attributes_and_holes(ground: Ground) -> None:
    upper, copy = ground.folder(), ground.path / "copy"
    (upper / "d").mkdir(mode=0o1777)
    (upper / "d" / "one").write_bytes(b"1" * 3_000_000)
    os.link(upper / "d" / "one", upper / "two")
    (upper / "soft").symlink_to("nowhere")
    os.link(upper / "soft", upper / "soft2", follow_symlinks=False)
    os.setxattr(upper / "two", "user.note", b"kept")
    (upper / "two").chmod(0o4751)
    (upper / "holes").touch()
    os.truncate(upper / "holes", 40_000_000)
    os.mknod(upper / "gone", stat.S_IFCHR, 0)
    os.utime(upper / "two", ns=(5, 1_234_567_891))
    os.utime(upper / "soft", ns=(5, 77), follow_symlinks=False)
    os.utime(upper / "d", ns=(5, 99))
    os.mknod(upper / "sock", stat.S_IFSOCK | 0o700)
    os.utime(upper, ns=(5, 100))

    copy_upper(upper, copy)

    assert {p.name for p in copy.iterdir()} == {"d", "two", "soft", "soft2", "holes", "gone"}
    assert (copy / "two").samefile(copy / "d" / "one")
    assert (copy / "soft").lstat().st_ino == (copy / "soft2").lstat().st_ino
    assert os.getxattr(copy / "d" / "one", "user.note") == b"kept"
    assert (copy / "holes").stat().st_blocks == 0
    assert tree_bytes(copy) == tree_bytes(upper)
    for path in (".", "d", "two", "soft", "holes", "gone"):
        old, new = (upper / path).lstat(), (copy / path).lstat()
        assert (old.st_mode, old.st_uid, old.st_gid, old.st_rdev, old.st_mtime_ns) == (
            new.st_mode,
            new.st_uid,
            new.st_gid,
            new.st_rdev,
            new.st_mtime_ns,
        ), path


def test_a_copy_that_does_not_fit_is_an_error_that_says_so(ground: Ground, tmp_path: Path) -> None:
    upper, small = ground.folder(), tmp_path / "small"
    (upper / "big").write_bytes(os.urandom(1 << 20))
    small.mkdir()
    linux.mount("tmpfs", str(small), "tmpfs", 0, "size=64k")
    try:
        with pytest.raises(SandboxError, match="No space left"):
            copy_upper(upper, small)
    finally:
        umount(small)


def test_a_file_with_two_names_counts_once(ground: Ground) -> None:
    top = ground.folder()
    (top / "one").write_bytes(b"x" * 100_000)
    alone = tree_bytes(top)
    os.link(top / "one", top / "two")
    assert tree_bytes(top) == alone >= 100_000
