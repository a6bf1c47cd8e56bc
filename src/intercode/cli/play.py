"""``intercode play``: a person is the agent."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from intercode.cli.eval import add_env_arguments, chosen_dataset, where
from intercode.cli.main import VERBS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from intercode.agents.human import ReadLine
    from intercode.rewards.score import Score
    from intercode.runs.episode import Environment
    from intercode.tasks.model import Task

_HELP = """\
Anything else is an action, and is executed.
  submit    end the episode and have it scored
  skip      give it up, for a reward of 0
  :score    what submitting now would give
  :task     the instruction again
  :gold     the task author's solution, once the episode is over
  :again    begin the same task again        :next    begin the next one
  :help     this                             :quit    leave (or Ctrl-D)
A line that ends in \\ goes on in the next one. Lines between <<< and >>>, each
alone on its line, are one action."""

_EPILOG = f"""\
examples:
  intercode play bundled
  intercode play nl2bash:fs_2 --task fs_2/7 --env Bash-v1
  printf 'ls /\\nsubmit\\n' | intercode play bundled

at the prompt:
{_HELP}
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "play",
        help=VERBS["play"],
        description="Be the agent yourself: do a task at a prompt.",
        epilog=_EPILOG.replace("%", "%%"),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("dataset", metavar="DATASET", help="a name from 'intercode data list', or a table's path")
    add("--task", metavar="ID", help="the task to begin with: its id or position")
    add("--seed", type=int, metavar="N", default=0, help="default: 0")
    add_env_arguments(parser)
    parser.set_defaults(handler=play, tasks=None, limit=None, sound_only=False)


def play(args: argparse.Namespace) -> int:
    from intercode.envs.registration import environment_factory

    dataset = chosen_dataset(args)
    tasks = list(dataset.tasks)
    first = tasks.index(dataset.select([args.task])[0]) if args.task else 0
    making = environment_factory(args.env, dataset, **where(args))
    with _line_editing() as read_line, making as make_env:
        env = make_env()
        try:
            _Table(env, tasks, first, args.seed, read_line).play()
        finally:
            env.close()
    return 0


@dataclass
class _Table:
    """Where the person sits: the tasks, the one that is being played, and how it stands."""

    env: Environment
    tasks: list[Task]
    at: int
    seed: int
    read_line: ReadLine
    over: bool = False
    leaving: bool = False

    @property
    def task(self) -> Task:
        return self.tasks[self.at]

    def play(self) -> None:
        from intercode.agents.human import read_action

        self._begin()
        while not self.leaving:
            try:
                action = read_action(self.read_line, ": " if self.over else "> ")
            except EOFError:
                return
            except KeyboardInterrupt:  # drops the line, as in a shell
                print()
                continue
            if action.strip():
                self._answer(action)

    def _answer(self, action: str) -> None:
        word = action.strip()
        if word in self._commands:
            self._commands[word]()
        elif word.startswith(":") and word[1:].isalpha():
            print(f"there is no command {word}; :help lists them")
        elif self.over:
            print("the episode is over: :gold, :again, :next or :quit")
        else:
            self._step(action)

    @property
    def _commands(self) -> dict[str, Callable[[], None]]:
        return {
            ":help": lambda: print(_HELP),
            ":task": lambda: _show(self.task.instruction),
            ":score": self._score,
            ":gold": self._gold,
            ":again": self._begin,
            ":next": self._next,
            ":quit": self._quit,
        }

    def _begin(self) -> None:
        from intercode.runs.runner import episode_seed

        seed = episode_seed(self.seed, self.task.id)
        observation, _ = self.env.reset(seed=seed, options={"task": self.task})
        self.over = False
        print(f"task {self.task.id} ({self.at + 1} of {len(self.tasks)}; :help for help)")
        _show(observation)

    def _step(self, action: str) -> None:
        from intercode.rewards.score import Score

        observation, reward, terminated, truncated, info = self.env.step(action)
        if not terminated:  # what ends an episode prints nothing of its own
            _show(observation)
        for line in _remarks(info):
            print(line)
        if terminated or truncated:
            self.over = True
            _show_score(info.get("score") or Score(float(reward)))

    def _score(self) -> None:
        if self.over:
            print("the episode is over and has its score")
        else:
            _show_score(self.env.score())

    def _gold(self) -> None:
        _show(self.task.gold if self.over else "not before you submit or skip")

    def _next(self) -> None:
        if self.at + 1 == len(self.tasks):
            print("that was the last task")
        else:
            self.at += 1
            self._begin()

    def _quit(self) -> None:
        self.leaving = True


def _show(text: str) -> None:
    from intercode.reports.table import printable

    shown = printable(text)
    if shown:
        print(shown, end="" if shown.endswith("\n") else "\n", flush=True)


def _show_score(score: Score) -> None:
    from intercode.reports.table import reward_in_words

    words = reward_in_words(score.reward, score.components)
    print(f"{words}: solved" if score.success else words, flush=True)


def _remarks(info: dict[str, Any]) -> Iterator[str]:
    """What the observation does not say by itself."""
    if info.get("timed_out"):
        yield "[timed out]"
    elif code := info.get("exit_code"):
        yield f"[exit code {code}]"
    if info.get("truncated"):
        yield "[output shortened]"


@contextmanager
def _line_editing() -> Iterator[ReadLine]:
    """``input`` with editing and a history on a terminal; without a prompt elsewhere."""
    if not sys.stdin.isatty():
        yield _piped_line
        return
    import readline

    history = _history_file()
    with suppress(OSError):
        readline.read_history_file(history)
    try:
        yield input
    finally:
        with suppress(OSError):
            history.parent.mkdir(parents=True, exist_ok=True)
            readline.set_history_length(1000)
            readline.write_history_file(history)


def _piped_line(prompt: str) -> str:
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.removesuffix("\n")


def _history_file() -> Path:
    base = os.environ.get("XDG_STATE_HOME")
    return (Path(base) if base else Path.home() / ".local" / "state") / "intercode" / "history"
