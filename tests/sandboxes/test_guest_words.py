"""The words that host and guest exchange: whatever bytes a command has, Bash gets those."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from intercode.errors import UsageError
from intercode.sandboxes.base import ShellState
from intercode.sandboxes.guest import boot_message, message, quote
from intercode.sandboxes.session import restore_script, run_body

texts = st.binary(min_size=0, max_size=60).map(lambda data: data.replace(b"\0", b""))


@settings(max_examples=60, deadline=None)
@given(st.lists(texts, min_size=1, max_size=5))
def test_bash_reads_a_quoted_word_back_byte_for_byte(words: list[bytes]) -> None:
    script = "printf '%s\\0' " + " ".join(quote(word) for word in words)
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=True)
    assert done.stdout == b"".join(word + b"\0" for word in words)


@given(texts)
def test_a_quoted_word_is_plain_ascii(word: bytes) -> None:
    assert quote(word).isascii()
    assert "\n" not in quote(word)


@given(st.binary(max_size=200))
def test_a_message_says_how_long_it_is(body: bytes) -> None:
    if b"\0" in body:
        with pytest.raises(ValueError, match="NUL"):
            message("R", body, "tag")
        return
    assert message("R", body, "tag") == b"Rtag\0%d\0" % len(body) + body


def test_the_guests_program_is_what_the_host_says_it_sends() -> None:
    size, program = boot_message()
    assert size == len(program)
    subprocess.run(["bash", "-n"], input=program, check=True)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(texts.filter(bool), min_size=1, max_size=4),
    st.dictionaries(st.from_regex(r"\A[A-Z]{2,6}\Z"), texts, max_size=2),
)
def test_a_run_is_text_that_bash_can_parse(argv: list[bytes], env: dict[str, bytes]) -> None:
    words = [word.decode("utf-8", "surrogateescape") for word in argv]
    variables = {key: value.decode("utf-8", "surrogateescape") for key, value in env.items()}
    subprocess.run(["bash", "-n"], input=run_body(words, "/", variables, b"in\0put"), check=True)


@pytest.mark.parametrize(
    ("command", "env"), [([], {}), ("a\0b", {}), (["a"], {"A B": "c"}), (["a"], {"A": "\0"})]
)
def test_what_no_process_can_be_given_is_refused(command: object, env: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        run_body(command, "/", env, b"")  # type: ignore[arg-type]


def test_a_shells_state_comes_back_in_a_new_shell() -> None:
    make = (
        "cd /usr; x='a b'; export Y=$'c\\nd'; list=(1 '2 3'); declare -A map=([k]=v)\n"
        "readonly R=9\n"
        'f() { echo "f $1"; }; shopt -s extglob; set -o pipefail; umask 077'
    )
    dump = "declare -p; declare -f; alias -p; shopt -p; set +o; umask -p"
    state = subprocess.run(["bash", "-c", f"{make}\n{dump}"], capture_output=True, check=True)
    restore = restore_script(ShellState("/usr", state.stdout))
    look = b'\npwd; echo "$x|$Y|${list[1]}|${map[k]}|$R"; f 1; shopt -q extglob && umask'
    after = subprocess.run(["bash", "-c", restore + look], capture_output=True, check=True)
    assert after.stdout == b"/usr\na b|c\nd|2 3|v|9\nf 1\n0077\n"
