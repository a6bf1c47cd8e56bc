"""What counts as the flag, in the paper's reading and in ours."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intercode.rewards import ctf

FLAG = "picoCTF{b1scu1ts_4nd_gr4vy}"


@pytest.mark.parametrize(
    ("submission", "reward"),
    [
        (f"submit {FLAG}", 1),
        (f"submit {FLAG.upper()}", 1),
        (f"submit {FLAG.swapcase()}", 1),
        (f"submit {FLAG} and more", 1),
        (f"submitted {FLAG}", 1),
        (f"submit {FLAG}\n", 0),
        (f"submit  {FLAG}", 0),
        (f"submit\t{FLAG}", 0),
        (f'submit "{FLAG}"', 0),
        ("submit b1scu1ts_4nd_gr4vy", 0),
        ("submit", 0),
        ("submit ", 0),
    ],
)
def test_v1_compares_the_second_word_whatever_its_case(submission: str, reward: float) -> None:
    score = ctf.v1(submission, FLAG)
    assert (score.reward, score.success) == (reward, bool(reward))


@pytest.mark.parametrize(
    "submission",
    [
        f"submit {FLAG}", f"submit   {FLAG}\n", f"submit\t{FLAG}", f'submit "{FLAG}"',
        f"submit '{FLAG}' ", f"submit `{FLAG}`", f'submit " {FLAG} "',
    ],
)  # fmt: skip
def test_v2_forgives_blank_space_and_one_pair_of_quotes(submission: str) -> None:
    assert ctf.v2(submission, FLAG).success


@pytest.mark.parametrize(
    "submission",
    [
        f"submit {FLAG.upper()}", f"submit {FLAG} and more", f"submit {FLAG}x", f"submit x{FLAG}",
        f"submit \"'{FLAG}'\"", f'submit "{FLAG}', f"submit {FLAG} {FLAG}", "submit", "submit ''",
        f"submit{FLAG}", "submit b1scu1ts_4nd_gr4vy", f"submit {FLAG[:-1]}",
    ],
)  # fmt: skip
def test_v2_wants_the_flag_to_the_letter_and_nothing_else(submission: str) -> None:
    assert ctf.v2(submission, FLAG).reward == 0.0


def test_a_flag_with_blanks_or_quotes_of_its_own_can_be_submitted() -> None:
    assert ctf.v2("submit flag{a b  c}", "flag{a b  c}").success
    assert ctf.v2("submit 'quoted'", "'quoted'").success


@pytest.mark.parametrize("submission", ["submit b1scu1ts_4nd_gr4vy", "submit flag{x}", "submit 1"])
def test_a_submission_of_another_form_is_told_the_form(submission: str) -> None:
    assert ctf.v2(submission, FLAG).details["hint"] == "a flag here looks like picoCTF{...}"


@pytest.mark.parametrize("submission", ["submit picoCTF{x}", 'submit "picoCTF{y z}"'])
def test_a_wrong_flag_of_the_right_form_is_told_nothing(submission: str) -> None:
    assert "hint" not in ctf.v2(submission, FLAG).details


def test_a_flag_without_a_form_gives_no_hint() -> None:
    assert "hint" not in ctf.v2("submit 0x6e9", "0x6e8").details
    assert "hint" not in ctf.v2("submit picoCTF{0x6e8}", "0x6e8").details


def test_an_empty_submission_is_told_how_to_write_one() -> None:
    assert ctf.v2("submit", FLAG).details["hint"] == "write: submit FLAG"


@given(st.text(), st.sampled_from([FLAG, "0x6e8", "flag{a b}"]))
def test_a_hint_depends_on_the_form_of_the_gold_alone(word: str, gold: str) -> None:
    other = ctf.form(gold) and gold[: gold.index("{")] + "{something else}"
    submission = f"submit {word}"
    if not ctf.v2(submission, gold).success and other and not ctf.v2(submission, other).success:
        hints = [ctf.v2(submission, flag).details.get("hint") for flag in (gold, other)]
        assert hints[0] == hints[1]


@given(st.text())
def test_whatever_is_submitted_is_scored(words: str) -> None:
    for judge in (ctf.v1, ctf.v2):
        assert judge(f"submit{words}", FLAG).reward in (0.0, 1.0)


def test_the_last_flag_that_was_printed_is_found() -> None:
    assert ctf.find("try picoCTF{no} or\n picoCTF{yes}.\n", FLAG) == "picoCTF{yes}"
    assert ctf.find("nothing here\n", FLAG) is None
    assert ctf.find("eax = 0x6e8\n", "0x6e8") == "0x6e8"
