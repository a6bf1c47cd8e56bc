"""A process that owns sandboxes, to be interrupted or killed: episodes in four threads, for ever.

Prints a line when all threads are at work. Ends by itself only after Ctrl-C. With ``paused`` as its
second argument it holds one sandbox still instead.
"""

from __future__ import annotations

import itertools
import os
import sys
import threading
import time

from intercode.envs.bash_v2 import BashV2
from intercode.envs.runtime import Runtime
from intercode.errors import InterCodeError
from intercode.sandboxes.base import Limits
from intercode.sandboxes.registry import create
from intercode.tasks.model import Dataset, Task

TASK = Task(id="t", env="bash", instruction="Say hello.", gold="echo hello > /hello.txt")
DATASET = Dataset("leaks", (TASK,))
LIMITS = Limits(timeout_s=5, memory_mib=128, processes=32, disk_mib=32)
ACTIONS = (
    "setsid sleep 1000 > /dev/null 2>&1 & echo hello > /hello.txt",
    "for i in 1 2 3; do (trap '' TERM HUP INT; sleep 1000) > /dev/null 2>&1 & done; sleep 0.01",
    "head -c 1000000 /dev/zero > /z; mkdir -p /a/b/c; chmod 000 /a",
)


def episodes(runtime: Runtime, working: threading.Semaphore) -> None:
    env = BashV2(DATASET, runtime=runtime, limits=LIMITS)
    try:
        for number in itertools.count():
            env.reset(options={"task": "t"})
            for action in ACTIONS:
                env.step(action)
            if number == 2:
                working.release()
            if number % 3 == 0:
                env.snapshot()
            env.step("submit")
    except InterCodeError:
        return  # the runtime was closed below us
    finally:
        env.close()


def runtime_of(backend: str, *, warm: int) -> Runtime:
    """With Docker's sandboxes started from the root file system that tests are given."""
    base = f"tar:{os.environ['INTERCODE_TEST_ROOTFS']}" if backend == "docker" else None
    return Runtime(create(backend), base=base, warm=warm)


def hold_still(backend: str) -> None:
    with runtime_of(backend, warm=1) as runtime:
        env = BashV2(DATASET, runtime=runtime, limits=LIMITS)
        env.reset(options={"task": "t"})
        env.step(ACTIONS[1])
        with env.sandbox.paused():
            print("working", flush=True)
            time.sleep(1000)


def main(backend: str) -> None:
    working = threading.Semaphore(0)
    with runtime_of(backend, warm=2) as runtime:
        threads = [
            threading.Thread(target=episodes, args=(runtime, working), daemon=True)
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for _ in threads:
            working.acquire()
        print("working", flush=True)
        for thread in threads:
            thread.join()


if __name__ == "__main__":
    hold_still(sys.argv[1]) if "paused" in sys.argv else main(sys.argv[1])
