"""What differs between a sandbox's files and its image's, told as `Sandbox.changes` promises."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Iterator, Mapping

from intercode.sandboxes.base import Change, ChangeKind
from intercode.sandboxes.docker.files import is_text
from intercode.sandboxes.docker.views import Facts, Touched, View

_MANY = 64
"""Files in one directory from which on reading it whole is cheaper than reading each of them."""

# What the engine itself mounts or makes in every container, and an agent's changes to which it
# keeps to itself.
_ENGINES_OWN = {
    "/.dockerenv", "/etc/hosts", "/etc/hostname", "/etc/mtab", "/etc/resolv.conf",
    "/run/.containerenv", "/run/secrets", "/dev", "/proc", "/sys",
}  # fmt: skip


def from_diff(paths: list[str]) -> Touched:
    """Where to look, given what the engine's ``diff`` lists."""
    # A name that is no UTF-8 cannot be told from the one that has the replacement character.
    garbled = {path for path in paths if "\ufffd" in path}
    whole = {posixpath.dirname(path) for path in garbled}
    return Touched(frozenset(paths) - garbled, frozenset(whole))


def for_engine(touched: Touched) -> Touched:
    """The same in fewer, larger pieces."""
    garbled = {path for path in touched.paths if not is_text(path)}
    siblings = Counter(posixpath.dirname(path) for path in touched.paths)
    whole = {path for path, count in siblings.items() if count >= _MANY and path != "/"}
    whole |= {posixpath.dirname(path) for path in garbled}
    return Touched(touched.paths - garbled, touched.whole | whole)


def compare(now: View, was: View, touched: Touched) -> list[Change]:
    """Every difference at the touched paths, by path."""
    changes: list[Change] = []
    done = ""
    for path in sorted(_with_parents(touched), key=lambda path: path.split("/")):
        if done and path.startswith(done):
            continue
        new, old = now.entry(path), was.entry(path)
        if path != "/":
            changes += _difference(path, old, new)
        if new is None or new.type != "dir":
            done = f"{path}/"
        elif old is None or old.type != "dir":
            done = f"{path}/"
            changes += _differences({}, dict(now.below(path)))
        elif path in touched.whole:
            done = f"{path.rstrip('/')}/"
            changes += _differences(dict(was.below(path)), dict(now.below(path)))
    return sorted(change for change in changes if not _is_engines(change.path))


def _with_parents(touched: Touched) -> Iterator[str]:
    known: set[str] = set()
    for path in touched.paths | touched.whole:
        while path not in known and not _is_engines(path):
            known.add(path)
            path = posixpath.dirname(path)
    if "/" not in touched.whole:
        known.discard("/")
    return iter(known)


def _is_engines(path: str) -> bool:
    return path in _ENGINES_OWN or path.startswith(("/dev/", "/proc/", "/sys/", "/run/secrets/"))


def _differences(was: Mapping[str, Facts], now: Mapping[str, Facts]) -> Iterator[Change]:
    """Of two whole trees. What was in a directory that is one no more is not told."""
    for path in sorted(was.keys() | now.keys()):
        if path not in now:
            parent = now.get(posixpath.dirname(path))
            gone_with_parent = posixpath.dirname(path) in was and (
                parent is None or parent.type != "dir"
            )
            if gone_with_parent:
                continue
        yield from _difference(path, was.get(path), now.get(path))


def _difference(path: str, was: Facts | None, now: Facts | None) -> Iterator[Change]:
    if now is None:
        if was is not None:
            yield Change(path, "deleted", was.type)
        return
    kind: ChangeKind
    if was is None:
        kind = "created"
    elif _without_time(was) != _without_time(now):
        kind = "modified"
    elif now.type != "dir" and not _same_time(was.mtime_ns, now.mtime_ns):
        kind = "touched"
    else:
        return
    yield Change(path, kind, **vars(now))


def _without_time(facts: Facts) -> dict[str, object]:
    return vars(facts) | {"mtime_ns": 0}


def _same_time(one_ns: int, other_ns: int) -> bool:
    """As far as both are known: what went through a tar has whole seconds."""
    second = 10**9
    if one_ns % second and other_ns % second:
        return one_ns == other_ns
    return one_ns // second == other_ns // second
