"""Stand-ins, where the tests run, for what is on the submission's side. Loaded after `wire`.

To call one is to ask the other side and to take plain data for an answer. What the other side may
ask back is little: to call what it was given, and what an object of a test's class has in the open.
"""

# mypy: ignore-errors
# ruff: noqa: F821, B905 (other files are loaded before this one; and Python 3.8 will do)

import builtins
import sys
import types

_WRAPPED = ("__name__", "__qualname__", "__module__", "__doc__")


class Gone(BaseException):
    """The other side died, or took too long."""


class Link:
    """One conversation with the submission, until it dies."""

    def __init__(self, milliseconds):
        self.milliseconds = milliseconds
        self.number = 0
        self.done = []
        self.dead = "new"
        self._objects, self._mirrors, self._remotes = [], {}, {}
        self._wire = Wire(self._refer, self._resolve)

    def begin(self):
        self._objects, self._mirrors, self._remotes = [], {}, {}
        self.dead = ""
        self._send("new")

    def _send(self, text):
        if self.dead:
            raise Gone(self.dead)
        _limit(0)
        question = to_text({"ask": text, "test": self.number, "done": self.done})
        reply = answered(question.encode())
        _limit(self.milliseconds)
        if reply in ("dead", "late"):
            self.dead = reply
            raise Gone(reply)
        return reply

    def _exchange(self, message):
        reply = from_text(self._send(to_text(message)))
        if type(reply) is not dict:
            raise ValueError("no reply")
        return reply

    def names(self, wanted):
        found = self._exchange({"names": wanted})["names"]
        return {name: self._wire.read(found[name]) for name in wanted if name in found}

    def do(self, what, *args, **named):
        packed = [self._wire.write(one) for one in args]
        reply = self._exchange(
            {
                "do": what,
                "args": packed,
                "named": {name: self._wire.write(one) for name, one in named.items()},
            }
        )
        while "back" in reply:
            reply = self._exchange(self._served(reply))
        if "error" in reply:
            raise self._problem(reply["error"])
        for argument, before, after in zip(args, packed, reply["after"]):
            if after is not None and after != before:
                _changed(argument, self._wire.read(after))
        return self._wire.read(reply["value"])

    def _served(self, request):
        """Do what the submission asks of something that a test gave to it: calls, and what else an
        object of a test's own class has in the open."""
        try:
            thing = self._objects[request["id"]]
            args = [self._wire.read(one) for one in request["args"]]
            named = {str(name): self._wire.read(one) for name, one in request["named"].items()}
            return {"returned": self._wire.write(_allowed(request["back"], thing, args, named))}
        except Gone:
            raise
        except Exception as problem:
            return {"raised": {"name": type(problem).__name__, "text": str(problem)}}

    def _refer(self, thing):
        number = getattr(type(thing), "_number_", None)
        if number is not None:
            return {"home": number(thing)}
        number = _remote_number(thing)
        if number is not None:
            return {"home": number}
        self._objects.append(thing)
        about = {"id": len(self._objects) - 1}
        if isinstance(thing, types.FunctionType):
            about["known"] = {name: getattr(thing, name) for name in _WRAPPED}
        return about

    def _resolve(self, about):
        if "home" in about:
            return self._objects[about["home"]]
        if "module" in about:
            return _module(about["module"])
        if "mro" in about:
            return self._mirror(about["mro"])
        number = about["id"]
        if number not in self._remotes:
            self._remotes[number] = Remote(self, about)
        remote = self._remotes[number]
        object.__getattribute__(remote, "_about").update(about)
        return remote

    def _mirror(self, line):
        """A class of exceptions here, for one there."""
        number, name = line[0]
        if number is None:
            kind = getattr(builtins, str(name), Exception)
            harmless = isinstance(kind, type) and issubclass(kind, BaseException)
            return kind if harmless else Exception
        if number not in self._mirrors:
            parent = self._mirror(line[1:]) if line[1:] else Exception
            space = {"__module__": "submission", "_remote_id": number, "__str__": _told_text}
            self._mirrors[number] = type(str(name), (parent,), space)
        return self._mirrors[number]

    def _problem(self, told):
        kind = self._mirror(told["line"])
        args = [self._wire.read(one) for one in told["args"]]
        try:
            problem = kind(*args)
        except Exception:
            problem = Exception(told["text"])
        if "_remote_id" in vars(kind):
            problem._told_text = str(told["text"])
            if "self" in told:
                remote = self._resolve(told["self"]["o"])
                type(problem).__getattr__ = lambda problem, name: getattr(remote, name)
        return problem


def _told_text(problem):
    return vars(problem).get("_told_text") or ", ".join(map(str, problem.args))


def _remote_number(thing):
    return vars(thing).get("_remote_id") if isinstance(thing, type) else None


def _allowed(what, thing, args, named):
    if what == "call" and callable(thing):
        return thing(*args, **named)
    if what == "iter":
        return iter(thing)
    if what == "next":
        return _one_more(thing)
    own = type(thing).__module__ == "tests" and not str(args[0]).startswith("_")
    if own and what == "getattr":
        return getattr(thing, args[0])
    if own and what == "setattr":
        return setattr(thing, *args)
    raise AttributeError("not to be had")


def _one_more(thing):
    try:
        return [next(thing)]
    except StopIteration:
        return []


def _changed(argument, now):
    """Have happen to an argument what happened to its copy."""
    if type(argument) is not type(now):
        return
    if isinstance(argument, (list, bytearray)):
        argument[:] = now
    elif isinstance(argument, (dict, set)):
        argument.clear()
        argument.update(now)


def _module(name):
    import importlib

    known = getattr(sys, "stdlib_module_names", sys.builtin_module_names)
    if str(name).partition(".")[0] not in known:
        raise ImportError(name)
    return importlib.import_module(str(name))


# Something of the submission's. Made from plain data, it has that value; with what is not remote it
# compares as that value, or not at all.
class Remote:
    __doc__ = property(lambda self: _do(self, "getattr", "__doc__"))

    def __init__(self, link, about):
        object.__setattr__(self, "_link", link)
        object.__setattr__(self, "_about", dict(about))

    def _number_(self):
        return object.__getattribute__(self, "_about")["id"]

    @property
    def __class__(self):
        about = object.__getattribute__(self, "_about")
        return type(_value(self)) if "as" in about else Remote

    def __getattr__(self, name):
        return _do(self, "getattr", name)

    def __setattr__(self, name, value):
        _do(self, "setattr", name, value)

    def __delattr__(self, name):
        _do(self, "delattr", name)

    def __call__(self, *args, **named):
        return object.__getattribute__(self, "_link").do("call", self, *args, **named)

    def __iter__(self):
        inner = _do(self, "iter")
        while True:
            try:
                one = _do(inner, "next")
            except StopIteration:
                return
            yield one

    def __bool__(self):
        return bool(_value(self)) if _has_value(self) else bool(_do(self, "bool"))

    def __instancecheck__(self, one):
        return type(one) is Remote and bool(_do(self, "isinstance", one, self, bare=True))

    def __subclasscheck__(self, one):
        return type(one) is Remote and bool(_do(self, "issubclass", one, self, bare=True))

    def __eq__(self, other):
        if self is other:
            return True
        if type(other) is Remote:
            return _truth(_do(self, "eq", other))
        return _has_value(self) and _value(self) == other

    def __ne__(self, other):
        return not self == other

    def __enter__(self):
        return _do(self, "enter")

    def __exit__(self, *_):
        return _truth(_do(self, "exit", None, None, None))

    def __await__(self):
        yield from ()
        return _do(self, "await")


def _has_value(remote):
    return "as" in object.__getattribute__(remote, "_about")


def _value(remote):
    link = object.__getattribute__(remote, "_link")
    return link._wire.read(object.__getattribute__(remote, "_about")["as"])


def _truth(value):
    return value if type(value) is bool else type(value) is not Remote and bool(value)


def _do(remote, what, *args, bare=False):
    link = object.__getattribute__(remote, "_link")
    return link.do(what, *args) if bare else link.do(what, remote, *args)


def _ordered(what):
    def method(self, other):
        if type(other) is Remote:
            return _truth(_do(self, what, other))
        if _has_value(self):
            import operator

            return getattr(operator, what)(_value(self), other)
        raise TypeError("not comparable with what is not the submission's")

    return method


def _forward(what):
    return lambda self, *args: _do(self, what, *args)


def _backward(what):
    return lambda self, other: _do(self, what, other, self, bare=True)


def _number(what, kind):
    return lambda self: kind(_value(self)) if _has_value(self) else kind(_do(self, what))


for _what in ("lt", "le", "gt", "ge"):
    setattr(Remote, f"__{_what}__", _ordered(_what))
for _what in ("len", "next", "repr", "str", "hash", "abs", "round", "divmod", "pow", "reversed"):
    setattr(Remote, f"__{_what}__", _forward(_what))
for _what in ("neg", "pos", "invert", "getitem", "setitem", "delitem", "contains", "format"):
    setattr(Remote, f"__{_what}__", _forward(_what))
for _what in (
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "lshift",
    "rshift",
    "xor",
    "matmul",
):
    setattr(Remote, f"__{_what}__", _forward(_what))
    setattr(Remote, f"__r{_what}__", _backward(_what))
for _what in ("and", "or"):
    setattr(Remote, f"__{_what}__", _forward(_what + "_"))
    setattr(Remote, f"__r{_what}__", _backward(_what + "_"))
for _what, _kind in (("int", int), ("float", float), ("complex", complex)):
    setattr(Remote, f"__{_what}__", _number(_what, _kind))
Remote.__index__ = _number("index", int)
