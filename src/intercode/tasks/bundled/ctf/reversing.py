"""Programs to be read backwards, in several languages."""

from __future__ import annotations

import base64
import zlib
from textwrap import wrap

from intercode.tasks.bundled.ctf.puzzle import Files, Puzzle, python, stream

_MACHINE = '''\
#!/usr/bin/env python3
"""A machine with one accumulator: machine.py PROGRAM WORD says whether it is the word."""
import sys

program, word = sys.argv[1:]
a, at, right = 0, 0, True
for line in open(program):
    op, *rest = line.split()
    n = int(rest[0]) if rest else 0
    if op == "READ":
        a = ord(word[at]) if at < len(word) else 0
        at += 1
    elif op == "ADD":
        a = (a + n) % 256
    elif op == "XOR":
        a ^= n
    elif op == "ROL":
        a = (a << n | a >> (8 - n)) % 256
    elif op == "MIX":
        a = (a * n) % 256
    elif op == "WANT":
        right = right and a == n
    elif op == "END":
        right = right and at == len(word)
print("open" if right else "shut")
'''


def _machine(flag: str) -> Files:
    lines = []
    carried = 0
    for n, byte in enumerate(flag.encode()):
        key = stream(f"machine {n}", 4)
        rotation, factor = key[2] % 7 + 1, key[3] | 1
        a = (byte + carried) % 256 ^ key[0]
        a = (a << rotation | a >> (8 - rotation)) % 256
        a = a * factor % 256
        lines += [
            "READ", f"ADD {carried}", f"XOR {key[0]}", f"ROL {rotation}", f"MIX {factor}",
            f"WANT {a}",
        ]  # fmt: skip
        carried = key[1]
    return {"machine.py": _MACHINE, "door.prog": "\n".join([*lines, "END"]) + "\n"}


_FROM = "abcdefghijklmnopqrstuvwxyz0123456789{}"
_TO = "q7wz{e4rt0yu9iop8as}df1ghj2kl5xcv3bn6m"
_LOCK = """\
#!/bin/bash
# lock.sh WORD
expected="@@"
turned=$(printf %s "$1" | tr '{from_}' '{to}' | base64 -w 0 | fold -w 4 | tac | paste -s -d : )
[ "$turned" = "$expected" ] && echo open || echo shut
"""


def _lock(flag: str) -> Files:
    turned = flag.translate(str.maketrans(_FROM, _TO))
    fours = wrap(base64.b64encode(turned.encode()).decode(), 4)
    script = _LOCK.replace("{from_}", _FROM).replace("{to}", _TO)
    return {"lock.sh": script.replace("@@", ":".join(reversed(fours)))}


_DOOR = """\
#!/usr/bin/env python3
_=lambda __,___=__import__('zlib').crc32:[___(__[:____+1])^0x5bd1e995*____&0xffffffff
for ____ in range(len(__))]
print(['shut','open'][_(__import__('sys').argv[1].encode())==[@@]])
"""


def _door(flag: str) -> Files:
    sums = [
        zlib.crc32(flag[: n + 1].encode()) ^ (0x5BD1E995 * n & 0xFFFFFFFF) for n in range(len(flag))
    ]
    return {"door.py": _DOOR.replace("@@", "\n".join(wrap(", ".join(map(str, sums)), 90)))}


_FIRST = """\
/* The first hand: compiled and fed with the message. */
#include <stdio.h>

int main(void)
{
    int c, n = 0;
    while ((c = getchar()) != EOF) {
        printf("%d\\n", (c + 7 * n) % 128);
        n++;
    }
    return 0;
}
"""
_SECOND = """\
# The second hand: awk -f second.awk
{ held[NR] = $1 * 3 + 11 }
END { for (n = NR; n > 0; n -= 2) print held[n - 1], held[n] }
"""
_THIRD = '''\
"""The third hand: writes down what the second one gives."""
import sys

last = 0
for number in sys.stdin.read().split():
    last ^= int(number)
    print(format(last, "x"), end=" ")
print()
'''


def _hands(flag: str) -> Files:
    message = flag if len(flag) % 2 == 0 else f"{flag}\n"  # the second hand wants pairs
    numbers = [(byte + 7 * n) % 128 * 3 + 11 for n, byte in enumerate(message.encode())]
    pairs = [
        number for n in range(len(numbers) - 2, -1, -2) for number in (numbers[n], numbers[n + 1])
    ]
    written, last = [], 0
    for number in pairs:
        last ^= number
        written.append(format(last, "x"))
    return {
        "first.c": _FIRST,
        "second.awk": _SECOND,
        "third.py": _THIRD,
        "message.out": " ".join(written) + " \n",
    }


PUZZLES = (
    Puzzle(
        "accumulator",
        ("reversing", "bytecode"),
        "medium",
        "machine.py runs programs for a small machine; door.prog, run on the right word, prints "
        "'open'. The word is the flag.",
        _machine,
        (
            python("""
                word, steps = "", []
                for line in open("door.prog"):
                    op, *rest = line.split()
                    n = int(rest[0]) if rest else 0
                    if op == "READ":
                        steps = []
                    elif op == "WANT":
                        a = n
                        for op, n in reversed(steps):
                            if op == "ADD":
                                a = (a - n) % 256
                            elif op == "XOR":
                                a ^= n
                            elif op == "ROL":
                                a = (a >> n | a << (8 - n)) % 256
                            elif op == "MIX":
                                a = a * pow(n, -1, 256) % 256
                        word += chr(a)
                    else:
                        steps.append((op, n))
                open("/tmp/word", "w").write(word)
            """),
            'python3 machine.py door.prog "$(cat /tmp/word)" && cat /tmp/word',
        ),
    ),
    Puzzle(
        "shell-lock",
        ("reversing", "shell"),
        "easy",
        "lock.sh prints 'open' for one word only: the flag.",
        _lock,
        (
            python("""
                import base64, re
                lock = open("lock.sh").read()
                here, there = re.search("tr '(.*)' '(.*)' ", lock).groups()
                fours = re.search('expected="(.*)"', lock)[1].split(":")
                turned = base64.b64decode("".join(reversed(fours))).decode()
                open("/tmp/word", "w").write(turned.translate(str.maketrans(there, here)))
            """),
            'bash lock.sh "$(cat /tmp/word)" && cat /tmp/word',
        ),
    ),
    Puzzle(
        "unreadable-door",
        ("reversing", "python"),
        "medium",
        "door.py WORD prints 'open' or 'shut'; its author did not mean it to be read. The word "
        "that opens is the flag.",
        _door,
        (
            python("""
                import re, zlib
                sums = re.search(r"==\\[([\\d,\\s]+)\\]", open("door.py").read())[1]
                word = b""
                for n, total in enumerate(map(int, sums.split(","))):
                    total ^= 0x5BD1E995 * n & 0xFFFFFFFF
                    letters = (bytes([c]) for c in range(32, 127))
                    word += next(c for c in letters if zlib.crc32(word + c) == total)
                print(word.decode())
            """),
        ),
    ),
    Puzzle(
        "three-hands",
        ("reversing", "languages"),
        "hard",
        "A message went through three hands, each of which writes in another language: first.c, "
        "then second.awk, then third.py. message.out is what came of it. What was the message?",
        _hands,
        (
            python("""
                last, numbers = 0, []
                for word in open("message.out").read().split():
                    numbers.append(int(word, 16) ^ last)
                    last = int(word, 16)
                pairs = [numbers[n : n + 2] for n in range(0, len(numbers), 2)]
                held = [(x - 11) // 3 for pair in reversed(pairs) for x in pair]
                print("".join(chr((x - 7 * n) % 128) for n, x in enumerate(held)))
            """),
        ),
    ),
)
