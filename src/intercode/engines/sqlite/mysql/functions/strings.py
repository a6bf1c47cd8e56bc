"""Functions of text."""

from __future__ import annotations

import base64
import binascii
import hashlib
import zlib
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from intercode.engines.sqlite.mysql import collate
from intercode.engines.sqlite.mysql.functions.values import LONGEST, number, text, whole

Value = Any


def strict(function: Callable[..., Value]) -> Callable[..., Value]:
    """NULL where an argument is."""

    def checked(*arguments: Value) -> Value:
        return None if None in arguments else function(*arguments)

    return checked


def _said(value: Value) -> str:
    return text(value) or ""


def _count(value: Value) -> int:
    return whole(value) or 0


def _concat(*parts: Value) -> str | None:
    return _bounded("".join(map(_said, parts)))


def _concat_ws(separator: Value, *parts: Value) -> str | None:
    if separator is None:
        return None
    return _bounded(_said(separator).join(_said(part) for part in parts if part is not None))


def _bounded(result: str) -> str | None:
    return result if len(result) <= LONGEST else None


def _left(value: Value, length: Value) -> str:
    return _said(value)[: max(_count(length), 0)]


def _right(value: Value, length: Value) -> str:
    count = max(_count(length), 0)
    return _said(value)[-count:] if count else ""


def _substring(value: Value, start: Value, length: Value = None) -> str | None:
    said, first = _said(value), _count(start)
    if first == 0 or -first > len(said):
        return ""
    first = first - 1 if first > 0 else len(said) + first
    return said[first:] if length is None else said[first : first + max(_count(length), 0)]


def _substr(value: Value, start: Value, *length: Value) -> str | None:
    if value is None or start is None or None in length:
        return None
    return _substring(value, start, *length)


def _padded(value: Value, length: Value, filling: Value, left: bool) -> str | None:
    said, wanted, fill = _said(value), _count(length), _said(filling)
    if wanted < 0 or wanted > LONGEST:
        return None
    if len(said) >= wanted:
        return said[:wanted]
    if not fill:
        return ""
    missing = wanted - len(said)
    padding = (fill * (missing // len(fill) + 1))[:missing]
    return padding + said if left else said + padding


def _substring_index(value: Value, mark: Value, count: Value) -> str:
    said, wanted, times = _said(value), _said(mark), _count(count)
    if not wanted or not times:
        return ""
    parts = said.split(wanted)
    return wanted.join(parts[:times] if times > 0 else parts[times:])


def _locate(part: Value, value: Value, start: Value = 1) -> int:
    first = _count(start)
    if first < 1:
        return 0
    return collate.fold(_said(value)).find(collate.fold(_said(part)), first - 1) + 1


def _trim(value: Value, unwanted: Value = " ", where: Value = "BOTH") -> str:
    said, part = _said(value), _said(unwanted)
    if not part:
        return said
    first, last = 0, len(said)
    if where in ("BOTH", "LEADING"):
        while said.startswith(part, first) and first < last:
            first += len(part)
    if where in ("BOTH", "TRAILING"):
        while last - len(part) >= first and said.endswith(part, first, last):
            last -= len(part)
    return said[first:last]


def _find_in_set(value: Value, values: Value) -> int:
    wanted = collate.key(_said(value))
    listed = _said(values)
    if not listed or "," in wanted:
        return 0
    keys = [collate.key(item) for item in listed.split(",")]
    return keys.index(wanted) + 1 if wanted in keys else 0


def _field(value: Value, *values: Value) -> int:
    if value is None:
        return 0
    wanted = collate.key(_said(value))
    for place, item in enumerate(values, 1):
        if item is not None and collate.key(_said(item)) == wanted:
            return place
    return 0


def _elt(place: Value, *values: Value) -> Value:
    index = whole(place)
    return values[index - 1] if index is not None and 1 <= index <= len(values) else None


def _format(value: Value, digits: Value, *_: Value) -> str:
    places = min(max(_count(digits), 0), 30)
    amount = Decimal(str(number(value)))
    rounded = amount.quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_UP)
    return f"{rounded:,.{places}f}"


def _insert(value: Value, start: Value, length: Value, new: Value) -> str:
    said, first, count = _said(value), _count(start), _count(length)
    if first < 1 or first > len(said):
        return said
    count = count if count >= 0 else len(said)
    return said[: first - 1] + _said(new) + said[first - 1 + count :]


def _repeat(value: Value, count: Value) -> str | None:
    said, times = _said(value), max(_count(count), 0)
    return said * times if len(said) * times <= LONGEST else None


def _replace(value: Value, old: Value, new: Value) -> str | None:
    said, was, becomes = _said(value), _said(old), _said(new)
    if not was or len(said) + said.count(was) * (len(becomes) - len(was)) > LONGEST:
        return said if not was else None
    return said.replace(was, becomes)


def _hex(value: Value) -> str:
    if isinstance(value, int | float):
        return f"{_count(value) & (2**64 - 1):X}"
    return _bytes(value).hex().upper()


def _bytes(value: Value) -> bytes:
    return value if isinstance(value, bytes) else _said(value).encode("utf-8", "replace")


def _unhex(value: Value) -> bytes | None:
    digits = _said(value)
    try:
        return bytes.fromhex(digits if len(digits) % 2 == 0 else "0" + digits)
    except ValueError:
        return None


def _digest(name: str) -> Callable[[Value], str]:
    return lambda value: hashlib.new(name, _bytes(value), usedforsecurity=False).hexdigest()


def _sha2(value: Value, bits: Value) -> str | None:
    name = {0: "sha256", 224: "sha224", 256: "sha256", 384: "sha384", 512: "sha512"}.get(
        _count(bits)
    )
    return hashlib.new(name, _bytes(value)).hexdigest() if name else None


def _char(*codes: Value) -> bytes:
    numbers = [_count(code) & 0xFFFFFFFF for code in codes if code is not None]
    return b"".join(n.to_bytes(max((n.bit_length() + 7) // 8, 1), "big") for n in numbers)


def _ord(value: Value) -> int:
    said = _said(value)
    return int.from_bytes(said[0].encode("utf-8", "replace"), "big") if said else 0


def _soundex(value: Value) -> str:
    codes = dict(zip("AEIOUYHWBFPVCGJKQSXZDTLMNR", "00000000111122222222334556", strict=True))
    letters = [c for c in collate.fold(_said(value)) if c in codes]
    if not letters:
        return ""
    found, last = [letters[0]], codes[letters[0]]
    for letter in letters[1:]:
        code = codes[letter]
        if code != "0" and code != last:
            found.append(code)
        if code != "0" or letter not in "HW":
            last = code
    return "".join(found).ljust(4, "0")


def _strcmp(left: Value, right: Value) -> int:
    return collate.compare(_said(left), _said(right))


def _from_base64(value: Value) -> bytes | None:
    try:
        return base64.b64decode(_said(value))
    except (binascii.Error, ValueError):
        return None


def _decimal_text(value: Value, scale: int) -> str:
    return f"{Decimal(str(value)).quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP):f}"


_STRICT: dict[str, Callable[..., Value]] = {
    "concat": _concat,
    "left": _left,
    "right": _right,
    "lpad": lambda value, length, fill=" ": _padded(value, length, fill, left=True),
    "rpad": lambda value, length, fill=" ": _padded(value, length, fill, left=False),
    "substring_index": _substring_index,
    "locate": _locate,
    "instr": lambda value, part: _locate(part, value),
    "trim": _trim,
    "ltrim": lambda value: _said(value).lstrip(" "),
    "rtrim": lambda value: _said(value).rstrip(" "),
    "lower": lambda value: _said(value).lower(),
    "upper": lambda value: _said(value).upper(),
    "length": lambda value: len(_bytes(value)),
    "bit_length": lambda value: 8 * len(_bytes(value)),
    "char_length": lambda value: len(_said(value)),
    "reverse": lambda value: _said(value)[::-1],
    "find_in_set": _find_in_set,
    "format": _format,
    "insert": _insert,
    "repeat": _repeat,
    "replace": _replace,
    "space": lambda count: _repeat(" ", count),
    "hex": _hex,
    "unhex": _unhex,
    "md5": _digest("md5"),
    "sha1": _digest("sha1"),
    "sha2": _sha2,
    "crc32": lambda value: zlib.crc32(_bytes(value)),
    "ascii": lambda value: _bytes(value)[0] if _bytes(value) else 0,
    "ord": _ord,
    "soundex": _soundex,
    "strcmp": _strcmp,
    "quote": lambda value: "'" + _said(value).replace("\\", "\\\\").replace("'", "\\'") + "'",
    "to_base64": lambda value: base64.b64encode(_bytes(value)).decode(),
    "from_base64": _from_base64,
    "dec_text": _decimal_text,
    "text": text,
    "single_text": lambda value: text(float(f"{float(value):.6g}")),
}

FUNCTIONS: dict[str, Callable[..., Value]] = {
    **{name: strict(function) for name, function in _STRICT.items()},
    "concat_ws": _concat_ws,
    "substring": _substr,
    "field": _field,
    "elt": _elt,
    "char": _char,
}
