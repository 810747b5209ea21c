"""Engines: they run the trials of evals that are whole tasks.

An engine is a class in another package, found by the entry point `demeanor.engines`; the name of the entry point is the
engine's. Tasks say which engine runs them (`WholeTask.engine`). It is imported when a plan has such a task, when the
configuration has a table of its name, and when a subject's agent is unknown.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from demeanor.config import ENGINES, Table
from demeanor.core.entry_points import installed, loaded
from demeanor.core.values.capture import Capture
from demeanor.core.values.errors import UnknownName, UsageError
from demeanor.core.values.eval import Eval
from demeanor.core.values.ports import Gateway, Sandbox
from demeanor.core.values.run_request import RunRequest
from demeanor.core.values.trial import Cell, Plan, Trial

if TYPE_CHECKING:
    from demeanor.judge import SelfTest
    from demeanor.runner.catalog import Catalog

Attempt: TypeAlias = Callable[[Trial, int], Awaitable[Capture]]
"""Makes one attempt at a trial."""

ShowProgress: TypeAlias = Callable[[str], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class EngineStatus:
    """Whether an engine works on this machine."""

    state: Literal["ok", "warning", "broken"]
    """As in `demeanor doctor`. An engine that nobody has asked for may be missing: that is ok."""

    detail: str
    """Its version and where it is, or what is wrong."""

    remedy: str = ""
    """What to do about it."""

    problem: str | None = None
    """Why tasks can't run here, with the remedy; None if they can."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EngineRun:
    """What an engine adds to a run."""

    attempt: Attempt
    """Makes an attempt at a task."""

    sandboxes: tuple[Sandbox, ...] = ()
    """What must be up during the run."""

    notes: tuple[str, ...] = ()
    """What the user should know about this set-up."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskOptions:
    """How tasks are tested without a model."""

    repeat: int = 3
    """How often the solution, and the agent that does nothing, are run."""

    jobs: int = field(default_factory=lambda: os.cpu_count() or 1)
    """How many run in parallel."""

    env: str | None = None
    """Where tasks run, as with `demeanor run --env`."""

    static: bool = False
    """Whether tasks are only checked statically, without running them."""


class Engine(Protocol):
    """Runs the trials of evals that are whole tasks."""

    def __init__(self, catalog: Catalog) -> None:
        """An engine for the agents and the configuration of a catalog."""

    @staticmethod
    def read_config(table: Table) -> Any:
        """Read its table of the configuration; raises BadInput if it is invalid."""

    def agents(self) -> Mapping[str, str | None]:
        """The agents that run its tasks only: name → the dialect of their model; None for an agent without a model."""
        ...

    def status(self) -> EngineStatus:
        """Whether it works on this machine."""
        ...

    def environment(self, request: RunRequest) -> str:
        """The name of the environment that its tasks run in; raises UsageError if that does not work here."""
        ...

    def refusals(self, cells: Sequence[Cell], request: RunRequest) -> Mapping[str, str]:
        """The cells that it can't run: id → why."""
        ...

    def prepare(self, plan: Plan, request: RunRequest, gateway: Gateway, *, seed: int) -> EngineRun:
        """What it adds to a run; raises UsageError if tasks can't run here."""
        ...

    def self_tests(self, tasks: Sequence[Eval], options: TaskOptions, show: ShowProgress) -> Iterator[SelfTest]:
        """The self-test of each task: can it be solved, and not by doing nothing?"""
        ...


def installed_engines() -> tuple[str, ...]:
    """The names of all engines."""
    return tuple(dict.fromkeys(point.name for point in installed(ENGINES)))


def engine_class(name: str) -> type[Engine]:
    """The engine of this name; raises UnknownName if no package has it."""
    for point in installed(ENGINES):
        if point.name == name:
            engine: type[Engine] = loaded(point)
            return engine
    raise UnknownName("engine", name, installed_engines())


def engine_names(evals: Iterable[Eval]) -> tuple[str, ...]:
    """The engines that run the tasks among some evals."""
    return tuple(dict.fromkeys(eval_.task.engine for eval_ in evals if eval_.task is not None))


def plan_engines(plan: Plan) -> tuple[str, ...]:
    """The engines that run the tasks of a plan; none for a plan without tasks."""
    return engine_names(cell.eval for cell in plan.cells)


def only_tasks(plan: Plan) -> bool:
    """Whether a plan contains only tasks, so that no other sandbox is needed."""
    return bool(plan.cells) and all(cell.eval.task is not None for cell in plan.cells)


def skip_refused(catalog: Catalog, plan: Plan, request: RunRequest) -> Plan:
    """The plan with the cells skipped that their engine can't run."""
    why: dict[str, str] = {}
    for name in plan_engines(plan):
        cells = [cell for cell in plan.cells if cell.eval.task and cell.eval.task.engine == name and not cell.skipped]
        why |= catalog.engine(name).refusals(cells, request)
    if not why:
        return plan
    return Plan(
        cells=tuple(replace(cell, trials=(), skipped=why[cell.id]) if cell.id in why else cell for cell in plan.cells)
    )


def tasks_refused(catalog: Catalog, plan: Plan) -> str | None:
    """Why a run with this plan would be refused because of its tasks, with the remedy; None if it would not."""
    names = engine_names(cell.eval for cell in plan.cells if cell.skipped is None)
    if names and catalog.config.executor.remote:
        return not_remote(names)
    return next(filter(None, (catalog.engine(name).status().problem for name in names)), None)


def not_remote(engines: Sequence[str]) -> str:
    """Why a plan with tasks runs on this machine only."""
    return (
        f"tasks of {' and '.join(engines)} run on this machine only, because they have environments of their own\n"
        "  → run them with --on local, and the other evals apart from them"
    )


def require_engines(catalog: Catalog, plan: Plan) -> None:
    """Raise UsageError if the tasks of a plan can't run here."""
    for name in plan_engines(plan):
        if problem := catalog.engine(name).status().problem:
            raise UsageError(problem)


def task_environment(catalog: Catalog, request: RunRequest, plan: Plan) -> str | None:
    """The name of the environment that the tasks of a plan run in; None for a plan without tasks."""
    names = dict.fromkeys(catalog.engine(name).environment(request) for name in plan_engines(plan))
    return ", ".join(names) or None
