"""What an executor, its workers' pool and `demeanor cluster check` all need to know of a run on a cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from demeanor.core.values.executor_spec import ExecutorSpec
from demeanor.runner.executors.archive import Archive
from demeanor.runner.executors.messages import RunSetup

_SILENCE = 30.0


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterRun:
    """A run on a cluster."""

    setup: RunSetup
    """What workers are told."""

    spec: ExecutorSpec
    """Which cluster it is, and how it is used."""

    project: Callable[[], Archive] | None = None
    """Packs the project's files, if workers need them and can't read them; None otherwise."""

    @property
    def id(self) -> str:
        """The run's random name."""
        return self.setup.run

    @property
    def silence(self) -> float:
        """Seconds without an answer after which a worker is given up."""
        return self.spec.silence or _SILENCE

    @property
    def expected(self) -> int:
        """The number of workers that are waited for at the start."""
        return self.spec.workers or 1
