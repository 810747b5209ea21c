"""Where attempts run: in this process, or wherever the executor of a package makes them.

The executor of a package is a module, found by the entry point `demeanor.executors`. It is imported when `--on` or
`[executor]` names one of its places, and when the configuration has a table of its name.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from demeanor.config import EXECUTORS, Config, Table
from demeanor.core.entry_points import installed, loaded
from demeanor.core.values.capture import Capture
from demeanor.core.values.errors import UnknownName
from demeanor.core.values.executor_spec import LOCAL, ExecutorSpec, Slots
from demeanor.core.values.ports import Executor, Template
from demeanor.core.values.progress import Progress
from demeanor.core.values.record import Record
from demeanor.core.values.run_request import RunRequest
from demeanor.core.values.scenario import Scenario
from demeanor.core.values.trial import Plan, Trial
from demeanor.runner.engines import Attempt, EngineStatus

if TYPE_CHECKING:
    from demeanor.runner.catalog import Catalog


@dataclass(frozen=True, kw_only=True, slots=True)
class ExecutorRun:
    """A run whose attempts an executor is to make."""

    catalog: Catalog
    """Its configuration, agents and models."""

    plan: Plan
    """Its trials."""

    request: RunRequest
    """What was asked for."""

    seed: int
    """Its seed."""

    attempt: Attempt
    """Makes an attempt in this process; unable to ask models if the executor is `remote`."""

    template: Callable[[Scenario], Awaitable[Template]]
    """The starting workspace of a scenario, built once."""

    folder: Path
    """For temporary files; it is removed at the end of the run."""

    slots: int
    """How many attempts run in parallel in this process, as asked for or by default."""


class ExecutorModule(Protocol):
    """What the entry point of an executor names."""

    PLACES: str
    """What `--on` and `on` can be, as a part of a sentence."""

    def read_config(self, table: Table) -> ExecutorSpec:
        """Its settings, from the table `[executor.NAME]`; raises BadInput."""
        ...

    def at(self, place: str, settings: ExecutorSpec | None) -> ExecutorSpec | None:
        """The executor for a place; None if the place is not one of its. Raises ValueError for one that can't be."""
        ...

    def make(self, spec: ExecutorSpec, run: ExecutorRun) -> Executor:
        """The executor of a run; raises UsageError if it can't work."""
        ...

    def shared(self, spec: ExecutorSpec) -> AbstractContextManager[ExecutorSpec]:
        """The same for several runs of one command, if it has to be started."""
        ...

    def status(self, *, used: bool) -> EngineStatus:
        """Whether it works on this machine; `used` says whether the configuration selects it."""
        ...


def installed_executors() -> tuple[str, ...]:
    """The names of all executors of packages."""
    return tuple(dict.fromkeys(point.name for point in installed(EXECUTORS)))


def executor_module(name: str) -> ExecutorModule:
    """The executor of this name; raises UnknownName if no package has it."""
    for point in installed(EXECUTORS):
        if point.name == name:
            module: ExecutorModule = loaded(point)
            return module
    raise UnknownName("executor", name, installed_executors())


def make_executor(run: ExecutorRun) -> Executor:
    """The executor that the configuration of a run selects."""
    spec = run.catalog.config.executor
    if spec.executor == LOCAL:
        return LocalExecutor(slots=run.slots, attempt=run.attempt)
    return executor_module(spec.executor).make(spec, run)


@contextmanager
def shared_executor(config: Config) -> Iterator[Config]:
    """The configuration for several runs of one command, whose executor is started once."""
    spec = config.executor
    if spec.executor == LOCAL:
        yield config
        return
    with executor_module(spec.executor).shared(spec) as started:
        yield replace(config, executor=started)


class LocalExecutor:
    """Runs attempts on this machine."""

    notes: tuple[str, ...] = ()

    def __init__(self, *, slots: int, attempt: Callable[[Trial, int], Awaitable[Capture]]) -> None:
        """At most `slots` attempts run at once; `attempt` makes one attempt at a trial."""
        self.slots = slots
        self._attempt = attempt
        self._free = asyncio.Semaphore(slots)

    async def start(self, abort: Callable[[str], None], watch: Callable[[Progress], None] = lambda news: None) -> None:
        """Nothing to start."""

    async def stop(self) -> None:
        """Nothing to stop."""

    def continue_from(self, records: Iterable[Record], *, usd: float | None, tokens: int | None) -> None:
        """Nothing to note: the gateway counts what is spent."""

    def settle(self, record: Record) -> None:
        """Nothing to note: the gateway counts what is spent."""

    def free_slots(self) -> Slots:
        """The slots of this machine."""
        return self._free

    async def run_attempt(self, trial: Trial, attempt: int) -> Capture:
        """Run one attempt."""
        return await self._attempt(trial, attempt)


class WrappedExecutor:
    """An executor that passes everything on to another one; a base class."""

    def __init__(self, inner: Executor) -> None:
        self._inner = inner

    @property
    def slots(self) -> int:
        """The number of slots of the wrapped executor."""
        return self._inner.slots

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes of the wrapped executor."""
        return self._inner.notes

    async def start(self, abort: Callable[[str], None], watch: Callable[[Progress], None] = lambda news: None) -> None:
        """Start the wrapped executor."""
        await self._inner.start(abort, watch)

    async def stop(self) -> None:
        """Stop the wrapped executor."""
        await self._inner.stop()

    def continue_from(self, records: Iterable[Record], *, usd: float | None, tokens: int | None) -> None:
        """Tell the wrapped executor."""
        self._inner.continue_from(records, usd=usd, tokens=tokens)

    def settle(self, record: Record) -> None:
        """Tell the wrapped executor."""
        self._inner.settle(record)

    def free_slots(self) -> Slots:
        """The slots of the wrapped executor."""
        return self._inner.free_slots()

    async def run_attempt(self, trial: Trial, attempt: int) -> Capture:
        """Run one attempt."""
        return await self._inner.run_attempt(trial, attempt)


class SharedExecutor(WrappedExecutor):
    """Runs attempts on an executor whose slots several runs share, first come first served, so that their trials
    interleave and none of them runs at a better time than the others."""

    def __init__(self, inner: Executor, shared_slots: asyncio.Semaphore) -> None:
        super().__init__(inner)
        self._slots = shared_slots

    async def run_attempt(self, trial: Trial, attempt: int) -> Capture:
        """Wait for a slot, then run one attempt."""
        async with self._slots:
            return await self._inner.run_attempt(trial, attempt)
