"""Removing what dead owners left, now and at the moment they die.

A container stops by itself when its owner is killed (its stdin ends), unless it is busy; neither
does it go away, nor do snapshots. So each back end keeps a *janitor*: a sleeping shell whose stdin
ends with the owner, and which then becomes a Python that removes what that owner left. Should the
janitor be killed too, the next back end on this machine sweeps.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from intercode.errors import SandboxError
from intercode.sandboxes.docker.engine import Engine
from intercode.sandboxes.docker.marks import OWNER_LABEL, PLACE_LABEL, is_orphan, place
from intercode.sandboxes.owner import owner_label

# Any line means that there is nothing to do.
_WAIT = 'read -r line || exec "$@"'
_PROGRAM = (
    "import sys; from intercode.sandboxes.docker.sweep import remove_of; remove_of(sys.argv[1])"
)


def sweep(engine: Engine) -> None:
    """Remove the containers and snapshots of all dead owners on this machine."""
    remove(engine, is_orphan)


def remove_of(owner: str) -> None:
    """What the janitor does. The owner counts as dead, though it may not have been reaped yet."""
    here = place()
    engine = Engine()
    try:
        remove(engine, lambda labels: (labels[OWNER_LABEL], labels[PLACE_LABEL]) == (owner, here))
    finally:
        engine.close()


def remove(engine: Engine, unwanted: Callable[[Mapping[str, str]], bool]) -> None:
    """Remove every container and image of InterCode's whose labels say so."""
    query = f"label={OWNER_LABEL}"
    for container in engine.list_containers(query):
        if unwanted(_labels(container)):
            engine.remove(container["Id"])
    for image in engine.list_images(OWNER_LABEL):
        if unwanted(_labels(image)):
            for name in image.get("RepoTags") or [image["Id"]]:
                engine.remove_image(name if name != "<none>:<none>" else image["Id"])


def _labels(found: Mapping[str, object]) -> Mapping[str, str]:
    labels = found.get("Labels")
    known = dict(labels) if isinstance(labels, Mapping) else {}
    return {OWNER_LABEL: "", PLACE_LABEL: ""} | known


class Janitor:
    """Outlives this process by the moment it takes to clean up after it."""

    def __init__(self) -> None:
        source = Path(__file__).resolve().parents[3]
        found = [str(Path(entry).absolute()) for entry in [str(source), *filter(None, sys.path)]]
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", _WAIT, "sh", sys.executable, "-c", _PROGRAM, owner_label()],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # Whatever ends this process's group or terminal must not end the janitor.
            start_new_session=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(found)},
            cwd="/",
        )

    def dismiss(self) -> None:
        """Nothing is left to clean up."""
        if self._process.stdin is not None and not self._process.stdin.closed:
            try:
                self._process.stdin.write(b"\n")
                self._process.stdin.close()
            except OSError:
                pass
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired as late:
            self._process.kill()
            raise SandboxError("the janitor of the Docker back end does not end") from late
