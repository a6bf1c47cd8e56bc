"""What the documentation shows is what happens.

In `README.md` and `docs/`: every ``python`` block is executed, those of one file in one namespace;
every command after a ``$`` in a ``console`` block is run, and has to print the lines shown below it
(white space apart); of commands in ``sh`` blocks the verbs and options have to exist. All of a file
goes on in one folder, with `examples/` in it. A block after ``<!-- no test: reason -->`` is left
out. Every example is run, and every link between files leads somewhere.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from intercode.cli import main as cli
from intercode.errors import SandboxUnavailable, UsageError
from intercode.sandboxes.registry import choose

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
SHOWING = [page for page in PAGES if page.name not in ("CHANGELOG.md", "CONTRIBUTING.md")]
EXAMPLES = sorted(ROOT.glob("examples/*.py"))

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SKIP = re.compile(r"<!-- no test: *(.*?) *-->\s*\Z", re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


@dataclass(frozen=True)
class Block:
    """One fenced block. ``skip``: why it is not tested, None if it is; ``line``: its first one."""

    page: Path
    line: int
    language: str
    text: str
    skip: str | None

    @property
    def place(self) -> str:
        return f"{self.page.name}:{self.line}"


def blocks(page: Path, *languages: str) -> list[Block]:
    text = page.read_text("utf-8")
    found = []
    for match in _FENCE.finditer(text):
        marked = _SKIP.search(text[: match.start()])
        line = text.count("\n", 0, match.start()) + 2
        skip = marked[1] if marked else None
        found.append(Block(page, line, match[1], match[2], skip))
    return [block for block in found if block.language in languages]


def name_of(thing: Any) -> str:
    return thing.place if isinstance(thing, Block) else str(thing.relative_to(ROOT))


@pytest.fixture(scope="module")
def bubblewrap() -> None:
    try:
        choose("bubblewrap").close()
    except SandboxUnavailable as error:
        pytest.skip(f"needs bubblewrap: {error}")


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, as a reader has it."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("NO_COLOR", "1")
    return tmp_path


@pytest.mark.parametrize("page", [page for page in SHOWING if blocks(page, "python")], ids=name_of)
@pytest.mark.usefixtures("bubblewrap", "desk")
def test_python_blocks_run(page: Path) -> None:
    namespace: dict[str, Any] = {"__name__": page.stem}
    for block in blocks(page, "python"):
        if block.skip is None:
            code = "\n" * (block.line - 1) + block.text  # errors name the page's own lines
            exec(compile(code, str(page), "exec"), namespace)


@pytest.mark.parametrize("page", [page for page in SHOWING if blocks(page, "console")], ids=name_of)
@pytest.mark.usefixtures("bubblewrap", "desk")
def test_console_blocks_print_what_they_show(page: Path) -> None:
    for block in blocks(page, "console"):
        for command, shown in sessions(block) if block.skip is None else ():
            done = subprocess.run(
                ["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True
            )
            assert done.returncode == 0, f"{block.place}: {command}\n{done.stdout}{done.stderr}"
            printed = [" ".join(line.split()) for line in done.stdout.splitlines()]
            for line in shown:
                pattern = re.compile(".*".join(map(re.escape, line.split("…"))))
                assert any(pattern.search(other) for other in printed), (
                    f"{block.place}: {command}\ndoes not print: {line}\n{done.stdout}"
                )


def test_the_readme_shows_the_demos_report(bubblewrap: None, desk: Path) -> None:
    (report,) = blocks(ROOT / "README.md", "text")
    done = subprocess.run(
        ["intercode", "eval", "bundled", "--agent", "gold"], capture_output=True, text=True
    )
    printed = [" ".join(line.split()) for line in done.stdout.splitlines()]
    wanted = [" ".join(line.split()) for line in report.text.splitlines()[1:]]
    wanted = [line for line in wanted if line]
    assert wanted.pop() == "…"  # the rest is left out there
    assert [line for line in printed if line and not line.startswith("run:")][
        : len(wanted)
    ] == wanted


def sessions(block: Block) -> Iterator[tuple[str, list[str]]]:
    """Each command with the lines shown below it; an ellipsis in them stands for anything."""
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        lines = [" ".join(line.split()) for line in shown.splitlines()]
        yield command, [line for line in lines if line]


def commands() -> list[tuple[Block, str]]:
    """Every command line shown, whether it is run or not."""
    found = []
    for page in PAGES:
        for block in blocks(page, "console", "sh"):
            prefix = "$ " if block.language == "console" else ""
            lines = block.text.replace("\\\n", " ").splitlines()
            found += [
                (block, line.removeprefix(prefix))
                for line in lines
                if line.startswith(prefix) and line.strip()
            ]
    return found


def calls(line: str) -> Iterator[list[str]]:
    """The arguments of each `intercode` in a line of shell."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    words: list[str] = []
    for word in [*lexer, ";"]:
        if set(word) <= set("|&;<>"):
            while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
                words = words[1:]
            if words and words[0].rpartition("/")[2] == "intercode":
                yield words[1:]
            words = []
        else:
            words.append(word)


def test_commands_shown_have_verbs_and_options_that_exist() -> None:
    seen = 0
    for block, line in commands():
        for argv in calls(line):
            seen += 1
            problem = _refused(argv)
            assert problem is None, f"{block.place}: {line}: {problem}"
    assert seen > 20


def _refused(argv: list[str]) -> str | None:
    """Why the command line cannot be understood, if it cannot."""
    try:
        cli._parser(argv).parse_args(argv)
    except UsageError as error:
        return str(error)
    except SystemExit as end:
        return "argparse refuses it" if end.code else None
    return None


def test_options_and_verbs_named_in_prose_exist() -> None:
    """Words such as `--sound-only` and `intercode runs list` in running text and tables."""
    known = set(re.findall(r"--[a-z][\w-]+", _all_help()))
    for page in PAGES:
        prose = _FENCE.sub("", page.read_text("utf-8"))
        for code in re.findall(r"`([^`\n]+)`", prose):
            if re.fullmatch(r"--[a-z][\w-]+( .*)?", code) and code != "--privileged":
                assert code.split()[0] in known, f"{page.name}: {code}"
            if code.startswith("intercode ") and code.split()[1].islower():
                assert code.split()[1] in cli.VERBS, f"{page.name}: {code}"


def _all_help() -> str:
    texts = []
    for argv in (["eval"], ["play"], ["replay"], ["doctor"], ["data"], ["runs"]):
        parser = cli._parser(argv)
        texts += list(_helps(parser))
    return "\n".join(texts)


def _helps(parser: Any) -> Iterator[str]:
    yield parser.format_help()
    for action in parser._actions:
        if isinstance(action.choices, dict):
            for sub in action.choices.values():
                yield from _helps(sub)


@pytest.mark.parametrize("example", EXAMPLES, ids=name_of)
@pytest.mark.usefixtures("bubblewrap")
def test_examples_run(example: Path, desk: Path) -> None:
    done = subprocess.run(
        [sys.executable, f"examples/{example.name}"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize("example", EXAMPLES, ids=name_of)
def test_examples_are_short(example: Path) -> None:
    assert len(example.read_text("utf-8").splitlines()) < 60


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    for target in _LINK.findall(_FENCE.sub("", page.read_text("utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), f"{page.name}: {target}"
        if anchor:
            assert anchor in _anchors(file), f"{page.name}: {target}"


def _anchors(page: Path) -> set[str]:
    """Headings as the usual renderers name them."""
    text = _FENCE.sub("", page.read_text("utf-8"))
    headings = re.findall(r"^#+ +(.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in headings}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_blocks_left_out_say_why(page: Path) -> None:
    for block in blocks(page, "python", "console"):
        assert block.skip is None or len(block.skip) > 15, block.place
