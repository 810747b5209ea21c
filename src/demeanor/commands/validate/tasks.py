"""Proofs of whole tasks without a model: Harbor runs the solution, and nothing, several times each."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.core.checks import RewardCheck
from demeanor.core.eval import Eval
from demeanor.core.run_request import RunRequest
from demeanor.core.trial import Trial
from demeanor.define.harbor.answer_leaks import leaked_answers
from demeanor.define.harbor.task_offline import offline
from demeanor.gateway.null import NullGateway
from demeanor.harbor.agents import NOP, ORACLE
from demeanor.harbor.attempt import attempt_task
from demeanor.judge.self_test import Complaint, SelfTest, SelfTestFault
from demeanor.judge.task_self_test import needs_network, solved, task_complaints
from demeanor.runner.attempt import capture_errors
from demeanor.runner.plan import DEFAULT_TIMEOUT
from demeanor.runner.tasks import harbor_problem, task_means
from demeanor.sandboxes.levels.none import NoneSandbox

if TYPE_CHECKING:
    from demeanor.core.capture import Capture
    from demeanor.harbor.context import TaskContext
    from demeanor.runner.catalog import Catalog

Watch = Callable[[str], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class ValidationOptions:
    """How tasks are tried."""

    repeat: int = 3
    """How often the solution, and doing nothing, are run."""

    at_once: int = field(default_factory=lambda: os.cpu_count() or 1)
    """How many run at the same time."""

    env: str | None = None
    """Where tasks run, as with `demeanor run --env`."""


def read_tests(tasks: Sequence[Eval]) -> Iterator[SelfTest]:
    """What can be said of each task without running it."""
    for one in tasks:
        yield SelfTest(eval=one.name, rehearsed=0, complaints=tuple(_read(one)))


def unprovable(catalog: Catalog) -> str | None:
    """Why tasks can't be run here, with the remedy; None where they can."""
    return harbor_problem(catalog.config, catalog.environ)


def task_tests(catalog: Catalog, tasks: Sequence[Eval], goes: ValidationOptions, watch: Watch) -> Iterator[SelfTest]:
    """Prove of each task that its solution passes and that doing nothing does not; `watch` hears how far it is."""
    for one in tasks:
        yield asyncio.run(_tested(catalog, one, goes, watch))


async def _tested(catalog: Catalog, one: Eval, goes: ValidationOptions, watch: Watch) -> SelfTest:
    sandbox = NoneSandbox()
    means = task_means(catalog, RunRequest(env=goes.env), sandbox, NullGateway(), seed=0)
    tried = _Tried(catalog, means, goes, watch)
    found = list(_read(one))
    await sandbox.start()
    try:
        with tempfile.TemporaryDirectory(prefix="demeanor-tasks-") as folder:
            found += await _complaints(one, offline(one, Path(folder)), tried)
    finally:
        await sandbox.stop()
    return SelfTest(eval=one.name, rehearsed=tried.number, complaints=tuple(found))


async def _complaints(one: Eval, without: Eval | None, tried: _Tried) -> list[Complaint]:
    """What running has against a task, tried on its copy without a network where there is one."""
    oracle, nothing = await tried.several(without or one)
    found: list[Complaint] = []
    for check in (check for check in one.checks if isinstance(check, RewardCheck)):
        network = None
        if without is not None and not all(solved(check, capture) for capture in oracle):
            network = needs_network(check, await tried.go(ORACLE, one, 1, 1))
        found += [network] if network else []
        found += task_complaints(check, () if network else oracle, nothing)
    return found


class _Tried:
    """Goes at tasks, so many at a time, counted."""

    def __init__(self, catalog: Catalog, means: TaskContext, goes: ValidationOptions, watch: Watch) -> None:
        self.number = 0
        self._catalog, self._means, self._goes, self._watch = catalog, means, goes, watch
        self._turns = asyncio.Semaphore(goes.at_once)

    async def several(self, one: Eval) -> tuple[list[Capture], list[Capture]]:
        """What the solution leaves, and what doing nothing leaves."""
        often = self._goes.repeat
        agents = (ORACLE, NOP) if _solvable(one) else (NOP,)
        goes = [self.go(agent, one, number, often) for agent in agents for number in range(1, often + 1)]
        captures = await asyncio.gather(*goes)
        return captures[:-often], captures[-often:]

    async def go(self, agent: str, one: Eval, number: int, of: int) -> Capture:
        """What one go leaves."""
        subject = self._catalog.subject(agent)
        trial = Trial(eval=one, subject=subject, number=number, timeout=one.scenario.timeout or DEFAULT_TIMEOUT)
        async with self._turns:
            capture = await capture_errors(trial, 1, attempt_task(trial, 1, self._means))
        self.number += 1
        self._watch(f"{one.name}: {agent} {number} of {of}")
        return capture


def _read(one: Eval) -> Iterator[Complaint]:
    task = one.task
    if task is None:
        return
    if not _solvable(one):
        yield Complaint(
            fault=SelfTestFault.UNPROVEN, detail="there is no solution: nothing shows that it can be solved"
        )
    for answer in leaked_answers(task):
        yield Complaint(fault=SelfTestFault.REVEALED, detail=answer)


def _solvable(one: Eval) -> bool:
    return one.task is not None and all(step.solution for step in one.task.steps)
