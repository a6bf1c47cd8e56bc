"""Runs what was submitted, for a test elsewhere. Loaded after `wire` into the interpreter of a
sandbox in which the agent's actions have been done again.

``box`` requests come from the tests' side and are answered one by one, in a fork of the
interpreter that lasts until it dies, takes too long, or is asked to begin anew. Nothing here is
protected from the agent's code, and nothing here is a secret or a verdict.
"""

# mypy: ignore-errors
# ruff: noqa: F821

import _operator as operator
from os import (
    O_RDWR,
    WNOHANG,
    _exit,
    close,
    devnull,
    dup2,
    fork,
    kill,
    pipe,
    read,
    waitpid,
    write,
)
from os import open as opened
from select import select
from time import monotonic

_child = None
_KINDS = {
    "getattr": getattr, "setattr": setattr, "delattr": delattr, "len": len, "iter": iter,
    "next": next, "bool": bool, "repr": repr, "str": str, "hash": hash, "dir": dir,
    "isinstance": isinstance, "issubclass": issubclass, "call": lambda f, *a, **k: f(*a, **k),
    "index": operator.index, "int": int, "float": float, "complex": complex, "round": round,
    "abs": abs, "divmod": divmod, "pow": pow, "format": format, "bytes": bytes,
    "enter": lambda o: o.__enter__(), "exit": lambda o, *e: o.__exit__(*e),
    "reversed": reversed, "is": operator.is_, "type": type,
    "next_of": lambda i: (True, next(i)), "await": lambda o: _awaited(o),
}  # fmt: skip
for _name in (
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "lshift",
    "rshift",
    "and_",
    "or_",
    "xor",
    "matmul",
    "neg",
    "pos",
    "invert",
    "getitem",
    "setitem",
    "delitem",
    "contains",
    "iadd",
    "isub",
    "imul",
):
    _KINDS[_name] = getattr(operator, _name)


def _awaited(thing):
    import asyncio

    async def waited():
        return await thing

    return asyncio.run(waited())


class _Server:
    """One fork's half of the conversation: the objects that it has told of, and callbacks."""

    def __init__(self, incoming, outgoing):
        self._incoming, self._outgoing = incoming, outgoing
        self._objects, self._numbers = {}, {}
        self._wire = Wire(self._refer, self._resolve)

    def serve(self):
        while True:
            self._answer(_receive(self._incoming))

    def _answer(self, text):
        try:
            reply = self._done(from_text(text))
        except BaseException as problem:
            reply = {"error": self._told(problem)}
        try:
            text = to_text(reply)
        except BaseException as problem:
            text = to_text({"error": self._told(problem)})
        _send(self._outgoing, text.encode())

    def _done(self, request):
        if "names" in request:
            found = {}
            for name, inner in request["names"].items():
                try:
                    found[name] = self._wire.write(_looked_up(inner))
                except (LookupError, AttributeError):
                    pass
            return {"names": found}
        args = [self._wire.read(one) for one in request["args"]]
        named = {name: self._wire.read(one) for name, one in request["named"].items()}
        value = _KINDS[request["do"]](*args, **named)
        return {"value": self._wire.write(value), "after": [self._after(one) for one in args]}

    def _after(self, argument):
        """What has become of an argument that can change; the caller compares."""
        if type(argument) in (list, dict, set, bytearray):
            return self._wire.write(argument)
        return None

    def _refer(self, thing):
        if isinstance(thing, _Callback):
            return {"home": thing.number}
        number = self._numbers.get(id(thing))
        if number is None:
            number = self._numbers[id(thing)] = len(self._objects)
            self._objects[number] = thing
        about = {"id": number, "name": getattr(type(thing), "__name__", "?")}
        try:
            base = self._wire.base_value(thing)
            if base is not None:
                about["as"] = base
            if type(thing) is type(_ast):
                about["module"] = thing.__name__
            if isinstance(thing, type):
                about["class"] = thing.__name__
                if issubclass(thing, BaseException):
                    about["mro"] = self._line(thing)
            about["callable"] = callable(thing)
        except BaseException:
            pass
        return about

    def _line(self, kind):
        """An exception class's ancestors: [number, name] of the agent's, and then a builtin."""
        line = []
        for one in kind.__mro__:
            if one.__module__ == "builtins":
                line.append([None, one.__name__])
                break
            self._numbers.setdefault(id(one), len(self._objects))
            self._objects.setdefault(self._numbers[id(one)], one)
            line.append([self._numbers[id(one)], one.__name__])
        return line

    def _resolve(self, about):
        return self._objects[about["home"]] if "home" in about else _Callback(self, about)

    def _told(self, problem):
        told = {"line": self._line(type(problem)), "text": "", "args": []}
        try:
            told["text"] = str(problem)
            told["args"] = [self._wire.write(one) for one in problem.args]
            told["self"] = {"o": self._refer(problem)}
        except BaseException:
            pass
        return told

    def ask(self, do, number, args, named):
        """Have the tests' side do something with an object of its own."""
        request = {
            "back": do,
            "id": number,
            "args": [self._wire.write(one) for one in args],
            "named": {name: self._wire.write(one) for name, one in named.items()},
        }
        _send(self._outgoing, to_text(request).encode())
        while True:
            reply = from_text(_receive(self._incoming))
            if "returned" in reply:
                return self._wire.read(reply["returned"])
            if "raised" in reply:
                raise _exception(reply["raised"])
            self._answer(to_text(reply))


def _exception(told):
    import builtins

    kind = getattr(builtins, str(told["name"]), Exception)
    if not (isinstance(kind, type) and issubclass(kind, BaseException)):
        kind = Exception
    return kind(told["text"])


class _Callback:
    """Something of the tests' that the submission was given."""

    def __init__(self, server, about):
        self.__dict__.update(about.get("known", {}))
        self.__dict__.update(_server=server, number=about["id"])

    def __call__(self, *args, **named):
        return self._server.ask("call", self.number, args, named)

    def __iter__(self):
        inner = self._server.ask("iter", self.number, (), {})
        while True:
            more = inner._server.ask("next", inner.number, (), {})
            if not more:
                return
            yield more[0]

    def __next__(self):
        more = self._server.ask("next", self.number, (), {})
        if not more:
            raise StopIteration
        return more[0]

    def __getattr__(self, name):
        return self._server.ask("getattr", self.number, (name,), {})

    def __setattr__(self, name, value):
        self._server.ask("setattr", self.number, (name, value), {})


def _looked_up(path):
    first, *rest = path.split(".")
    if first not in _SPACE:
        raise KeyError(first)
    thing = _SPACE[first]
    for name in rest:
        thing = getattr(thing, name)
    return thing


def _send(pipe, data):
    data = b"%d\n%s" % (len(data), data)
    while data:
        data = data[write(pipe, data) :]


def _receive(pipe):
    head = b""
    while not head.endswith(b"\n"):
        one = read(pipe, 1)
        if not one:
            _exit(0)
        head += one
    left, parts = int(head), []
    while left:
        part = read(pipe, min(left, 1 << 20))
        if not part:
            _exit(0)
        parts.append(part)
        left -= len(part)
    return b"".join(parts).decode()


def _forked():
    here, there = pipe(), pipe()
    child = fork()
    if not child:
        close(here[1])
        close(there[0])
        for number in (COMMANDS, STATUS, OUTPUT):
            close(number)
        null = opened(devnull, O_RDWR)
        for number in (0, 1, 2):
            dup2(null, number)
        try:
            _Server(here[0], there[1]).serve()
        finally:
            _exit(0)
    close(here[0])
    close(there[1])
    return child, here[1], there[0]


def _end():
    global _child
    if _child is not None:
        number, to, of = _child
        _child = None
        for pipe in (to, of):
            close(pipe)
        kill(number, 9)
        waitpid(number, 0)


def box(milliseconds, text):
    """``new`` begins anew; anything else goes to the fork. The answer is its own, or ``dead``, or
    ``late``."""
    global _child
    if text == "new":
        _end()
        _child = _forked()
        return 0, b"new"
    if _child is None:
        return 0, b"dead"
    number, to, of = _child
    until = monotonic() + milliseconds / 1000
    answer = b""
    try:
        _send(to, text.encode())
        want = None
        while want is None or len(answer) < want:
            if not select([of], [], [], max(0.0, min(0.05, until - monotonic())))[0]:
                if monotonic() >= until:
                    _end()
                    return 0, b"late"
                if waitpid(number, WNOHANG)[0]:
                    _child = None
                    return 0, b"dead"
                continue
            part = read(of, 1 << 20)
            if not part:
                break
            answer += part
            if want is None and b"\n" in answer:
                head, _, answer = answer.partition(b"\n")
                want = int(head)
        if want is not None and len(answer) == want and b"\0" not in answer:
            return 0, answer
    except (OSError, ValueError):
        pass
    try:
        _end()
    except OSError:
        _child = None
    return 0, b"dead"


def program(milliseconds, text):
    """Run a program on its own input, in a process of its own: [output, whether it ended well]."""
    job = from_text(text)
    import subprocess
    import sys as _sys

    try:
        done = subprocess.run(
            [_sys.executable, "-c", job["program"]],
            input=job["input"].encode("utf-8", "surrogateescape"),
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=milliseconds / 1000,
        )  # fmt: skip
        printed = done.stdout[: 1 << 22].decode("utf-8", "replace")
        found = [printed, done.returncode == 0]
    except (OSError, subprocess.SubprocessError):
        found = ["", False]
    return 0, to_text(found).encode()


HANDLERS = globals().setdefault("HANDLERS", {})
HANDLERS[b"box"] = box
HANDLERS[b"program"] = program
