"""InterCode: coding as an interactive, executable task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from intercode.envs.base import InteractiveEnv

__version__ = "0.1.0"


def make(env_id: str, **options: Any) -> InteractiveEnv:
    """An environment by its name: ``make("intercode/Bash-v2", dataset="bundled")``.

    As ``gymnasium.make`` gives it, but without its wrappers, which hide ``score`` and ``fork``.
    """
    from intercode.envs.registration import env_class

    env: InteractiveEnv = env_class(env_id)(**options)
    return env
