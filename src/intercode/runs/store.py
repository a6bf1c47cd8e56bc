"""Writing a run's folder, so that stopping it at any instant loses at most the episodes in flight.

``run.json`` appears whole or not at all. A record is added as one line, which is on the disk when
``append`` returns; a line that was cut off is removed before the next one is added. One process at
a time may add.
"""

from __future__ import annotations

import fcntl
import json
import os
import platform
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from intercode import __version__
from intercode.errors import RunError
from intercode.runs.folder import EPISODES_FILE, FORMAT, RUN_FILE, read_head, read_records
from intercode.runs.record import EpisodeRecord


class RunStore:
    """The one writer of a run's folder. A context manager; until closed it holds the lock."""

    def __init__(self, folder: Path, descriptor: int) -> None:
        """For ``create`` and ``resume``; ``descriptor`` is the locked file of episodes."""
        self.folder = folder
        self._descriptor = descriptor
        self._end = _end_of_last_line(descriptor)
        self._records = {record.task_id: record for record in read_records(folder)}

    @classmethod
    def create(cls, folder: Path, config: Mapping[str, Any]) -> RunStore:
        """Starts a run in a folder that is empty or not there yet.

        ``config`` is all that decides the run's results, and can be written as JSON.

        :raises RunError: the folder has something in it, or cannot be written to.
        """
        refuse_occupied(folder)
        with _os_errors_named(folder):
            folder.mkdir(parents=True, exist_ok=True)
        descriptor = _locked(folder)
        try:
            refuse_occupied(folder)  # another process may have been faster
            with _os_errors_named(folder):
                _write_atomically(folder / RUN_FILE, _head(config))
            return cls(folder, descriptor)
        except BaseException:
            os.close(descriptor)
            raise

    @classmethod
    def resume(cls, folder: Path, config: Mapping[str, Any]) -> RunStore:
        """Goes on with a run that was made with the same ``config``.

        :raises RunError: no run there, another process is at it, or its configuration differs.
        """
        made_with = read_head(folder)["config"]
        if difference := _difference(made_with, json.loads(json.dumps(config))):
            field, then, now = difference
            raise RunError(
                f"{folder} cannot be resumed: its {field} was {then}, and now is {now}",
                remedy="ask for what it was made with, or start another run with another --out",
            )
        descriptor = _locked(folder)
        try:
            return cls(folder, descriptor)
        except BaseException:
            os.close(descriptor)
            raise

    @property
    def records(self) -> tuple[EpisodeRecord, ...]:
        """The last record of each task."""
        return tuple(self._records.values())

    def append(self, record: EpisodeRecord) -> None:
        """Adds a record; when this returns, it is on the disk.

        :raises RunError: it could not be written; the file is as before.
        """
        line = json.dumps(record.to_json(), separators=(",", ":"), allow_nan=False).encode() + b"\n"
        try:
            os.ftruncate(self._descriptor, self._end)
            _write_all(self._descriptor, line)
            os.fsync(self._descriptor)
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self._descriptor, self._end)
            raise RunError(
                f"{self.folder / EPISODES_FILE} cannot be added to: {error.strerror}",
                remedy="make room or mend the disk, then resume the run",
            ) from error
        self._end += len(line)
        self._records[record.task_id] = record

    def discard_if_empty(self) -> None:
        """Removes the folder and closes, if nothing was recorded: such a run says nothing."""
        if self._descriptor >= 0 and not self._end:
            for name in (RUN_FILE, EPISODES_FILE):
                (self.folder / name).unlink(missing_ok=True)
            with suppress(OSError):
                self.folder.rmdir()
            self.close()

    def close(self) -> None:
        """Lets go of the folder. Idempotent."""
        if self._descriptor >= 0:
            # Said aloud, for a child that was forked meanwhile would keep the lock otherwise.
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> RunStore:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def refuse_occupied(folder: Path) -> None:
    """
    :raises RunError: a new run cannot start in ``folder``: there is something there.
    """
    if not folder.exists():
        return
    if not folder.is_dir():
        raise RunError(f"{folder} is not a folder", remedy="name another one with --out")
    if (folder / RUN_FILE).exists():
        raise RunError(
            f"there is a run in {folder} already",
            remedy="go on with it with --resume, or name another folder with --out",
        )
    if any(not _is_remnant(entry) for entry in folder.iterdir()):
        raise RunError(f"{folder} is not empty", remedy="name another folder with --out")


def _is_remnant(entry: Path) -> bool:
    """Left by a run that was stopped before it began."""
    if entry.name == EPISODES_FILE:
        return entry.stat().st_size == 0
    return entry.name.startswith(f".{RUN_FILE}.")


def _head(config: Mapping[str, Any]) -> dict[str, Any]:
    about = {
        "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "intercode": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
    }
    return {"format": FORMAT, "config": config, "about": about}


def _difference(
    then: Mapping[str, Any], now: Mapping[str, Any], prefix: str = ""
) -> tuple[str, str, str] | None:
    """The first field that is not the same, with what it was and is."""
    for key in dict.fromkeys([*now, *then]):
        before, after = then.get(key), now.get(key)
        if isinstance(before, dict) and isinstance(after, dict):
            if found := _difference(before, after, f"{prefix}{key}."):
                return found
        elif before != after:
            return f"{prefix}{key}", json.dumps(before), json.dumps(after)
    return None


@contextmanager
def _os_errors_named(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise RunError(
            f"{folder} cannot be written to: {error.strerror}",
            remedy="name another folder with --out",
        ) from error


def _locked(folder: Path) -> int:
    """A descriptor of the file of episodes, which no other process has locked."""
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
    with _os_errors_named(folder):
        descriptor = os.open(folder / EPISODES_FILE, flags, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise RunError(
            f"another process is writing to the run in {folder}",
            remedy="wait for it, stop it, or name another folder with --out",
        ) from None
    return descriptor


def _end_of_last_line(descriptor: int) -> int:
    """How many bytes the whole lines take; searched from the end, for a file may be long."""
    end = os.fstat(descriptor).st_size
    while end:
        start = max(0, end - (1 << 16))
        at = os.pread(descriptor, end - start, start).rfind(b"\n")
        if at >= 0:
            return start + at + 1
        end = start
    return 0


def _write_atomically(path: Path, body: Mapping[str, Any]) -> None:
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    text = json.dumps(body, indent=2) + "\n"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
    try:
        _write_all(descriptor, text.encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    draft.replace(path)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
