"""The floor to beat: Bash episodes as the original InterCode runs them, on one container.

A long-lived container whose root is a git work tree; an action is a ``docker exec``, a reset is
``git reset --hard; git clean -fd``, and scoring runs the gold in a second such container and asks
both for their ``git status`` and for checksums. One episode at a time, nothing else is isolated.
Left out is what made it slower for no gain (it starts its containers anew for each environment).
"""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path
from typing import Any

import docker

from intercode.envs.bash_v1 import GIT_SETUP
from intercode.rewards import bash_v1, v1_action
from intercode.tasks.model import FileSystem

_RESET = ["/bin/bash", "-c", "git reset --hard; git clean -fd"]
_LABEL = "intercode-benchmark"


class Original:
    """Two containers a file system: the agent's and the one that golds are run in."""

    def __init__(self, base: str) -> None:
        """``base``: ``tar:PATH`` or ``docker:NAME``, with git in it."""
        self._client = docker.from_env()
        self._base = _base_image(self._client, base)
        self._images: dict[str, Any] = {}
        self._pairs: dict[str, tuple[Any, Any]] = {}

    def use(self, files: FileSystem) -> None:
        """Make the containers of this file system the ones that actions go to."""
        if files.name not in self._pairs:
            self._images[files.name] = self._built(files)
            self._pairs[files.name] = (self.start(files), self.start(files))
        self._agent, self._gold = self._pairs[files.name]
        self._answer = ""

    def start(self, files: FileSystem) -> Any:
        return self._run(self._images[files.name].id)

    def close_one(self, container: Any) -> None:
        container.remove(force=True)

    def reset(self) -> None:
        self._agent.exec_run(_RESET, workdir="/")

    def step(self, action: str) -> str:
        self._answer = self._act(self._agent, action)
        return self._answer

    def score(self, gold: str) -> float:
        self._gold.exec_run(_RESET, workdir="/")
        wanted_answer = self._act(self._gold, gold)
        mine, wanted = (self._act(c, bash_v1.STATUS_COMMAND) for c in (self._agent, self._gold))
        try:
            paths = bash_v1.paths_to_hash(mine, wanted)
            sides = [
                bash_v1.Outcome(status, answer, {path: self._hash(box, path) for path in paths})
                for box, status, answer in (
                    (self._agent, mine, self._answer),
                    (self._gold, wanted, wanted_answer),
                )
            ]
            return bash_v1.score(*sides).reward
        except bash_v1.StatusError:
            return 0.0

    def episode(self, files: FileSystem, gold: str) -> float:
        self.use(files)
        self.reset()
        self.step(gold)
        return self.score(gold)

    def memory_bytes(self) -> int:
        """What one container takes, by the engine's own count."""
        return int(self._agent.stats(stream=False)["memory_stats"].get("usage", 0))

    def close(self) -> None:
        for pair in self._pairs.values():
            for container in pair:
                with contextlib.suppress(docker.errors.DockerException):
                    container.remove(force=True)
        for image in self._images.values():
            with contextlib.suppress(docker.errors.DockerException):
                self._client.images.remove(image.id, force=True)
        self._client.close()

    def _act(self, container: Any, action: str) -> str:
        argv = v1_action.argv(action)
        if not argv:
            return ""
        return container.exec_run(argv, workdir="/").output.decode("utf-8", "replace")

    def _hash(self, container: Any, path: str) -> str:
        argv = bash_v1.checksum_argv(path)
        return container.exec_run(argv, workdir="/").output.decode("utf-8", "replace")

    def _built(self, files: FileSystem) -> Any:
        """The base with the task's files and a git work tree on top, as an image."""
        container = self._run(self._base)
        try:
            if files.tar is not None:
                container.put_archive("/", files.tar.read_bytes())
            for command in (*files.setup, GIT_SETUP):
                done = container.exec_run(["/bin/bash", "-c", command], workdir="/")
                if done.exit_code:
                    raise SystemExit(f"set-up of {files.name} failed: {done.output[-500:]!r}")
            return container.commit(repository=_LABEL, tag=files.name)
        finally:
            container.remove(force=True)

    def _run(self, image: str) -> Any:
        return self._client.containers.run(
            image, ["/bin/sleep", "infinity"], detach=True, init=True, network_mode="none",
            labels={_LABEL: ""},
        )  # fmt: skip


def _base_image(client: Any, base: str) -> str:
    kind, _, name = base.partition(":")
    if kind == "docker":
        return name
    if kind != "tar":
        raise SystemExit(f"the original needs a base tar:PATH or docker:NAME, not {base}")
    facts = Path(name).stat()
    tag = hashlib.sha256(f"{name} {facts.st_size} {facts.st_mtime_ns}".encode()).hexdigest()[:12]
    with contextlib.suppress(docker.errors.ImageNotFound):
        return str(client.images.get(f"{_LABEL}:{tag}").id)
    client.api.import_image(src=name, repository=_LABEL, tag=tag)
    return f"{_LABEL}:{tag}"
