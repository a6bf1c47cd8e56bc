"""The Python interpreter of a sandbox: one program, one process, one episode.

It runs on any Python from 3.8 on and needs nothing but its standard library. What it says on which
descriptor is told in `intercode.sandboxes.guest`, how it is started in
`intercode.sandboxes.languages`. A request is a line, ``HANDLER NUMBER``, and then a text:

- ``run MILLISECONDS``: an action, as one types it: the value of a last expression is shown, an
  exception gives its traceback. After so many milliseconds it is interrupted as by Ctrl-C.
- ``load 0``: the text is a program of ours, packed, that adds handlers to ``HANDLERS``.

The action is the agent's, and it can do to this process whatever it likes. What can be had for
little is had: names that are used here are bound before the agent's first action, and builtins
are a copy. Where this does not help the process ends, and the host starts another.
"""

# mypy: ignore-errors
# ruff: noqa: F821 (`unpacked` comes from what loads this)

import _ast
import _signal as signal  # what is written in Python uses builtins that may be replaced
import builtins
import sys
from os import _exit, dup2, getpid, kill, read, write

COMMANDS, STATUS, OUTPUT, INPUT = 73, 72, 71, 70
PROGRAM = "<interpreter>"
TIMED_OUT = 124
CLOSED = 121
"""Exit code where our descriptors are gone."""

_ME = getpid()
_SPACE = vars(sys.modules["__main__"])
_SOURCES = {}
_count = 0
_pending = b""
_tag = b""
_strong = (Exception, BaseException, SystemExit, KeyboardInterrupt)


class Interrupted(KeyboardInterrupt):
    """The time is up."""


Interrupted.__module__, Interrupted.__qualname__ = "builtins", "KeyboardInterrupt"


def _more():
    global _pending
    data = read(COMMANDS, 1 << 16)
    if not data:
        _exit(CLOSED)
    _pending += data


def next_request():
    """(tag, body) of the next message; waits for it."""
    global _pending
    try:
        while b"\0" not in _pending:
            _more()
        head, _, rest = _pending.partition(b"\0")
        tag, length = head.split()
        length = int(length)
        parts, size = [rest], len(rest)
        while size < length:
            data = read(COMMANDS, 1 << 20)
            if not data:
                _exit(CLOSED)
            parts.append(data)
            size += len(data)
        rest = b"".join(parts)
        _pending = rest[length:]
        return tag, rest[:length]
    except (OSError, ValueError):
        _exit(CLOSED)


def say(data):
    try:
        while data:
            data = data[write(STATUS, data) :]
    except OSError:
        _exit(CLOSED)


def begin(tag):
    global _tag
    _tag = tag
    say(b"B%s:0\0" % tag)


def finish(code, answer=b""):
    """Tell that it is done, and stand still until there is more to do."""
    say(b"\0\0E%s:%d\0%s\0%s\0" % (_tag, code, answer, _tag))
    kill(_ME, signal.SIGSTOP)


def answered(question):
    """In the middle of a request: give ``question`` as its answer, and the text of the next request
    is what comes back."""
    finish(0, question)
    tag, body = next_request()
    begin(tag)
    return body.partition(b"\n")[2].decode("utf-8", "surrogateescape")


def _time_is_up(_number, _frame):
    raise Interrupted()


def _standard_streams():
    """What the action before has closed or sent elsewhere; not what it has put in their place."""
    for own, number in ((INPUT, 0), (OUTPUT, 1), (OUTPUT, 2)):
        dup2(own, number)
    for name, original in _STREAMS:
        if getattr(getattr(sys, name, None), "closed", True) is not False:
            setattr(sys, name, _opened(original))


def _opened(how):
    number, mode = how
    from io import FileIO, TextIOWrapper

    raw = FileIO(number, mode, closefd=False)
    if mode == "r":
        from io import BufferedReader

        return TextIOWrapper(BufferedReader(raw), "utf-8", "surrogateescape")
    errors = "backslashreplace"
    return TextIOWrapper(raw, "utf-8", errors, write_through=True)


_STREAMS = (("stdin", (0, "r")), ("stdout", (1, "w")), ("stderr", (2, "w")))


def run(number, text):
    """Execute an action; returns (exit code, answer)."""
    global _count
    _count += 1
    name = f"<action {_count}>"
    _SOURCES[name] = text
    if "linecache" in sys.modules:
        _remember_sources()
    code = 1
    try:
        try:
            _limit(number)
            _execute(text, name)
            code = 0
        finally:
            _limit(0)
    except Interrupted as error:
        code = TIMED_OUT
        _report(error)
    except SystemExit as error:
        code = _exit_code(error)
    except _strong as error:
        _report(error)
    if getpid() != _ME:
        _flush()
        _exit(0)  # a fork of the agent's: its action is over, and the episode is not its own
    _flush()
    return code, b""


def _limit(milliseconds):
    signal.setitimer(signal.ITIMER_REAL, milliseconds / 1000, 0.1 if milliseconds else 0)
    if milliseconds:
        signal.signal(signal.SIGALRM, _time_is_up)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM])


def _execute(text, name):
    tree = compile(text, name, "exec", 0x400, dont_inherit=True)  # PyCF_ONLY_AST
    last = tree.body.pop() if tree.body and type(tree.body[-1]).__name__ == "Expr" else None
    _SPACE.setdefault("__builtins__", builtins)
    if tree.body:
        exec(compile(tree, name, "exec", dont_inherit=True), _SPACE)
    if last is not None:
        shown = _ast.Interactive([last])
        exec(compile(shown, name, "single", dont_inherit=True), _SPACE)


def _exit_code(error):
    code = error.code
    if code is None:
        shown, number = "", 0
    elif isinstance(code, int):
        shown, number = str(int(code)), int(code) & 255
    else:
        try:
            shown, number = repr(str(code)), 1
        except _strong:
            shown, number = "?", 1
    _print(f"[sys.exit({shown}): the interpreter goes on]\n")
    return number


def _report(error):
    try:
        _flush()
        text = _traceback(error)
    except _strong:
        text = f"{type(error).__name__}\n"
    _print(text)


def _traceback(error):
    import traceback

    _remember_sources()
    seen = set()
    whole = error
    while whole is not None and id(whole) not in seen:
        seen.add(id(whole))
        whole.__traceback__ = _trimmed(whole.__traceback__)
        whole = whole.__cause__ or whole.__context__
    return "".join(traceback.format_exception(type(error), error, error.__traceback__))


def _trimmed(frames):
    """Without the frames of this program, which are around the action's own."""
    while frames is not None and frames.tb_frame.f_code.co_filename == PROGRAM:
        frames = frames.tb_next
    last = frames
    while last is not None:
        after = last.tb_next
        if after is not None and after.tb_frame.f_code.co_filename == PROGRAM:
            last.tb_next = None
        last = last.tb_next
    return frames


def _remember_sources():
    import linecache

    for name, text in _SOURCES.items():
        if name not in linecache.cache:
            linecache.cache[name] = (len(text), None, (text + "\n").splitlines(True), name)


def _print(text):
    data = text.encode("utf-8", "backslashreplace")
    try:
        while data:
            data = data[write(OUTPUT, data) :]
    except OSError:
        _exit(CLOSED)


def _flush():
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except _strong:
            pass


def load(_number, text):
    exec(unpacked(text.encode()), globals())
    return 0, b""


HANDLERS = {b"run": run, b"load": load}


def _json_by_hand():
    """Both directions of JSON without importing `json`, which costs more than a small test."""
    import _json

    class Plain:
        strict, memo = True, {}
        object_hook = object_pairs_hook = None
        parse_float, parse_int = float, int
        parse_constant = {
            "NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf"),
        }.__getitem__  # fmt: skip

    def refused(value):
        raise TypeError(type(value))

    scan = _json.make_scanner(Plain)
    encode = _json.make_encoder(
        None, refused, _json.encode_basestring_ascii, None, ":", ",", False, False, True
    )

    def read(text):
        try:
            return scan(text, 0)[0]
        except StopIteration:
            raise ValueError("not JSON") from None

    return (lambda value: "".join(encode(value, 0))), read


try:
    to_text, from_text = _json_by_hand()
    if from_text(to_text({"a": [1, "b", None, 0.5]})) != {"a": [1, "b", None, 0.5]}:
        raise ImportError("another kind of _json")
except (ImportError, AttributeError, TypeError):
    from json import dumps as to_text
    from json import loads as from_text


def serve(tag):
    """Answers requests for ever; ``tag`` is the one that brought this program."""
    sys.path.insert(0, "")
    sys.argv[:] = [""]
    for name in [name for name in _SPACE if not name.startswith("__")]:
        del _SPACE[name]
    for name, how in _STREAMS:
        setattr(sys, name, _opened(how))
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr
    begin(tag)
    finish(0)
    while True:
        tag, body = next_request()
        try:
            _standard_streams()
        except OSError:
            _exit(CLOSED)
        begin(tag)
        head, _, text = body.partition(b"\n")
        name, number = head.split()
        text = text.decode("utf-8", "surrogateescape")
        finish(*HANDLERS[name](int(number), text))
