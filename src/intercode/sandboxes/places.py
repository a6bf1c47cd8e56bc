"""Where things are kept: the image cache, and the short-lived state of a running process."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from intercode.errors import ImageError


def cache_dir() -> Path:
    """``$INTERCODE_CACHE``, else ``/var/cache/intercode`` for root, else the user's own cache.

    Not root's home: sandboxes run as other users, who may not enter it.
    """
    named = os.environ.get("INTERCODE_CACHE")
    if named:
        path = Path(named).absolute()
    elif os.getuid() == 0:
        path = Path("/var/cache/intercode")
    else:
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        path = Path(home) / "intercode"
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ImageError(
            f"the image cache {path} cannot be made: {error.strerror}",
            remedy="set INTERCODE_CACHE to a folder you may write in",
        ) from None
    return path


def state_root() -> Path:
    """The folder below which each running process has one of its own, named by its owner label."""
    base = os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()
    path = Path(base) / f"intercode-{os.getuid()}"
    path.mkdir(mode=0o755, exist_ok=True)
    if path.stat().st_uid != os.getuid():
        raise ImageError(
            f"{path} belongs to somebody else", remedy="set TMPDIR to a folder of your own"
        )
    return path
