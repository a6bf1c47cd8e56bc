"""The environments' names, for Gymnasium and for the command line."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any

from intercode.errors import UsageError

if TYPE_CHECKING:
    from intercode.envs.base import InteractiveEnv, Shared
    from intercode.envs.routed import RoutedEnv
    from intercode.tasks.model import Dataset

ENV_IDS = {
    "intercode/Bash-v1": "intercode.envs.bash_v1:BashV1",
    "intercode/Bash-v2": "intercode.envs.bash_v2:BashV2",
    "intercode/BashShared-v1": "intercode.envs.bash_v1_shared:BashV1Shared",
    "intercode/SQL-v1": "intercode.envs.sql_v1:SqlV1",
    "intercode/SQL-v2": "intercode.envs.sql_v2:SqlV2",
    "intercode/SWE-v1": "intercode.envs.swe_v1:SweV1",
    "intercode/Python-v1": "intercode.envs.python_v1:PythonV1",
    "intercode/Python-v2": "intercode.envs.python_v2:PythonV2",
    "intercode/CTF-v1": "intercode.envs.ctf_v1:CtfV1",
    "intercode/CTF-v2": "intercode.envs.ctf_v2:CtfV2",
    "intercode/Code-v1": "intercode.envs.code_v1:CodeV1",
}
_FAMILIES = {
    "bash": "Bash",
    "sql": "SQL",
    "python": "Python",
    "swe": "SWE",
    "ctf": "CTF",
    "code": "Code",
}
"""The first half of the name of the environment that plays tasks of a kind."""
VERSIONS = ("v1", "v2")
DEFAULT_VERSION = "v2"
ENTRY_POINTS = "intercode.envs"


def register_envs() -> None:
    """Idempotent. Called when `intercode.envs` is imported."""
    from gymnasium.envs.registration import register, registry

    for env_id, entry_point in ENV_IDS.items():
        if env_id not in registry:
            register(id=env_id, entry_point=entry_point, disable_env_checker=True)


def env_class(env_id: str) -> type[Any]:
    """The class behind ``intercode/Bash-v2``, or ``Bash-v2`` for short; else the one that an
    installed package offers under that name, as an entry point of the group ``intercode.envs``.

    :raises UsageError: there is none, or it cannot be imported.
    """
    import importlib

    name = env_id.removeprefix("intercode/")
    if f"intercode/{name}" in ENV_IDS:
        module, _, attribute = ENV_IDS[f"intercode/{name}"].partition(":")
        found: type[Any] = getattr(importlib.import_module(module), attribute)
        return found
    for plugin in _plugins():
        if plugin.name == name:
            return _imported(plugin)
    known = [name.removeprefix("intercode/") for name in ENV_IDS]
    known += [plugin.name for plugin in _plugins()]
    raise UsageError(
        f"there is no environment {env_id!r}", remedy=f"--env, one of {', '.join(known)}"
    )


def _plugins() -> Sequence[EntryPoint]:
    return sorted(entry_points(group=ENTRY_POINTS), key=lambda plugin: plugin.name)


def _imported(plugin: EntryPoint) -> type[Any]:
    try:
        found: type[Any] = plugin.load()
    except Exception as error:
        raise UsageError(
            f"environment {plugin.name!r} ({plugin.value}) cannot be imported: {error}",
            remedy="mend or remove the package that brings it",
        ) from error
    return found


def _player(kind: str, version: str) -> str:
    """The environment that plays tasks of a kind: ours, else the first that a package offers.

    :raises UsageError: there is none.
    """
    if kind in _FAMILIES:
        name = f"{_FAMILIES[kind]}-{version}"
        # A kind whose semantics nobody published differently has one version.
        return name if f"intercode/{name}" in ENV_IDS else f"{_FAMILIES[kind]}-v1"
    for plugin in _plugins():
        if plugin.name.endswith(f"-{version}") and _imported(plugin).kind == kind:
            return plugin.name
    raise UsageError(
        f"no environment of version {version} plays tasks of kind {kind!r}",
        remedy=f"their env must be one of {', '.join(_FAMILIES)}, or one that a package brings",
    )


def env_name(env_id: str | None, dataset: Dataset) -> str:
    """The environment that plays a dataset: ``env_id`` without its namespace; where that is a
    version alone (``v1``; None: the default one), the one of that version for the dataset's kind of
    task. A dataset with several kinds is played by several environments, so the version stays.

    :raises UsageError: there is none, or it does not play such tasks.
    """
    name = (env_id or DEFAULT_VERSION).removeprefix("intercode/")
    kinds = sorted({task.env for task in dataset})
    if name in VERSIONS:
        players = [_player(kind, name) for kind in kinds]
        return players[0] if len(players) == 1 else name
    played = env_class(name).kind
    if others := [kind for kind in kinds if kind != played]:
        version = name.rpartition("-")[2]
        raise UsageError(
            f"{name} plays {played} tasks, and dataset {dataset.name!r} has {others[0]} ones",
            remedy=f"choose {played} tasks, or --env {version} for all of them",
        )
    return name


def _refuse_unknown_options(
    options: Mapping[str, Any], classes: Sequence[type[InteractiveEnv]]
) -> None:
    """Where tasks are of several kinds, an option may be for some of them only."""
    known = sorted({name for cls in classes for name in cls.options})
    for name in options:
        if name not in known:
            raise UsageError(
                f"the environment has no option {name!r}",
                remedy=f"one of {', '.join(known)}" if known else "it has none",
            )


class Environments:
    """Makes environments for a dataset that share what is costly, and closes all at the end.

    Safe to use from many threads. ``options`` are further ones of the environments' classes.
    """

    def __init__(
        self, env_id: str | None, dataset: Dataset, shared: Shared, **options: Any
    ) -> None:
        self.name = env_name(env_id, dataset)
        self._dataset = dataset
        self._wanted = shared
        self._options = options
        self._runtimes: dict[Any, Any] = {}
        self._made: list[InteractiveEnv] = []
        self._lock = threading.Lock()
        played = [self.name]
        if self.name in VERSIONS:
            played = [_player(kind, self.name) for kind in sorted({t.env for t in dataset})]
        _refuse_unknown_options(options, [env_class(name) for name in played])
        for name in played:
            self._maker(name)  # what does not work here is told before any work begins

    def make(self) -> InteractiveEnv | RoutedEnv:
        """A new one; closed with the others at the latest."""
        if self.name in VERSIONS:
            from intercode.envs.routed import RoutedEnv

            return RoutedEnv(lambda kind: self._make(_player(kind, self.name)))
        return self._make(self.name)

    def _make(self, name: str) -> InteractiveEnv:
        env = self._maker(name)()
        self._made.append(env)
        return env

    def _maker(self, name: str) -> Callable[[], InteractiveEnv]:
        cls = env_class(name)
        with self._lock:
            key = cls.shared.__func__
            if key not in self._runtimes:
                self._runtimes[key] = cls.shared(self._wanted)
            runtime = self._runtimes[key]
        options = {key: value for key, value in self._options.items() if key in cls.options}
        return lambda: cls(self._dataset, runtime=runtime, **options)

    def live(self) -> int:
        """Places of episodes that are still open; to be asked when all environments are done."""
        return sum(runtime.live() for runtime in self._runtimes.values())

    def close(self) -> None:
        with contextlib.ExitStack() as stack:
            for runtime in self._runtimes.values():
                stack.callback(runtime.close)
            for env in self._made:
                stack.callback(env.close)

    def __enter__(self) -> Environments:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@contextlib.contextmanager
def environment_factory(
    env_id: str | None,
    dataset: Dataset,
    *,
    sandbox: str | None = None,
    base: str | None = None,
    engine: str | None = None,
    jobs: int = 1,
    **options: Any,
) -> Iterator[Callable[[], InteractiveEnv | RoutedEnv]]:
    """Makes environments that share one back end and one pool, all closed at the end."""
    from intercode.envs.base import Shared

    shared = Shared(sandbox=sandbox, base=base, engine=engine, jobs=jobs)
    with Environments(env_id, dataset, shared, **options) as envs:
        yield envs.make
