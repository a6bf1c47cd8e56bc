"""An episode that takes place in a sandbox."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from intercode.envs.base import Aftermath, InteractiveEnv, Shared
from intercode.envs.runtime import Runtime
from intercode.errors import InterCodeError, SandboxError, UsageError
from intercode.sandboxes.base import Limits, Sandbox
from intercode.tasks.model import Dataset, Task


class SandboxedEnv(InteractiveEnv):
    """A subclass says what sandbox a task needs (`_open`), executes and scores."""

    def __init__(
        self,
        dataset: str | Dataset = "bundled",
        *,
        sandbox: str | None = None,
        base: str | None = None,
        limits: Limits | None = None,
        runtime: Runtime | None = None,
        render_mode: str | None = None,
    ) -> None:
        """``runtime`` is shared and not closed here; without one the environment has its own,
        with the back end named ``sandbox`` (default: the first that works) and the image ``base``.
        """
        super().__init__(dataset, render_mode=render_mode)
        self.limits = limits or Limits()
        self._owned = runtime is None
        self._runtime = runtime or self.shared(Shared(sandbox=sandbox, base=base))
        self._sandbox: Sandbox | None = None

    @classmethod
    def shared(cls, wanted: Shared) -> Runtime:
        """What environments of this class can share."""
        from intercode.sandboxes.recipes import resolved
        from intercode.sandboxes.registry import choose

        base, packages = resolved(wanted.base)
        return Runtime(
            choose(wanted.sandbox),
            base=base,
            packages=packages,
            warm=wanted.jobs,
            max_starting=max(2, wanted.jobs),
            outcomes=wanted.outcomes,
        )

    @property
    def sandbox(self) -> Sandbox:
        """The running episode's sandbox, for those who want to look behind the curtain."""
        if self._sandbox is None:
            raise UsageError("there is no episode running", remedy="call reset() first")
        return self._sandbox

    def close(self) -> None:
        try:
            super().close()
        finally:
            if self._owned:
                self._runtime.close()

    def aftermath(self) -> Aftermath:
        found = self.sandbox.changes()
        return Aftermath(
            changes=tuple((c.path, c.kind, c.type, c.mode, c.digest, c.target) for c in found),
            changed=sum(change.kind != "touched" for change in found),
            background=self.sandbox.process_count(),
        )

    idle: ClassVar[str] = "true"

    def still_open(self) -> Callable[[], bool]:
        sandbox = self.sandbox

        def is_open() -> bool:
            try:
                sandbox.process_count()
            except InterCodeError:
                return False
            return True

        return is_open

    def _begin(self, task: Task) -> None:
        self._sandbox = self._open(task)

    def _end(self) -> None:
        sandbox, self._sandbox = self._sandbox, None
        if sandbox is not None:
            self._runtime.pool.give_back(sandbox)

    def _open(self, task: Task) -> Sandbox:
        """A fresh sandbox for the task."""
        raise NotImplementedError

    def _home(self, task: Task) -> str:
        """The directory that actions start in."""
        if task.file_system is None:
            return "/"
        return self.dataset.file_systems[task.file_system].cwd

    def _forked(self, count: int) -> Sequence[InteractiveEnv]:
        sandbox = self.sandbox
        if not hasattr(sandbox, "fork"):
            raise SandboxError("this back end cannot fork a sandbox")
        return [self._around(branch) for branch in sandbox.fork(count)]

    def _around(self, sandbox: Sandbox) -> SandboxedEnv:
        """An environment like this one, whose episode takes place in ``sandbox``."""
        twin = type(self)(self.dataset, limits=self.limits, runtime=self._runtime)
        twin._sandbox = sandbox
        return twin

    def _saved(self) -> Any:
        sandbox = self.sandbox
        if not hasattr(sandbox, "snapshot"):
            raise SandboxError("this back end cannot take snapshots")
        return sandbox.snapshot()

    def _go_back(self, state: Any) -> None:
        self.sandbox.restore(state)  # type: ignore[attr-defined]
