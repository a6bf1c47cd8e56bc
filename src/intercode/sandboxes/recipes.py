"""Bases by name: a Debian with the packages that a kind of task calls for.

``--base recipe:ctf`` stands for ``debian:bookworm`` and a list of packages. Both back ends build it
once, with mmdebstrap, and keep it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from intercode.errors import ImageError

PREFIX = "recipe:"


@dataclass(frozen=True)
class Recipe:
    base: str
    packages: tuple[str, ...]


RECIPES: Mapping[str, Recipe] = {
    "ctf": Recipe(
        "debian:bookworm",
        (
            # to look into files
            "file", "xxd", "bsdextrautils", "binutils", "binwalk", "foremost", "sleuthkit",
            "libimage-exiftool-perl", "pngcheck", "steghide", "outguess", "stegsnow",
            "poppler-utils", "qpdf",
            # to unpack them
            "unzip", "zip", "p7zip-full", "bzip2", "xz-utils",
            # to run, trace and build programs
            "gdb", "strace", "ltrace", "gcc", "libc6-dev", "perl", "git", "python3",
            "python3-pwntools", "python3-pil",
            # ciphers and passwords
            "openssl", "john", "python3-pycryptodome", "python3-cryptography",
            # talking, and what was heard
            "netcat-openbsd", "curl", "tshark", "whois", "procps",
        ),
    ),
    "code": Recipe(
        "debian:bookworm",
        (
            "nodejs", "ruby", "perl", "lua5.4", "r-base-core", "gcc", "libc6-dev", "g++",
            "default-jdk-headless", "golang-go", "rustc",
            # what the tests of MultiPL-E use
            "ruby-test-unit", "lua-unit", "libtest-deep-perl", "libjavatuples-java",
        ),
    ),
}  # fmt: skip


def resolved(base: str | None) -> tuple[str | None, tuple[str, ...]]:
    """(base, packages) of what was asked for; a base that is no recipe stays as it is.

    :raises ImageError: there is no such recipe.
    """
    if base is None or not base.startswith(PREFIX):
        return base, ()
    name = base.removeprefix(PREFIX)
    if name not in RECIPES:
        known = ", ".join(f"{PREFIX}{recipe}" for recipe in RECIPES)
        raise ImageError(f"there is no recipe {name!r}", remedy=f"one of {known}")
    return RECIPES[name].base, RECIPES[name].packages
