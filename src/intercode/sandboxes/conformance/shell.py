"""Promises of the persistent shell."""

from __future__ import annotations

from intercode.sandboxes.base import Backend, Image, Limits, Sandbox
from intercode.sandboxes.conformance.tools import expect, fresh, prints, same, soon

_SET_UP = "cd /tmp; here=remembered; export there=exported; list=(a 'b c'); f() { echo f $1; }"
_ASK = 'pwd; echo "$here $there ${list[1]}"; f 1'
_ANSWER = b"/tmp\nremembered exported b c\nf 1\n"


def the_shell_remembers(backend: Backend, image: Image, limits: Limits) -> None:
    with fresh(backend, image, limits) as sandbox:
        shell = sandbox.shell()
        prints(shell.run(f"{_SET_UP}; alias hi='echo hello'"), b"")
        result = shell.run(_ASK)
        prints(result, _ANSWER)
        same("cwd", result.cwd, "/tmp")
        prints(shell.run("hi there"), b"hello there\n")
        expect(sandbox.shell() is shell, "a sandbox has more than one shell")
        prints(sandbox.run("pwd"), b"/\n")


def the_shell_knows_the_last_exit_code(backend: Backend, image: Image, limits: Limits) -> None:
    with fresh(backend, image, limits) as sandbox:
        shell = sandbox.shell()
        same("exit code", shell.run("(exit 7)").exit_code, 7)
        prints(shell.run("echo $?"), b"7\n")
        same("exit code of nothing", shell.run("").exit_code, 0)


def any_text_is_a_command(backend: Backend, image: Image, limits: Limits) -> None:
    with fresh(backend, image, limits) as sandbox:
        shell = sandbox.shell()
        prints(shell.run("cat <<END\n$((6 * 7))\nEND\n# a comment"), b"42\n")
        prints(shell.run("echo 'a\nb'; # and more"), b"a\nb\n")
        prints(shell.run("echo ä \\\nö"), "ä ö\n".encode())
        expect(shell.run("if then").exit_code != 0, "a syntax error has exit code 0")
        expect(shell.run("echo 'unfinished").exit_code != 0, "an open quote has exit code 0")
        prints(shell.run(f": {'x' * 300_000}; echo taken"), b"taken\n")


def a_shell_timeout_restarts_it_where_it_stood(
    backend: Backend, image: Image, limits: Limits
) -> None:
    with fresh(backend, image, limits) as sandbox:
        shell = sandbox.shell()
        prints(shell.run(_SET_UP), b"")
        result = shell.run("echo before; trap '' TERM INT; sleep 60", timeout_s=0.7)
        expect(result.timed_out, "timed_out is not set")
        same("exit code, output", (result.exit_code, result.raw), (137, b"before\n"))
        expect(result.restarted, "the result does not say that the shell was restarted")
        prints(shell.run(_ASK), _ANSWER)


def leaving_the_shell_restarts_it(backend: Backend, image: Image, limits: Limits) -> None:
    with fresh(backend, image, limits) as sandbox:
        shell = sandbox.shell()
        prints(shell.run(_SET_UP), b"")
        for command, code in (
            ("exit 3", 3),
            ("exec /bin/bash -c 'exit 4'", 4),
            ("kill -9 $$", 137),
        ):
            result = shell.run(command)
            same(f"exit code of {command}", result.exit_code, code)
            expect(result.restarted, f"{command!r} does not say that the shell was restarted")
            prints(shell.run(_ASK), _ANSWER)
        expect(shell.run("set -e; false").restarted, "set -e did not end the shell")
        prints(shell.run(_ASK), _ANSWER)


def a_shell_runs_jobs_in_the_background(backend: Backend, image: Image, limits: Limits) -> None:
    with fresh(backend, image, limits) as sandbox:
        shell = sandbox.shell()
        prints(shell.run("sleep 60 & echo started"), b"started\n")
        same("processes besides the shell", sandbox.process_count(), 1)
        prints(shell.run("kill %1; wait 2> /dev/null; echo gone"), b"gone\n")
        soon("no process is left", lambda: sandbox.process_count() == 0)


def a_coprocess_is_the_agents_own(backend: Backend, image: Image, limits: Limits) -> None:
    with fresh(backend, image, limits) as sandbox:
        shell = sandbox.shell()
        prints(shell.run("coproc cat"), b"")
        for word in ("one", "two"):
            talk = f"echo {word} >&${{COPROC[1]}}; read -r -t 5 -u ${{COPROC[0]}} x; echo $x"
            prints(shell.run(talk), f"{word}\n".encode())
        for _ in range(3):
            shell.run('eval "exec ${COPROC[1]}>&-"; wait 2> /dev/null')
            prints(shell.run("echo alive"), b"alive\n")
            shell.run("coproc cat")


def a_shell_goes_on_in_another_sandbox(backend: Backend, image: Image, limits: Limits) -> None:
    with fresh(backend, image, limits) as one, fresh(backend, image, limits) as other:
        one.shell().run(f"{_SET_UP}; alias hi='echo hello'; umask 027; shopt -s nullglob; set -u")
        shell = other.shell(one.shell().state())
        prints(shell.run(_ASK), _ANSWER)
        prints(shell.run("hi; umask; shopt -q nullglob && echo nullglob; echo $-"),
               b"hello\n0027\nnullglob\n" + _options(one))  # fmt: skip


def _options(sandbox: Sandbox) -> bytes:
    return sandbox.shell().run("echo $-").raw


PROMISES = (
    the_shell_remembers,
    the_shell_knows_the_last_exit_code,
    any_text_is_a_command,
    a_shell_timeout_restarts_it_where_it_stood,
    leaving_the_shell_restarts_it,
    a_shell_runs_jobs_in_the_background,
    a_coprocess_is_the_agents_own,
    a_shell_goes_on_in_another_sandbox,
)
