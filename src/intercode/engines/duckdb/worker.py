"""A process that runs statements: ``python -m intercode.engines.duckdb.worker``.

Requests come in by standard input, answers go out by standard output, as pickles behind their
length. When the input ends the process does, in the middle of whatever it is doing.
"""

from __future__ import annotations

import os
import pickle
import queue
import struct
import sys
import threading
import types
from collections import OrderedDict
from typing import Any, BinaryIO

from intercode.engines.base import Policy, QueryLimits
from intercode.engines.duckdb.database import Database, Utc, Watch, limit_memory

LENGTH = struct.Struct("<Q")
_KEPT = 4
"""Databases that stay open in a process for the sessions to come."""


class Worker:
    """Its methods are what can be asked."""

    def __init__(self) -> None:
        self._watch = Watch()
        self._databases: OrderedDict[str, Database] = OrderedDict()
        self._memory_mib = 0
        self._opened = ("", "")

    def open(self, file: str, name: str) -> None:
        self._opened = (file, name)
        if file in self._databases:
            self._databases.move_to_end(file)
        else:
            if len(self._databases) == _KEPT:
                self._databases.popitem(last=False)[1].close()
            self._databases[file] = Database(file, name, self._watch)
        self._memory_mib = 0

    def run(self, sql: str, policy: Policy, limits: QueryLimits) -> Any:
        if limits.memory_mib != self._memory_mib:
            self._memory_mib = limits.memory_mib
            limit_memory(limits.memory_mib)
        return self._database.run(sql, policy, limits)

    def schema(self) -> Any:
        return self._database.schema()

    def changed(self) -> Any:
        return self._database.changed()

    def pristine(self) -> None:
        self.release()
        self.open(*self._opened)

    def release(self) -> None:
        """The session is over."""
        database = self._database
        if database.is_clean:
            database.pristine()
        else:
            self._databases.popitem()[1].close()

    @property
    def _database(self) -> Database:
        return next(reversed(self._databases.values()))


def main() -> None:
    _have_pytz()
    requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
    source = os.fdopen(os.dup(0), "rb")
    target = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    os.dup2(2, 1)
    threading.Thread(target=_read, args=(source, requests), daemon=True).start()
    worker = Worker()
    send(target, None)
    while True:
        name, arguments = requests.get()
        try:
            answer = (True, getattr(worker, name)(*arguments))
        except Exception as error:  # Whatever it is, the one who asked is to know.
            answer = (False, f"{type(error).__name__}: {error}")
        send(target, answer)


def send(target: BinaryIO, value: Any) -> None:
    data = pickle.dumps(value, protocol=5)
    target.write(LENGTH.pack(len(data)) + data)
    target.flush()


def _read(source: BinaryIO, requests: queue.SimpleQueue[Any]) -> None:
    while True:
        head = source.read(LENGTH.size)
        if len(head) < LENGTH.size:
            os._exit(0)
        requests.put(pickle.loads(source.read(LENGTH.unpack(head)[0])))


def _have_pytz() -> None:
    module: Any = types.ModuleType("pytz")
    module.utc = Utc()
    module.timezone = lambda name: Utc()
    sys.modules["pytz"] = module


if __name__ == "__main__":
    main()
