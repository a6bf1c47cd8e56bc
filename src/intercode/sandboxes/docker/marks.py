"""Names and labels: by what one back end's containers and images are known, and who owns them."""

from __future__ import annotations

import hashlib
import os
import platform
import secrets
from collections.abc import Mapping
from pathlib import Path

from intercode.sandboxes.owner import new_name, owner_is_alive, owner_label

OWNER_LABEL = "intercode.owner"
"""The process that will remove it, named as `owner_label` does; empty on what is to stay."""
PLACE_LABEL = "intercode.place"
"""Where that process runs: an engine may serve several machines, each with its own processes."""
BACKEND_LABEL = "intercode.backend"
"""Which of the process's back ends made it."""
LAYER_LABEL = "intercode.layer"
"""On cached images: their digest."""


class Marks:
    """One back end's own."""

    def __init__(self) -> None:
        self.token = secrets.token_hex(4)
        self.labels = {
            OWNER_LABEL: owner_label(),
            PLACE_LABEL: place(),
            BACKEND_LABEL: self.token,
        }

    def new_id(self) -> str:
        return f"{self.token}-{new_name()}"

    def new_container(self) -> str:
        return f"intercode-{self.new_id()}"


def layer_labels(digest: str) -> dict[str, str]:
    """For an image that is kept. An image inherits its container's labels, so those are emptied."""
    return {OWNER_LABEL: "", PLACE_LABEL: "", BACKEND_LABEL: "", LAYER_LABEL: digest}


def place() -> str:
    """This machine and process numbering; the same after the machine was started again."""
    try:
        machine = Path("/etc/machine-id").read_text().strip()
    except OSError:
        machine = ""
    try:
        numbering = os.readlink("/proc/self/ns/pid")
    except OSError:
        numbering = ""
    known = f"{machine} {platform.node()} {numbering}"
    return hashlib.sha256(known.encode()).hexdigest()[:16]


def is_orphan(labels: Mapping[str, str]) -> bool:
    """Whether nobody will come back for it, as far as that can be told from here."""
    owner = labels.get(OWNER_LABEL)
    return bool(owner) and labels.get(PLACE_LABEL) == place() and not owner_is_alive(str(owner))
