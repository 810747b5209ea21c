"""What an executor, its workers' pool and `demeanor cluster check` all need to know of a run on a cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from demeanor.plugins.cluster.archive import Archive
from demeanor.plugins.cluster.messages import RunSetup
from demeanor.plugins.cluster.spec import ClusterSpec


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterRun:
    """A run on a cluster."""

    setup: RunSetup
    """What workers are told."""

    spec: ClusterSpec
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
        return self.spec.silence

    @property
    def expected(self) -> int:
        """The number of workers that are waited for at the start."""
        return self.spec.workers or 1
