"""Where attempts run: on this machine, or on a Dask cluster."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal, Protocol, TypeAlias

BuildPlace: TypeAlias = Literal["conductor", "worker"]

BUILD_PLACES: tuple[BuildPlace, ...] = ("conductor", "worker")
MOST_WORKERS = 1000
"""The largest cluster that is started on this machine."""

PLACES = "write a number of workers to start here, such as 4, the tls://HOST:PORT of a scheduler, or local"
"""The forms of a place."""


class Slots(Protocol):
    """A semaphore: as many attempts as there are slots run at once."""

    async def acquire(self) -> object:
        """Wait until an attempt can start."""
        ...

    def release(self) -> None:
        """Say that an attempt has ended."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class ExecutorSpec:
    """Where attempts run; `[executor]` in the configuration, whose `on` is overridden by the option `--on`.

    Without a scheduler and without workers, they run on this machine.
    """

    scheduler: str = ""
    """The address of the scheduler of a cluster, `tls://HOST:PORT`."""

    workers: int = 0
    """The number of workers of a cluster that is started here."""

    slots: int | None = None
    """Attempts that one worker makes in parallel (default: as many as it declares, or 1 if it is started here)."""

    certs: str = ""
    """The folder with the certificates of an existing cluster, written by `demeanor cluster certs`."""

    silence: float | None = None
    """Seconds without an answer after which a worker is given up (default: 30)."""

    allow_different: bool = False
    """Whether workers with another version of Demeanor or Python are used."""

    build: BuildPlace | None = None
    """Where the project is built (default: on the `conductor`, which sends what was built)."""

    started_here: bool = False
    """Whether `scheduler` is that of a cluster which this process has started."""

    @property
    def is_cluster(self) -> bool:
        """Whether attempts run on a cluster."""
        return bool(self.scheduler or self.workers)

    @property
    def is_here(self) -> bool:
        """Whether the cluster is started by this process, so that workers can read its files."""
        return self.started_here or not self.scheduler

    @property
    def builds_on_worker(self) -> bool:
        """Whether workers build the project."""
        return self.is_cluster and self.build == "worker"

    def at(self, place: str) -> ExecutorSpec:
        """This spec for another place: a number of workers, the address of a scheduler, or `local`.

        Raises ValueError, with what is wrong with the place.
        """
        if place == "local":
            return replace(self, workers=0, scheduler="")
        if re.fullmatch(r"\d+", place):
            if not 1 <= int(place) <= MOST_WORKERS:
                raise ValueError(f"expected 1 to {MOST_WORKERS} workers, found {place}")
            return replace(self, workers=int(place), scheduler="")
        scheme, separator, server = place.partition("://")
        if separator and scheme != "tls":
            raise ValueError(
                f"{place} is not an address of TLS, and without it anybody who reaches a scheduler can run code on all "
                "workers"
            )
        if not separator or not re.fullmatch(r"(\[[0-9a-fA-F:.]+\]|[^\s/:@\[\]]+):\d{1,5}", server):
            raise ValueError(f"{place!r} is neither a number of workers nor an address with a port")
        return replace(self, workers=0, scheduler=place)
