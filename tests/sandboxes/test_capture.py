"""Output of any length is kept in bounded memory: its head, its tail, and a count between."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from intercode.sandboxes.capture import Capture


def captured(pieces: list[bytes], limit: int) -> Capture:
    capture = Capture(limit)
    for piece in pieces:
        capture.feed(piece)
    return capture


def test_what_fits_is_kept_as_it_is() -> None:
    assert captured([b"abc", b"", b"def"], 6).value() == b"abcdef"


def test_what_does_not_fit_loses_its_middle_and_says_how_much() -> None:
    capture = captured([b"a" * 10, b"b" * 10], 8)
    assert capture.cut_bytes == 12
    assert capture.value() == b"aaaa\n[... 12 bytes cut ...]\nbbbb"


@given(st.lists(st.binary(max_size=40)), st.integers(1, 60))
def test_head_and_tail_are_the_outputs_whatever_the_pieces(pieces: list[bytes], limit: int) -> None:
    whole = b"".join(pieces)
    capture = captured(pieces, limit)
    if len(whole) <= limit:
        assert capture.value() == whole
        return
    head, tail = limit - limit // 2, limit // 2
    assert capture.cut_bytes == len(whole) - limit
    assert capture.value().startswith(whole[:head])
    assert tail == 0 or capture.value().endswith(whole[-tail:])


def test_memory_stays_bounded_however_much_comes() -> None:
    capture = Capture(1000)
    for _ in range(2000):
        capture.feed(b"x" * 65536)
    assert len(capture.value()) < 1100
    assert len(capture._tail) < 1_000_000
