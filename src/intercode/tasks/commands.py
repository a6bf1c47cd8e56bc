"""Reads a shell command far enough to say which programs it runs and which variables it uses.

The labels need this because words alone mislead: ``grep 'date'`` reads no clock, ``xargs date``
does. So quotes, substitutions and the programs that run other programs (``xargs``, ``find -exec``,
``sh -c`` …) are followed; the rest of the grammar is skipped over. Any text can be read: what is
malformed is taken as far as it goes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

_DEPTH = 12  # of substitutions inside substitutions; deeper text is left unread
_NAME = re.compile(r"[A-Za-z_]\w*")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\[[^]]*\])?\+?=")
_DEFAULTED = re.compile(r":?[-=+?]")
_KEYWORDS = {
    "if", "then", "else", "elif", "fi", "while", "until", "do", "done", "!", "{", "}", "esac",
    "coproc",
}  # fmt: skip
_DECLARERS = {
    "read", "mapfile", "readarray", "getopts", "export", "declare", "typeset", "local", "readonly",
}  # fmt: skip
_SHELLS = {"sh", "bash", "dash", "ksh", "zsh", "ash"}

# Programs that run the rest of their words: the options that take a word of their own, and how
# many operands come before the inner command.
_WRAPPERS = {
    "xargs": ("-I -n -P -d -L -s -E -a", 0), "sudo": ("-u -g -C -p", 0), "env": ("-u -C", 0),
    "nice": ("-n", 0), "ionice": ("-c -n", 0), "timeout": ("-s -k", 1), "stdbuf": ("-i -o -e", 0),
    "nohup": ("", 0), "setsid": ("", 0), "exec": ("-a", 0), "command": ("", 0),
    "builtin": ("", 0), "watch": ("-n", 0), "parallel": ("-j", 0), "strace": ("-o -e", 0),
}  # fmt: skip


@dataclass(frozen=True)
class Command:
    """One program with its words, quotes removed; ``feeds`` is the program its output goes to."""

    words: tuple[str, ...]
    feeds: str = ""

    @property
    def name(self) -> str:
        return self.words[0].rpartition("/")[2]

    @property
    def args(self) -> tuple[str, ...]:
        return self.words[1:]


@dataclass
class Script:
    """Every program run, innermost first; variables expanded and set; files redirected to."""

    commands: list[Command] = field(default_factory=list)
    reads: set[str] = field(default_factory=set)
    assigns: set[str] = field(default_factory=set)
    redirects: list[str] = field(default_factory=list)


def read_script(text: str) -> Script:
    script = Script()
    _Reader(text, script, 0).commands("")
    return script


class _Reader:
    """A cursor over one text; inner texts get readers of their own that fill the same script."""

    def __init__(self, text: str, script: Script, depth: int) -> None:
        self.text, self.script, self.depth, self.at = text, script, depth, 0
        self.here: list[str] = []  # delimiters of here-documents that start at the next line

    def commands(self, end: str) -> None:
        """Reads commands up to ``end`` (a closing parenthesis) or the end of the text."""
        words: list[str] = []
        stage: list[int] = []  # the commands whose output the next one reads
        while (c := self._peek()) and c != end:
            if c in "<>" or (c == "&" and self._peek(1) == ">"):
                self._redirect(words)
            elif c in "\n;&|()":
                first = len(self.script.commands)
                self._record(words, self.depth)
                new = list(range(first, len(self.script.commands)))
                self._connect(stage, words)
                words = []
                self.at += 1
                stage = new if c == "|" and self._peek() != "|" else []
                if c == "|" and self._peek() in ("|", "&"):
                    self.at += 1
                elif c == "(":
                    self._inside(lambda inner: inner.commands(")"))
                elif c == "\n":
                    self._skip_here_documents()
            elif c.isspace():
                self.at += 1
            elif c == "#":
                self.at = self._find("\n", self.at)
            else:
                word = self._word()
                if not (word.isdigit() and self._peek() in ("<", ">")):
                    words.append(word)
                if _ASSIGNMENT.fullmatch(word) and self._peek() == "(":
                    self.at = self._find(")", self.at) + 1
        self._record(words, self.depth)
        self._connect(stage, words)
        self.at += 1

    def _connect(self, stage: list[int], words: list[str]) -> None:
        for index in stage if words else ():
            earlier = self.script.commands[index]
            self.script.commands[index] = Command(earlier.words, Command(tuple(words)).name)

    def _redirect(self, words: list[str]) -> None:
        if self._peek() != "&" and self._peek(1) == "(":
            self.at += 2
            self._inside(lambda inner: inner.commands(")"))
            words.append("/dev/fd")
            return
        operator = re.compile(r"&?[<>]{1,3}[|&]?-?").match(self.text, self.at)
        assert operator
        self.at = operator.end()
        while self._peek() in (" ", "\t"):
            self.at += 1
        if self._peek() and self._peek() not in "\n;&|()<>":
            target = self._word()
            if operator[0].startswith("<<") and operator[0] != "<<<":
                self.here.append(target)
            else:
                self.script.redirects.append(target)

    def _skip_here_documents(self) -> None:
        for delimiter in self.here:
            closing = re.compile(rf"^\t*{re.escape(delimiter)}$", re.MULTILINE)
            found = closing.search(self.text, self.at)
            self.at = found.end() if found else len(self.text)
        self.here.clear()

    def _word(self) -> str:
        parts: list[str] = []
        while (c := self._peek()) and not c.isspace() and c not in ";&|()<>":
            if c == "'":
                close = self._find("'", self.at + 1)
                parts.append(self.text[self.at + 1 : close])
                self.at = close + 1
            elif c == '"':
                self.at += 1
                parts.append(self._quoted('"'))
            elif c == "\\":
                parts.append(self._peek(1).replace("\n", ""))
                self.at += 2
            else:
                parts.append(self._expansion() if c in "$`" else c)
                self.at += c not in "$`"
        return "".join(parts)

    def _quoted(self, end: str) -> str:
        """Text in which only ``$``, back-quotes and backslashes are special, up to ``end``."""
        parts: list[str] = []
        while (c := self._peek()) and c != end:
            if c == "\\":
                following = self._peek(1)
                parts.append(following if following in '$`"\\' else c + following)
                self.at += 2
            else:
                parts.append(self._expansion() if c in "$`" else c)
                self.at += c not in "$`"
        self.at += 1
        return "".join(parts)

    def _expansion(self) -> str:
        """Reads ``$…`` or a back-quoted command; gives the text that stands for it."""
        start, following = self.at, self._peek(1)
        if self.text[start] == "`":
            close = re.compile(r"(?:[^\\`]|\\.)*", re.DOTALL).match(self.text, start + 1)
            assert close
            self.at = close.end() + 1
            self._read(close[0].replace("\\`", "`"))
            return "$()"
        if following == "(":
            self.at += 2
            if self._peek() == "(":
                close_at = self._find("))", self.at)
                self._variables(self.text[self.at : close_at])
                self.at = close_at + 2
            else:
                self._inside(lambda inner: inner.commands(")"))
            return "$()"
        if following == "{":
            close_at = self._find("}", start)
            self.at = close_at + 1
            self._parameter(self.text[start + 2 : close_at])
        elif following == "'":
            quoted = re.compile(r"(?:[^\\']|\\.)*", re.DOTALL).match(self.text, start + 2)
            assert quoted
            self.at = quoted.end() + 1
            return quoted[0]
        else:
            name = _NAME.match(self.text, start + 1)
            length = name.end() - start - 1 if name else int(following in "@*#?$!-0123456789")
            if length and following:
                self.script.reads.add(self.text[start + 1 : start + 1 + length])
            self.at = start + 1 + (length if following else 0)
        return self.text[start : self.at]

    def _parameter(self, inner: str) -> None:
        """The inside of ``${…}``; a variable with a default is not one that must be set."""
        name = _NAME.match(inner, 1 if inner[:1] in ("#", "!") else 0)
        rest = inner[name.end() :] if name else inner
        if name and not _DEFAULTED.match(rest):
            self.script.reads.add(name[0])
        self._variables(rest)

    def _variables(self, text: str) -> None:
        self.script.reads.update(re.findall(r"\$\{?([A-Za-z_]\w*)", text))

    def _read(self, text: str) -> None:
        if self.depth < _DEPTH:
            _Reader(text, self.script, self.depth + 1).commands("")

    def _inside(self, read: Callable[[_Reader], None]) -> None:
        """Goes on from here one level deeper, unless that is too deep to be meant."""
        if self.depth < _DEPTH:
            inner = _Reader(self.text, self.script, self.depth + 1)
            inner.at = self.at
            read(inner)
            self.at = inner.at

    def _record(self, words: list[str], depth: int) -> None:
        """Notes one simple command, and what it runs in turn."""
        while words and (words[0] in {*_KEYWORDS, "time"} or _ASSIGNMENT.match(words[0])):
            if assigned := _ASSIGNMENT.match(words[0]):
                self.script.assigns.add(assigned[1])
            elif words[0] == "time":
                self.script.commands.append(Command(("time",)))
            words = words[1:]
        if not words or words[0] in ("case", "function", "select", "for"):
            self.script.assigns.update(words[1:2])
            return
        command = Command(tuple(words))
        self.script.commands.append(command)
        self._note_assignments(command)
        if depth < _DEPTH:
            for inner in _inner_commands(command):
                self._record(inner, depth + 1)
            if text := _inner_text(command):
                self._read(text)

    def _note_assignments(self, command: Command) -> None:
        names = command.args if command.name in _DECLARERS else ()
        if command.name == "printf" and command.args[:1] == ("-v",):
            names = command.args[1:2]
        self.script.assigns.update(word.partition("=")[0] for word in names)

    def _peek(self, ahead: int = 0) -> str:
        return self.text[self.at + ahead : self.at + ahead + 1]

    def _find(self, what: str, start: int) -> int:
        found = self.text.find(what, start)
        return len(self.text) if found < 0 else found


def _inner_commands(command: Command) -> list[list[str]]:
    words = list(command.args)
    if command.name == "find":
        found: list[list[str]] = []
        collecting = False
        for word in words:
            if not collecting and word in ("-exec", "-execdir", "-ok", "-okdir"):
                found.append([])
                collecting = True
            elif collecting and word in (";", "+"):
                collecting = False
            elif collecting:
                found[-1].append(word)
        return found
    if command.name not in _WRAPPERS:
        return []
    valued, operands = _WRAPPERS[command.name]
    while words and (words[0].startswith("-") or _ASSIGNMENT.match(words[0])):
        words = words[2:] if words[0] in valued.split() else words[1:]
    return [words[operands:]]


def _inner_text(command: Command) -> str:
    """A word that is itself a script: of ``sh -c`` and ``eval``."""
    if command.name == "eval":
        return " ".join(command.args)
    if command.name in _SHELLS:
        for option, text in zip(command.args, command.args[1:], strict=False):
            if re.fullmatch(r"-\w*c", option):
                return text
    return ""
