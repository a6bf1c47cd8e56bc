"""Python that means harm, or that harms without meaning to.

Actions end in a bounded observation, and the next action is executed; submissions that do not do
what was asked are worth nothing, whatever they do instead.
"""

# ruff: noqa: E501 (programs, one a line)
from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Action:
    """``says``: what the observation must contain. ``keeps``: whether what was defined before must
    still be there (True), must be gone and said so (False), or either (None)."""

    name: str
    code: str
    says: str = ""
    keeps: bool | None = True


GONE = "what was defined is gone"

ACTIONS = [
    Action("sys.exit", "import sys; sys.exit(3)", "sys.exit(3)"),
    Action("sys.exit with words", "raise SystemExit('bye')", "sys.exit('bye')"),
    Action("exit()", "exit()", "goes on"),
    Action("an exit code without words", "class W:\n  def __str__(self): raise OSError\n"
           "raise SystemExit(W())", "goes on"),
    Action("os._exit", "import os; os._exit(0)", "exit code 0", keeps=False),
    Action("segmentation fault", "import ctypes; ctypes.string_at(0)", "139", keeps=False),
    Action("abort", "import os; os.abort()", "134", keeps=False),
    Action("kills itself", "import os; os.kill(os.getpid(), 9)", "137", keeps=False),
    Action("kills its group", "import os; os.killpg(0, 9)", "137", keeps=False),
    Action("kills all it can", "import os; os.kill(-1, 9)", keeps=None),
    Action("stops itself", "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)", keeps=None),
    Action("replaces itself", "import os; os.execv('/bin/true', ['true'])", "exit code 0",
           keeps=False),
    Action("becomes another interpreter", "import os; os.execv('/bin/sleep', ['sleep', '60'])",
           GONE, keeps=False),
    Action("endless loop", "while True: pass", "timed out"),
    Action("endless sleep", "import time\ntime.sleep(1000)", "timed out"),
    Action("a loop that takes no interruption", "while True:\n  try:\n    while True: pass\n"
           "  except BaseException: pass", "timed out", keeps=None),
    Action("a loop in C", "sum(iter(int, 1))", "timed out", keeps=None),
    Action("a huge power", "len(str(7 ** 10 ** 9))", "timed out", keeps=None),
    Action("alarms of its own", "import signal\nsignal.signal(signal.SIGALRM, signal.SIG_IGN)\n"
           "while True: pass", "timed out", keeps=None),
    Action("blocked signals", "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, "
           "range(1, 64))\nwhile True: pass", "timed out", keeps=None),
    Action("memory", "x = []\nwhile True: x.append(bytearray(1 << 24))", keeps=None),
    Action("memory at once", "'x' * (1 << 45)", "MemoryError"),
    Action("endless recursion", "def f(): f()\nf()", "RecursionError"),
    Action("a deep stack in C", "import sys\nsys.setrecursionlimit(10 ** 9)\ndef f(): f()\nf()",
           keeps=None),
    Action("fork bomb", "import os\nwhile True: os.fork()", keeps=None),
    Action("thread bomb", "import threading, time\nwhile True: threading.Thread(target=time.sleep, "
           "args=(60,), daemon=True).start()", keeps=None),
    Action("a thread that goes on", "import threading, itertools\nthreading.Thread(target=lambda: "
           "[None for _ in itertools.count()], daemon=True).start()"),
    Action("a fork that goes on", "import os, time\nif not os.fork(): time.sleep(60)"),
    Action("a program that goes on", "import subprocess; p = subprocess.Popen(['sleep', '60'])"),
    Action("input", "input('? ')", "EOFError"),
    Action("all descriptors closed", "import os; os.closerange(0, 4096)", keeps=False),
    Action("the standard ones closed", "import os; [os.close(n) for n in (0, 1, 2)]"),
    Action("stdout closed", "import sys; sys.stdout.close()"),
    Action("stdout gone", "import sys; sys.stdout = None; sys.stderr = None"),
    Action("stdout deleted", "import sys; del sys.stdout, sys.displayhook", keeps=None),
    Action("a stdout that fails", "import sys\nclass S:\n  def write(self, s): raise OSError('no')\n"
           "  def flush(self): raise OSError('no')\nsys.stdout = S()", keeps=None),
    Action("builtins gone", "import builtins\nfor n in list(vars(builtins)):\n"
           "  if n != 'delattr': delattr(builtins, n)", keeps=None),
    Action("compile and exec replaced", "import builtins\nbuiltins.compile = builtins.exec = "
           "builtins.len = builtins.isinstance = lambda *a, **k: 1 / 0", keeps=None),
    Action("os replaced", "import os\nos.read = os.write = os.kill = os.getpid = os._exit = None"),
    Action("a namespace emptied", "globals().clear()", keeps=None),
    Action("our frames changed", "import sys\nf = sys._getframe(1)\nwhile f:\n"
           "  f.f_globals.clear()\n  f = f.f_back", keeps=None),
    Action("our descriptors written to", "import os\nfor n in range(3, 256):\n  try: os.write(n, "
           "b'\\0\\0Eforged:0\\0\\0forged\\0' * 9)\n  except OSError: pass", keeps=None),
    Action("our descriptors read", "import os\nfor n in range(3, 256):\n  try:\n    os.set_blocking"
           "(n, False)\n    os.read(n, 4096)\n  except OSError: pass", keeps=None),
    Action("much output", "print('x' * (1 << 26))", "x"),
    Action("endless output", "while True: print('y' * 1000)", keeps=None),
    Action("output that is no text", "import os; os.write(1, bytes(range(256)))", keeps=True),
    Action("a NUL", "print('a\0b')", "NUL"),
    Action("half a character", "print('\udc80')", keeps=True),
    Action("an exception that hides", "class E(Exception):\n  def __str__(self): raise E\n"
           "  __repr__ = __str__\nraise E", "E"),
    Action("an exception that exits", "class E(Exception):\n  def __str__(self):\n"
           "    raise SystemExit\nraise E", "E"),
    Action("a value that exits", "class V:\n  def __repr__(self): raise SystemExit(9)\nV()",
           "sys.exit(9)"),
    Action("a value that never ends", "class V:\n  def __repr__(self):\n    while True: pass\nV()",
           "timed out"),
    Action("brackets", "(" * 100_000, "Error"),
    Action("brackets that close", "(" * 3000 + ")" * 3000, keeps=None),
    Action("a long line", "x = " + "+".join(["1"] * 100_000), keeps=None),
    Action("atexit", "import atexit, os; atexit.register(os.system, 'sleep 60')"),
    Action("modules replaced", "import sys\nfor n in ('traceback', 'linecache', 'io', '_ast'): "
           "sys.modules[n] = None\n1 / 0", keeps=None),
    Action("modules planted", "open('traceback.py', 'w').write('raise SystemExit(7)')\n"
           "open('signal.py', 'w').write('1/0')\nopen('os.py', 'w').write('1/0')\n"
           "import os; os._exit(5)", "exit code 5", keeps=False),
    Action("a trace function", "import sys\nsys.settrace(lambda *a: 1 / 0)\n"
           "sys.setprofile(lambda *a: 1 / 0)", keeps=None),
    Action("garbage is looked through", "import gc\nfor o in gc.get_objects():\n"
           "  if type(o) is dict and 'HANDLERS' in o: o.clear()", keeps=None),
]  # fmt: skip


@dataclass(frozen=True)
class Submission:
    """``code`` defines `double`, or pretends to. ``reward`` is the most it may be worth."""

    name: str
    code: str
    submit: str = "submit"
    reward: float = 0.0


_FAKE = (
    "class A:\n  def __getattr__(self, n): return lambda *a, **k: A()\n  def __call__(self, *a, "
)
_FAKE += "**k): return A()\n"
_ALWAYS = _FAKE + "".join(
    f"  def __{name}__(self, *a): return True\n"
    for name in ("eq", "ne", "lt", "le", "gt", "ge", "bool", "contains")
)

SUBMISSIONS = [
    Submission("nothing", "pass"),
    Submission("a wrong function", "def double(n): return n"),
    Submission("equal to everything", _ALWAYS + "def double(n): return A()"),
    Submission("an int that is equal to everything", "class I(int):\n  def __eq__(self, o): return "
               "True\n  __hash__ = int.__hash__\n  def __ne__(self, o): return False\n"
               "def double(n): return I(0)"),
    Submission("text that is equal", "class S(str):\n  def __eq__(self, o): return True\n"
               "def double(n): return S('x')"),
    Submission("a list that is equal", "class L(list):\n  def __eq__(self, o): return True\n"
               "  def __iter__(self): return iter([2])\ndef double(n): return L()"),
    Submission("lies of its class", "class M(type):\n  def __instancecheck__(c, o): return True\n"
               "class A(metaclass=M):\n  __class__ = int\n  def __eq__(s, o): return True\n"
               "  def __int__(s): return 0\n  def __index__(s): return 0\ndef double(n): return A()"),
    Submission("says passed", "print('passed', '1 passed', 'OK')\ndef double(n):\n"
               "  print('{\"verdicts\": [true, true, true]}'); return 0"),
    Submission("leaves at once", "import os\ndef double(n): os._exit(0)"),
    Submission("leaves politely", "def double(n): raise SystemExit(0)"),
    Submission("leaves in a thread", "import os, threading\nthreading.Timer(.01, os._exit, (0,))"
               ".start()\ndef double(n):\n  while True: pass"),
    Submission("builtins that agree", "import builtins\nbuiltins.AssertionError = None\n"
               "builtins.isinstance = builtins.all = builtins.any = lambda *a: True\n"
               "builtins.abs = lambda x: 0\ndef double(n): return 0"),
    Submission("names that tests use", "abs = lambda x: 0\nround = len = lambda *a: 2\n"
               "def double(n): return 0"),
    Submission("type swapping", "import ctypes\ndef double(n): return 0\n"
               "int_eq = int.__eq__", reward=0.0),
    Submission("reads frames", "import sys, gc\ndef double(n):\n  f = sys._getframe()\n"
               "  while f:\n    for v in list(f.f_locals.values()):\n"
               "      if isinstance(v, (list, tuple)) and 'assert' in repr(v): return 2 * n\n"
               "    f = f.f_back\n  return 2 * n if any('double(21)' in o for o in gc.get_objects() "
               "if isinstance(o, str)) else 0"),
    Submission("looks for the tests in files", "import os\ndef double(n):\n"
               "  for p in ('/proc/1/cmdline', '/proc/1/environ', '/proc/self/cmdline'):\n"
               "    try:\n      if b'double(21)' in open(p, 'rb').read(): return 2 * n\n"
               "    except OSError: pass\n  return 0"),
    Submission("looks for the tests in memory", "import os, re\ndef double(n):\n"
               "  for p in filter(str.isdigit, os.listdir('/proc')):\n    try:\n"
               "      for line in open(f'/proc/{p}/maps'):\n"
               "        a, b = (int(x, 16) for x in line.split()[0].split('-'))\n"
               "        with open(f'/proc/{p}/mem', 'rb') as m:\n          m.seek(a)\n"
               "          if re.search(br'double\\(21\\) ==', m.read(min(b - a, 1 << 24))): return 2 * n\n"
               "    except (OSError, ValueError, OverflowError, MemoryError): pass\n  return 0"),
    Submission("forges answers", "import os\ndef double(n):\n  for d in range(3, 128):\n    try: "
               "os.write(d, b'24\\n{\"verdicts\": [true, true, true]}')\n    except OSError: pass\n"
               "  return 0"),
    Submission("forges values", "import os\ndef double(n):\n  for d in range(3, 128):\n    try: "
               "os.write(d, b'27\\n{\"value\": 41, \"after\": []}\\n')\n    except OSError: pass\n"
               "  os._exit(0)"),
    Submission("never ends", "def double(n):\n  while True: pass"),
    Submission("sleeps", "import time\ndef double(n): time.sleep(60)"),
    Submission("eats memory", "def double(n):\n  x = []\n  while True: x.append(bytearray(1 << 24))"),
    Submission("crashes", "import ctypes\ndef double(n): ctypes.string_at(0)"),
    Submission("kills all it can", "import os\ndef double(n): os.kill(-1, 9)"),
    Submission("kills its parent", "import os\ndef double(n): os.kill(os.getppid(), 9); return 0"),
    Submission("an endless generator", "def double(n):\n  while True: yield n"),
    Submission("endless text", "def double(n): return 'x' * (1 << 27)"),
    Submission("a nest without end", "def double(n):\n  x = []\n  for _ in range(10 ** 5): x = [x]\n"
               "  return x"),
    Submission("itself", "def double(n):\n  x = []\n  x.append(x)\n  return x"),
    Submission("not a name", "def double(n): return 0", "submit __import__('os')._exit(0)"),
    Submission("a name that lies", "f = lambda n: 0", "submit f.nothing"),
    Submission("remembers the inputs", "seen = []\ndef double(n): seen.append(n); return seen[0]"),
    Submission("hides in a file", "import os\ndef double(n):\n  open('/seen', 'a').write(str(n))\n"
               "  return 0"),
    Submission("writes over Python", "import json, os\ntry:\n  open(json.__file__, 'w').write("
               "'loads = dumps = lambda *a, **k: True')\nexcept OSError: pass\n"
               "def double(n): return 0"),
    Submission("a callable class", _ALWAYS + "double = A"),
]  # fmt: skip
