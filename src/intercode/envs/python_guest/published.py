"""How the paper's server executed Python. Loaded into a sandbox's interpreter.

One namespace lasts from action to action, and, in part, beyond a scoring: that begins with the
agent's definitions, and ends with a new namespace that holds the gold's.
"""

# mypy: ignore-errors
# ruff: noqa: F821

import _ast
import sys
from _io import StringIO

_gold = {}


def _fresh():
    import builtins

    return {"__name__": "__main__", "__builtins__": builtins, "sys": sys, "StringIO": StringIO}


_space = _fresh()


def wrapped(action):
    """An action as it is executed: its value is printed, unless it has an assignment, an import or
    a print anywhere, or is an assertion. Raises SyntaxError."""
    if action.strip().startswith("def "):
        return action
    tree = compile(action.strip(), "<unknown>", "exec", 0x400, dont_inherit=True)  # PyCF_ONLY_AST
    if action.strip().startswith("assert") or any(map(_stands_alone, _nodes(tree))):
        return action
    return f"print({action})"


def _nodes(tree):
    """As `ast.walk`, without importing what a short action needs nothing else of."""
    left = [tree]
    while left:
        node = left.pop()
        yield node
        for name in node._fields:
            value = getattr(node, name, None)
            parts = value if type(value) is list else [value]
            left += [part for part in parts if isinstance(part, _ast.AST)]


def _stands_alone(node):
    if isinstance(node, _ast.Call):
        return isinstance(node.func, _ast.Name) and node.func.id == "print"
    return isinstance(node, (_ast.Assign, _ast.Import))


def _execute(command, milliseconds):
    """What the server answered: output and error, or an error alone. SystemExit leaves it."""
    output, error = StringIO(), StringIO()
    sys.stdout, sys.stderr = output, error
    try:
        try:
            _limit(milliseconds)
            exec(command, _space)
        finally:
            _limit(0)
        return {"output": output.getvalue().strip(), "error": error.getvalue().strip()}
    except SystemExit as end:
        raise _Left(end) from None
    except BaseException as problem:
        return {"error": f"Error: {_words(problem)}"}
    finally:
        sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__


class _Left(Exception):
    pass


def _words(problem):
    if isinstance(problem, Interrupted):
        return "timed out"
    try:
        return str(problem)
    except BaseException:
        return type(problem).__name__


def act(number, text):
    """Execute an action: the answer is ``{result}`` or ``{failed}``, a text."""
    try:
        answer = {"result": _execute(wrapped(text), number)}
    except BaseException as problem:
        answer = {"failed": _words(problem)}
    return 0, to_text(answer).encode()


def score(number, text):
    """Run the tests on what was submitted, then on the gold: the answer is the results of both, and
    ``leaked``: whether what was tested in the first place was the gold of a scoring before."""
    global _space, _gold
    job = from_text(text)
    _quietly("{bound} = {name}".format(**job), number)
    leaked = job["bound"] in _gold and _space.get(job["bound"]) is _gold[job["bound"]]
    _quietly(job["setup"], number)
    agent = [_quietly(test, number) for test in job["tests"]]
    _space = _fresh()
    _quietly(job["setup"], number)
    _quietly(job["gold"], number)
    _gold = dict(_space)
    gold = [_quietly(test, number) for test in job["tests"]]
    return 0, to_text({"agent": agent, "gold": gold, "leaked": leaked}).encode()


def _quietly(command, milliseconds):
    try:
        return _execute(command, milliseconds)
    except _Left as end:
        return {"error": f"Error: {_words(end)}"}


HANDLERS = globals().setdefault("HANDLERS", {})
HANDLERS[b"act"] = act
HANDLERS[b"score"] = score
