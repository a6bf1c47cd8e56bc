"""Patches are made and applied as Git does it, without Git."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intercode.errors import TaskError
from intercode.tasks.patches import applied, made, parsed

line = st.sampled_from(
    ["a\n", "b\n", "\n", "-x\n", "+++ y\n", "@@ z\n", "\\ w\n", "x\x0cy\u2028\r\n", "c"]
)
body = st.lists(line, max_size=12).map("".join)
tree = st.dictionaries(st.sampled_from(["f", "d/g.py", "with space"]), body)


def _applied(patch: str, before: dict[str, str]) -> dict[str, bytes | None]:
    return applied(patch, lambda path: before[path].encode() if path in before else None)


@given(tree, tree)
def test_what_is_made_leads_from_one_state_to_the_other(
    before: dict[str, str], after: dict[str, str]
) -> None:
    now: dict[str, bytes | None] = {path: text.encode() for path, text in before.items()}
    now |= _applied(made(before, after), before)
    assert {p: b for p, b in now.items() if b is not None} == {
        path: text.encode() for path, text in after.items()
    }


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
@given(tree, tree)
def test_git_agrees(
    tmp_path_factory: pytest.TempPathFactory, before: dict[str, str], after: dict[str, str]
) -> None:
    patch = made(before, after)
    if "@@" not in patch:  # Git has no word for an empty file here
        return
    folder = tmp_path_factory.mktemp("git")
    for path, text in before.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_bytes(text.encode())
    subprocess.run(["git", "apply", "-"], cwd=folder, input=patch.encode(), check=True)
    found = {
        p.relative_to(folder).as_posix(): p.read_bytes().decode()
        for p in folder.rglob("*")
        if p.is_file()
    }
    assert found == after


GIT_WROTE = """\
diff --git a/old name.py b/new name.py
similarity index 60%
rename from old name.py
rename to new name.py
index 1234567..89abcde 100644
--- a/old name.py\t
+++ b/new name.py\t
@@ -1,3 +1,3 @@ def f():
 one
-two
+2
 three
diff --git a/run.sh b/run.sh
old mode 100644
new mode 100755
diff --git a/gone b/gone
deleted file mode 100644
index 1234567..0000000
--- a/gone
+++ /dev/null
@@ -1 +0,0 @@
-x
\\ No newline at end of file
diff --git a/empty b/empty
new file mode 100644
index 0000000..e69de29
"""


def test_renames_modes_deletions_and_empty_files() -> None:
    before = {"old name.py": "one\ntwo\nthree\n", "run.sh": "true\n", "gone": "x"}
    assert _applied(GIT_WROTE, before) == {
        "old name.py": None,
        "new name.py": b"one\n2\nthree\n",
        "run.sh": b"true\n",
        "gone": None,
        "empty": b"",
    }
    assert [file.mode for file in parsed(GIT_WROTE)] == [None, 0o755, None, 0o644]


def test_line_ends_are_bytes_like_others() -> None:
    before, after = {"f": "a\r\nb\r\n"}, {"f": "a\r\nc\r\n"}
    patch = "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\r\n-b\r\n+c\r\n"
    assert _applied(patch, before) == {"f": after["f"].encode()}


@pytest.mark.parametrize(
    ("patch", "why"),
    [
        ("diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-b\n+c\n", "does not fit f at line 1"),
        ("diff --git a/g b/g\n--- a/g\n+++ b/g\n@@ -1 +1 @@\n-b\n+c\n", "g, which is not there"),
        ("diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,2 +1 @@\n-a\n", "ends in the middle"),
        ("diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ what @@\n-a\n", "damaged hunk"),
        ("diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n?a\n", "damaged line"),
        ("diff --git a/f b/f\nGIT binary patch\nliteral 3\n", "binary"),
    ],
)
def test_what_cannot_be_applied_is_told(patch: str, why: str) -> None:
    with pytest.raises(TaskError, match=why):
        _applied(patch, {"f": "a\n"})
