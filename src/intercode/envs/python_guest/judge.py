"""Runs the tests, in a process that no agent's code ever enters. Loaded after `wire`, `remote`.

Names of the submission are remote objects here. Whether a test passes is decided here.
"""

# mypy: ignore-errors
# ruff: noqa: F821, B905 (other files are loaded before this one; and Python 3.8 will do)

import builtins
import types

_PLAIN = (int, float, complex, str, bytes, bytearray, bool, type(None))


class _Tests:
    def __init__(self, job, link):
        self.job = job
        self.link = link
        self.entry = job["entry_point"]

    def space(self):
        """A namespace for tests, with the submission begun anew."""
        self.link.begin()
        space = types.ModuleType("tests").__dict__
        _exec(self.job["given"], space)
        # What is given is the tests' own as far as it is data or functions. Of classes, and of
        # objects of theirs, there must be one kind only, and that is the submission's.
        theirs = [name for name, value in space.items() if _is_shared(name, value)]
        for name in theirs:
            del space[name]
        if theirs:
            space.update(self.link.names({name: name for name in theirs}))
        self.bind(self.job["setup"], space)
        _exec(self.job["setup"], space)
        return space

    def bind(self, program, space):
        """Names that a program uses and that only the submission has. A builtin is the
        submission's only where it is what was asked for."""
        used = set(_names(compile(program, "<tests>", "exec", dont_inherit=True)))
        wanted = {n: n for n in used if n not in space and not hasattr(builtins, n)}
        if self.entry and self.entry not in self.bound(space):
            wanted[self.entry] = self.job["name"]
            space.pop(self.entry, None)
        if wanted:
            space.update(self.link.names(wanted))

    def bound(self, space):
        return [name for name, value in space.items() if type(value) is Remote or _mirrors(value)]

    def verdicts(self):
        style = self.job["style"]
        if style == "check":
            yield self.attempt(self.check)
        elif style == "asserts":
            for test in self.job["tests"]:
                yield self.attempt(self.state, test)
        elif style == "call":
            for case in self.job["cases"]:
                yield self.attempt(self.call, case)
        else:
            yield from self.inputs()

    def attempt(self, test, *about):
        try:
            if self.link.dead:
                self._space = self.space()
            return test(self._space, *about) is not False
        except BaseException:
            return False
        finally:
            _limit(0)
            self.link.number += 1

    def state(self, space, test):
        self.bind(test.strip(), space)
        _exec(test.strip(), space)

    def check(self, space):
        program = self.job["tests"][0]
        self.bind(program, space)
        candidate = space[self.entry]
        _exec(program, space)
        space["check"](candidate)

    def call(self, space, case):
        name = self.job["class_name"]
        if name:
            self.bind(name, space)
            function = getattr(space[name](), self.entry)
        else:
            self.bind(self.entry, space)
            function = space[self.entry]
        found, wanted = _listed(function(*case["args"])), case["result"]
        wrapped = self.job["unwraps"] and isinstance(wanted, list) and len(wanted) == 1
        return found == wanted or (wrapped and found == wanted[0])

    def inputs(self):
        reference = {"__name__": "reference"}
        for program in ("given", "reference", "agree"):
            _exec(self.job[program], reference)
        for text in self.job["base"] + self.job["plus"]:
            try:
                _limit(self.link.milliseconds)
                expected = reference[self.entry](*_arguments(text))
                if self.job["agree"] and not reference["agree"](
                    expected, expected, _arguments(text)
                ):
                    raise ValueError(text)
            except BaseException:
                _limit(0)
                self.link.number += 1
                yield None
                continue
            yield self.attempt(self.agrees, expected, text, reference)

    def agrees(self, space, expected, text, reference):
        self.bind(self.entry, space)
        result = space[self.entry](*_arguments(text))
        if self.job["agree"]:
            return bool(reference["agree"](expected, result, _arguments(text)))
        if type(result) is not Remote and result == expected:
            return True
        return _close(expected, result, self.job["atol"] or 1e-6)


def _is_shared(name, value):
    local = isinstance(value, (types.FunctionType, types.ModuleType)) or _is_plain(value)
    return not (name.startswith("__") or local)


def _is_plain(value):
    if type(value) is dict:
        return all(_is_plain(one) for pair in value.items() for one in pair)
    if type(value) in (list, tuple, set, frozenset):
        return all(map(_is_plain, value))
    return type(value) in _PLAIN


def _mirrors(value):
    return isinstance(value, type) and value.__module__ == "submission"


def _arguments(text):
    names = {"__builtins__": {}, "inf": float("inf"), "nan": float("nan"), "set": set}
    return eval(text, names)


def _close(expected, result, atol):
    if isinstance(expected, (float, complex)) and isinstance(result, (int, float, complex)):
        both_nan = expected != expected and result != result
        return both_nan or abs(expected - result) <= atol or expected == result
    if isinstance(expected, (list, tuple)) and isinstance(result, (list, tuple)):
        pairs = zip(expected, result)
        return len(expected) == len(result) and all(_close(a, b, atol) for a, b in pairs)
    return bool(expected == result)


def _listed(value):
    """As JSON would have it."""
    if isinstance(value, (list, tuple)):
        return [_listed(one) for one in value]
    if isinstance(value, dict):
        return {str(key) if type(key) is int else key: _listed(one) for key, one in value.items()}
    return value


def _names(code):
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _exec(program, space):
    exec(compile(program, "<tests>", "exec", dont_inherit=True), space)


def judge(milliseconds, text):
    """The job's verdicts, one a test: true, false, or null for an input that is no test."""
    link = Link(milliseconds)
    tests = _Tests(from_text(text), link)
    try:
        for verdict in tests.verdicts():
            link.done.append(verdict)
    finally:
        _limit(0)
    return 0, to_text({"verdicts": link.done}).encode()


HANDLERS = globals().setdefault("HANDLERS", {})
HANDLERS[b"judge"] = judge
