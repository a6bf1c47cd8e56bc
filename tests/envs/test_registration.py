"""Which environment plays which tasks, by name, by version, and from other packages."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from intercode.envs.base import Aftermath, InteractiveEnv, Shared
from intercode.envs.registration import Environments, env_class, env_name
from intercode.envs.routed import RoutedEnv
from intercode.errors import UsageError
from intercode.rewards.score import Score
from intercode.tasks.model import Dataset, Task


class Places:
    """What `Echo` environments share: counts."""

    def __init__(self) -> None:
        self.open = 0
        self.closed = False

    def live(self) -> int:
        return self.open

    def close(self) -> None:
        self.closed = True


class Echo(InteractiveEnv):
    """Prints the action; the gold is worth 1."""

    kind: ClassVar[str] = "echo"
    options: ClassVar[tuple[str, ...]] = ("loud",)

    def __init__(self, dataset: Any, *, runtime: Places, loud: bool = False) -> None:
        super().__init__(dataset)
        self.runtime, self.loud, self.here = runtime, loud, False

    @classmethod
    def shared(cls, wanted: Shared) -> Places:
        return Places()

    def _begin(self, task: Task) -> None:
        self.runtime.open += 1
        self.here = True

    def _end(self) -> None:
        self.runtime.open -= self.here
        self.here = False

    def _execute(self, action: str) -> tuple[str, dict[str, Any]]:
        return (action.upper() if self.loud else action), {}

    def _scored(self) -> Score:
        return Score(float(self._last == self.task.gold))

    def aftermath(self) -> Aftermath:
        return Aftermath((), 0)


class Shout(Echo):
    kind: ClassVar[str] = "shout"
    options: ClassVar[tuple[str, ...]] = ()


class Plugin:
    """An entry point."""

    def __init__(self, name: str, found: Any) -> None:
        self.name, self.value, self.found = name, f"there:{name}", found

    def load(self) -> Any:
        if isinstance(self.found, Exception):
            raise self.found
        return self.found


@pytest.fixture
def plugins(monkeypatch: pytest.MonkeyPatch) -> list[Plugin]:
    offered = [Plugin("Echo-v2", Echo), Plugin("Shout-v2", Shout)]
    monkeypatch.setattr("intercode.envs.registration._plugins", lambda: offered)
    return offered


def tasks(*kinds: str) -> Dataset:
    return Dataset("d", tuple(Task(str(n), kind, "say", "hi") for n, kind in enumerate(kinds)))


@pytest.mark.parametrize(
    ("asked", "kind", "named"),
    [
        (None, "bash", "Bash-v2"),
        ("v1", "bash", "Bash-v1"),
        ("v1", "sql", "SQL-v1"),
        ("intercode/SQL-v2", "sql", "SQL-v2"),
        ("Bash-v1", "bash", "Bash-v1"),
    ],
)
def test_the_environment_follows_from_the_tasks(asked: str | None, kind: str, named: str) -> None:
    assert env_name(asked, tasks(kind)) == named


def test_tasks_of_several_kinds_are_played_by_several() -> None:
    assert env_name(None, tasks("bash", "sql")) == "v2"
    with pytest.raises(UsageError, match="Bash-v2 plays bash tasks, and dataset 'd' has sql ones"):
        env_name("Bash-v2", tasks("bash", "sql"))


@pytest.mark.parametrize("asked", ["Bash-v9", "bash", "v3", "other/Bash-v1"])
def test_an_environment_that_is_none(asked: str) -> None:
    with pytest.raises(UsageError, match="there is no environment"):
        env_name(asked, tasks("bash"))


def test_tasks_that_nobody_plays() -> None:
    with pytest.raises(UsageError, match="plays tasks of kind 'chess'"):
        env_name(None, tasks("chess"))


def test_packages_bring_environments(plugins: list[Plugin]) -> None:
    assert env_class("Echo-v2") is Echo
    assert env_name(None, tasks("echo")) == "Echo-v2"
    plugins.append(Plugin("Broken-v2", ImportError("no module")))
    with pytest.raises(UsageError, match="cannot be imported: no module"):
        env_class("Broken-v2")


def test_what_is_shared_is_made_once_and_closed_at_the_end(plugins: list[Plugin]) -> None:
    dataset = tasks("echo", "shout", "echo")
    with Environments(None, dataset, Shared(), loud=True) as envs:
        env = envs.make()
        assert isinstance(env, RoutedEnv)
        for task in dataset:
            env.reset(options={"task": task})
            said = env.step("hi")[0]
            assert said == ("HI" if task.env == "echo" else "hi")
            assert env.task == task
        assert envs.live() == 2
        runtime = env.current.runtime  # type: ignore[attr-defined]
    assert envs.live() == 0
    assert runtime.closed


def test_an_option_must_be_one_of_some_environment(plugins: list[Plugin]) -> None:
    with pytest.raises(UsageError, match="no option 'quiet'"):
        Environments(None, tasks("echo"), Shared(), quiet=True)


def test_a_routed_episode_names_its_task(plugins: list[Plugin]) -> None:
    with Environments(None, tasks("echo", "shout"), Shared()) as envs:
        env = envs.make()
        with pytest.raises(UsageError, match="there is no episode yet"):
            env.step("hi")
        with pytest.raises(UsageError, match="name the task"):
            env.reset()
