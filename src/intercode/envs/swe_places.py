"""Where a task's repository comes from, as it was at the base commit and never later.

Bundled tasks bring theirs. For the tasks of SWE-bench there are two sources, each named by an
option of the environment or by a variable:

- ``images`` (``INTERCODE_SWE_IMAGES``): the beginning of the names of per-instance images, which
  have the repository's dependencies too; those that SWE-bench publishes begin with
  ``swebench/sweb.eval.x86_64``.
- ``mirrors`` (``INTERCODE_SWE_MIRRORS``): a folder of bare clones, ``OWNER__NAME.git``,
  ``OWNER/NAME.git`` or ``NAME.git``. The dependencies have to be in the base image (``--base``).

Images come first where both are named.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from intercode.envs.runtime import Runtime
from intercode.errors import TaskError
from intercode.sandboxes.base import Image, Layer
from intercode.tasks.model import Dataset, FileSystem, Task
from intercode.tasks.sources.swe_spec import SweSpec
from intercode.tasks.tree import cache_dir

IMAGES, MIRRORS = "INTERCODE_SWE_IMAGES", "INTERCODE_SWE_MIRRORS"
PUBLISHED_IMAGES = "swebench/sweb.eval.x86_64"
_PATH = (
    "/opt/miniconda3/envs/testbed/bin:/opt/miniconda3/bin:"
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
)
"""The programs that SWE-bench's images have for a repository come first."""

FORGET = """\
set -e
cd {root}
git checkout --quiet --detach
git remote | while read -r name; do git remote remove "$name"; done
git for-each-ref --format='delete %(refname)' | git update-ref --stdin
rm -rf .git/logs .git/packed-refs .git/FETCH_HEAD .git/ORIG_HEAD .git/MERGE_HEAD .git/worktrees
rm -rf .git/refs/stash .git/objects/info/alternates
git reflog expire --expire=now --expire-unreachable=now --all
git repack -a -d -q
git prune --expire=now
git checkout --quiet -b main
rm -rf .git/logs
"""
"""Makes a repository's history end at the commit that is checked out."""


def image_of(
    runtime: Runtime, dataset: Dataset, task: Task, spec: SweSpec, images: str, mirrors: str
) -> Image:
    """:raises TaskError: the repository is nowhere that was named."""
    if task.file_system is not None:
        return runtime.image(dataset, task)
    if images and spec.instance:
        forget = Layer(setup=(FORGET.format(root=spec.root),))
        return Image(
            f"docker:{instance_image(images, spec.instance)}", (), (forget,), (("PATH", _PATH),)
        )
    if mirrors and spec.repo:
        files = from_mirror(Path(mirrors), spec)
        return Image(runtime.base, runtime.packages, (Layer(files.tar),))
    raise TaskError(
        f"the repository of task {task.id!r}, {spec.repo or '?'} at {spec.base_commit[:12]}, is "
        "not here",
        remedy=f"set {IMAGES}={PUBLISHED_IMAGES} where Docker has or can pull "
        f"{instance_image(PUBLISHED_IMAGES, spec.instance)}, or {MIRRORS} to a folder with a bare "
        f"clone {spec.repo.replace('/', '__')}.git",
    )


def instance_image(prefix: str, instance: str) -> str:
    """The name under which SWE-bench publishes an instance's image: Docker Hub takes no two
    underscores in a row, so ``_1776_`` stands for them."""
    return f"{prefix}.{instance.lower().replace('__', '_1776_')}:latest"


def from_mirror(mirrors: Path, spec: SweSpec) -> FileSystem:
    """The repository at its base commit, with the history that leads there and no more; made once
    and kept in the cache.

    :raises TaskError: there is no such mirror, or it lacks the commit.
    """
    kept = cache_dir() / "repositories" / f"{spec.repo.replace('/', '__')}-{spec.base_commit}.tar"
    if not kept.exists():
        mirror = _mirror(mirrors, spec.repo)
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept.parent, prefix=".new-") as work:
            _check_out(mirror, spec.base_commit, Path(work) / "tree" / spec.root.lstrip("/"))
            tar = Path(work) / "tree.tar"
            _run(["tar", "--sort=name", "--owner=0", "--group=0", "--numeric-owner",
                  "-C", str(Path(work) / "tree"), "-cf", str(tar), "."])  # fmt: skip
            tar.replace(kept)
    return FileSystem(f"{spec.repo}@{spec.base_commit[:12]}", kept)


def _mirror(mirrors: Path, repo: str) -> Path:
    names = (f"{repo.replace('/', '__')}.git", f"{repo}.git", f"{repo.rpartition('/')[2]}.git")
    for name in names:
        if (mirrors / name / "HEAD").is_file():
            return mirrors / name
    raise TaskError(
        f"there is no mirror of {repo} in {mirrors}",
        remedy=f"git clone --mirror https://github.com/{repo} {mirrors / names[0]}",
    )


def _check_out(mirror: Path, commit: str, target: Path) -> None:
    if shutil.which("git") is None:
        raise TaskError("repositories out of mirrors need git", remedy="apt-get install git")
    source = ["git", "--git-dir", str(mirror)]
    if _fails([*source, "cat-file", "-e", f"{commit}^{{commit}}"]):
        raise TaskError(
            f"the mirror {mirror} has no commit {commit}",
            remedy=f"git --git-dir {mirror} remote update",
        )
    git = ["git", "-C", str(target)]
    _run(["git", "init", "--quiet", "--initial-branch=main", "--template=", str(target)])
    # What is reachable from the commit, whatever else the mirror has.
    packed = subprocess.Popen(
        [*source, "pack-objects", "--revs", "--stdout", "-q"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert packed.stdin is not None
    packed.stdin.write(f"{commit}\n".encode())
    packed.stdin.close()
    unpacked = subprocess.run(
        [*git, "index-pack", "--stdin"], stdin=packed.stdout, capture_output=True, check=False
    )
    if packed.wait() or unpacked.returncode:
        raise TaskError(f"the mirror {mirror} is damaged: {unpacked.stderr.decode()[-500:]}")
    _run([*git, "config", "core.logAllRefUpdates", "false"])
    _run([*git, "update-ref", "refs/heads/main", commit])
    _run([*git, "reset", "--quiet", "--hard"])
    (target / ".git" / "ORIG_HEAD").unlink(missing_ok=True)
    _run([*git, "config", "--unset", "core.logAllRefUpdates"])


def _fails(command: list[str]) -> bool:
    return subprocess.run(command, capture_output=True, check=False, env=_env()).returncode != 0


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=_env())
    if done.returncode:
        raise TaskError(f"{' '.join(command[:4])} … failed: {done.stderr.strip()[-500:]}")


def _env() -> dict[str, str]:
    """No settings of the machine's or the user's decide what a repository holds."""
    return {
        **os.environ,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_TERMINAL_PROMPT": "0",
    }
