"""Promises of `Sandbox.run` and `Sandbox.query`."""

from __future__ import annotations

import time

from intercode.errors import UsageError
from intercode.sandboxes.base import Backend, Image, Limits
from intercode.sandboxes.conformance.tools import (
    expect,
    fresh,
    prints,
    raises,
    same,
    soon,
    still_works,
)

_EVERY_BYTE = bytes(range(256))


def output_and_exit_code_are_told(backend: Backend, image: Image, limits: Limits) -> None:
    with fresh(backend, image, limits) as sandbox:
        prints(sandbox.run("echo hello"), b"hello\n")
        prints(sandbox.run("true"), b"")
        for code in (1, 3, 255):
            same("exit code", sandbox.run(f"exit {code}").exit_code, code)
        same("exit code of a terminated command", sandbox.run("kill -TERM $$").exit_code, 143)
        result = sandbox.run("sleep 0.2")
        expect(0.15 < result.duration_s < 5, f"sleep 0.2 took {result.duration_s} s")


def both_streams_come_in_the_order_written(backend: Backend, image: Image, limits: Limits) -> None:
    command = "for i in {1..300}; do echo out $i; echo err $i >&2; done"
    wanted = "".join(f"out {i}\nerr {i}\n" for i in range(1, 301)).encode()
    with fresh(backend, image, limits) as sandbox:
        prints(sandbox.run(command), wanted)
        prints(sandbox.shell().run(command), wanted)


def all_output_is_there_when_a_command_ends(backend: Backend, image: Image, limits: Limits) -> None:
    with fresh(backend, image, limits) as sandbox:
        for size in (1, 70_000, 400_000):
            for _ in range(5):
                result = sandbox.run(f"head -c {size} /dev/zero | tr '\\0' x")
                same("bytes of output", len(result.raw), size)
                prints(sandbox.run("echo next"), b"next\n")


def output_needs_no_newline(backend: Backend, image: Image, limits: Limits) -> None:
    with fresh(backend, image, limits) as sandbox:
        prints(sandbox.run("printf no-newline"), b"no-newline")
        prints(sandbox.shell().run("printf no-newline"), b"no-newline")


def any_bytes_survive_in_the_output(backend: Backend, image: Image, limits: Limits) -> None:
    with fresh(backend, image, limits) as sandbox:
        sandbox.write_file("/tmp/bytes", _EVERY_BYTE)
        prints(sandbox.run("cat /tmp/bytes"), _EVERY_BYTE)
        prints(sandbox.shell().run("cat /tmp/bytes"), _EVERY_BYTE)
        result = sandbox.run(r"printf 'a\0\xff\xc3\xa4'")
        same("output as text", result.output, "a\0\\xffä")


def directory_and_environment_are_set(backend: Backend, image: Image, limits: Limits) -> None:
    odd = "a b\n'\"$HOME\\ ä*"
    with fresh(backend, image, limits) as sandbox:
        prints(sandbox.run("pwd", cwd="/tmp"), b"/tmp\n")
        result = sandbox.run('printf %s "$ODD"', env={"ODD": odd, "OTHER": ""})
        prints(result, odd.encode())
        same("exit code", sandbox.run("[[ -z ${ODD+x} ]]").exit_code, 0)
        raises(UsageError, lambda: sandbox.run("true", env={"no name": "x"}))


def stdin_carries_any_bytes(backend: Backend, image: Image, limits: Limits) -> None:
    with fresh(backend, image, limits) as sandbox:
        prints(sandbox.run("cat", stdin=_EVERY_BYTE), _EVERY_BYTE)
        prints(sandbox.run("wc -c", stdin=b"\0" * 200_000), b"200000\n")
        # Not reading it is no mistake.
        prints(sandbox.run("echo fine", stdin=b"x" * 200_000), b"fine\n")


def reading_without_stdin_meets_the_end(backend: Backend, image: Image, limits: Limits) -> None:
    with fresh(backend, image, limits) as sandbox:
        prints(sandbox.run("cat; read x || echo end"), b"end\n")
        prints(sandbox.shell().run("cat; read x || echo end"), b"end\n")


def argument_lists_are_executed_as_they_are(backend: Backend, image: Image, limits: Limits) -> None:
    words = ["two words", "$HOME", "'", '"', "*", "", "a\nb", "ä", "\\"]
    with fresh(backend, image, limits) as sandbox:
        result = sandbox.run(["/usr/bin/printf", "<%s>", *words])
        prints(result, "".join(f"<{word}>" for word in words).encode())


def a_missing_directory_is_a_failure(backend: Backend, image: Image, limits: Limits) -> None:
    with fresh(backend, image, limits) as sandbox:
        result = sandbox.run("echo never", cwd="/no/such/place")
        same("failure, exit code, output", (result.failure, result.exit_code, result.raw),
             ("cwd", 126, b""))  # fmt: skip
        same("failure of a good one", sandbox.run("exit 126").failure, None)


def a_missing_program_is_a_failure(backend: Backend, image: Image, limits: Limits) -> None:
    with fresh(backend, image, limits) as sandbox:
        result = sandbox.run(["no-such-program", "x"])
        same("failure, exit code", (result.failure, result.exit_code), ("exec", 127))
        same("failure of a good one", sandbox.run("no-such-program").failure, None)


def a_timeout_kills_and_keeps_what_was_printed(
    backend: Backend, image: Image, limits: Limits
) -> None:
    command = "trap '' TERM INT HUP; echo before; sleep 61 & (sleep 62; echo late) & sleep 63"
    with fresh(backend, image, limits) as sandbox:
        started = time.monotonic()
        result = sandbox.run(command, timeout_s=0.7)
        took = time.monotonic() - started
        expect(result.timed_out, "timed_out is not set")
        same("exit code, output", (result.exit_code, result.raw), (137, b"before\n"))
        expect(0.6 < took < 5, f"a time limit of 0.7 s took {took:.2f} s")
        soon("all its processes are gone", lambda: sandbox.process_count() == 0)
        still_works(sandbox)


def long_output_keeps_its_head_and_tail(backend: Backend, image: Image, limits: Limits) -> None:
    with fresh(backend, image, limits) as sandbox:
        total = len("".join(f"{i}\n" for i in range(1, 200_001)))
        for result in (
            sandbox.run("seq 200000", max_output_bytes=1000),
            sandbox.shell().run("seq 200000", max_output_bytes=1000),
        ):
            same("bytes cut", result.cut_bytes, total - 1000)
            expect(result.truncated, "truncated is not set")
            expect(result.raw.startswith(b"1\n2\n3\n"), f"the head is {result.raw[:20]!r}")
            expect(result.raw.endswith(b"\n200000\n"), f"the tail is {result.raw[-20:]!r}")
            expect(len(result.raw) < 1200, f"{len(result.raw)} bytes kept of a limit of 1000")


def a_background_process_holds_nothing_up(backend: Backend, image: Image, limits: Limits) -> None:
    with fresh(backend, image, limits) as sandbox:
        started = time.monotonic()
        prints(sandbox.run("sleep 60 & echo started", timeout_s=20), b"started\n")
        expect(time.monotonic() - started < 10, "the command waited for its background process")
        same("processes left running", sandbox.process_count(), 1)
        still_works(sandbox)


def until_silent_waits_for_the_background(backend: Backend, image: Image, limits: Limits) -> None:
    with fresh(backend, image, limits) as sandbox:
        command = "(sleep 0.5; echo late) & echo early"
        prints(sandbox.run(command, until_silent=True), b"early\nlate\n")
        result = sandbox.run("sleep 60 & echo early", until_silent=True, timeout_s=1)
        expect(result.timed_out, "it did not wait for what holds its output open")
        prints(sandbox.run("sleep 60 > /dev/null 2>&1 & echo early", until_silent=True), b"early\n")


def a_query_hears_nobody_else(backend: Backend, image: Image, limits: Limits) -> None:
    with fresh(backend, image, limits) as sandbox:
        sandbox.run("(while sleep 0.01; do echo noise; done) &")
        for _ in range(20):
            # Whether the last line is ended is left to the back end.
            answer = sandbox.query("sleep 0.02; echo answer; pwd", cwd="/tmp")
            same("answer", answer.output.splitlines(), ["answer", "/tmp"])
        same("exit code of a query", sandbox.query("exit 4").exit_code, 4)


PROMISES = (
    output_and_exit_code_are_told,
    both_streams_come_in_the_order_written,
    all_output_is_there_when_a_command_ends,
    output_needs_no_newline,
    any_bytes_survive_in_the_output,
    directory_and_environment_are_set,
    stdin_carries_any_bytes,
    reading_without_stdin_meets_the_end,
    argument_lists_are_executed_as_they_are,
    a_missing_directory_is_a_failure,
    a_missing_program_is_a_failure,
    a_timeout_kills_and_keeps_what_was_printed,
    long_output_keeps_its_head_and_tail,
    a_background_process_holds_nothing_up,
    until_silent_waits_for_the_background,
    a_query_hears_nobody_else,
)
