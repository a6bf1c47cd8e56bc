"""Bases by name."""

from __future__ import annotations

import pytest

from intercode.envs.base import Shared
from intercode.envs.ctf_v2 import CtfV2
from intercode.errors import ImageError
from intercode.sandboxes.recipes import RECIPES, resolved


def test_a_recipe_is_a_base_with_packages() -> None:
    base, packages = resolved("recipe:ctf")
    assert base == "debian:bookworm"
    assert {"binutils", "gdb", "binwalk", "libimage-exiftool-perl", "steghide"} <= set(packages)
    assert {"sleuthkit", "john", "xxd", "python3-pwntools"} <= set(packages)


@pytest.mark.parametrize("base", [None, "host", "debian:bookworm", "docker:ubuntu:22.04"])
def test_any_other_base_stays_as_it_is(base: str | None) -> None:
    assert resolved(base) == (base, ())


def test_an_unknown_recipe_is_named_with_those_there_are() -> None:
    with pytest.raises(ImageError, match=r"(?s)'soup'.*recipe:ctf"):
        resolved("recipe:soup")


@pytest.mark.parametrize("name", RECIPES)
def test_no_package_is_listed_twice(name: str) -> None:
    packages = RECIPES[name].packages
    assert len(set(packages)) == len(packages)


@pytest.mark.bubblewrap
def test_environments_are_made_on_a_recipes_base() -> None:
    with CtfV2.shared(Shared(sandbox="bubblewrap", base="recipe:ctf")) as runtime:
        assert (runtime.base, runtime.packages) == resolved("recipe:ctf")
