"""Things hidden in files, and things that were thought to be gone."""

from __future__ import annotations

import struct
import zlib
from textwrap import wrap

from intercode.tasks.bundled.ctf.puzzle import (
    Files,
    Puzzle,
    gzipped,
    python,
    stream,
    zipped,
    zlibbed,
)
from intercode.tasks.git_store import Commit, repository

_WIDTH, _HEIGHT = 48, 32


def _picture(flag: str) -> Files:
    """A grey slope whose lowest bits are the length of the flag, the flag, and noise."""
    hidden = bytes([len(flag)]) + flag.encode()
    hidden += stream("picture", _WIDTH * _HEIGHT // 8 - len(hidden))
    bits = [byte >> shift & 1 for byte in hidden for shift in reversed(range(8))]
    rows = b"".join(
        b"\0" + bytes(((x + y) * 3 & 0xFE) | bits[y * _WIDTH + x] for x in range(_WIDTH))
        for y in range(_HEIGHT)
    )
    header = struct.pack(">IIBBBBB", _WIDTH, _HEIGHT, 8, 0, 0, 0, 0)
    chunks = (
        (b"IHDR", header),
        (b"tEXt", b"Comment\0the least of it matters"),
        (b"IDAT", zlibbed(rows)),
        (b"IEND", b""),
    )
    return {"slope.png": b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*chunk) for chunk in chunks)}


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _photo(flag: str) -> Files:
    """The beginning and the end of a JPEG, and behind it an archive in an archive."""
    segments = b"\xff\xe0\x00\x10JFIF\0\x01\x01\0\0\x48\0\x48\0\0"
    remark = b"Taken from the pier. There is more behind the horizon."
    segments += b"\xff\xfe" + struct.pack(">H", len(remark) + 2) + remark
    inner = zipped({"letter.txt": f"Burn this: {flag}\n".encode()})
    return {
        "pier.jpg": b"\xff\xd8" + segments + stream("pier", 900).replace(b"\xff", b"\xfe")
        + b"\xff\xd9" + zipped({"list.txt": b"rope\nlamp oil\n", "bag/parcel.zip": inner})
    }  # fmt: skip


_APP = """\
import os


def connect():
    return {"host": "db.internal", "token": os.environ["TOKEN"]}
"""
_AUTHOR = "Nadia Brandt <nadia@example.org>"


def _commit(hour: int, message: str, files: dict[str, str]) -> Commit:
    return Commit(message, _AUTHOR, 1_700_000_000 + hour * 3600, files)


def _careless(flag: str) -> Files:
    """The token was committed, and taken out again two commits later."""
    readme = {"README.md": "# Stockroom\n"}
    secret = {"deploy/token.env": f"TOKEN={flag}\n"}
    app = {"app.py": _APP}
    return _repository(
        [
            _commit(0, "Start", readme),
            _commit(3, "Deployment", readme | secret),
            _commit(5, "Connect to the database", readme | secret | app),
            _commit(6, "Tidy up", readme | app),
            _commit(30, "Usage", {"README.md": "# Stockroom\n\nSet TOKEN first.\n"} | app),
        ]
    )


def _amended(flag: str) -> Files:
    """The last commit was amended: the first edition hangs on nothing any more."""
    notes = {"notes.md": "# Notes\n\nnothing yet\n"}
    first = _commit(0, "Start", notes)
    leak = {"notes.md": f"# Notes\n\nthe safe opens with {flag}\n"}
    tidy = {"notes.md": "# Notes\n\nthe safe opens with the usual\n"}
    lost = _repository([first, _commit(2, "The safe", leak)])
    kept = _repository([first, _commit(2, "The safe", tidy)])
    return {path: data for path, data in lost.items() if "/.git/objects/" in path} | kept


def _repository(commits: list[Commit]) -> Files:
    """Its files, the objects compressed, as git itself would leave them."""
    files: Files = {}
    for entry in repository(commits, "site"):
        if entry.data is not None:
            files[entry.path] = entry.data
            if isinstance(entry.data, bytes) and "/.git/objects/" in entry.path:
                files[entry.path] = zlibbed(zlib.decompress(entry.data))
    return files


def _capture(flag: str) -> Files:
    """Two conversations; in one a compressed body was sent, its segments late, early and twice."""
    body = gzipped(
        f"<report>\n<status>all quiet</status>\n<code>{flag}</code>\n</report>\n".encode()
    )
    head = (
        f"POST /report HTTP/1.1\r\nHost: depot\r\nContent-Encoding: gzip\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode()
    upload = _segments("10.0.0.7.40112", "10.0.0.2.80", 7_001, head + body, 40)
    page = b"GET /weather HTTP/1.1\r\nHost: depot\r\nAccept: text/plain\r\n\r\n"
    other = _segments("10.0.0.9.51770", "10.0.0.2.80", 88_000, page, 24)
    order = sorted(range(len(upload)), key=lambda n: (n * 7 + 3) % len(upload))
    lines = [upload[n] for n in order]
    lines[2:2] = other
    lines.insert(6, upload[order[1]])  # sent a second time
    times = (f"12:00:{n // 4:02}.{n % 4 * 250_000:06} " for n in range(len(lines)))
    return {
        "capture.txt": "".join(f"{time}{line}\n" for time, line in zip(times, lines, strict=True))
    }


def _segments(source: str, target: str, start: int, data: bytes, size: int) -> list[str]:
    return [
        f"IP {source} > {target}: seq {start + at}:{start + at + len(part)}, "
        f"data {part.hex(' ', 2)}"
        for at in range(0, len(data), size)
        for part in [data[at : at + size]]
    ]


_POEM = """The tide goes out, the tide comes in, the gulls have nothing new to say, and what I \
meant to tell you then I have not told you to this day. The boats lie keel by keel in rows, the \
ropes are wet, the paint is thin; a line has got no end that shows, so look at where the lines \
give in. The lamp is lit, the lamp is out, the keeper climbs the stair again; what I was thinking \
all about is written in between the rain. """


def _poem(flag: str) -> Files:
    """A byte to a line, its bits at the line's end: a blank is 0, a tab is 1."""
    lines = wrap(_POEM * 3, 36)[: len(flag)]
    assert len(lines) == len(flag)
    ends = [f"{byte:08b}".translate({48: " ", 49: "\t"}) for byte in flag.encode()]
    return {"tide.txt": "".join(f"{a}{b}\n" for a, b in zip(lines, ends, strict=True))}


PUZZLES = (
    Puzzle(
        "grey-slope",
        ("forensics", "image"),
        "medium",
        "slope.png looks like a plain slope from dark to light. Its comment says where to look. "
        "The first byte of what is hidden, highest bit first, row by row, is the length of the "
        "flag that follows.",
        _picture,
        (
            python("""
                import struct, zlib
                data, at, packed = open("slope.png", "rb").read(), 8, b""
                while at < len(data):
                    size, kind = struct.unpack(">I4s", data[at : at + 8])
                    if kind == b"IHDR":
                        width, height = struct.unpack(">II", data[at + 8 : at + 16])
                    if kind == b"IDAT":
                        packed += data[at + 8 : at + 8 + size]
                    at += size + 12
                rows = zlib.decompress(packed)
                bits = [p & 1 for y in range(height) for p in rows[y * (width + 1) + 1 :][:width]]
                eights = (bits[n : n + 8] for n in range(0, len(bits), 8))
                hidden = bytes(int("".join(map(str, eight)), 2) for eight in eights)
                print(hidden[1 : 1 + hidden[0]].decode())
            """),
        ),
    ),
    Puzzle(
        "pier",
        ("forensics", "archive"),
        "easy",
        "A photograph of a pier, pier.jpg, is larger than what one sees of it. Find the flag that "
        "came along with it.",
        _photo,
        (
            python("""
                import io, zipfile
                outer = zipfile.ZipFile("pier.jpg")
                inner = zipfile.ZipFile(io.BytesIO(outer.read("bag/parcel.zip")))
                print(inner.read("letter.txt").decode())
            """),
        ),
    ),
    Puzzle(
        "careless-commit",
        ("forensics", "git"),
        "easy",
        "site is a Git repository. Somebody committed a token once, and took it out again when it "
        "was noticed. The token is the flag.",
        _careless,
        (
            "cd site",
            "git log --oneline --diff-filter=D --name-only",
            'git show "$(git rev-list -n 1 HEAD -- deploy/token.env)^:deploy/token.env"',
        ),
    ),
    Puzzle(
        "amended",
        ("forensics", "git"),
        "medium",
        "site is a Git repository whose last commit was amended, because too much was in it. What "
        "was in it is the flag.",
        _amended,
        (
            "cd site",
            "git fsck --no-reflogs --unreachable",
            (
                "git fsck --no-reflogs --unreachable | while read -r _ kind name; do "
                "if [ $kind = commit ]; then git show $name; fi; done"
            ),
        ),
    ),
    Puzzle(
        "shuffled-capture",
        ("forensics", "network"),
        "hard",
        "capture.txt is what was heard on a wire: for each TCP segment its time, the two ends, the "
        "range of sequence numbers, and the data in hexadecimal. Segments came late, early and "
        "twice. A report was uploaded to the depot; the flag is in it.",
        _capture,
        (
            python("""
                import gzip, re
                parts = {}
                for line in open("capture.txt"):
                    found = re.search(r"10.0.0.7.*seq (\\d+):\\d+, data (.*)", line)
                    if found:
                        parts[int(found[1])] = bytes.fromhex(found[2])
                sent = b"".join(parts[n] for n in sorted(parts))
                print(gzip.decompress(sent.partition(b"\\r\\n\\r\\n")[2]).decode())
            """),
        ),
    ),
    Puzzle(
        "tide",
        ("forensics", "text"),
        "medium",
        "tide.txt is a poem. It says itself where to look for the flag.",
        _poem,
        (
            python("""
                lines = open("tide.txt").read().splitlines()
                tails = [line[-8:].replace(" ", "0").replace("\\t", "1") for line in lines]
                print("".join(chr(int(tail, 2)) for tail in tails))
            """),
        ),
    ),
)
