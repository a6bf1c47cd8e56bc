"""Ciphers that are weak, or used weakly."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator

from intercode.tasks.bundled.ctf.puzzle import Files, Puzzle, python, stream, xor

_MINUTES = """\
Minutes of the allotment society, first Tuesday in March.
Present: eleven members and a dog. The compost heap was discussed at length.
Resolved that the water butt be moved nearer to the beans.
"""


def _two_time_pad(flag: str) -> Files:
    pad = stream("two-time pad", 512)
    return {
        "minutes.txt": _MINUTES,
        "minutes.enc": xor(_MINUTES.encode(), pad).hex() + "\n",
        "password.enc": xor(flag.encode(), pad).hex() + "\n",
    }


_DIARY = """\
The harbour was empty when I came down, and the fog lay on it like wool.
I counted nine boats, none of them ours. What the keeper told me I will
not write here but in the way we agreed on: {}
"""
_VIGENERE_KEY = "lantern"


def _shifted(text: str, key: str) -> str:
    """Vigenère over the small letters; all else stays as it is and takes no letter of the key."""
    letters = itertools.cycle(key)
    return "".join(
        chr((ord(c) + ord(next(letters)) - 2 * 97) % 26 + 97) if c.isascii() and c.islower() else c
        for c in text
    )


def _diary(flag: str) -> Files:
    return {"diary.txt": _shifted(_DIARY.format(flag), _VIGENERE_KEY)}


def _close_primes(flag: str) -> Files:
    p = _prime_from(int.from_bytes(b"\xc3" + stream("close primes", 15)))
    q = _prime_from(p + 4242)
    n, e = p * q, 65537
    c = pow(int.from_bytes(flag.encode()), e, n)
    return {"key.pub": f"n = {n}\ne = {e}\n", "message.txt": f"c = {c}\n"}


def _prime_from(start: int) -> int:
    return next(n for n in itertools.count(start | 1, 2) if _is_prime(n))


def _is_prime(n: int) -> bool:
    """Miller and Rabin's test with the first 24 primes as bases."""
    bases = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83)
    if any(n % base == 0 for base in bases):
        return n in bases
    odd, twos = n - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for base in bases:
        x = pow(base, odd, n)
        if x not in (1, n - 1) and n - 1 not in (pow(x, 2**k, n) for k in range(twos)):
            return False
    return True


_WORDS = (
    "acorn", "anvil", "badger", "barley", "bellows", "bramble", "candle", "cinder", "clover",
    "copper", "cricket", "damson", "feather", "fennel", "ferry", "flint", "gravel", "hazel",
    "heron", "hollow", "iron", "ivory", "juniper", "kettle", "ladle", "larch", "linen", "magpie",
    "mallow", "marble", "meadow", "nettle", "oyster", "pebble", "pepper", "quarry", "quill",
    "raven", "saddle", "sorrel", "spindle", "thimble", "thistle", "timber", "velvet", "walnut",
    "whistle", "willow",
)  # fmt: skip
_USERS = ("agnes", "bruno", "clara", "mira", "otto", "pavel", "ruth", "tilda")
_LOCKER = """\
#!/usr/bin/env python3
\"\"\"Opens a user's locker: locker.py USER PASSWORD\"\"\"
import hashlib
import sys

user, password = sys.argv[1:]
rows = dict(line.split() for line in open("shadow.txt"))
if hashlib.sha1(password.encode()).hexdigest() != rows.get(user):
    sys.exit("wrong user or password")
sealed = bytes.fromhex(open(f"lockers/{user}").read())
pad = hashlib.sha512(f"{user}:{password}".encode()).digest()
print(bytes(a ^ b for a, b in zip(sealed, pad)).decode())
"""


def _roster(flag: str) -> Files:
    """Each password is a word and a number of two digits."""
    passwords = {
        user: f"{_WORDS[int(digest[:4], 16) % len(_WORDS)]}{int(digest[4:8], 16) % 90 + 10}"
        for user in _USERS
        for digest in [hashlib.sha256(f"roster {user}".encode()).hexdigest()]
    }
    notes = {user: f"{user} keeps nothing here" for user in _USERS} | {"mira": flag}
    files: Files = {
        "locker.py": _LOCKER,
        "words.txt": "".join(f"{word}\n" for word in _WORDS),
        "policy.txt": "A password is a word of words.txt and two digits, the first not 0.\n",
        "shadow.txt": "".join(
            f"{user} {hashlib.sha1(password.encode()).hexdigest()}\n"
            for user, password in passwords.items()
        ),
    }
    for user, note in notes.items():
        pad = hashlib.sha512(f"{user}:{passwords[user]}".encode()).digest()
        files[f"lockers/{user}"] = xor(note.encode(), pad).hex() + "\n"
    return files


_MODULUS = 2**31 - 1


def _lottery(flag: str) -> Files:
    draws = _draws(1_140_671_485, 12_820_163, 20_240_101)
    shown = [next(draws) for _ in range(6)]
    pad = bytes(next(draws) >> 13 & 0xFF for _ in flag)
    return {
        "README": "Numbers are drawn by x -> (a * x + c) mod 2147483647; a and c are secret.\n"
        "After the draws in draws.txt, each further one gave a byte, (x >> 13) & 255,\n"
        "and these were XORed with the winner's message.\n",
        "draws.txt": "".join(f"{draw}\n" for draw in shown),
        "winner.enc": xor(flag.encode(), pad).hex() + "\n",
    }


def _draws(a: int, c: int, x: int) -> Iterator[int]:
    while True:
        x = (a * x + c) % _MODULUS
        yield x


PUZZLES = (
    Puzzle(
        "two-time-pad",
        ("crypto", "xor"),
        "easy",
        "The society's secretary encrypts everything with one and the same long key. minutes.txt "
        "and minutes.enc are the same text before and after; password.enc holds a flag. The .enc "
        "files are in hexadecimal.",
        _two_time_pad,
        (
            python("""
                plain = open("minutes.txt", "rb").read()
                names = ("minutes.enc", "password.enc")
                coded, flag = (bytes.fromhex(open(name).read()) for name in names)
                print(bytes(a ^ b ^ c for a, b, c in zip(plain, coded, flag)).decode())
            """),
        ),
    ),
    Puzzle(
        "lantern-diary",
        ("crypto", "vigenere"),
        "medium",
        "diary.txt was written with Vigenère's cipher over the letters a to z; capitals, digits "
        "and signs stay as they are and use up no letter of the key, which has seven. Its last "
        "line ends with a flag of the form intercode{...}.",
        _diary,
        (
            python("""
                text = open("diary.txt").read()
                start = text.rindex("{") - 9
                before = sum("a" <= c <= "z" for c in text[:start])
                key = [""] * 7
                for n, (c, p) in enumerate(zip(text[start:], "intercode")):
                    key[(before + n) % 7] = (ord(c) - ord(p)) % 26
                out, n = "", 0
                for c in text:
                    if "a" <= c <= "z":
                        c, n = chr((ord(c) - 97 - key[n % 7]) % 26 + 97), n + 1
                    out += c
                print(out)
            """),
        ),
    ),
    Puzzle(
        "close-primes",
        ("crypto", "rsa"),
        "medium",
        "message.txt was encrypted with the RSA key in key.pub, without padding: the number is the "
        "message's bytes, the first one highest. Whoever made the key took two primes that are "
        "next-door neighbours, or nearly. The message is the flag.",
        _close_primes,
        (
            python("""
                import math
                facts = dict(l.split(" = ") for f in ("key.pub", "message.txt") for l in open(f))
                n, e, c = (int(facts[k]) for k in "nec")
                a = math.isqrt(n) + 1
                while math.isqrt(a * a - n) ** 2 != a * a - n:
                    a += 1
                b = math.isqrt(a * a - n)
                m = pow(c, pow(e, -1, (a - b - 1) * (a + b - 1)), n)
                print(m.to_bytes((m.bit_length() + 7) // 8, "big").decode())
            """),
        ),
    ),
    Puzzle(
        "locker-room",
        ("crypto", "hash"),
        "easy",
        "The flag is in mira's locker, which locker.py opens with her password. shadow.txt leaked: "
        "it has every user's SHA-1. policy.txt says what passwords look like.",
        _roster,
        (
            python("""
                import hashlib
                wanted = dict(line.split() for line in open("shadow.txt"))["mira"]
                for word in open("words.txt").read().split():
                    for n in range(10, 100):
                        if hashlib.sha1(f"{word}{n}".encode()).hexdigest() == wanted:
                            open("/tmp/password", "w").write(f"{word}{n}")
            """),
            'python3 locker.py mira "$(cat /tmp/password)"',
        ),
    ),
    Puzzle(
        "lottery",
        ("crypto", "random"),
        "hard",
        "README says how the numbers of a lottery are drawn, draws.txt has six in a row, and "
        "winner.enc, in hexadecimal, is the winner's message: a flag. Predict the draws.",
        _lottery,
        (
            python("""
                m = 2**31 - 1
                x = [int(line) for line in open("draws.txt")]
                a = (x[2] - x[1]) * pow(x[1] - x[0], -1, m) % m
                c = (x[1] - a * x[0]) % m
                state, out = x[-1], ""
                for byte in bytes.fromhex(open("winner.enc").read()):
                    state = (a * state + c) % m
                    out += chr(byte ^ state >> 13 & 255)
                print(out)
            """),
        ),
    ),
)
