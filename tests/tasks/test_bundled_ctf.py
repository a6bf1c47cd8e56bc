"""The bundled puzzles: the same bytes everywhere, the flag well hidden, and every one solved."""

from __future__ import annotations

import gzip
import hashlib
import io
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intercode.cli.main import main
from intercode.envs.check import check_dataset
from intercode.envs.ctf_v1 import CtfV1
from intercode.envs.ctf_v2 import CtfV2
from intercode.envs.runtime import Runtime
from intercode.rewards import ctf
from intercode.sandboxes.bubblewrap.backend import Bubblewrap
from intercode.tasks.bundled.ctf.puzzle import Puzzle, gzipped, zipped, zlibbed
from intercode.tasks.commands import read_script
from intercode.tasks.registry import load
from intercode.tasks.sources.bundled_ctf import PUZZLES
from intercode.tasks.tree import build_tar

TASKS = load("bundled:ctf")
PLAIN_TOOLS = {
    "[", "cat", "cd", "echo", "false", "git", "kill", "python3", "bash", "read", "true", "wait",
    "rev-list",
}  # fmt: skip


@pytest.fixture(scope="module")
def runtime() -> Iterator[Runtime]:
    backend = Bubblewrap()
    failed = [check for check in backend.check() if not check.ok]
    if failed:
        pytest.skip(f"needs bubblewrap: {failed[0].detail}")
    with Runtime(backend, base="host") as shared:
        yield shared


def named(puzzle: Puzzle) -> str:
    return puzzle.id


def test_there_are_at_least_twelve_over_all_kinds() -> None:
    assert len(PUZZLES) >= 12
    kinds = Counter(puzzle.tags[0] for puzzle in PUZZLES)
    assert {"crypto", "forensics", "reversing", "web"} == set(kinds)
    assert min(kinds.values()) >= 2
    assert any("languages" in puzzle.tags for puzzle in PUZZLES)
    assert {puzzle.hardness for puzzle in PUZZLES} == {"easy", "medium", "hard"}


def test_every_flag_is_another_of_one_form() -> None:
    flags = {puzzle.flag for puzzle in PUZZLES}
    assert len(flags) == len(PUZZLES)
    assert all(re.fullmatch(r"intercode\{[0-9a-f]{14}\}", flag) for flag in flags)


def test_the_files_are_the_same_bytes_on_every_machine() -> None:
    entries = [entry for puzzle in PUZZLES for entry in puzzle.entries()]
    digest = hashlib.sha256(build_tar(entries)).hexdigest()
    assert digest == "9f2f30bfe12bd89e7bc3ddc7387f4cd1ad548fbb74e36c6fa9f01bcfbe2a5bdc", (
        "the puzzles' files changed: say so in the changelog"
    )


@pytest.mark.parametrize("puzzle", PUZZLES, ids=named)
def test_the_flag_stands_nowhere_in_plain_sight(puzzle: Puzzle) -> None:
    inner = puzzle.flag.removeprefix("intercode{").removesuffix("}")
    for entry in puzzle.entries():
        data = entry.data if isinstance(entry.data, bytes) else str(entry.data).encode()
        for hidden in (inner, inner[::-1], inner.encode().hex(), inner.upper()):
            assert hidden.encode() not in data, entry.path
    assert inner not in puzzle.instruction
    assert not any(inner in action for action in puzzle.solution)


@pytest.mark.parametrize("puzzle", PUZZLES, ids=named)
def test_another_flag_makes_other_files(puzzle: Puzzle) -> None:
    """So it is in them, and nowhere else."""
    other = puzzle.flag[:-8] + puzzle.flag[-8:-1][::-1] + "}"
    assert other != puzzle.flag
    assert puzzle.make(other) != puzzle.make(puzzle.flag)


def test_an_agent_is_told_no_solution() -> None:
    for task in TASKS:
        assert task.gold not in task.instruction
        assert not any(action in task.instruction for action in task.metadata["solution"])


@pytest.mark.parametrize("puzzle", PUZZLES, ids=named)
def test_solutions_need_bash_coreutils_python_and_git_alone(puzzle: Puzzle) -> None:
    for action in puzzle.solution:
        without_python = re.sub(r"<<'END'\n.*?\nEND", "", action, flags=re.DOTALL)
        names = {command.name for command in read_script(without_python).commands}
        assert names <= PLAIN_TOOLS


@pytest.mark.bubblewrap
@pytest.mark.parametrize("version", [CtfV1, CtfV2])
@pytest.mark.parametrize("puzzle", PUZZLES, ids=named)
def test_the_solution_finds_the_flag_and_the_flag_is_worth_one(
    puzzle: Puzzle, version: type[CtfV1 | CtfV2], runtime: Runtime
) -> None:
    env = version(TASKS, runtime=runtime)
    try:
        env.reset(options={"task": puzzle.id})
        assert env.step("pwd")[0] == f"/ctf/{puzzle.id}\n"
        assert env.step("ls /ctf")[0] == f"{puzzle.id}\n"
        printed = [env.step(action)[0] for action in puzzle.solution]
        found = ctf.find(printed[-1], puzzle.flag)
        assert env.sandbox.process_count() == 0
        assert env.step(f"submit {found}")[1:3] == (1.0, True)
    finally:
        env.close()


@pytest.mark.bubblewrap
def test_git_finds_nothing_wrong_with_the_repositories(runtime: Runtime) -> None:
    env = CtfV2(TASKS, runtime=runtime)
    for name in ("careless-commit", "amended"):
        env.reset(options={"task": name})
        env.step("cd site")
        observation, _, _, _, info = env.step(
            "git status --short && git fsck --strict --no-dangling"
        )
        assert (observation, info["exit_code"]) == ("", 0)
    env.close()


@pytest.mark.bubblewrap
def test_all_are_sound() -> None:
    checks = check_dataset(TASKS, "CTF-v2", sandbox="bubblewrap", base="host", jobs=2)
    assert {check.task.id: check.reasons for check in checks if check.reasons} == {}


@pytest.mark.bubblewrap
def test_a_check_of_tasks_with_a_folder_each_lists_no_places(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["data", "check", "bundled:ctf", "--tasks", "pier", "tide", "--strict"]) == 0
    printed = capsys.readouterr().out
    assert "all" in printed
    assert "pier" not in printed


@given(st.binary(max_size=2000))
def test_what_is_compressed_can_be_read_by_everyone(data: bytes) -> None:
    assert zlib.decompress(zlibbed(data)) == data
    assert gzip.decompress(gzipped(data)) == data
    archive = zipfile.ZipFile(io.BytesIO(zipped({"a": data, "b/c": b"x"})))
    assert archive.testzip() is None
    assert (archive.read("a"), archive.namelist()) == (data, ["a", "b/c"])
