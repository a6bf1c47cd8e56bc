"""The environments' names, for Gymnasium and for the command line."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from intercode.errors import UsageError

ENV_IDS = {
    "intercode/Bash-v1": "intercode.envs.bash_v1:BashV1",
    "intercode/Bash-v2": "intercode.envs.bash_v2:BashV2",
}


def register_envs() -> None:
    """Idempotent. Called when `intercode.envs` is imported."""
    from gymnasium.envs.registration import register, registry

    for env_id, entry_point in ENV_IDS.items():
        if env_id not in registry:
            register(id=env_id, entry_point=entry_point, disable_env_checker=True)


def env_class(env_id: str) -> type[Any]:
    """The class behind ``intercode/Bash-v2``, or ``Bash-v2`` for short.

    :raises UsageError: there is none.
    """
    import importlib

    full = env_id if "/" in env_id else f"intercode/{env_id}"
    if full not in ENV_IDS:
        known = ", ".join(name.removeprefix("intercode/") for name in ENV_IDS)
        raise UsageError(f"there is no environment {env_id!r}", remedy=f"--env, one of {known}")
    module, _, name = ENV_IDS[full].partition(":")
    found: type[Any] = getattr(importlib.import_module(module), name)
    return found


@contextlib.contextmanager
def environment_factory(
    env_id: str,
    dataset: Any,
    *,
    sandbox: str | None = None,
    base: str | None = None,
    jobs: int = 1,
) -> Iterator[Callable[[], Any]]:
    """Makes environments that share one back end and one pool, all closed at the end."""
    from intercode.envs.runtime import Runtime
    from intercode.sandboxes.registry import choose

    cls = env_class(env_id)
    made: list[Any] = []
    with Runtime(choose(sandbox), base=base, warm=jobs, max_starting=max(2, jobs)) as runtime:

        def make() -> Any:
            env = cls(dataset, runtime=runtime)
            made.append(env)
            return env

        try:
            yield make
        finally:
            for env in made:
                env.close()
