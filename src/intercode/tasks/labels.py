"""Reasons to distrust a task, known before it is run.

Two sources are joined. *Static* labels are read off the gold, a Bash command or a SQL statement.
*Known* labels are what was measured by running the golds of published datasets; ``labels.json``
beside this file holds them as plain facts. A **flag** says that the score may mean little, and
makes ``Task.sound`` false. A **note** is worth knowing and takes nothing from the score.

Eight labels of that verification are left out because its own outputs speak against them: a word
taken for a program (``wc -w`` in fs_1/13 and 14), times that are not shown (fs_1/33) or are given
(fs_4/23), ``diff`` saying that two things differ (fs_3/46), and test golds that fail only under
busybox (5, 11, 18), which are notes instead.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from importlib.resources import files

from intercode.tasks.commands import Command, read_script
from intercode.tasks.model import Task
from intercode.tasks.sql_flags import sql_flags

FLAGS: Mapping[str, str] = {
    "clock": "the answer depends on when it is asked for, or on when the files were made",
    "host": "the answer depends on the machine, its processes or its base image",
    "network": "the gold needs a network",
    "random": "the gold draws random numbers or names",
    "unstable": "two runs of the gold gave different answers",
    "unset_variable": "the gold or the instruction uses a variable that nothing sets",
    "failing_gold": "the gold fails",
    "timeout": "the gold does not end within ten seconds",
    "empty_answer": "the gold gives nothing and changes nothing: an empty answer solves it",
    "missing_program": "the gold runs a program that the original image lacks",
    "missing_path": "the gold uses a file that is not there",
    "background": "the gold leaves processes running",
    "undetermined": "the gold leaves open which rows it returns: some tie at its LIMIT, or a "
    "column is neither grouped nor aggregated",
    "mysql_full_group_by": "MySQL refuses the gold: it selects or orders by a column that is "
    "neither grouped nor aggregated",
    "mysql_reserved_word": "MySQL refuses the gold: a reserved word is used as a name",
    "mysql_unnamed_subquery": "MySQL refuses the gold: a subquery in FROM has no name",
    "mysql_function_space": "MySQL refuses the gold: a space follows a function's name",
    "unquoted_gold": "strings or names in the gold lack their quotes",
    "no_gold": "there is neither a gold nor its result",
    "missing_asset": "a file that the task is about is not there",
    "needs_service": "it is played against a service that its authors run in containers",
    "no_tests": "there is nothing to test a solution by",
    "needs_libraries": "gold and tests need libraries that a bare Python lacks",
    "needs_bigquery": "the database is in Google's BigQuery",
    "needs_snowflake": "the database is in Snowflake",
}

NOTES: Mapping[str, str] = {
    "duplicate_gold": "another task of the dataset has the same gold",
    "duplicate_instruction": "another task of the dataset asks for the same in the same words",
    "missing_import": "the published assertions use a module that nothing imports",
    "no_plus_inputs": "there are no inputs beyond the original ones",
    "v1_wrong_function": "the original scores a helper of the gold, or nothing, in place of the "
    "function that the tests call",
    "v1_failing_gold": "the original gives its own gold no reward",
    "result_only": "the gold is a result, not an action that gives it",
    "setup_left_out": "its published set-up fetches a program from the internet",
    "needs_eyes": "the answer has to be read off a picture",
    "needs_gnu_find": "the gold fails under busybox, which the original image has",
    "v1_quoting": "the original's quoting changes the gold, though not its result",
    "v1_quoting_result": "the original's quoting changes the gold's result",
    "v1_stale_index": "the original's result depends on when git last looked at the files",
}


def labelled(tasks: Iterable[Task], dataset: str = "") -> tuple[Task, ...]:
    """The same tasks with ``flags`` and ``notes`` in their metadata, beside those there already."""
    tasks = tuple(tasks)
    golds = Counter(task.gold.strip() for task in tasks if task.gold)
    return tuple(_with_labels(t, dataset, shared=golds[t.gold.strip()] > 1) for t in tasks)


def _with_labels(task: Task, dataset: str, *, shared: bool) -> Task:
    flags = {*task.flags, *known_flags(dataset, task.id)}
    if task.env == "bash":
        flags.update(static_flags(task.gold, task.instruction))
    elif task.env == "sql":
        flags.update(sql_flags(task.gold))
    notes = {*task.metadata.get("notes", ()), *known_notes(dataset, task.id)}
    if shared:
        notes.add("duplicate_gold")
    labels = {"flags": tuple(sorted(flags)), "notes": tuple(sorted(notes))}
    return replace(task, metadata={**task.metadata, **labels})


def known_flags(dataset: str, task_id: str) -> tuple[str, ...]:
    """What was measured on a published dataset, such as ``nl2bash`` or ``spider``."""
    return tuple(_known().get(dataset, {}).get("flags", {}).get(task_id, ()))


def known_notes(dataset: str, task_id: str) -> tuple[str, ...]:
    return tuple(_known().get(dataset, {}).get("notes", {}).get(task_id, ()))


@cache
def _known() -> dict[str, dict[str, dict[str, list[str]]]]:
    text = files("intercode.tasks").joinpath("labels.json").read_text("utf-8")
    table: dict[str, dict[str, dict[str, list[str]]]] = json.loads(text)
    return table


def static_flags(gold: str, instruction: str = "") -> tuple[str, ...]:
    """What the text of a Bash gold gives away, sorted."""
    script = read_script(gold)
    flags = {flag for command in script.commands for flag in _command_flags(command)}
    flags |= {flag for path in script.redirects for flag in _path_flags(path)}
    flags |= {_VARIABLES[name] for name in script.reads if name in _VARIABLES}
    asked = {name for name in _ASKED.findall(instruction) if name not in gold}
    if any(_is_ordinary(name) for name in (script.reads | asked) - script.assigns):
        flags.add("unset_variable")
    return tuple(sorted(flags))


_ASKED = re.compile(r"\$\{?([A-Z][A-Z0-9_]+)\b")
_VARIABLES = {
    "RANDOM": "random", "SRANDOM": "random", "SECONDS": "clock", "EPOCHSECONDS": "clock",
    "EPOCHREALTIME": "clock", "$": "host", "!": "host", "PPID": "host", "BASHPID": "host",
    "HOSTNAME": "host",
}  # fmt: skip
_STANDARD = {
    "HOME", "PATH", "PWD", "OLDPWD", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "IFS", "UID",
    "EUID", "LINENO", "COLUMNS", "LINES", "SHLVL", "MACHTYPE", "OSTYPE", "HOSTTYPE", "GROUPS",
    "DIRSTACK", "PIPESTATUS", "FUNCNAME", "REPLY", "OPTARG", "OPTIND", "_",
}  # fmt: skip


def _is_ordinary(name: str) -> bool:
    """Whether neither the shell nor its surroundings set the variable."""
    special = not name.isidentifier() or name.startswith(("BASH", "LC_", "PS"))
    return not special and name not in _STANDARD and name not in _VARIABLES


_PROGRAMS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(["date", "ncal", "hwclock", "timedatectl", "time", "at"], ("clock",)),
    **dict.fromkeys(["shuf", "mktemp", "uuidgen", "tempfile"], ("random",)),
    **dict.fromkeys(["uptime", "w", "last", "lastlog"], ("clock", "host")),
    **dict.fromkeys(
        [
            "arch", "arp", "df", "dmesg", "findmnt", "free", "fuser", "getconf", "getent",
            "hostid", "hostname", "hostnamectl", "htop", "ifconfig", "iostat", "ip", "lsblk",
            "lscpu", "lsmem", "lsmod", "lsof", "lspci", "lsusb", "mount", "mpstat", "netstat",
            "nproc", "pgrep", "pidof", "ps", "pstree", "route", "sar", "service", "ss", "swapon",
            "sysctl", "systemctl", "top", "tty", "ulimit", "uname", "users", "vmstat", "who",
        ],
        ("host",),
    ),
    **dict.fromkeys(
        [
            "aria2c", "curl", "dig", "ftp", "host", "lynx", "mtr", "nc", "ncat", "netcat",
            "nslookup", "ping", "ping6", "sftp", "ssh", "telnet", "tracepath", "traceroute",
            "w3m", "wget", "whois",
        ],
        ("network",),
    ),
}  # fmt: skip
_FETCHERS = {"apt", "apt-get", "yum", "dnf", "apk", "pip", "pip3", "npm", "git"}
_FETCHING = {"install", "update", "upgrade", "download", "clone", "fetch", "pull", "push"}
_QUOTING = {"echo", "printf", "basename", "dirname"}  # their words are text, not files


def _command_flags(command: Command) -> set[str]:
    name, args = command.name, command.args
    flags = set(_PROGRAMS.get(name, ()))
    if name not in _QUOTING:
        flags |= {flag for word in args for flag in _path_flags(word)}
    if {"--version", "--help"} & set(args) or args == ("-V",):
        return set()
    options = _letters(args)
    text = " ".join(args)
    rules = {
        "clock": _tells_time(command, options),
        "host": _walks_root(name, args)
        or (name in ("env", "printenv", "set") and all(a.startswith("-") for a in args)),
        "network": (name in _FETCHERS and bool(_FETCHING & set(args)))
        or (name in ("scp", "rsync") and ":" in text),
        "random": (name == "sort" and "R" in options)
        or (name == "openssl" and _is_salted(args))
        or (name.endswith("awk") and "srand(" in text),
    }
    return flags | {flag for flag, holds in rules.items() if holds}


def _walks_root(name: str, args: tuple[str, ...]) -> bool:
    """Whether the whole base image is searched, ``/proc`` included."""
    if name == "find":
        first = next((i for i, word in enumerate(args) if word[:1] in "-(!" and word[1:]), None)
        return "/" in args[:first]
    return name in ("du", "tree", "grep", "ls") and "/" in args


def _tells_time(command: Command, options: set[str]) -> bool:
    """Whether the program compares or prints times of files, or the time itself."""
    name, args, text = command.name, command.args, " ".join(command.args)
    picked_apart = command.feeds in ("wc", "awk", "cut")  # columns are counted or chosen
    if name == "find":
        prints = bool({"-printf", "-fprintf"} & set(args)) and bool(re.search("%[ACTact]", text))
        listed = "-ls" in args and not picked_apart
        return prints or listed or any(_FIND_TIMES.fullmatch(word) for word in args)
    if name == "ls":
        long = bool(options & set("lgon")) or "--full-time" in args
        return bool(options & set("tcu")) or (long and not picked_apart)
    if name == "stat":
        return not re.search(r"(^| )(-c|--format|--printf)", text) or bool(
            re.search("%[WXYZwxyz]", text)
        )
    if name == "cal":
        return not (args and re.fullmatch(r"\d{2,4}", args[-1]) and int(args[-1]) > 12)
    return (name == "tree" and "D" in options) or (
        name.endswith("awk") and bool(re.search(r"(systime|strftime)\(", text))
    )


_FIND_TIMES = re.compile(r"-(([acm](time|min))|daystart|used|[ac]?newer|newer[aBcmt]{2})")


def _letters(args: Iterable[str]) -> set[str]:
    """The one-letter options, taken apart from their clusters."""
    return {letter for word in args if re.fullmatch("-[A-Za-z1]+", word) for letter in word[1:]}


def _is_salted(args: tuple[str, ...]) -> bool:
    encrypts = "enc" in args and any(word.startswith(("-aes", "-des")) for word in args)
    return "rand" in args or (encrypts and not {"-d", "-nosalt"} & set(args))


def _path_flags(path: str) -> set[str]:
    if path.startswith(("/dev/random", "/dev/urandom")):
        return {"random"}
    if path.startswith(("/dev/tcp/", "/dev/udp/")):
        return {"network"}
    return {"host"} if _HOST_FILES.match(path) else set()


_HOST_FILES = re.compile(
    r"/(proc|sys)(/|$)|/etc/(passwd|group|shadow|hosts|hostname|resolv\.conf|mtab|machine-id)$"
)
