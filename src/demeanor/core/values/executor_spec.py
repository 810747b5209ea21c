"""Where attempts run: in this process, or wherever the executor of a package makes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

BuildPlace: TypeAlias = Literal["conductor", "worker"]

LOCAL = "local"
"""The place that needs no package."""


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
    """Which executor makes attempts; this value stands for this process.

    The executor of a package has a subclass with its own settings, which the base passes on without reading them.
    """

    executor: str = LOCAL
    """The name of its entry point in the group `demeanor.executors`."""

    remote: bool = False
    """Whether other processes make the attempts, with agents, keys and gateways of their own."""

    build: BuildPlace = "conductor"
    """Where the project is built: by the `conductor` of the run, which sends what was built (default), or by each
    `worker`.
    """

    @property
    def builds(self) -> bool:
        """Whether the project is built where attempts are made, instead of here."""
        return self.build == "worker"
