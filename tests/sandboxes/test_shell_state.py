"""What a new shell takes over when the one before was killed: told a line at a time, all of it."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from intercode.sandboxes.base import Image, Limits, Shell
from intercode.sandboxes.bubblewrap.backend import Bubblewrap
from intercode.sandboxes.docker.backend import Docker


@pytest.fixture(params=["bubblewrap", "docker"])
def shell(request: pytest.FixtureRequest) -> Iterator[Shell]:
    backend: Bubblewrap | Docker = request.getfixturevalue(f"{request.param}_backend")
    image = request.getfixturevalue("docker_image") if request.param == "docker" else Image()
    sandbox = backend.start(image, Limits())
    yield sandbox.shell()
    sandbox.close()


def survives(shell: Shell, before: str, ask: str) -> str:
    shell.run(before)
    assert shell.run("kill -9 $$").restarted
    return shell.run(ask).output


@pytest.mark.parametrize(
    ("before", "ask", "answer"),
    [
        ("shopt -s extglob nullglob; shopt -u sourcepath", "shopt extglob nullglob sourcepath",
         "extglob        \ton\nnullglob       \ton\nsourcepath     \toff\n"),
        ("set -u +B -o pipefail", 'echo $- {a,b}; set -o | grep -c "pipefail.*on"; echo $unset end',
         "huc {a,b}\n1\nbash: line 1: unset: unbound variable\n"),
        ("set -f; x='a  b'; IFS=:", 'echo *; printf "%s," "$x" $PATH | head -c 20', None),
        ("shopt -s extglob; f() { [[ $1 == +(a) ]] && echo as; }", "f aaa", "as\n"),
        ("alias hi='echo hi'; umask 027", "hi; umask", "hi\n0027\n"),
        ("declare -A m=([k v]=$'new\\nline'); declare -i n=3; declare -r r=1",
         'n+=2; echo "${m[k v]}" $n; r=2', "new\nline 5\nbash: line 1: r: readonly variable\n"),
    ],
)  # fmt: skip
def test_variables_functions_and_options(
    shell: Shell, before: str, ask: str, answer: str | None
) -> None:
    said = survives(shell, before, ask)
    assert said == answer if answer is not None else said.startswith("*\na  b,/usr/local/sb"), said


def test_a_state_larger_than_any_pipe(shell: Shell) -> None:
    begun = time.monotonic()
    made = "x=$(head -c 600000 /dev/zero | tr '\\0' x); for i in {1..2000}; do y[i]=$i; done"
    assert survives(shell, made, "echo ${#x} ${y[2000]}") == "600000 2000\n"
    assert time.monotonic() - begun < 5


def test_a_state_that_was_not_told_to_its_end_is_not_taken_over(shell: Shell) -> None:
    shell.run("x=1")
    shell.run("x=2; (sleep 0.01; kill -9 $$) & while :; do x=3; done")
    assert shell.run("echo $x").output == "1\n"
