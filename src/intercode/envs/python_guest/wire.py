"""Values between the process that runs the submission and the one that runs the tests.

Both load this. Plain data crosses by value, rebuilt from what it is and not from what it says of
itself; everything else stays where it is, and a reference crosses. What is read is the other side's
word and is trusted in nothing but its being data: no class and no function is made of it.
"""

# mypy: ignore-errors

import builtins
import sys

_EXACT = (bool, str)
# By module and name: what makes one again, from what, and whether that is several arguments. A
# value can only be of a class whose module has been imported: so nothing is imported to look.
_NAMED = {
    "collections.Counter": (lambda x: dict(dict.items(x)), False),
    "collections.OrderedDict": (lambda x: dict(dict.items(x)), False),
    "collections.defaultdict": (lambda x: dict(dict.items(x)), False),
    "collections.deque": (list, False),
    "decimal.Decimal": (str, False),
    "fractions.Fraction": (str, False),
    "datetime.timedelta": (lambda x: (x.days, x.seconds, x.microseconds), True),
    "datetime.datetime": (lambda x: (*_day(x), *_hour(x)), True),
    "datetime.date": (lambda x: _day(x), True),
    "datetime.time": (lambda x: _hour(x), True),
    "datetime.timezone": (lambda x: (x.utcoffset(None),), True),
    "builtins.range": (lambda x: (x.start, x.stop, x.step), True),
    "builtins.slice": (lambda x: (x.start, x.stop, x.step), True),
}
_MANY = {"t": tuple, "s": set, "f": frozenset, "l": list}
_LETTERS = {kind: letter for letter, kind in _MANY.items()}
_BASES = (list, tuple, dict, set, frozenset, str, bytes, int, float, complex)
BIG = 1 << 53
_HARMLESS = frozenset(
    [
        "abs",
        "all",
        "any",
        "bool",
        "bytes",
        "bytearray",
        "complex",
        "dict",
        "float",
        "frozenset",
        "int",
        "len",
        "list",
        "max",
        "min",
        "object",
        "ord",
        "chr",
        "range",
        "reversed",
        "round",
        "set",
        "sorted",
        "str",
        "sum",
        "tuple",
        "type",
        "zip",
    ]
)


def _known(value):
    """Whether it is a builtin that can do no harm to whoever calls it."""
    if type(value) not in (type, type(len)):
        return False
    name = value.__name__
    if getattr(builtins, name, None) is not value:
        return False
    return name in _HARMLESS or (isinstance(value, type) and issubclass(value, BaseException))


def _day(x):
    return x.year, x.month, x.day


def _hour(x):
    return x.hour, x.minute, x.second, x.microsecond, x.tzinfo


def _name_of(kind):
    """The name of a class in the table, if it is that class and not one that is called so."""
    name = f"{type.__getattribute__(kind, '__module__')}.{kind.__name__}"
    if name not in _NAMED:
        return None
    module, _, word = name.partition(".")
    return name if getattr(sys.modules.get(module), word, None) is kind else None


class Wire:
    """``refer`` gives the reference to an object that stays; ``resolve`` what one stands for."""

    def __init__(self, refer, resolve):
        self._refer = refer
        self._resolve = resolve

    def write(self, value):
        return self._pack(value, set())

    def _pack(self, value, above):
        kind = type(value)
        if value is None or kind in _EXACT:
            return value
        if kind is int:
            return value if -BIG < value < BIG else {"i": hex(value)}
        if kind is float:
            return value
        if kind is complex:
            return {"c": [value.real, value.imag]}
        if kind in (bytes, bytearray):
            return {"b" if kind is bytes else "y": value.hex()}
        if value is Ellipsis:
            return {"e": 0}
        if value is NotImplemented:
            return {"n": 0}
        if id(value) in above:
            return {"o": self._refer(value)}  # it contains itself
        above = above | {id(value)}
        if kind in _LETTERS:
            return {_LETTERS[kind]: [self._pack(one, above) for one in value]}
        if kind is dict:
            return {"d": self._pairs(value, above)}
        name = _name_of(kind)
        if name is not None:
            return {"k": [name, self._pack(_NAMED[name][0](value), above)]}
        if _known(value):
            return {"q": value.__name__}
        return {"o": self._refer(value)}

    def _pairs(self, value, above):
        return [[self._pack(k, above), self._pack(v, above)] for k, v in dict.items(value)]

    def base_value(self, value):
        """The plain data that an instance of a class made from a plain one holds, or None."""
        for base in _BASES:
            if isinstance(value, base):
                if base is dict:
                    return {"d": self._pairs(value, set())}
                if base in (int, str, float):
                    plain = base.__add__(value, base()) if base is not str else str.__str__(value)
                    return self._pack(plain, set()) if type(plain) is base else None
                if base in (list, tuple, set, frozenset):
                    plain = [self._pack(one, {id(value)}) for one in base.__iter__(value)]
                    return {_LETTERS[base]: plain}
                return None
        return None

    def read(self, packed):
        if packed is None or type(packed) in (bool, str, int, float):
            return packed
        if type(packed) is not dict or len(packed) != 1:
            raise ValueError("not a value")
        ((letter, body),) = packed.items()
        if letter in _MANY:
            return _MANY[letter](self.read(one) for one in body)
        if letter == "d":
            return {self.read(key): self.read(value) for key, value in body}
        if letter == "i":
            return int(body, 16)
        if letter == "c":
            return complex(*map(float, body))
        if letter == "b":
            return bytes.fromhex(body)
        if letter == "y":
            return bytearray.fromhex(body)
        if letter == "e":
            return Ellipsis
        if letter == "n":
            return NotImplemented
        if letter == "k":
            return self._rebuilt(*body)
        if letter == "q" and _known(getattr(builtins, str(body), None)):
            return getattr(builtins, body)
        if letter == "o":
            return self._resolve(body)
        raise ValueError("not a value")

    def _rebuilt(self, name, packed):
        several, parts = _NAMED[name][1], self.read(packed)
        module, _, word = name.partition(".")
        kind = getattr(__import__(module), word)
        if word == "defaultdict":
            return kind(None, parts)
        return kind(*parts) if several else kind(parts)
