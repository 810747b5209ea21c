"""Which cluster makes the attempts of a run, and how it is used."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from demeanor.core.values.executor_spec import ExecutorSpec

MOST_WORKERS = 1000
"""The largest cluster that is started on this machine."""

SILENCE = 30.0


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterSpec(ExecutorSpec):
    """A cluster: `[executor.cluster]` in the configuration, and the place that `on` or `--on` names."""

    executor: str = "cluster"

    remote: bool = True

    scheduler: str = ""
    """The address of the scheduler of a cluster, `tls://HOST:PORT`."""

    workers: int = 0
    """The number of workers of a cluster that is started here."""

    slots: int | None = None
    """Attempts that one worker makes in parallel (default: as many as it declares, or 1 if it is started here)."""

    certs: str = ""
    """The folder with the certificate of an existing cluster, written by `demeanor cluster certs`."""

    silence: float = SILENCE
    """Seconds without an answer after which a worker is given up (default: 30)."""

    allow_different: bool = False
    """Whether workers with another version of Demeanor or Python are used."""

    started_here: bool = False
    """Whether `scheduler` is that of a cluster which this process has started."""

    @property
    def is_here(self) -> bool:
        """Whether the cluster is started by this process, so that workers can read its files."""
        return self.started_here or not self.scheduler

    def at(self, place: str) -> ClusterSpec | None:
        """This spec for a number of workers or the address of a scheduler; None for a place of another kind.

        Raises ValueError, with what is wrong with the place.
        """
        if re.fullmatch(r"\d+", place):
            if not 1 <= int(place) <= MOST_WORKERS:
                raise ValueError(f"expected 1 to {MOST_WORKERS} workers, found {place}")
            return replace(self, workers=int(place), scheduler="")
        scheme, separator, server = place.partition("://")
        if not separator or scheme not in {"tls", "tcp"}:
            return None
        if scheme != "tls":
            raise ValueError(
                f"{place} is not an address of TLS, and without it anybody who reaches a scheduler can run code on all "
                "workers"
            )
        if not re.fullmatch(r"(\[[0-9a-fA-F:.]+\]|[^\s/:@\[\]]+):\d{1,5}", server):
            raise ValueError(f"{place!r} is not an address with a port")
        return replace(self, workers=0, scheduler=place)
