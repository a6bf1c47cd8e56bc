"""Whether two sandboxes were changed alike, told from their changes alone.

What the gold changed is *wanted*: each of its paths has to have become the same thing (kind, type,
mode, owner, link target, content). What else the agent changed is *extra*, but for time stamps
moved in passing and for places where working leaves traces: scratch folders and shell histories
count only as far as the gold changes them, and caches only where the question names them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from intercode.sandboxes.base import Change

DISAGREEING = 0.9
"""The most that a part is worth which does not agree."""
_NEARLY = 0.5
"""What a wanted path counts that was changed in its kind and type, but not in all else."""

_SCRATCH = re.compile(
    r"/(tmp|var/tmp|dev/shm)(/.*)?"
    r"|(/root|/home/[^/]+)/\.(\w*_history|lesshst|viminfo|wget-hsts)"
)
_CACHE = re.compile(r"(/var/cache|(/root|/home/[^/]+)/\.cache)(/.*)?")


@dataclass(frozen=True)
class Files:
    """One side's changes. ``canonical`` holds, for changed archives, a digest of what is in them
    (see `archives`). ``span`` is when its episode began and when this was seen, in nanoseconds."""

    changes: tuple[Change, ...] = ()
    canonical: Mapping[str, str] = field(default_factory=dict)
    span: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class StateMatch:
    """``share`` is 1 only if the states agree; ``asked``: the gold changed something."""

    share: float
    asked: bool
    missing: tuple[str, ...] = ()
    different: tuple[str, ...] = ()
    """``path: what of it``, such as ``/a/b: content, mode``."""
    extra: tuple[str, ...] = ()

    @property
    def agrees(self) -> bool:
        return self.share == 1.0


def compare(agent: Files, gold: Files, *, question: str = "") -> StateMatch:
    """``question``: the texts, instruction and gold, in which a cache has to be named to count."""
    wanted = {c.path: c for c in gold.changes if _counts(c.path, question)}
    done = {c.path: c for c in agent.changes if _counts(c.path, question)}
    missing = [path for path in wanted if not _related(done.get(path), wanted[path])]
    wrong = {
        path: facts
        for path in wanted.keys() - missing
        if (facts := _differing(done[path], wanted[path], agent, gold))
    }
    extra = [path for path in done if _is_extra(done[path], wanted)]
    right = len(wanted) - len(missing) - len(wrong)
    if not (missing or wrong or extra):
        share = 1.0
    elif wanted:
        share = DISAGREEING * (right + _NEARLY * len(wrong)) / (len(wanted) + len(extra))
    else:
        share = DISAGREEING / (1 + len(extra))
    different = tuple(f"{path}: {', '.join(wrong[path])}" for path in sorted(wrong))
    return StateMatch(share, bool(wanted), tuple(sorted(missing)), different, tuple(sorted(extra)))


def _counts(path: str, question: str) -> bool:
    if not (found := _CACHE.fullmatch(path)):
        return True
    return found[1] in question or found[1].rpartition("/")[2] in question


def _related(done: Change | None, wanted: Change) -> bool:
    """Whether the agent did at least the same kind of thing there."""
    if done is None:
        return False
    if wanted.kind == "touched":
        return done.kind == "touched"
    return done.kind == wanted.kind and done.type == wanted.type


def _differing(done: Change, wanted: Change, agent: Files, gold: Files) -> list[str]:
    if wanted.kind == "deleted":
        return []
    if wanted.kind == "touched":
        return [] if _same_time(done, wanted, agent, gold) else ["time"]
    canonical = agent.canonical.get(done.path), gold.canonical.get(wanted.path)
    same_content = done.digest == wanted.digest or (
        canonical[0] is not None and canonical[0] == canonical[1]
    )
    facts = {
        "content": same_content,
        "target": done.target == wanted.target,
        "mode": done.mode == wanted.mode,
        "owner": (done.uid, done.gid) == (wanted.uid, wanted.gid),
    }
    return [name for name, same in facts.items() if not same]


def _same_time(done: Change, wanted: Change, agent: Files, gold: Files) -> bool:
    """The same second; or as far from the episode's beginning, give or take the episodes' length:
    ``touch`` and ``touch -d yesterday`` mean another time whenever they are run."""
    if done.mtime_ns // 10**9 == wanted.mtime_ns // 10**9:
        return True
    (agent_began, agent_ended), (gold_began, gold_ended) = agent.span, gold.span
    apart = abs((done.mtime_ns - agent_began) - (wanted.mtime_ns - gold_began))
    return apart <= (agent_ended - agent_began) + (gold_ended - gold_began)


def _is_extra(done: Change, wanted: Mapping[str, Change]) -> bool:
    if done.path in wanted or done.kind == "touched":
        return False
    if not _SCRATCH.fullmatch(done.path):
        return True
    return any(done.path.startswith(f"{path}/") for path in wanted)
