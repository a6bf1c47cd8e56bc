"""The corrected Bash reward: does the agent leave and print what the gold leaves and prints?

Two parts are compared, each without a model. *State*: every path that the gold created, modified
or deleted must have become the same thing, and nothing else may have changed (`bash_state`).
*Output*: the same text, up to spacing and the order of lines where neither is asked for
(`bash_output`). What the gold does not do is not asked: where it prints nothing but changes files,
the output does not matter.

The reward is 1 if both parts agree, and only then. Else it lies in [0, 0.95] and counts how much
of what was asked for is there, less what was not. Doing nothing gives 0, unless that is all the
gold does, which makes for an unsound task.

A second verdict, ``equivalent``, also accepts the right answer in other dress (`bash_equivalent`):
``ls -l`` for ``ls``, ``5 file`` for ``5``. With ``judge="lenient"`` it decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from intercode.rewards import bash_equivalent, bash_output, bash_state
from intercode.rewards.bash_output import OutputMatch
from intercode.rewards.bash_state import StateMatch
from intercode.rewards.score import Score
from intercode.sandboxes.base import Change

Judge = Literal["strict", "lenient"]

_SHOWN = 20
"""How many paths or lines of a sort the details list."""


@dataclass(frozen=True)
class Outcome:
    """What one side left behind: what its last action printed, and what it changed.

    ``canonical`` has a digest of what is in them for changed archives, by path (see `archives`):
    for all of the gold's, and for those of the agent whose bytes differ from the gold's.
    ``span`` is when the episode began and when this was seen, in nanoseconds since 1970.
    """

    output: str
    changes: tuple[Change, ...] = ()
    canonical: Mapping[str, str] = field(default_factory=dict)
    span: tuple[int, int] = (0, 0)


def score(
    agent: Outcome,
    gold: Outcome,
    *,
    instruction: str = "",
    command: str = "",
    judge: Judge = "strict",
) -> Score:
    """How well the agent did. ``command`` is the gold that ``gold`` is the outcome of.

    Components: ``state`` and ``output``, each 1 if that part agrees and else at most 0.9;
    ``equivalent``, 1 if the lenient judge accepts; ``decoration``, the share of the agent's words
    that it had to look past for that.
    """
    question = f"{instruction}\n{command}"
    state = bash_state.compare(_files(agent), _files(gold), question=question)
    output = _output(agent.output, gold.output, state, instruction, command)
    form, decoration = _equivalent(agent.output, gold.output, state, output, instruction, command)
    accepted = form is not None if judge == "lenient" else state.agrees and output.agrees
    components = {
        "state": state.share,
        "output": output.share,
        "equivalent": float(form is not None),
        "decoration": decoration,
    }
    details: dict[str, Any] = {"output": output.how, "equivalent": form, "judge": judge}
    details |= _disagreements(state, output)
    return Score(1.0 if accepted else _partial(state, output), components, details)


def _files(outcome: Outcome) -> bash_state.Files:
    return bash_state.Files(outcome.changes, outcome.canonical, outcome.span)


def _output(
    agent: str, gold: str, state: StateMatch, instruction: str, command: str
) -> OutputMatch:
    if state.asked and not gold.strip():
        return OutputMatch("not asked", 1.0)
    return bash_output.compare(
        agent,
        gold,
        ordered=bash_output.order_asked(instruction, command),
        spaced=bash_output.spacing_asked(instruction),
    )


def _equivalent(
    agent: str, gold: str, state: StateMatch, output: OutputMatch, instruction: str, command: str
) -> tuple[str | None, float]:
    """By which rule the two are one answer, if they are, and how much had to be looked past."""
    if not state.agrees:
        return None, 0.0
    if output.agrees:
        return output.how, 0.0
    if state.asked and not bash_output.printing_asked(instruction, gold):
        return "not asked", 0.0
    if bash_output.spacing_asked(instruction):
        return None, 0.0
    found = bash_equivalent.compare(
        agent,
        gold,
        ordered=bash_output.order_asked(instruction, command, sorting_asks=False),
        bare=bash_output.bareness_asked(instruction),
        question=f"{instruction}\n{command}",
    )
    return found.form, found.decoration


def _partial(state: StateMatch, output: OutputMatch) -> float:
    """Where only one part is asked for, that part decides; harm done to the files lessens it."""
    if not state.asked:
        return output.share * state.share
    if output.how == "not asked":
        return state.share
    return (state.share + output.share) / 2


def _disagreements(state: StateMatch, output: OutputMatch) -> dict[str, list[str]]:
    found = {
        "missing": state.missing,
        "different": state.different,
        "extra": state.extra,
        "missing_lines": output.missing,
        "extra_lines": output.extra,
    }
    return {name: _shortened(items) for name, items in found.items() if items}


def _shortened(items: tuple[str, ...]) -> list[str]:
    shown = [item if len(item) <= 200 else item[:199] + "…" for item in items[:_SHOWN]]
    more = len(items) - len(shown)
    return [*shown, f"… and {more} more"] if more else shown
