"""Whatever an action does: a bounded step, a live sandbox after it, a clean one after reset."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from cases import CASES, ESCAPED, SCORING, SECRET, Case
from own_root import make_own_root

from intercode.envs.bash_v1 import BashV1
from intercode.envs.bash_v2 import BashV2
from intercode.envs.runtime import Runtime
from intercode.errors import InterCodeError
from intercode.rewards.score import Score
from intercode.sandboxes.base import Backend, Limits
from intercode.sandboxes.cgroups import Cgroups
from intercode.sandboxes.registry import create
from intercode.tasks.model import Dataset, Task

LIMITS = Limits(
    timeout_s=1.0, memory_mib=256, processes=64, disk_mib=64, output_bytes=1 << 16, cpus=1.0
)
GRACE_S = {"bubblewrap": 15.0, "docker": 30.0}
"""How much longer than its limit a step may take, on a machine that is busy with a fork bomb."""
MAX_CHARACTERS = 4 * LIMITS.output_bytes + 1000
"""A byte that is not UTF-8 is shown as four characters; a note or two are added."""
SCORE_S = 60.0

TASK = Task(id="t", env="bash", instruction="Write the word.", gold=f"echo {SECRET} > /answer.txt")
DATASET = Dataset("hostile", (TASK,))
ENVS = {"v1": BashV1, "v2": BashV2}


class Part(NamedTuple):
    """Who plays a case, and where."""

    backend: str
    base: str
    env: str


def _parts(case: Case) -> list[Part]:
    """Docker's sandboxes, which take longer, play `Bash-v1` where its scoring is the target."""
    parts = [("bubblewrap", "host", "v2")]
    parts += [("bubblewrap", "host", "v1")] if case.v1 else []
    parts += [("bubblewrap", "own", env) for _, _, env in parts] if case.destroys else []
    parts += [("docker", "rootfs", "v2")]
    parts += [("docker", "rootfs", "v1")] if case in SCORING else []
    return [Part(*part) for part in parts if part[0] != case.not_on]


PLAYED = [
    pytest.param(part, case, id="-".join((*part, case.name)), marks=getattr(pytest.mark, part[0]))
    for case in CASES
    for part in _parts(case)
]


@pytest.fixture(scope="module")
def witnesses() -> Iterator[dict[str, str]]:
    """What lives on the host and has to stay alive and alone: two sockets, a process, a secret."""
    name = f"intercode-witness-{os.getpid()}"
    with (
        pytest.MonkeyPatch.context() as patch,
        socket.socket() as port,
        socket.socket(socket.AF_UNIX) as abstract,
        subprocess.Popen(["sleep", "100000"]) as sleeper,
    ):
        patch.setenv("OPENAI_API_KEY", f"sk-{SECRET}")
        port.bind(("127.0.0.1", 0))
        port.listen()
        abstract.bind(f"\0{name}")
        abstract.listen()
        host = os.uname().nodename
        try:
            yield {"@PORT@": str(port.getsockname()[1]), "@SOCKET@": name}
            assert sleeper.poll() is None
            assert os.uname().nodename == host
            assert (Path("/proc/version").stat().st_mode & 0o777) == 0o444
        finally:
            sleeper.kill()
            if os.getuid() == 0:
                os.chown("/proc/version", 0, 0)
                os.chmod("/proc/version", 0o444)


class House:
    """The runtimes and environments of this file, each made once, when it is first needed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stack = ExitStack()
        self._runtimes: dict[tuple[str, str], Runtime | str] = {}
        self._envs: dict[Part, Any] = {}

    def env(self, part: Part) -> Any:
        if part not in self._envs:
            runtime = self._runtime(part.backend, part.base)
            env = ENVS[part.env](DATASET, runtime=runtime, limits=LIMITS)
            self._envs[part] = self._stack.enter_context(closing(env))
        return self._envs[part]

    def _runtime(self, backend: str, base: str) -> Runtime:
        if (backend, base) not in self._runtimes:
            self._runtimes[backend, base] = self._make_runtime(backend, base)
        runtime = self._runtimes[backend, base]
        if isinstance(runtime, str):
            pytest.skip(runtime)
        return runtime

    def _make_runtime(self, name: str, base: str) -> Runtime | str:
        try:
            backend: Backend = create(name)
        except (ImportError, InterCodeError) as error:
            return f"{name}: {error}"
        failed = [check for check in backend.check() if not check.ok]
        if failed:
            backend.close()
            return f"{name}: {failed[0].detail}"
        chosen = base
        if base == "own":
            chosen = f"tar:{make_own_root(self._folder / 'root.tar')}"
        elif base == "rootfs":
            tar = os.environ.get("INTERCODE_TEST_ROOTFS")
            if not tar:
                return "INTERCODE_TEST_ROOTFS names no root file system"
            chosen = f"tar:{tar}"
        return self._stack.enter_context(Runtime(backend, base=chosen, warm=1))

    def close(self) -> None:
        self._stack.close()


@pytest.fixture(scope="module")
def house(witnesses: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    house = House(tmp_path_factory.mktemp("hostile"))
    try:
        yield house
    finally:
        house.close()


@pytest.mark.timeout(150)
@pytest.mark.parametrize(("part", "case"), PLAYED)
def test_survives(part: Part, case: Case, house: House, witnesses: dict[str, str]) -> None:
    env = house.env(part)
    env.reset(options={"task": "t"})
    env.step("mkdir -p /mnt; echo 1 > /hostile-mark")

    observation = _bounded_step(part, env, _filled_in(case.action, witnesses))
    _holds_nothing_forbidden(case, observation)
    if part.env == "v2":
        assert case.contains in observation

    answers = []
    for _ in range(case.within):
        answers.append(_bounded_step(part, env, "echo alive"))
        if "alive" in answers[-1]:
            break
    if case.drowns and "bytes cut" in answers[-1]:
        answers.append("alive")
    if not (part.env == "v1" and case.destroys):  # there, each action needs /bin/bash itself
        assert "alive" in answers[-1], answers
        # Each action gets its own answer, not that of the one before; some take `within` tries.
        tries = (_bounded_step(part, env, "echo well") for _ in range(case.within))
        assert case.drowns or any("well" in answer for answer in tries)

    started = time.monotonic()
    try:
        score = env.score()
    except InterCodeError:
        pass
    else:
        assert isinstance(score, Score)
        assert 0 <= score.reward < 1
    assert time.monotonic() - started < SCORE_S

    old = env.sandbox.id
    env.reset(options={"task": "t"})
    after = _bounded_step(part, env, "echo clean; ls /hostile-mark")
    assert "clean" in after
    assert "No such file" in after
    assert _gone(part.backend, old)


def _filled_in(action: str, witnesses: dict[str, str]) -> str:
    for name, value in witnesses.items():
        action = action.replace(name, value)
    return action


def _bounded_step(part: Part, env: Any, action: str) -> str:
    started = time.monotonic()
    observation, reward, terminated, truncated, _ = env.step(action)
    assert time.monotonic() - started < LIMITS.timeout_s + GRACE_S[part.backend]
    assert isinstance(observation, str)
    assert len(observation) <= MAX_CHARACTERS
    assert (reward, terminated, truncated) == (0.0, False, False)
    return observation


def _holds_nothing_forbidden(case: Case, observation: str) -> None:
    for word in case.lacks:
        assert word not in observation


def _gone(backend: str, sandbox: str) -> bool:
    """Whether nothing runs any more of a sandbox that was given back (it is closed elsewhere)."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if not _processes_of(backend, sandbox):
            return True
        time.sleep(0.01)
    return False


def _processes_of(backend: str, sandbox: str) -> list[str]:
    if backend == "bubblewrap":
        cgroups = Cgroups.detect()
        files = [place / sandbox / "cgroup.procs" for place in cgroups.places.values()]
        return [pid for file in files for pid in _read(file).split()]
    listed = subprocess.run(["docker", "top", sandbox, "-o", "pid"], capture_output=True, text=True)
    return listed.stdout.split()[1:] if listed.returncode == 0 else []


def _read(file: Path) -> str:
    with suppress(OSError):
        return file.read_text()
    return ""


@pytest.mark.bubblewrap
@pytest.mark.parametrize("version", ["v2", "v1"])
def test_a_ruined_sandbox_says_so_and_is_scored(version: str, house: House) -> None:
    """Programs are gone and then the guest is lost: nothing can be started from these files. That
    is the agent's doing, hence an observation and a score, not an error of ours."""
    part = Part("bubblewrap", "own", version)
    env = house.env(part)
    env.reset(options={"task": "t"})
    env.sandbox._session._interrupt = lambda: None  # as if the guest took no signal any more
    last = "echo 1 > /hostile-mark; rm -rf /usr /bin /lib /lib64; while :; do :; done"
    said = [_bounded_step(part, env, action) for action in (last, "echo alive", "echo alive")]
    if version == "v2":
        assert all("the sandbox is ruined" in observation for observation in said), said
    else:
        assert said[0] == "Command timed out"
        assert "/bin/bash: no such file" in said[1]
    assert isinstance(env.score(), Score)
    assert any(change.path == "/hostile-mark" for change in env.sandbox.changes())
    env.reset(options={"task": "t"})
    assert "clean" in _bounded_step(part, env, "echo clean; ls /hostile-mark")


def test_there_are_enough_cases() -> None:
    assert len(CASES) >= 64
    assert len({case.name for case in CASES}) == len(CASES)
    assert all(ESCAPED not in case.action and SECRET not in case.action for case in CASES)
