"""Every error that InterCode raises on purpose.

A failure of ours is never a score: an episode that meets one of these is marked failed, with
``reward=None`` and the error's ``cause`` as its name. The class says whether trying again can help.
"""

from __future__ import annotations

from typing import ClassVar


class InterCodeError(Exception):
    """The root of all. ``remedy``, where known, is one line that says what mends it."""

    cause: ClassVar[str] = "internal"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, remedy: str | None = None) -> None:
        super().__init__(message)
        self.remedy = remedy

    def __str__(self) -> str:
        message = super().__str__()
        return f"{message}\n  try: {self.remedy}" if self.remedy else message


class UsageError(InterCodeError):
    """The caller asked for something that does not exist or does not fit."""

    cause = "usage"


class DatasetError(InterCodeError):
    """A dataset's files are missing, damaged or not of the expected form."""

    cause = "dataset"


class TaskError(InterCodeError):
    """A task cannot be set up or scored as written: its set-up fails, its image is unknown."""

    cause = "task"


class SandboxError(InterCodeError):
    """A sandbox broke for a reason that is not the agent's doing."""

    cause = "sandbox"
    retryable = True


class SandboxUnavailable(SandboxError):
    """No back end of that name works on this machine."""

    cause = "sandbox-unavailable"
    retryable = False


class LimitError(SandboxError):
    """A limit that was asked for cannot be kept by this back end on this machine."""

    cause = "limit"
    retryable = False


class ImageError(SandboxError):
    """An image cannot be built or found."""

    cause = "image"
    retryable = False


class ToolchainMissing(ImageError):
    """An image lacks the program that compiles or runs a language."""

    cause = "toolchain-missing"


class EngineError(InterCodeError):
    """A database engine broke, or could not be reached, for a reason not of the agent's doing."""

    cause = "engine"
    retryable = True


class EngineUnavailable(EngineError):
    """No engine of that name works on this machine."""

    cause = "engine-unavailable"
    retryable = False


class ModelError(InterCodeError):
    """A model did not answer, or answered with something that cannot be used."""

    cause = "model"
    retryable = True


class RunError(InterCodeError):
    """A run's folder is missing, damaged, or belongs to another configuration."""

    cause = "run"
