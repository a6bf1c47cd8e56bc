"""Promises of how sandboxes and images come, go, and are refused."""

from __future__ import annotations

import dataclasses
import io
import tarfile
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from intercode.errors import ImageError, SandboxError, UsageError
from intercode.sandboxes.base import Backend, Image, Layer, Limits, SupportsSnapshots
from intercode.sandboxes.conformance.tools import expect, fresh, prints, raises, same


def the_doctor_finds_it_well(backend: Backend, image: Image, limits: Limits) -> None:
    checks = backend.check()
    expect(checks, "there is nothing to check")
    for check in checks:
        expect(check.ok, f"{check.name}: {check.detail}")


def closing_twice_is_closing(backend: Backend, image: Image, limits: Limits) -> None:
    sandbox = backend.start(image, limits)
    shell = sandbox.shell()
    shell.run("true")
    sandbox.close()
    sandbox.close()
    for action in (
        lambda: sandbox.id,
        lambda: sandbox.run("true"),
        lambda: sandbox.query("true"),
        sandbox.shell,
        lambda: shell.run("true"),
        lambda: sandbox.read_file("/etc/passwd"),
        lambda: sandbox.write_file("/x", b""),
        lambda: sandbox.put_tree(b""),
        sandbox.changes,
        sandbox.process_count,
    ):
        raises(SandboxError, action)
    if isinstance(sandbox, SupportsSnapshots):
        raises(SandboxError, sandbox.snapshot)
        raises(SandboxError, sandbox.fork)


def limits_have_to_be_above_nothing(backend: Backend, image: Image, limits: Limits) -> None:
    for field in dataclasses.fields(Limits):
        if field.name == "network":
            continue
        for bad in (0, -1):
            raises(UsageError, partial(_limits, field.name, bad))


def _limits(name: str, value: Any) -> Limits:
    return Limits(**{name: value})


def a_layer_is_its_files_then_its_setup(backend: Backend, image: Image, limits: Limits) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "layer.tar")
        with tarfile.open(path, "w") as tar:
            entry = tarfile.TarInfo("layer/file")
            entry.size = 6
            tar.addfile(entry, io.BytesIO(b"layer\n"))
        layers = (*image.layers, Layer(path, ("tr a-z A-Z < /layer/file > /layer/upper",)))
        layers = (*layers, Layer(setup=("rm /layer/file; ln -s upper /layer/link",)))
        made = dataclasses.replace(image, layers=layers, env=(*image.env, ("COLOUR", "dark blue")))
        same("digest, asked twice", backend.build(made), backend.build(made))
        expect(backend.build(made) != backend.build(image), "two images have the same digest")
        with fresh(backend, made, limits) as sandbox:
            prints(sandbox.run("cat /layer/link; ls /layer; echo $COLOUR"),
                   b"LAYER\nlink\nupper\ndark blue\n")  # fmt: skip
            same("changes", sandbox.changes(), [])


def images_that_cannot_be_say_why(backend: Backend, image: Image, limits: Limits) -> None:
    for base in ("no-such-kind", "tar:/no/such/file.tar", "dir:/no/such/folder"):
        raises(ImageError, partial(backend.build, Image(base)))
    failing = Layer(setup=("echo the reason >&2; exit 3",))
    broken = dataclasses.replace(image, layers=(*image.layers, failing))
    try:
        backend.build(broken)
    except ImageError as error:
        expect("the reason" in str(error), f"the error does not hold the output: {error}")
    else:
        raise AssertionError("an image was built although its set-up failed")


def many_are_used_from_many_threads(backend: Backend, image: Image, limits: Limits) -> None:
    def live(number: int) -> list[bytes]:
        with fresh(backend, image, limits) as sandbox:
            sandbox.shell().run(f"x={number}; echo {number} > /number")
            return [sandbox.shell().run("echo $x").raw, sandbox.run("cat /number").raw]

    with ThreadPoolExecutor(4) as pool:
        for number, seen in enumerate(pool.map(live, range(8))):
            same("what the sandbox said", seen, [f"{number}\n".encode()] * 2)


PROMISES = (
    the_doctor_finds_it_well,
    closing_twice_is_closing,
    limits_have_to_be_above_nothing,
    a_layer_is_its_files_then_its_setup,
    images_that_cannot_be_say_why,
    many_are_used_from_many_threads,
)
