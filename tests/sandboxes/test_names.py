"""The name server of a sandbox: what it answers, to whatever is sent."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from intercode.sandboxes.bubblewrap.names import answered

IN = b"\0\1"


def name(*labels: str) -> bytes:
    return b"".join(bytes((len(label),)) + label.encode() for label in labels) + b"\0"


def query(asked: bytes, kind: int, more: bytes = b"", additional: int = 0) -> bytes:
    header = b"\xab\xcd\x01\0" + b"\0\1\0\0\0\0" + additional.to_bytes(2)
    return header + asked + kind.to_bytes(2) + IN + more


REVERSE = name("1", "0", "0", "127", "in-addr", "arpa")
PTR, A, MX = 12, 1, 15


def test_the_loopbacks_address_is_that_of_localhost() -> None:
    answer = answered(query(REVERSE, PTR))
    assert answer is not None
    assert answer[:12] == b"\xab\xcd\x81\x80" + b"\0\1\0\1\0\0\0\0"
    assert answer[12:] == REVERSE + b"\0\x0c" + IN + (
        b"\xc0\x0c\0\x0c" + IN + b"\0\0\0\x78" + b"\0\x0b" + name("localhost")
    )


def test_localhost_has_an_address_however_it_is_written() -> None:
    answer = answered(query(name("LocalHost"), A))
    assert answer is not None
    assert answer[3] == 0x80
    assert answer[-6:] == b"\0\4" + bytes((127, 0, 0, 1))


def test_there_is_nobody_else() -> None:
    for asked, kind in ((name("example", "org"), A), (name("localhost"), MX)):
        answer = answered(query(asked, kind))
        assert answer == b"\xab\xcd\x81\x83" + query(asked, kind)[4:]


def test_further_records_come_back() -> None:
    options = b"\0\0\x29\x10\0\0\0\0\0\0\0"
    answer = answered(query(name("example", "org"), A, options, additional=1))
    assert answer is not None
    assert answer[10:12] == b"\0\1"
    assert answer.endswith(options)


@given(st.binary(max_size=512))
def test_anything_may_be_sent(datagram: bytes) -> None:
    answer = answered(datagram)
    assert answer is None or answer[:2] == datagram[:2]
    assert answer is None or len(answer) <= len(datagram) + 64
