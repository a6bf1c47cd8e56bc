"""Promises of `Sandbox.changes`."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from intercode.sandboxes.base import Backend, Change, Image, Layer, Limits, Sandbox
from intercode.sandboxes.conformance.tools import expect, fresh, prints, same

_FILES = (
    "mkdir -p /kit/dir/sub /kit/other; echo one > /kit/one; echo two > /kit/two;"
    "echo in > /kit/dir/in; echo deep > /kit/dir/sub/deep; ln -s one /kit/link;"
    "echo x > /kit/other/x; chmod 640 /kit/two;"
    "find /kit -exec touch -h -d '2001-02-03 04:05:06' {} +"
)


def with_kit(image: Image) -> Image:
    """The image, and below ``/kit`` some files that we know."""
    return replace(image, layers=(*image.layers, Layer(setup=(_FILES,))))


def told(sandbox: Sandbox) -> list[tuple[str, str, str]]:
    return [(change.path, change.kind, change.type) for change in sandbox.changes()]


def a_fresh_sandbox_has_no_changes(backend: Backend, image: Image, limits: Limits) -> None:
    for kind in (image, with_kit(image)):
        with fresh(backend, kind, limits) as sandbox:
            same("changes", told(sandbox), [])
            sandbox.shell().run("true")
            sandbox.run("cat /etc/passwd; ls -R /etc > /dev/null; echo > /dev/null")
            same("changes after reading", told(sandbox), [])


def each_change_is_told_with_its_facts(backend: Backend, image: Image, limits: Limits) -> None:
    with fresh(backend, with_kit(image), limits) as sandbox:
        prints(sandbox.run(
            "cd /kit; umask 022; printf new > new; chmod 604 new; echo more >> one; rm two;"
            "ln -s /somewhere/else newlink; ln -sfn two link; mkdir newdir; chmod 711 newdir;"
            "echo in > newdir/in; mkfifo pipe; chmod 700 dir; touch -d 2020-01-01 dir/in;"
            "chown 7:8 dir/sub/deep 2> /dev/null; true"
        ), b"")  # fmt: skip
        found = {change.path: change for change in sandbox.changes()}
        wanted = {
            "/kit/new": Change("/kit/new", "created", "file", 0o604, _digest(b"new"), size=3),
            "/kit/one": Change("/kit/one", "modified", "file", 0o644, _digest(b"one\nmore\n"),
                               size=9),
            "/kit/two": Change("/kit/two", "deleted", "file"),
            "/kit/newlink": Change("/kit/newlink", "created", "symlink", 0o777,
                                   target="/somewhere/else"),
            "/kit/link": Change("/kit/link", "modified", "symlink", 0o777, target="two"),
            "/kit/newdir": Change("/kit/newdir", "created", "dir", 0o711),
            "/kit/newdir/in": Change("/kit/newdir/in", "created", "file", 0o644, _digest(b"in\n"),
                                     size=3),
            "/kit/pipe": Change("/kit/pipe", "created", "fifo", 0o644),
            "/kit/dir": Change("/kit/dir", "modified", "dir", 0o700),
            "/kit/dir/in": Change("/kit/dir/in", "touched", "file", 0o644, _digest(b"in\n"),
                                  size=3),
        }  # fmt: skip
        owned = found.pop("/kit/dir/sub/deep", None)
        # An ordinary user's sandbox may have no other owner to give files to.
        if owned is not None:
            same("change of owner", (owned.kind, owned.uid, owned.gid), ("modified", 7, 8))
        same("changed paths", sorted(found), sorted(wanted))
        for path, change in wanted.items():
            same(f"change of {path}", replace(found[path], mtime_ns=0), change)
        same("time of a touched file", found["/kit/dir/in"].mtime_ns // 10**9, 1_577_836_800)
        expect(sandbox.changes() == sorted(sandbox.changes()), "changes are not sorted")


def what_was_undone_is_no_change(backend: Backend, image: Image, limits: Limits) -> None:
    with fresh(backend, with_kit(image), limits) as sandbox:
        sandbox.run(
            "cd /kit; echo > new; rm new; mkdir d; rmdir d; chmod 600 one; chmod 644 one;"
            "cp -p two saved; rm two; mv saved two; mv other o; mv o other"
        )
        same("changes", told(sandbox), [])


def directories_are_told_as_one_or_each(backend: Backend, image: Image, limits: Limits) -> None:
    with fresh(backend, with_kit(image), limits) as sandbox:
        sandbox.run("cd /kit; rm -r dir; mkdir -p a/b; echo > a/b/c; ln -s x a/l")
        same("changes", told(sandbox), [
            ("/kit/a", "created", "dir"),
            ("/kit/a/b", "created", "dir"),
            ("/kit/a/b/c", "created", "file"),
            ("/kit/a/l", "created", "symlink"),
            ("/kit/dir", "deleted", "dir"),
        ])  # fmt: skip


def other_types_in_old_places_are_told(backend: Backend, image: Image, limits: Limits) -> None:
    with fresh(backend, with_kit(image), limits) as sandbox:
        sandbox.run(
            "cd /kit; rm -r dir; echo > dir; rm one; mkdir one; echo > one/in; rm -r other;"
            "ln -s /etc other"
        )
        same("changes", told(sandbox), [
            ("/kit/dir", "modified", "file"),
            ("/kit/one", "modified", "dir"),
            ("/kit/one/in", "created", "file"),
            ("/kit/other", "modified", "symlink"),
        ])  # fmt: skip


def a_directory_made_anew_is_compared(backend: Backend, image: Image, limits: Limits) -> None:
    with fresh(backend, with_kit(image), limits) as sandbox:
        sandbox.run(
            "cd /kit; rm -r dir; mkdir dir; echo > dir/new; echo in > dir/in;"
            "touch -d '2001-02-03 04:05:06' dir/in; mv other moved; mkdir other"
        )
        same("changes", told(sandbox), [
            ("/kit/dir/new", "created", "file"),
            ("/kit/dir/sub", "deleted", "dir"),
            ("/kit/moved", "created", "dir"),
            ("/kit/moved/x", "created", "file"),
            ("/kit/other/x", "deleted", "file"),
        ])  # fmt: skip


def odd_names_and_hard_links_are_told(backend: Backend, image: Image, limits: Limits) -> None:
    names = [
        "a b",
        "new\nline",
        "ä",
        "raw\udcff",
        "-rf",
        "'\"",
        "back\\slash",
        "*",
        "\u202e",
        "n" * 255,
    ]
    with fresh(backend, with_kit(image), limits) as sandbox:
        sandbox.run("mkdir /odd")
        for name in names:
            sandbox.run(["/bin/bash", "-c", 'printf %s "$1" > "/odd/$1"', "bash", name])
        sandbox.run("printf same > /odd/first; ln /odd/first /odd/second; ln /kit/one /kit/uno")
        found = {change.path: change for change in sandbox.changes()}
        same("changed paths", sorted(found), sorted(
            ["/odd", "/kit/uno", *(f"/odd/{name}" for name in [*names, "first", "second"])]
        ))  # fmt: skip
        for name in names:
            same(f"digest of {name!r}", found[f"/odd/{name}"].digest,
                 _digest(name.encode("utf-8", "surrogateescape")))  # fmt: skip
        for name in ("first", "second"):
            same(f"digest of {name}", found[f"/odd/{name}"].digest, _digest(b"same"))
        same("digest of a hard link", found["/kit/uno"].digest, _digest(b"one\n"))


def many_changes_are_told(backend: Backend, image: Image, limits: Limits) -> None:
    made = ("mkdir /kit/many; for i in {1..300}; do echo $i > /kit/many/$i; done", "sleep 0.01")
    kit = with_kit(image)
    with fresh(backend, replace(kit, layers=(*kit.layers, Layer(setup=made))), limits) as sandbox:
        sandbox.run("cd /kit/many; for i in {1..200}; do echo x >> $i; done; rm {201..250}")
        wanted = [(f"/kit/many/{i}", "modified", "file") for i in range(1, 201)]
        wanted += [(f"/kit/many/{i}", "deleted", "file") for i in range(201, 251)]
        same("changes", told(sandbox), sorted(wanted))


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


PROMISES = (
    a_fresh_sandbox_has_no_changes,
    each_change_is_told_with_its_facts,
    what_was_undone_is_no_change,
    directories_are_told_as_one_or_each,
    other_types_in_old_places_are_told,
    a_directory_made_anew_is_compared,
    odd_names_and_hard_links_are_told,
    many_changes_are_told,
)
