"""Runs tests and tells how each went.

``python3 -I -B grade.py REQUEST``, with a secret word on standard input. The last line printed is
that word and a JSON object: ``results`` (by test: verdict and what was said) or ``log``.

Code under test runs in children only. This process imports nothing of theirs, cannot be looked
into, and reads its secret when they are gone: who does not know it cannot answer in its name.
"""

import contextlib
import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import time
import unittest
from typing import Any

LOG_BYTES = 8 << 20
VERDICT_BYTES = 1 << 16


def main() -> None:
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE: our memory is ours
    with open(sys.argv[1], encoding="utf-8") as file:
        request = json.load(file)
    deadline = time.monotonic() + request["total_timeout_s"]
    if request["harness"] == "unittest":
        answer = {"results": one_by_one(request, deadline)}
    elif request["harness"] == "pytest":
        answer = {"results": pytest_results(request, deadline)}
    else:
        answer = {"log": command_log(request, deadline)}
    secret = sys.stdin.readline().strip()
    sys.stdout.write(f"\n{secret} {json.dumps(answer)}\n")


# -- unittest: each test in a process of its own ---------------------------------------------------


def one_by_one(request: Any, deadline: float) -> Any:
    place = next((i for i, path in enumerate(sys.path) if path.endswith("-packages")), None)
    place = len(sys.path) if place is None else place
    # After the standard library: a repository's own `unittest` is not the one that judges.
    paths = [os.path.normpath(os.path.join(request["root"], p)) for p in request["source_paths"]]
    sys.path[place:place] = paths
    os.chdir(request["root"])
    results = {}
    for name in request["tests"]:
        left = min(deadline - time.monotonic(), request["test_timeout_s"])
        results[name] = forked(name, left) if left > 0 else ["timeout", "no time was left"]
    return results


def forked(name: str, limit_s: float) -> Any:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setsid()
            os.close(read)
            null = os.open(os.devnull, os.O_RDWR)
            for descriptor in (0, 1, 2):
                os.dup2(null, descriptor)
            os.write(write, json.dumps(run_test(name)).encode() + b"\n")
            code = 0
        finally:
            os._exit(code)
    os.close(write)
    try:
        told, status = until_gone(child, read, time.monotonic() + limit_s)
    finally:
        os.close(read)
    if status is None:
        return ["timeout", f"no end within {limit_s:.3g} s"]
    if status != 0 or told.count(b"\n") != 1:
        return ["error", f"the process ended before its test did ({status})"]
    try:
        verdict, said = json.loads(told.decode())
    except ValueError:
        return ["error", "no verdict"]
    return [str(verdict), str(said)]


def run_test(name: str) -> Any:
    suite = unittest.defaultTestLoader.loadTestsFromName(name)
    result = unittest.TestResult()
    suite.run(result)
    wrong = result.failures + result.errors
    if wrong:
        return ["failed" if result.failures else "error", wrong[0][1][-1000:]]
    if result.skipped:
        return ["skipped", result.skipped[0][1][-1000:]]
    if result.unexpectedSuccesses or result.testsRun != 1:
        return ["error", f"{result.testsRun} tests of that name were run"]
    return ["passed", ""]


def until_gone(child: int, read: int, deadline: float) -> Any:
    """What the child wrote, and its exit status; None if it had to be killed."""
    told, status, open_ = b"", None, True
    while status is None and time.monotonic() < deadline:
        if open_ and select.select([read], [], [], 0.02)[0]:
            part = os.read(read, VERDICT_BYTES)
            told, open_ = (told + part)[:VERDICT_BYTES], bool(part)
        elif not open_:
            time.sleep(0.001)
        gone, code = os.waitpid(child, os.WNOHANG)
        status = code if gone else None
    with contextlib.suppress(OSError):
        os.killpg(child, signal.SIGKILL)
    if status is None:
        os.waitpid(child, 0)
    while open_ and select.select([read], [], [], 0)[0]:
        part = os.read(read, VERDICT_BYTES)
        told, open_ = (told + part)[:VERDICT_BYTES], bool(part) and len(told) < VERDICT_BYTES
    return told, status


# -- pytest: all in one process, verdicts by a descriptor ------------------------------------------


def pytest_results(request: Any, deadline: float) -> Any:
    read, write = os.pipe()
    env = dict(os.environ)
    env["INTERCODE_REPORT"] = str(write)
    env["INTERCODE_TEST_LIMIT_S"] = str(request["test_timeout_s"])
    env["PYTHONDONTWRITEBYTECODE"] = "1"
    here = os.path.dirname(os.path.abspath(__file__))
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [here, env.get("PYTHONPATH")]))
    options = ["-q", "-p", "reporter", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest"] + options + request["files"]
    lines = drained(command, request["root"], env, deadline, read, write)
    results = {}
    for line in lines.decode("utf-8", "replace").splitlines():
        with contextlib.suppress(ValueError, TypeError):
            name, when, outcome, said = json.loads(line)
            if outcome != "passed" or (when == "call" and name not in results):
                results[name] = [str(outcome), str(said)]
    return results


def drained(command: Any, root: str, env: Any, deadline: float, read: int, write: int) -> bytes:
    """What a process writes to the descriptor ``write`` until it ends."""
    with open(os.devnull, "r+b") as null:
        process = subprocess.Popen(
            command, cwd=root, env=env, stdin=null, stdout=null, stderr=null,
            pass_fds=[write], start_new_session=True,
        )  # fmt: skip
    os.close(write)
    return collected(process, read, deadline)


def collected(process: Any, read: int, deadline: float) -> bytes:
    told, open_ = [], True
    while process.poll() is None and time.monotonic() < deadline:
        if open_ and select.select([read], [], [], 0.02)[0]:
            part = os.read(read, 1 << 16)
            told.append(part)
            open_ = bool(part)
        elif not open_:
            time.sleep(0.005)
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    while open_ and select.select([read], [], [], 0)[0]:
        part = os.read(read, 1 << 16)
        told.append(part)
        open_ = bool(part)
    os.close(read)
    return b"".join(told)


# -- a repository's own runner: what it prints -----------------------------------------------------


def command_log(request: Any, deadline: float) -> str:
    read, write = os.pipe()
    with open(os.devnull, "rb") as null:
        process = subprocess.Popen(
            request["command"], cwd=request["root"], stdin=null, stdout=write, stderr=write,
            env=dict(os.environ, PYTHONDONTWRITEBYTECODE="1"), start_new_session=True,
        )  # fmt: skip
    os.close(write)
    return collected(process, read, deadline)[-LOG_BYTES:].decode("utf-8", "replace")


if __name__ == "__main__":
    main()
