"""Functions of numbers. A domain error is NULL, as MySQL has it."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal
from typing import Any

from intercode.engines.sqlite.mysql import collate
from intercode.engines.sqlite.mysql.functions.strings import strict
from intercode.engines.sqlite.mysql.functions.values import Number, number, text, whole
from intercode.engines.sqlite.mysql.kinds import single

Value = Any


def _numeric(function: Callable[..., Value]) -> Callable[..., Value]:
    """With arguments as numbers; NULL where one is, and where there is no result."""

    def checked(*arguments: Value) -> Value:
        numbers = [number(argument) for argument in arguments]
        if None in numbers:
            return None
        try:
            result = function(*numbers)
        except (ValueError, OverflowError, ZeroDivisionError, ArithmeticError):
            return None
        if isinstance(result, complex) or (isinstance(result, float) and not math.isfinite(result)):
            return None
        if isinstance(result, int) and not -(2**63) <= result < 2**63:
            return float(result)
        return result

    return checked


def _round(value: Number, digits: Number = 0) -> Number:
    return _quantized(value, int(digits), ROUND_HALF_UP)


def _round_even(value: Number, digits: Number = 0) -> Number:
    """Of a float, as the C library rounds: halves to the even neighbour."""
    places = int(digits)
    if not -300 < places < 300 or not math.isfinite(value * 10.0**places):
        return value
    return round(value * 10.0**places) / 10.0**places


def _truncate(value: Number, digits: Number) -> Number:
    return _quantized(value, int(digits), ROUND_DOWN)


def _quantized(value: Number, digits: int, rounding: str) -> Number:
    if digits > 30:
        return value
    if digits < -30:
        return 0
    rounded = Decimal(str(value)).quantize(Decimal(1).scaleb(-digits), rounding=rounding)
    return int(rounded) if isinstance(value, int) else float(rounded)


def _divide(left: Number, right: Number) -> float | None:
    return left / right if right else None


def _whole_divide(left: Number, right: Number) -> int | None:
    if not right:
        return None
    if isinstance(left, int) and isinstance(right, int):
        return abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
    return int(left / right)


def _modulo(left: Number, right: Number) -> Number | None:
    if not right:
        return None
    if isinstance(left, int) and isinstance(right, int):
        return abs(left) % abs(right) * (1 if left >= 0 else -1)
    return math.fmod(left, right)


def _floor(value: Number) -> int:
    return math.floor(value)


def _log(first: Number, second: Number | None = None) -> float:
    return math.log(first) if second is None else math.log(second) / math.log(first)


def _atan(value: Number, other: Number | None = None) -> float:
    return math.atan(value) if other is None else math.atan2(value, other)


def _power(base: Number, exponent: Number) -> float:
    return math.pow(base, exponent)


def _conv(value: Value, source: Value, target: Value) -> str | None:
    old, new = abs(whole(source) or 0), abs(whole(target) or 0)
    if not (2 <= old <= 36 and 2 <= new <= 36):
        return None
    digits = "0123456789abcdefghijklmnopqrstuvwxyz"
    total = 0
    for character in (text(value) or "").strip().lower().lstrip("+-"):
        place = digits.find(character)
        if not 0 <= place < old:
            break
        total = min(total * old + place, 2**64 - 1)
    written = ""
    while total:
        total, rest = divmod(total, new)
        written = digits[rest] + written
    return written.upper() or "0"


def _greatest(*values: Value) -> Value:
    return max(values, key=_order(values))


def _least(*values: Value) -> Value:
    return min(values, key=_order(values))


def _order(values: tuple[Value, ...]) -> Callable[[Value], Any]:
    if all(isinstance(value, int | float) for value in values):
        return lambda value: value
    return lambda value: collate.key(text(value) or "")


def _interval(value: Value, *bounds: Value) -> int:
    wanted = number(value)
    if wanted is None:
        return -1
    return sum(1 for bound in bounds if (number(bound) or 0) <= wanted)


def _signed(value: Value) -> int | None:
    found = whole(value)
    return None if found is None else max(min(found, 2**63 - 1), -(2**63))


def _unsigned(value: Value) -> int | None:
    found = whole(value)
    if found is None:
        return None
    return found if found >= 0 else found % 2**64 if found % 2**64 < 2**63 else 2**63 - 1


def _to_decimal(value: Number, precision: Number, scale: Number) -> Number:
    largest = Decimal(10) ** int(precision - scale) - Decimal(1).scaleb(-int(scale))
    amount = Decimal(str(value)).quantize(Decimal(1).scaleb(-int(scale)), ROUND_HALF_UP)
    amount = max(min(amount, largest), -largest)
    return int(amount) if amount == amount.to_integral_value() else float(amount)


def _rand(*seed: Value) -> float:
    """With a seed the same number each time."""
    return random.Random(whole(seed[0]) or 0).random() if seed else random.random()


_NUMERIC: dict[str, Callable[..., Value]] = {
    "round": _round,
    "round_even": _round_even,
    "truncate": _truncate,
    "divide": _divide,
    "intdiv": _whole_divide,
    "mod": _modulo,
    "floor": _floor,
    "ceil": math.ceil,
    "abs": abs,
    "sign": lambda value: (value > 0) - (value < 0),
    "pow": _power,
    "sqrt": math.sqrt,
    "exp": math.exp,
    "ln": math.log,
    "log": _log,
    "log2": math.log2,
    "log10": math.log10,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "cot": lambda value: 1 / math.tan(value),
    "asin": math.asin,
    "acos": math.acos,
    "atan": _atan,
    "radians": math.radians,
    "degrees": math.degrees,
    "to_decimal": _to_decimal,
    "double": float,
    "single": single,
}

FUNCTIONS: dict[str, Callable[..., Value]] = {
    **{name: _numeric(function) for name, function in _NUMERIC.items()},
    "greatest": strict(_greatest),
    "least": strict(_least),
    "conv": strict(_conv),
    "bin": strict(lambda value: f"{(whole(value) or 0) & (2**64 - 1):b}"),
    "oct": strict(lambda value: f"{(whole(value) or 0) & (2**64 - 1):o}"),
    "interval": _interval,
    "num": number,
    "signed": _signed,
    "unsigned": _unsigned,
}

CHANGING: dict[str, Callable[..., Value]] = {"rand": _rand}
