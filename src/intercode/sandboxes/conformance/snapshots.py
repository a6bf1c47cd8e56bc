"""Promises of `SupportsSnapshots`. A sandbox that is none makes no promise here."""

from __future__ import annotations

from typing import cast

from intercode.errors import SandboxError
from intercode.sandboxes.base import Backend, Image, Limits, Sandbox, Snapshot, SupportsSnapshots
from intercode.sandboxes.conformance.changes import told, with_kit
from intercode.sandboxes.conformance.tools import expect, fresh, prints, raises, same

_BEGIN = (
    "cd /kit; here=remembered; f() { echo f; }; echo changed > one; rm -r dir; mkdir new;"
    "echo > new/in; sleep 60 & true"
)
_ASK = "pwd; echo $here; f; cat one; ls -A"
_ANSWER = b"/kit\nremembered\nf\nchanged\nlink\nnew\none\nother\ntwo\n"


def a_restored_sandbox_is_as_it_was(backend: Backend, image: Image, limits: Limits) -> None:
    with fresh(backend, with_kit(image), limits) as sandbox:
        if not isinstance(sandbox, SupportsSnapshots):
            return
        prints(sandbox.shell().run(_BEGIN), b"")
        snapshot = sandbox.snapshot()
        before = told(sandbox)
        prints(sandbox.shell().run(_ASK), _ANSWER)
        for _ in range(2):
            sandbox.shell().run("cd /; here=lost; f() { echo lost; }; rm -rf /kit; echo > /later")
            sandbox.restore(snapshot)
            same("processes after restoring", sandbox.process_count(), 0)
            same("changes after restoring", told(sandbox), before)
            prints(sandbox.shell().run(_ASK), _ANSWER)
        prints(sandbox.run("echo alive"), b"alive\n")


def a_snapshot_starts_new_sandboxes(backend: Backend, image: Image, limits: Limits) -> None:
    with fresh(backend, with_kit(image), limits) as sandbox:
        if not isinstance(sandbox, SupportsSnapshots):
            return
        sandbox.shell().run(_BEGIN)
        snapshot = sandbox.snapshot()
        before = told(sandbox)
        sandbox.shell().run("rm -rf /kit")
    with fresh(backend, with_kit(image), limits, snapshot=snapshot) as other:
        prints(other.shell().run(_ASK), _ANSWER)
        same("changes", told(other), before)
    unknown = Snapshot("no-such-snapshot", backend.name, image)
    raises(SandboxError, lambda: backend.start(image, limits, snapshot=unknown))


def forks_go_on_from_here_and_apart(backend: Backend, image: Image, limits: Limits) -> None:
    with fresh(backend, with_kit(image), limits) as sandbox:
        if not isinstance(sandbox, SupportsSnapshots):
            return
        sandbox.shell().run(_BEGIN)
        before = told(sandbox)
        forks = cast(list[Sandbox], sandbox.fork(2))
        try:
            same("forks", len(forks), 2)
            expect(len({fork.id for fork in (sandbox, *forks)}) == 3, "two have the same id")
            for fork in forks:
                same("processes of a fork", fork.process_count(), 0)
                same("changes of a fork", told(fork), before)
                prints(fork.shell().run(_ASK), _ANSWER)
            same("processes of the first", sandbox.process_count(), 1)
            for number, fork in enumerate((sandbox, *forks)):
                fork.shell().run(f"here={number}; echo {number} > one; echo > /only{number}")
            for number, fork in enumerate((sandbox, *forks)):
                wanted = f"{number}\n{number}\n/only{number}\n".encode()
                prints(fork.shell().run("echo $here; cat one; echo /only*"), wanted)
        finally:
            for fork in forks:
                fork.close()
        prints(sandbox.shell().run("echo $here"), b"0\n")


def branches_of_branches_know_the_image(backend: Backend, image: Image, limits: Limits) -> None:
    with fresh(backend, with_kit(image), limits) as sandbox:
        if not isinstance(sandbox, SupportsSnapshots):
            return
        for number in range(4):
            sandbox.run(f"echo {number} > /step{number}; rm -f /step{number - 2}")
            sandbox.restore(sandbox.snapshot())
        sandbox.run("rm -r /kit/dir; mkdir /kit/dir; echo one > /kit/one")
        sandbox.restore(sandbox.snapshot())
        sandbox.run("touch -d '2001-02-03 04:05:06' /kit/one")
        same("changes", told(sandbox), [
            ("/kit/dir/in", "deleted", "file"),
            ("/kit/dir/sub", "deleted", "dir"),
            ("/step2", "created", "file"),
            ("/step3", "created", "file"),
        ])  # fmt: skip


PROMISES = (
    a_restored_sandbox_is_as_it_was,
    a_snapshot_starts_new_sandboxes,
    forks_go_on_from_here_and_apart,
    branches_of_branches_know_the_image,
)
