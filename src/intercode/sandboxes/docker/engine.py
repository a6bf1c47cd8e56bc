"""The engine's HTTP API, as far as sandboxes need it, with its errors told in our words.

Over the `docker` package, which is imported when the first engine is spoken to. Docker's and
Podman's sockets both serve it; nothing newer than version 1.41 of the API is asked for.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import tarfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

from intercode.errors import SandboxError, SandboxUnavailable

if TYPE_CHECKING:
    import requests
    from docker import APIClient

_T = TypeVar("_T")
_TIMEOUT_S = 300
"""Longer than any one call of ours takes on a slow disk; an engine that hangs is given up then."""


class NotThere(SandboxError):
    """The engine has no such container, image or path."""


class Refused(SandboxError):
    """The engine cannot do that in the state things are in: the container does not run, say."""


@dataclass(frozen=True)
class PathStat:
    """What lies at a path, the last link not followed; ``target`` is where that link leads."""

    mode: int
    size: int
    mtime: str
    target: str

    # The engine tells modes as Go numbers them.
    @property
    def is_dir(self) -> bool:
        return bool(self.mode & 1 << 31)

    @property
    def is_symlink(self) -> bool:
        return bool(self.mode & 1 << 27)

    @property
    def is_socket(self) -> bool:
        return bool(self.mode & 1 << 24)

    @property
    def is_file(self) -> bool:
        kinds = (31, 27, 26, 25, 24, 21)
        return not self.mode & sum(1 << bit for bit in kinds)


def require_package() -> None:
    """:raises SandboxUnavailable: the `docker` package is not installed."""
    try:
        import docker  # noqa: F401
    except ImportError:
        raise SandboxUnavailable(
            "the docker package is not installed", remedy="pip install 'intercode[docker]'"
        ) from None


class Engine:
    """One engine. Safe to use from many threads."""

    def __init__(self) -> None:
        """Find the engine that ``DOCKER_HOST`` names, or the one on this machine.

        :raises SandboxUnavailable: none answers there.
        """
        require_package()
        import docker
        from docker.errors import APIError, DockerException, NotFound
        from docker.utils import kwargs_from_env

        self._errors = (NotFound, APIError, DockerException)
        where = os.environ.get("DOCKER_HOST") or "/var/run/docker.sock"
        try:
            self._client: APIClient = docker.APIClient(
                **kwargs_from_env(), version="auto", timeout=_TIMEOUT_S
            )
        except (DockerException, OSError) as error:
            raise SandboxUnavailable(
                f"no Docker engine answers at {where}: {error}",
                remedy="start the engine, join the docker group, or set DOCKER_HOST "
                "(Podman: systemctl --user start podman.socket)",
            ) from None

    @property
    def version(self) -> tuple[int, ...]:
        """Of the API, as agreed on with the engine."""
        return tuple(int(part) for part in self._client.api_version.split("."))

    def info(self) -> dict[str, Any]:
        return self._call(self._client.info)

    def close(self) -> None:
        self._client.close()

    # -- containers --------------------------------------------------------------------------------

    def create(self, name: str, config: Mapping[str, Any]) -> None:
        self._call(self._client.create_container_from_config, dict(config), name)

    def attach(self, name: str) -> Any:
        """The two-way stream to a container's process 1: what `AttachStreams` takes."""
        params = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
        return self._call(self._client.attach_socket, name, params)

    def start(self, name: str) -> None:
        self._call(self._client.start, name)

    def kill(self, name: str, signal: str = "SIGKILL") -> None:
        """Send process 1 a signal; nothing happens where it runs no more."""
        with contextlib.suppress(Refused, NotThere):
            self._call(self._client.kill, name, signal)

    def remove(self, name: str) -> None:
        """Kill it and remove all of it; nothing happens where it is gone, or going, already."""
        with contextlib.suppress(Refused, NotThere):
            self._call(self._client.remove_container, name, v=True, force=True)

    def pause(self, name: str) -> None:
        self._call(self._client.pause, name)

    def unpause(self, name: str) -> None:
        with contextlib.suppress(Refused):
            self._call(self._client.unpause, name)

    def processes(self, name: str) -> list[list[str]]:
        """(pid, state) of each process, as the engine's host numbers them; none if it is ended."""
        try:
            answer = self._call(self._client.top, name, "-eo pid,stat")
        except Refused:
            return []
        return answer["Processes"] or []

    def inspect(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self._call(self._client.inspect_container, name)
        return found

    def written_bytes(self, name: str) -> int:
        """The size of all files that were written in the container."""
        found = self.list_containers(f"name=^/?{name}$", size=True)
        return int(found[0].get("SizeRw") or 0) if found else 0

    def diff(self, name: str) -> list[str]:
        """The paths that differ from the container's image. Takes the engine as long as it takes to
        look at every file of the image."""
        return [str(change["Path"]) for change in self._call(self._client.diff, name) or []]

    def list_containers(self, query: str, *, size: bool = False) -> list[dict[str, Any]]:
        """All that a filter such as ``label=a`` matches, stopped ones too."""
        key, _, value = query.partition("=")
        found: list[dict[str, Any]] = self._call(
            self._client.containers, all=True, size=size, filters={key: value}
        )
        return found

    # -- images ------------------------------------------------------------------------------------

    def image(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self._call(self._client.inspect_image, name)
        return found

    def list_images(self, label: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._call(
            self._client.images, all=False, filters={"label": label}
        )
        return found

    def pull(self, name: str) -> None:
        self._call(self._client.pull, name)

    def commit(self, name: str, repository: str, tag: str, labels: Mapping[str, str]) -> str:
        """Make an image of a container's files; its id. The caller sees to it that none moves."""
        conf = {"Labels": dict(labels)}
        made = self._call(self._client.commit, name, repository, tag, pause=False, conf=conf)
        return str(made["Id"])

    def import_tar(
        self, source: Path | Iterator[bytes], repository: str, tag: str, labels: Mapping[str, str]
    ) -> None:
        """Make an image of one layer out of a root file system's tar."""
        changes = [f"LABEL {json.dumps(key)}={json.dumps(value)}" for key, value in labels.items()]
        where = {"repository": repository, "tag": tag, "changes": changes}
        if isinstance(source, Path):
            self._call(self._client.import_image, str(source), **where)
        else:
            self._call(self._client.import_image_from_stream, source, **where)

    def export(self, name: str) -> Iterator[bytes]:
        """All files of a container as a tar."""
        chunks: Iterator[bytes] = self._call(self._client.export, name)
        return chunks

    def remove_image(self, name: str) -> None:
        """Take the name off it, and remove it with its nameless parents unless something needs
        them."""
        with contextlib.suppress(Refused, NotThere):
            self._call(self._client.remove_image, name)

    # -- files -------------------------------------------------------------------------------------

    def stat(self, name: str, path: str) -> PathStat | None:
        """:raises FileNotFoundError: the path leads nowhere: through a file, or round in links."""
        answer = self._archive("HEAD", name, path)
        if answer.status_code == 404:
            return None
        if not answer.ok:
            # An answer to HEAD has no text; the same question asked by GET says what is wrong.
            with self.archive(name, path) as (stat, _):
                return stat
        return _path_stat(answer)

    @contextlib.contextmanager
    def archive(self, name: str, path: str) -> Iterator[tuple[PathStat, tarfile.TarFile]]:
        """What is at a path, and a tar of it and all below it, to be read from front to end.

        :raises FileNotFoundError: nothing is there.
        """
        answer = self._archive("GET", name, path)
        try:
            if not answer.ok:
                said = answer.text
                if answer.status_code == 404 or any(word in said for word in _LEADS_NOWHERE):
                    raise FileNotFoundError(f"there is no {path!r} in the sandbox")
                raise SandboxError(f"the engine cannot read {path!r}: {said.strip()}")
            body: Any = answer.raw
            with tarfile.open(
                fileobj=body, mode="r|", encoding="utf-8", errors="surrogateescape"
            ) as tar:
                yield _path_stat(answer), tar
        finally:
            answer.close()

    def put_archive(self, name: str, path: str, tar: bytes | IO[bytes]) -> None:
        """Unpack a tar in a directory, whose links are followed inside the container.

        :raises FileNotFoundError: there is no such directory.
        """
        try:
            self._call(self._client.put_archive, name, _raw(path), tar)
        except NotThere:
            raise FileNotFoundError(f"there is no {path!r} in the sandbox") from None
        except SandboxError as error:
            if any(word in str(error) for word in _LEADS_NOWHERE):
                raise FileNotFoundError(f"{path!r} is no directory in the sandbox") from None
            raise

    def _archive(self, method: str, name: str, path: str) -> requests.Response:
        url = f"{self._client.base_url}/v{self._client.api_version}/containers/{name}/archive"
        return self._call(
            self._client.request,
            method, url, params={"path": _raw(path)}, stream=method == "GET",
            headers={"Accept-Encoding": "identity"}, timeout=_TIMEOUT_S,
        )  # fmt: skip

    def _call(self, action: Callable[..., _T], /, *args: Any, **options: Any) -> _T:
        not_found, api_error, any_error = self._errors
        try:
            return action(*args, **options)
        except not_found as error:
            raise NotThere(_said(error)) from None
        except api_error as error:
            status = getattr(error.response, "status_code", 0)
            kind = Refused if status in (304, 409) else SandboxError
            raise kind(f"the engine refuses: {_said(error)}") from None
        except (any_error, OSError) as error:
            raise SandboxError(f"the engine cannot be reached: {error}") from error


_LEADS_NOWHERE = ("not a directory", "too many links", "file name too long")


def _path_stat(answer: requests.Response) -> PathStat:
    said = json.loads(base64.b64decode(answer.headers["X-Docker-Container-Path-Stat"]))
    return PathStat(said["mode"], said["size"], said["mtime"], said["linkTarget"])


def _raw(path: str) -> Any:
    """A path as the bytes it is, where it is no proper text."""
    return path.encode("utf-8", "surrogateescape")


def _said(error: Any) -> str:
    return str(getattr(error, "explanation", None) or error)
