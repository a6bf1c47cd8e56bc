"""What promises are written with."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

from intercode.sandboxes.base import Backend, CommandResult, Image, Limits, Sandbox, Snapshot


@contextlib.contextmanager
def fresh(
    backend: Backend, image: Image, limits: Limits, *, snapshot: Snapshot | None = None
) -> Iterator[Sandbox]:
    """A sandbox for the time of a `with` block."""
    sandbox = backend.start(image, limits, snapshot=snapshot)
    try:
        yield sandbox
    finally:
        sandbox.close()


def expect(condition: object, saying: str) -> None:
    # Not an assert statement: those are gone under `python -O`.
    if not condition:
        raise AssertionError(saying)


def same(what: str, seen: object, wanted: object) -> None:
    if seen != wanted:
        raise AssertionError(f"{what}: wanted {_short(wanted)}, saw {_short(seen)}")


def prints(result: CommandResult, wanted: bytes) -> None:
    """It went well and printed just that."""
    same("output", result.raw, wanted)
    same("exit code", result.exit_code, 0)


def raises(kinds: type[Exception] | tuple[type[Exception], ...], action: Callable[[], Any]) -> None:
    wanted = kinds if isinstance(kinds, tuple) else (kinds,)
    names = " or ".join(kind.__name__ for kind in wanted)
    try:
        value = action()
    except wanted:
        return
    except Exception as error:
        raise AssertionError(f"wanted {names}, saw {type(error).__name__}: {error}") from error
    raise AssertionError(f"wanted {names}, saw {_short(value)}")


def soon(what: str, condition: Callable[[], bool], within_s: float = 10.0) -> None:
    deadline = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {within_s:g} s: {what}")
        time.sleep(0.05)


def still_works(sandbox: Sandbox) -> None:
    """A command and the shell both do."""
    result = sandbox.run("echo alive", timeout_s=30)
    if result.restarted:
        # It may take one command to find out that the guest has to be started again.
        result = sandbox.run("echo alive", timeout_s=30)
    prints(result, b"alive\n")
    result = sandbox.shell().run("echo alive", timeout_s=30)
    if result.restarted:
        result = sandbox.shell().run("echo alive", timeout_s=30)
    prints(result, b"alive\n")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 600 else f"{text[:400]} … {text[-200:]}"
