"""Regular expressions without backtracking: a pattern can never take more than (length of the
pattern) × (length of the text) steps, which is what makes a timeout true.

POSIX and the usual Perl forms, without groups that capture, back references and look-around: those
raise ValueError. Case does not matter, as with MySQL's collation. A pattern becomes a Thompson
automaton (K. Thompson, 1968), run state set by state set; sets already met are remembered.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Test = Callable[[str], bool]

_MOST_STATES = 5_000
_CLASSES: dict[str, Test] = {
    "alpha": str.isalpha,
    "digit": str.isdigit,
    "alnum": str.isalnum,
    "space": str.isspace,
    "upper": str.isalpha,
    "lower": str.isalpha,
    "punct": lambda c: not c.isalnum() and not c.isspace() and c.isprintable(),
    "blank": lambda c: c in " \t",
    "xdigit": lambda c: c in "0123456789abcdefABCDEF",
    "word": lambda c: c.isalnum() or c == "_",
}
_LETTERS: dict[str, Test] = {
    "d": str.isdigit,
    "w": _CLASSES["word"],
    "s": str.isspace,
}
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v"}


@dataclass
class _State:
    """Goes on to ``out`` where ``test`` takes the next character; ``assertion`` and splits take
    none."""

    test: Test | None = None
    assertion: str = ""
    out: int = -1
    other: int = -1


class Pattern:
    """:raises ValueError: it is no regular expression, or too large a one."""

    def __init__(self, said: str) -> None:
        self._states: list[_State] = []
        self._said = said = said.removeprefix("(?i)")
        self._at = 0
        start, ends = self._alternatives()
        if self._at < len(said):
            raise ValueError(f"unmatched ) at {self._at}")
        self._end = self._add(_State())
        self._patch(ends, self._end)
        self._start = start if start >= 0 else self._end

    def search(self, text: str) -> tuple[int, int] | None:
        """The leftmost, longest match."""
        active: dict[int, int] = {}
        best: tuple[int, int] | None = None
        for position in range(len(text) + 1):
            if best is None:
                self._follow(self._start, position, position, text, active)
            if self._end in active:
                begin = active[self._end]
                if best is None or begin <= best[0]:
                    best = (begin, position)
            if best is not None:
                active = {s: b for s, b in active.items() if b <= best[0]}
                if not active:
                    break
            if position == len(text):
                break
            following: dict[int, int] = {}
            character = text[position]
            for number, begin in active.items():
                state = self._states[number]
                if state.test is not None and state.test(character):
                    self._follow(state.out, begin, position + 1, text, following)
            active = following
            if best is not None and not active:
                break
        return best

    def replace(self, text: str, new: str) -> str:
        parts, position = [], 0
        while position <= len(text):
            found = self.search(text[position:])
            if found is None:
                break
            begin, end = position + found[0], position + found[1]
            parts.append(text[position:begin] + new)
            if end == begin:
                parts.append(text[end : end + 1])
                end += 1
            position = end
        return "".join(parts) + text[position:]

    def _follow(
        self, number: int, begin: int, position: int, text: str, active: dict[int, int]
    ) -> None:
        waiting = [number]
        while waiting:
            at = waiting.pop()
            if at < 0 or active.get(at, begin + 1) <= begin:
                continue
            active[at] = begin
            state = self._states[at]
            if state.assertion:
                if _holds(state.assertion, position, text):
                    waiting.append(state.out)
            elif state.test is None and at != self._end:
                waiting += [state.other, state.out]

    def _add(self, state: _State) -> int:
        if len(self._states) >= _MOST_STATES:
            raise ValueError("the regular expression is too large")
        self._states.append(state)
        return len(self._states) - 1

    def _patch(self, ends: list[tuple[int, str]], target: int) -> None:
        for number, side in ends:
            setattr(self._states[number], side, target)

    def _peek(self) -> str:
        return self._said[self._at] if self._at < len(self._said) else ""

    def _alternatives(self, depth: int = 0) -> tuple[int, list[tuple[int, str]]]:
        if depth > 50:
            raise ValueError("the regular expression is too deep")
        start, ends = self._sequence(depth)
        while self._peek() == "|":
            self._at += 1
            other, more = self._sequence(depth)
            split = self._add(_State(out=start, other=other))
            start, ends = split, ends + more
        return start, ends

    def _sequence(self, depth: int) -> tuple[int, list[tuple[int, str]]]:
        first = self._add(_State())
        ends = [(first, "out")]
        while self._peek() not in ("", "|", ")"):
            begin = self._at
            start, more = self._atom(depth)
            start, more = self._repeated(begin, start, more, depth)
            self._patch(ends, start)
            ends = more
        return first, ends

    def _repeated(
        self, begin: int, start: int, ends: list[tuple[int, str]], depth: int
    ) -> tuple[int, list[tuple[int, str]]]:
        source = self._said[begin : self._at]
        while self._peek() in ("*", "+", "?", "{"):
            least, most = self._counts()
            if self._peek() in ("?", "+"):
                self._at += 1  # greed does not matter to whether there is a match
            behind = self._at
            if (least, most) == (0, None):
                split = self._add(_State(out=start))
                self._patch(ends, split)
                start, ends = split, [(split, "other")]
            elif (least, most) == (1, None):
                split = self._add(_State(out=start))
                self._patch(ends, split)
                ends = [(split, "other")]
            elif (least, most) == (0, 1):
                split = self._add(_State(out=start))
                start, ends = split, [*ends, (split, "other")]
            else:
                start, ends = self._copies(source, least, most, depth)
            source = self._said[begin:behind]
            self._at = behind
        return start, ends

    def _counts(self) -> tuple[int, int | None]:
        mark = self._said[self._at]
        self._at += 1
        if mark != "{":
            return {"*": (0, None), "+": (1, None), "?": (0, 1)}[mark]
        close = self._said.find("}", self._at)
        least, comma, most = self._said[self._at : close].partition(",")
        if (
            close < 0
            or not least.strip().isdigit()
            or (most.strip() and not most.strip().isdigit())
        ):
            raise ValueError("a repetition that is none")
        self._at = close + 1
        low = int(least)
        high = int(most) if most.strip() else (None if comma else low)
        if low > 1000 or (high or 0) > 1000 or (high is not None and high < low):
            raise ValueError("a repetition out of range")
        return low, high

    def _copies(
        self, source: str, least: int, most: int | None, depth: int
    ) -> tuple[int, list[tuple[int, str]]]:
        """``x{2,4}`` as ``xxx?x?``."""
        written = [source] * least + ([f"(?:{source})*"] if most is None else [])
        if most is not None:
            written += [f"(?:{source})?"] * (most - least)
        if sum(map(len, written)) > 20_000:
            raise ValueError("the regular expression is too large")
        saved, at = self._said, self._at
        self._said, self._at = "".join(written), 0
        start, ends = self._sequence(depth + 1)
        self._said, self._at = saved, at
        return start, ends

    def _atom(self, depth: int) -> tuple[int, list[tuple[int, str]]]:
        character = self._said[self._at]
        self._at += 1
        if character == "(":
            if self._peek() == "?":
                if self._said[self._at + 1 : self._at + 2] != ":":
                    raise ValueError("look-around and flags are not supported")
                self._at += 2
            start, ends = self._alternatives(depth + 1)
            if self._peek() != ")":
                raise ValueError("unmatched (")
            self._at += 1
            return start, ends
        if character in "*+?":
            raise ValueError("a repetition of nothing")
        if character in "^$":
            return self._single(_State(assertion=character))
        return self._single(self._character(character))

    def _single(self, state: _State) -> tuple[int, list[tuple[int, str]]]:
        number = self._add(state)
        return number, [(number, "out")]

    def _character(self, character: str) -> _State:
        if character == ".":
            return _State(test=lambda c: c != "\n")
        if character == "[":
            return _State(test=self._class())
        if character == "\\" and self._at < len(self._said):
            letter = self._said[self._at]
            self._at += 1
            if letter in "bB":
                return _State(assertion=letter)
            if letter.isdigit():
                raise ValueError("back references are not supported")
            return _State(test=_escaped(letter))
        return _State(test=_literal(character))

    def _class(self) -> Test:
        negative = self._peek() == "^"
        self._at += negative
        tests: list[Test] = []
        first = True
        while first or self._peek() != "]":
            first = False
            low = self._peek()
            if not low:
                raise ValueError("unmatched [")
            if self._said.startswith("[:", self._at):
                close = self._said.find(":]", self._at)
                name = self._said[self._at + 2 : close].lower()
                if close < 0 or name not in _CLASSES:
                    raise ValueError("no such class of characters")
                tests.append(_CLASSES[name])
                self._at = close + 2
                continue
            self._at += 1
            if low == "\\" and self._peek():
                tests.append(_escaped(self._peek()))
                self._at += 1
                continue
            following = self._said[self._at + 1 : self._at + 2]
            if self._peek() == "-" and following not in ("", "]"):
                self._at += 2
                tests.append(_range(low, following))
            else:
                tests.append(_literal(low))
        self._at += 1
        if negative:
            return lambda c: not any(test(c) for test in tests)
        return lambda c: any(test(c) for test in tests)


def _literal(character: str) -> Test:
    lower, upper = character.lower(), character.upper()
    return lambda c: c in (character, lower, upper)


def _range(low: str, high: str) -> Test:
    return lambda c: low <= c <= high or low <= c.lower() <= high or low <= c.upper() <= high


def _escaped(letter: str) -> Test:
    if letter in _LETTERS:
        return _LETTERS[letter]
    if letter.lower() in _LETTERS:
        test = _LETTERS[letter.lower()]
        return lambda c: not test(c)
    return _literal(_CONTROLS.get(letter, letter))


def _holds(assertion: str, position: int, text: str) -> bool:
    if assertion == "^":
        return position == 0
    if assertion == "$":
        return position == len(text)
    word = _CLASSES["word"]
    before = position > 0 and word(text[position - 1])
    after = position < len(text) and word(text[position])
    return (before != after) == (assertion == "b")
