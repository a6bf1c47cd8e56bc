"""Rows out of a file, each of which remembers where it stands so that its errors can say so.

This is the edge at which upstream's and users' files are checked; the loaders build tasks from
what passes here.
"""

from __future__ import annotations

import csv
import difflib
import gzip
import io
import json
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from intercode.errors import DatasetError

SUFFIXES = (".json", ".jsonl", ".csv", ".tsv")
REQUIRED = ("query", "gold")


@dataclass(frozen=True)
class Row:
    """One task as written. ``where`` is its place in the file: ``line 3`` or ``task 2``."""

    file: Path
    where: str
    values: dict[str, Any]

    def text(self, field: str) -> str:
        """A field that must hold something."""
        value = self.values.get(field)
        if isinstance(value, str) and value.strip():
            return self._storable(field, value)
        if value is None and field not in self.values:
            raise self.error(f"no field {field!r}", remedy=self._rename(field))
        if value is None or isinstance(value, str):
            raise self.error(f"{field} is empty", remedy=f"fill in {field!r} or delete the row")
        raise self.error(
            f"{field} is {type(value).__name__}, not text", remedy=f"write {field!r} as a string"
        )

    def texts(self, field: str) -> tuple[str, ...]:
        """An optional field that holds one text or a list of them."""
        value = self.values.get(field)
        if value is None or value == "":
            return ()
        items = value if isinstance(value, list) else [value]
        if not all(isinstance(item, str) and item.strip() for item in items):
            raise self.error(f"{field} holds something that is not text, or is empty")
        return tuple(self._storable(field, item) for item in items)

    def gold(self) -> str:
        """The gold; upstream's lists of golds are one command line joined by semicolons."""
        if isinstance(self.values.get("gold"), list):
            if golds := self.texts("gold"):
                return ";".join(golds)
            raise self.error("gold is an empty list", remedy="write at least one command")
        return self.text("gold")

    def word(self, field: str) -> str | None:
        """An optional short field; numbers are taken as they are written."""
        value = self.values.get(field)
        if value is None or value == "":
            return None
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise self.error(
                f"{field} is {type(value).__name__}, not text", remedy=f"write {field!r} as a word"
            )
        word = str(value).strip()
        if not word:
            raise self.error(f"{field} is blank", remedy="fill it in or leave it empty")
        return self._storable(field, word)

    def words(self, field: str) -> tuple[str, ...]:
        """An optional list; in text, commas separate its items."""
        value = self.values.get(field)
        if isinstance(value, str):
            items = tuple(item.strip() for item in value.split(","))
            return tuple(self._storable(field, item) for item in items if item)
        return self.texts(field)

    def error(self, problem: str, *, remedy: str | None = None) -> DatasetError:
        return DatasetError(f"{self.file}, {self.where}: {problem}", remedy=remedy)

    def _storable(self, field: str, value: str) -> str:
        """No shell takes a NUL, and no file a lone surrogate: both can hide in JSON's escapes."""
        if "\0" in value:
            raise self.error(f"{field} has a NUL character", remedy="delete it")
        if any("\ud800" <= c <= "\udfff" for c in value):
            raise self.error(
                f"{field} has half of a surrogate pair", remedy="delete or complete it"
            )
        return value

    def _rename(self, field: str) -> str:
        names = [str(name) for name in self.values]
        close = difflib.get_close_matches(field, names, n=1)
        if close:
            return f"rename {close[0]!r} to {field!r}"
        return f"add {field!r}; there are: {', '.join(names) or 'no fields'}"


def read_rows(path: Path) -> list[Row]:
    """Every row of a table, in order; at least one. The file may be compressed, as ``….gz``.

    :raises DatasetError: the file cannot be read as what its name says it is.
    """
    reader = {".json": _json, ".jsonl": _jsonl, ".csv": _csv, ".tsv": _csv}.get(_kind_of(path))
    if reader is None:
        raise DatasetError(
            f"{path}: unknown kind of table {path.suffix!r}",
            remedy=f"use one of {', '.join(SUFFIXES)}",
        )
    rows = list(reader(path, read_text(path)))
    if not rows:
        raise DatasetError(f"{path}: no tasks in it", remedy="add rows with 'query' and 'gold'")
    return rows


def read_text(path: Path) -> str:
    """The file's text; a byte order mark is dropped, line ends are left as they are."""
    try:
        data = gzip.decompress(path.read_bytes()) if _is_compressed(path) else path.read_bytes()
    except FileNotFoundError:
        raise DatasetError(f"there is no file {path}", remedy="check the path") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DatasetError(f"{path} is damaged: {error}", remedy="fetch it again") from None
    except OSError as error:
        raise DatasetError(f"{path} cannot be read: {error.strerror}") from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DatasetError(
            f"{path}, line {line}: byte 0x{data[error.start]:02x} is not UTF-8",
            remedy=f"iconv -f ENCODING -t UTF-8 {path.name}",
        ) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise DatasetError(
            f"{path}, line {line}: a NUL character", remedy="save the file as UTF-8 text"
        )
    if not text.strip():
        raise DatasetError(f"{path} is empty", remedy="add rows with 'query' and 'gold'")
    return text


def _is_compressed(path: Path) -> bool:
    return path.suffix.lower() == ".gz"


def _kind_of(path: Path) -> str:
    return Path(path.stem if _is_compressed(path) else path).suffix.lower()


def _json(path: Path, text: str) -> Iterator[Row]:
    body = _parse(path, text, first_line=1)
    if isinstance(body, dict):
        body = next((body[key] for key in ("data", "tasks") if key in body), body)
    if not isinstance(body, list):
        raise DatasetError(
            f"{path}: the top is {_kind(body)}, not a list of tasks",
            remedy='write [{"query": …, "gold": …}, …] or {"tasks": […]}',
        )
    for index, item in enumerate(body):
        yield _row(path, f"task {index}", item)


def _jsonl(path: Path, text: str) -> Iterator[Row]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield _row(path, f"line {number}", _parse(path, line, first_line=number))


def _row(path: Path, where: str, item: Any) -> Row:
    if not isinstance(item, dict):
        raise DatasetError(
            f"{path}, {where}: {_kind(item)}, not an object",
            remedy='write {"query": …, "gold": …}',
        )
    return Row(path, where, item)


def _parse(path: Path, text: str, *, first_line: int) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        line = error.lineno + first_line - 1
        raise DatasetError(
            f"{path}, line {line}, column {error.colno}: not JSON: {error.msg}",
            remedy="a comma, quote or bracket is missing or too many there",
        ) from None
    except (ValueError, RecursionError) as error:  # a number or a nesting beyond all bounds
        raise DatasetError(f"{path}, line {first_line}: not readable JSON: {error}") from None


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false"}
    return names.get(type(value), "null" if value is None else "a number")


def _csv(path: Path, text: str) -> Iterator[Row]:
    delimiter = "\t" if _kind_of(path) == ".tsv" else ","
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    records = _records(path, reader)
    _, header = next(records)
    columns = [name.strip() for name in header]
    _check_header(path, columns)
    for line, values in records:
        if len(values) != len(columns):
            raise DatasetError(
                f"{path}, line {line}: {len(values)} fields under {len(columns)} columns",
                remedy='put fields that hold the separator, quotes or line breaks in "…", '
                'with " doubled inside',
            )
        yield Row(path, f"line {line}", dict(zip(columns, values, strict=True)))


def _records(path: Path, reader: Any) -> Iterator[tuple[int, list[str]]]:
    """Records that hold something, each with the line it starts on."""
    start = 1
    try:
        for record in reader:
            if record:
                yield start, record
            start = reader.line_num + 1
    except csv.Error as error:
        raise DatasetError(
            f"{path}, line {start}: {error}",
            remedy='put fields that hold quotes in "…", with " doubled inside',
        ) from None


def _check_header(path: Path, columns: list[str]) -> None:
    for column in REQUIRED:
        if column not in columns:
            close = difflib.get_close_matches(column, columns, n=1)
            remedy = f"rename {close[0]!r}" if close else f"add {column!r} to the first line"
            raise DatasetError(
                f"{path}, line 1: no column {column!r}; there are: {', '.join(columns)}",
                remedy=remedy,
            )
    if twice := _first_repeated(columns):
        raise DatasetError(f"{path}, line 1: two columns {twice!r}", remedy="rename one of them")


def _first_repeated(names: Iterable[str]) -> str | None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None
