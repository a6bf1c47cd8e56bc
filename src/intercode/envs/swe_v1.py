"""`intercode/SWE-v1`: a repository, an issue, and a shell to mend it in."""

from __future__ import annotations

import os
from typing import Any, ClassVar

from intercode.envs import swe_artefact
from intercode.envs.lasting_shell import LastingShell
from intercode.envs.swe_grading import Grader, Hidden
from intercode.envs.swe_places import IMAGES, MIRRORS, image_of
from intercode.rewards import swe
from intercode.rewards.score import Score
from intercode.sandboxes.base import Image, Limits, Sandbox
from intercode.tasks.model import Dataset, Task
from intercode.tasks.sources.swe_spec import spec_of

LIMITS = Limits(timeout_s=60.0, memory_mib=2048, processes=256, disk_mib=1024)
"""Test suites need more than one command of Bash does."""


class SweV1(LastingShell):
    """See the module, and `InteractiveEnv` for the interface.

    ``submit`` takes the files that the agent changed in the repository, from outside, puts them
    into a fresh sandbox with the hidden tests, and runs those; `intercode.rewards.swe` says what
    that is worth. A task is scored for the first time together with its gold, which has to pass.
    """

    kind: ClassVar[str] = "swe"

    def __init__(
        self,
        dataset: str | Dataset = "bundled:swe",
        *,
        limits: Limits | None = None,
        images: str | None = None,
        mirrors: str | None = None,
        **options: Any,
    ) -> None:
        """``images`` and ``mirrors`` say where repositories are that the dataset does not bring;
        see `intercode.envs.swe_places`. ``options``: those of `SandboxedEnv`."""
        super().__init__(dataset, limits=limits or LIMITS, **options)
        self.images = os.environ.get(IMAGES, "") if images is None else images
        self.mirrors = os.environ.get(MIRRORS, "") if mirrors is None else mirrors

    def _image(self, task: Task) -> Image:
        return image_of(self._runtime, self.dataset, task, spec_of(task), self.images, self.mirrors)

    def _home(self, task: Task) -> str:
        return spec_of(task).root

    def _open(self, task: Task) -> Sandbox:
        return self._runtime.sandbox(self._image(task), self.limits)

    def _scored(self) -> Score:
        task, image = self.task, self._image(self.task)
        spec = spec_of(task)
        grader = Grader(task, lambda: self._runtime.pool.borrowed(image, self.limits))
        with self.sandbox.paused():
            artefact = swe_artefact.taken(self.sandbox, spec.root, grader.is_counted)
        if artefact.empty:
            return swe.nothing("nothing that counts was changed")
        if artefact.too_large:
            return swe.nothing(f"more was changed than {swe_artefact.MAX_BYTES >> 20} MiB")
        key = ("swe-v1", task.content_hash, image, self.limits)
        hidden, watched = self._runtime.gold(key, lambda: _prepared(grader))
        passed, forged = grader.passed(hidden, watched, artefact)
        score = swe.score(
            {name: passed[name] for name in spec.fail_to_pass},
            {name: passed[name] for name in spec.pass_to_pass},
        )
        details = {**score.details, "changed": list(artefact.paths), "forged": forged}
        return Score(score.reward, score.components, details)

    def _around(self, sandbox: Sandbox) -> SweV1:
        twin = super()._around(sandbox)
        assert isinstance(twin, SweV1)
        twin.images, twin.mirrors = self.images, self.mirrors
        return twin


def _prepared(grader: Grader) -> tuple[Hidden, frozenset[str]]:
    hidden = grader.hidden()
    return hidden, grader.watched(hidden)
