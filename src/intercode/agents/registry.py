"""Agents by name.

A name is one of ours (``gold``, ``noop``, ``human``, ``replay:FILE``), ``PATH.py:CLASS``, or what
an installed package offers under the entry point group ``intercode.strategies``: a callable without
parameters that gives an agent.
"""

from __future__ import annotations

import difflib
import hashlib
import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from intercode.agents.base import Agent, AgentFactory
from intercode.agents.basic import GoldAgent, NoopAgent, ReplayAgent
from intercode.agents.human import HumanAgent
from intercode.errors import UsageError
from intercode.tasks.model import Task

ENTRY_POINTS = "intercode.strategies"

_OURS: dict[str, Callable[[], Agent]] = {"gold": GoldAgent, "noop": NoopAgent, "human": HumanAgent}


def agent_names() -> list[str]:
    """What can be asked for, apart from files."""
    return [*_OURS, "replay:FILE", "PATH.py:CLASS", *(plugin.name for plugin in _plugins())]


def agent_factory(name: str, *, tasks: Sequence[Task] = ()) -> AgentFactory:
    """What makes the agents of that name. ``tasks`` are those to be done; a replay needs to know.

    :raises UsageError: no such agent, it cannot be imported, or it has no answer to one of the
        tasks.
    :raises DatasetError: a recording that cannot be understood.
    """
    head, colon, rest = name.partition(":")
    if name in _OURS:
        return AgentFactory(name, _OURS[name])
    if head == "replay":
        return _replay(name, Path(rest).expanduser() if rest else None, tasks)
    if colon and head.endswith(".py"):
        return _from_file(name, Path(head).expanduser(), rest)
    for plugin in _plugins():
        if plugin.name == name:
            return _from_plugin(plugin)
    raise _unknown(name)


def _replay(name: str, path: Path | None, tasks: Sequence[Task]) -> AgentFactory:
    from intercode.agents.trajectories import episodes_file, read_recording

    if path is None:
        raise UsageError("replay needs a recording", remedy="--agent replay:FILE")
    recording = read_recording(path)
    missing = [task.id for task in tasks if recording.find(task) is None]
    if missing:
        some = ", ".join(missing[:5]) + (", …" if len(missing) > 5 else "")
        raise UsageError(
            f"{path} has no recording of {len(missing)} of {len(tasks)} tasks: {some}",
            remedy="choose those that it has with --tasks, or name another recording",
        )

    def actions(task: Task) -> Sequence[str] | None:
        episode = recording.find(task)
        return None if episode is None else [turn.action for turn in episode.turns]

    return AgentFactory(name, lambda: ReplayAgent(actions), _digest(episodes_file(path)))


def _from_file(name: str, path: Path, attribute: str) -> AgentFactory:
    if not path.is_file():
        raise UsageError(f"agent {name!r}: there is no file {path}", remedy="check the path")
    spec = importlib.util.spec_from_file_location(f"intercode_agent_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise UsageError(f"agent {name!r}: {path} is not a Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses and pickle look for it there
    sys.path.append(str(path.parent.absolute()))  # for modules beside it, after all others
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise UsageError(
            f"agent {name!r}: importing {path} failed: {type(error).__name__}: {error}",
            remedy=f"python {path} shows where",
        ) from error
    maker = getattr(module, attribute, None)
    if maker is None:
        classes = [key for key, value in vars(module).items() if _looks_like_agent(value)]
        close = difflib.get_close_matches(attribute, classes, n=1, cutoff=0.3) or classes
        raise UsageError(
            f"agent {name!r}: {path} has no {attribute!r}",
            remedy=f"{path}:{close[0]}" if close else f"{path} defines no class with start and act",
        )
    return AgentFactory(name, _checked(maker, name), _digest(path))


def _from_plugin(plugin: EntryPoint) -> AgentFactory:
    package = plugin.dist.name if plugin.dist else plugin.module
    try:
        maker = plugin.load()
    except Exception as error:
        raise UsageError(
            f"agent {plugin.name!r} of package {package} cannot be imported: {error}",
            remedy=f"mend or remove the package {package}",
        ) from error
    return AgentFactory(plugin.name, _checked(maker, plugin.name))


def _checked(maker: Any, name: str) -> Callable[[], Agent]:
    """``maker``, after it has shown once that it makes agents."""
    try:
        agent = maker()
    except Exception as error:
        raise UsageError(
            f"agent {name!r} cannot be made: {type(error).__name__}: {error}",
            remedy="it must be callable without parameters",
        ) from error
    if not isinstance(agent, Agent):
        raise UsageError(
            f"agent {name!r}: {type(agent).__name__} has no methods start and act",
            remedy="intercode.agents.base.Agent says what they are",
        )
    made: Callable[[], Agent] = maker
    return made


def _looks_like_agent(value: Any) -> bool:
    return isinstance(value, type) and hasattr(value, "start") and hasattr(value, "act")


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def _plugins() -> Sequence[EntryPoint]:
    return sorted(entry_points(group=ENTRY_POINTS), key=lambda plugin: plugin.name)


def _unknown(name: str) -> UsageError:
    close = difflib.get_close_matches(name, agent_names(), n=3, cutoff=0.5)
    return UsageError(
        f"there is no agent {name!r}",
        remedy=f"did you mean {' or '.join(close)}?"
        if close
        else f"one of {', '.join(agent_names())}",
    )
