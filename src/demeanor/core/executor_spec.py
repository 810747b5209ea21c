"""Where attempts run: on this machine, or on a Dask cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

ExecutorName: TypeAlias = Literal["local", "dask"]
BuildPlace: TypeAlias = Literal["conductor", "worker"]

EXECUTORS: tuple[ExecutorName, ...] = ("local", "dask")
BUILD_PLACES: tuple[BuildPlace, ...] = ("conductor", "worker")


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
    """Where attempts run; `[executor]` in the configuration, and the options of the commands that run trials."""

    name: ExecutorName | None = None
    """`local` or `dask` (default: `local`, or `dask` if a scheduler or workers are given)."""

    scheduler: str = ""
    """The address of the scheduler of an existing cluster, `tls://HOST:PORT` (default: start a cluster here)."""

    workers: int | None = None
    """The number of workers of a cluster that is started here (default: 2)."""

    slots: int | None = None
    """Attempts that one worker makes in parallel (default: as many as it declares, or 1 if it is started here)."""

    certs: str = ""
    """The folder with the certificates of an existing cluster, written by `demeanor cluster certs`."""

    silence: float | None = None
    """Seconds without an answer after which a worker is given up (default: 30)."""

    insecure_loopback: bool = False
    """Whether a cluster that is started here does without TLS."""

    allow_different: bool = False
    """Whether workers with another version of Demeanor or Python are used."""

    build: BuildPlace | None = None
    """Where the project is built (default: on the `conductor`, which sends what was built)."""

    started_here: bool = False
    """Whether `scheduler` is that of a cluster which this process has started."""

    @property
    def is_cluster(self) -> bool:
        """Whether attempts run on a cluster."""
        return self.name == "dask" or (self.name is None and bool(self.scheduler or self.workers))

    @property
    def is_here(self) -> bool:
        """Whether the cluster is started by this process, so that workers can read its files."""
        return self.started_here or not self.scheduler

    @property
    def builds_on_worker(self) -> bool:
        """Whether workers build the project."""
        return self.is_cluster and self.build == "worker"

    def over(self, below: ExecutorSpec) -> ExecutorSpec:
        """This one's values where they are set, otherwise those of `below`; `local` is not combined with others."""
        if self.name == "local":
            return self
        mine = {
            field: value if (value := getattr(self, field)) else getattr(below, field)
            for field in ExecutorSpec.__dataclass_fields__
        }
        if self.workers and not self.scheduler:  # a cluster that is started here, instead of the configured one
            mine["scheduler"] = ""
        return ExecutorSpec(**mine)
