"""Programming languages as data: how a program is built, run and tested, and what that takes.

A command is a sequence of words, in which ``{program}`` stands for the first of ``programs`` that
is there, ``{file}`` for the program's text and ``{binary}`` for what a compiler makes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from intercode.errors import UsageError

Words = tuple[str, ...]


@dataclass(frozen=True)
class LanguageSpec:
    """One language. ``package`` is Debian's that has its programs.

    Without ``compile`` the text itself is run. ``test`` runs a text with its tests in it, named
    ``test_file``, and ends with 0 if they pass; where these are empty, it is run as any program is.
    ``repl`` starts an interactive session; empty, where the language has none. ``names`` are what
    else data sets call the language. ``hello`` is a program that prints ``hello``, to see whether
    all of this works.
    """

    name: str
    title: str
    file: str
    programs: Words
    package: str
    run: Words
    hello: str
    compile: Words = ()
    test: Words = ()
    test_file: str = ""
    repl: Words = ()
    names: Words = ()
    env: tuple[tuple[str, str], ...] = ()


_SPECS = (
    LanguageSpec(
        "javascript", "JavaScript", "main.js", ("node", "nodejs"), "nodejs",
        run=("{program}", "{file}"), repl=("{program}", "--interactive"), names=("js",),
        hello='console.log("hello")',
    ),
    LanguageSpec(
        "ruby", "Ruby", "main.rb", ("ruby",), "ruby",
        run=("{program}", "{file}"), repl=("irb",), names=("rb",),
        env=(("LANG", "C.UTF-8"),),
        hello='puts "hello"',
    ),
    LanguageSpec(
        "perl", "Perl", "main.pl", ("perl",), "perl",
        run=("{program}", "{file}"), repl=("{program}", "-de", "0"), names=("pl",),
        hello='print "hello\\n";',
    ),
    LanguageSpec(
        "lua", "Lua", "main.lua", ("lua5.4", "lua", "lua5.3"), "lua5.4",
        run=("{program}", "{file}"), repl=("{program}", "-i"),
        hello='print("hello")',
    ),
    LanguageSpec(
        "r", "R", "main.R", ("Rscript",), "r-base-core",
        run=("{program}", "--vanilla", "{file}"), repl=("R", "--vanilla", "--interactive"),
        hello='cat("hello\\n")',
    ),
    LanguageSpec(
        "c", "C", "main.c", ("gcc", "cc"), "gcc libc6-dev",
        compile=("{program}", "-std=c17", "-O1", "-Wall", "-o", "{binary}", "{file}", "-lm"),
        run=("{binary}",),
        hello='#include <stdio.h>\nint main(void) { puts("hello"); return 0; }\n',
    ),
    LanguageSpec(
        "cpp", "C++", "main.cpp", ("g++", "c++"), "g++",
        compile=("{program}", "-std=c++17", "-O1", "-Wall", "-o", "{binary}", "{file}"),
        run=("{binary}",), names=("c++",),
        hello='#include <iostream>\nint main() { std::cout << "hello\\n"; }\n',
    ),
    LanguageSpec(
        "java", "Java", "Main.java",
        ("/usr/lib/jvm/default-java/bin/java", "java"), "default-jdk-headless",
        run=("{program}", "-ea", "-cp", "/usr/share/java/javatuples.jar", "{file}"),
        repl=("jshell",),
        hello='class A { public static void main(String[] a) { System.out.println("hello"); } }',
    ),
    LanguageSpec(
        "go", "Go", "main.go", ("go",), "golang-go",
        compile=("{program}", "build", "-o", "{binary}", "{file}"), run=("{binary}",),
        test=("{program}", "test", "{file}"), test_file="main_test.go", names=("go_test.go",),
        env=(("GOCACHE", "/tmp/.go-cache"), ("GO111MODULE", "off"), ("GOFLAGS", "-p=1")),
        hello='package main\nimport "fmt"\nfunc main() { fmt.Println("hello") }\n',
    ),
    LanguageSpec(
        "rust", "Rust", "main.rs", ("rustc",), "rustc",
        compile=("{program}", "--edition", "2021", "-O", "-o", "{binary}", "{file}"),
        run=("{binary}",), names=("rs",),
        hello='fn main() { println!("hello"); }',
    ),
)  # fmt: skip

LANGUAGE_SPECS: Mapping[str, LanguageSpec] = {spec.name: spec for spec in _SPECS}


def language_spec(name: str) -> LanguageSpec:
    """The language of that name, or that data sets call so.

    :raises UsageError: there is none.
    """
    for spec in _SPECS:
        if name.lower() in (spec.name, *spec.names):
            return spec
    raise UsageError(f"there is no language {name!r}", remedy=f"one of {', '.join(LANGUAGE_SPECS)}")
