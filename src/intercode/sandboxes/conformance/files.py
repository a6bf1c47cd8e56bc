"""Promises of reading and writing files, and of holding still."""

from __future__ import annotations

import io
import tarfile
import tempfile
import time
from functools import partial
from pathlib import Path

from intercode.sandboxes.base import Backend, Image, Limits
from intercode.sandboxes.conformance.tools import expect, fresh, prints, raises, same, soon

_DATA = bytes(range(256)) * 40
_SECRET = "this machine's own"
_ODD_NAME = "/tmp/odd 'name' ä\n*\\x"


def files_are_written_and_read(backend: Backend, image: Image, limits: Limits) -> None:
    with fresh(backend, image, limits) as sandbox:
        sandbox.write_file("/new/deep/file", _DATA, mode=0o640)
        same("content", sandbox.read_file("/new/deep/file"), _DATA)
        same("first bytes", sandbox.read_file("/new/deep/file", max_bytes=10), _DATA[:10])
        prints(sandbox.run("stat -c '%a %u %g %s' /new/deep/file; stat -c %a /new/deep"),
               b"640 0 0 10240\n755\n")  # fmt: skip
        sandbox.write_file("/new/deep/file", b"short")
        same("content after writing again", sandbox.read_file("/new/deep/file"), b"short")
        sandbox.write_file("/empty", b"")
        same("content of an empty file", sandbox.read_file("/empty"), b"")
        sandbox.run("echo from inside > /inside; chmod 0 /inside")
        same("content of a file from inside", sandbox.read_file("/inside"), b"from inside\n")


def odd_names_are_names(backend: Backend, image: Image, limits: Limits) -> None:
    with fresh(backend, image, limits) as sandbox:
        sandbox.write_file(_ODD_NAME, b"odd")
        same("content", sandbox.read_file(_ODD_NAME), b"odd")
        sandbox.run(r"printf raw > $'/tmp/\xff\xfe'")
        same("content", sandbox.read_file("/tmp/\udcff\udcfe"), b"raw")
        sandbox.write_file("/tmp/\udcfd/new", b"raw too")
        prints(sandbox.run(r"cat $'/tmp/\xfd/new'"), b"raw too")


def what_cannot_be_read_says_why(backend: Backend, image: Image, limits: Limits) -> None:
    with fresh(backend, image, limits) as sandbox:
        sandbox.run("mkfifo /fifo; ln -s /loop /loop; ln -s /nowhere /dangling; echo > /file")
        for path in ("/no/such/file", "/fifo", "/dangling", "/"):
            kind = IsADirectoryError if path == "/" else FileNotFoundError
            raises(kind, partial(sandbox.read_file, path))
        raises(IsADirectoryError, lambda: sandbox.read_file("/etc"))
        for path in ("/loop", "/file/below"):
            raises(OSError, partial(sandbox.read_file, path))
        raises(OSError, lambda: sandbox.write_file("/etc", b""))


def trees_are_unpacked(backend: Backend, image: Image, limits: Limits) -> None:
    tree = io.BytesIO()
    with tarfile.open(fileobj=tree, mode="w") as tar:
        folder = tarfile.TarInfo("folder")
        folder.type, folder.mode, folder.mtime = tarfile.DIRTYPE, 0o711, 1_000_000_000
        tar.addfile(folder)
        file = tarfile.TarInfo("folder/file")
        file.size, file.mode, file.uid, file.gid, file.mtime = 5, 0o604, 12, 34, 1_000_000_000
        tar.addfile(file, io.BytesIO(b"hello"))
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "folder/file"
        tar.addfile(link)
        name = tarfile.TarInfo("name")
        name.type, name.linkname = tarfile.LNKTYPE, "folder/file"
        tar.addfile(name)
        device = tarfile.TarInfo("device")
        device.type, device.devmajor, device.devminor = tarfile.CHRTYPE, 1, 5
        tar.addfile(device)
    with fresh(backend, image, limits) as sandbox:
        sandbox.put_tree(tree.getvalue(), "/not/there/yet")
        prints(
            sandbox.run(
                "stat -c '%a %Y' folder; stat -c '%a %h %s %Y' folder/file; readlink link; cat name"
                "; ls -A",
                cwd="/not/there/yet",
            ),
            b"711 1000000000\n604 2 5 1000000000\nfolder/file\nhellofolder\nlink\nname\n",
        )
        sandbox.put_tree(tree.getvalue())
        same("content", sandbox.read_file("/folder/file"), b"hello")


def links_are_followed_inside_only(backend: Backend, image: Image, limits: Limits) -> None:
    with tempfile.TemporaryDirectory() as folder:
        secret = Path(folder, "secret")
        secret.write_text(_SECRET)
        with fresh(backend, image, limits) as sandbox:
            sandbox.run(
                f"mkdir -p /real; echo inside > /real/file; ln -s /real /link; ln -s {secret} /out;"
                f"ln -s ../../../..{secret} /up; ln -s {folder} /outdir;"
                f"ln -s /proc/1/root{secret} /proc1; ln -s /proc/self/cwd /cwd"
            )
            same("content", sandbox.read_file("/link/file"), b"inside\n")
            sandbox.write_file("/link/written", b"x")
            prints(sandbox.run("ls -A /real"), b"file\nwritten\n")
            for path in ("/out", "/up", "/outdir/secret", f"/../../..{secret}", "/proc1"):
                raises(OSError, partial(sandbox.read_file, path))
            for path in ("/out", "/up", "/outdir/secret", "/outdir/new", "/proc1", "/cwd/new"):
                try:
                    sandbox.write_file(path, b"overwritten")
                except OSError:
                    continue
            same("the machine's own file", secret.read_text(), _SECRET)
            same("the machine's own folder", [p.name for p in Path(folder).iterdir()], ["secret"])
            expect(not Path("new").exists(), "a file was written where this process stands")


def nothing_moves_while_paused(backend: Backend, image: Image, limits: Limits) -> None:
    with fresh(backend, image, limits) as sandbox:
        sandbox.run("(while :; do echo >> /count; sleep 0.01; done) > /dev/null 2>&1 &")
        soon("it counts", lambda: sandbox.run("[[ -s /count ]]").exit_code == 0)
        with sandbox.paused():
            first = sandbox.read_file("/count")
            time.sleep(0.3)
            same("count while paused", sandbox.read_file("/count"), first)
        soon("it goes on", lambda: len(sandbox.read_file("/count")) > len(first))
        still = sandbox.process_count()
        expect(still >= 1, f"{still} processes are left of the one that counts")


PROMISES = (
    files_are_written_and_read,
    odd_names_are_names,
    what_cannot_be_read_says_why,
    trees_are_unpacked,
    links_are_followed_inside_only,
    nothing_moves_while_paused,
)
