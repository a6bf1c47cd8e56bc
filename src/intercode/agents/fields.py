"""Fields of a recorded task, read with patience and refused by name."""

from __future__ import annotations

import builtins
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from intercode.errors import DatasetError

_WORDS = {"true": True, "false": False, "": None, "none": None, "null": None, "nan": None}


@dataclass(frozen=True)
class Fields:
    """An object of the file, which knows its place. Whatever is missing or null reads as nothing.

    :raises DatasetError: on making and on every reading, for what cannot be understood.
    """

    file: Path
    where: str
    values: Any

    def __post_init__(self) -> None:
        if not isinstance(self.values, dict):
            raise DatasetError(f"{self.file}, {self.where}: {_kind(self.values)}, not an object")

    def has(self, field: str) -> bool:
        return self.values.get(field) is not None

    def object(self, field: str) -> Fields:
        value = self.values.get(field)
        return Fields(self.file, f"{self.where}, {field}", {} if value is None else value)

    def objects(self, field: str) -> builtins.list[Fields]:
        return [
            Fields(self.file, f"{self.where}, {field}[{n}]", item)
            for n, item in enumerate(self.list(field))
        ]

    def list(self, field: str) -> builtins.list[Any]:
        value = self.values.get(field)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self._unexpected(field, value, "a list")
        return value

    def text(self, field: str) -> str | None:
        return self._text(field, self.values.get(field))

    def texts(self, field: str) -> builtins.list[str | None]:
        return [self._text(f"{field}[{n}]", item) for n, item in enumerate(self.list(field))]

    def number(self, field: str) -> float | None:
        return self._number(field, self.values.get(field))

    def numbers(self, field: str) -> builtins.list[float | None]:
        return [self._number(f"{field}[{n}]", item) for n, item in enumerate(self.list(field))]

    def integer(self, field: str) -> int | None:
        number = self.number(field)
        if number is not None and not number.is_integer():
            raise self._unexpected(field, number, "a whole number")
        return None if number is None else int(number)

    def boolean(self, field: str) -> bool | None:
        return self._boolean(field, self.values.get(field))

    def booleans(self, field: str) -> builtins.list[bool | None]:
        return [self._boolean(f"{field}[{n}]", item) for n, item in enumerate(self.list(field))]

    def error(self, field: str, problem: str) -> DatasetError:
        return DatasetError(f"{self.file}, {self.where}: {field} is {problem}")

    def _text(self, field: str, value: Any) -> str | None:
        if value is not None and not isinstance(value, str):
            raise self._unexpected(field, value, "text")
        return value

    def _number(self, field: str, value: Any) -> float | None:
        value = _unquoted(value)
        if value is None:
            return None
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            number = math.inf
        if math.isinf(number):
            raise self._unexpected(field, value, "a number")
        return None if math.isnan(number) else number

    def _boolean(self, field: str, value: Any) -> bool | None:
        value = _unquoted(value)
        if value is not None and value not in (True, False):
            raise self._unexpected(field, value, "true or false")
        return None if value is None else bool(value)

    def _unexpected(self, field: str, value: Any, wanted: str) -> DatasetError:
        return self.error(field, f"{_kind(value)}, not {wanted}")


def shown(observation: Any) -> str:
    """An observation as an agent was shown it: what is not text, as Python writes it."""
    if observation is None:
        return ""
    return observation if isinstance(observation, str) else str(observation)


def _unquoted(value: Any) -> Any:
    """Numbers and truth values may be written as text."""
    if isinstance(value, str):
        return _WORDS.get(value.strip().lower(), value)
    return value


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", bool: "true or false", type(None): "null"}
    if isinstance(value, str):
        return f"the text {value[:40]!r}"
    return names.get(type(value), f"the number {value!r}")
