"""Test whole tasks without a model: Harbor runs the solution, and an agent that does nothing, several times each."""

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
from demeanor.core.temp_names import temp_prefix
from demeanor.core.trial import Trial
from demeanor.plugins.harbor.format.answer_leaks import search_answers
from demeanor.plugins.harbor.format.task_offline import offline
from demeanor.plugins.harbor.trials.agents import NOP, ORACLE
from demeanor.plugins.harbor.trials.attempt import attempt_task
from demeanor.judge.self_test import Complaint, SelfTest, SelfTestFault
from demeanor.plugins.harbor.self_test.complaints import needs_network, solved, task_complaints
from demeanor.runner.attempt import capture_errors
from demeanor.runner.plan import DEFAULT_TIMEOUT
from demeanor.runner.sandbox import no_isolation
from demeanor.plugins.harbor.environments.task_images import task_refusal
from demeanor.plugins.harbor.engine import chosen_environment, task_context

if TYPE_CHECKING:
    from demeanor.core.capture import Capture
    from demeanor.plugins.harbor.trials.context import TaskContext
    from demeanor.plugins.harbor.environments.choice import EnvironmentChoice
    from demeanor.runner.catalog import Catalog

ShowProgress = Callable[[str], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskOptions:
    """How tasks are run."""

    repeat: int = 3
    """How often the solution, and the agent that does nothing, are run."""

    jobs: int = field(default_factory=lambda: os.cpu_count() or 1)
    """How many run in parallel."""

    env: str | None = None
    """Where tasks run, as with `demeanor run --env`."""

    static: bool = False
    """Whether tasks are only checked statically, without running them."""


def check_tasks_statically(catalog: Catalog, tasks: Sequence[Eval], options: TaskOptions) -> Iterator[SelfTest]:
    """Check tasks without running them."""
    environment = chosen_environment(catalog.config, RunRequest(env=options.env))
    for one in tasks:
        refused = _refused(one, environment, catalog)
        yield SelfTest(eval=one.name, rehearsed=0, complaints=(*refused, *_static_complaints(one)))


def run_task_tests(
    catalog: Catalog, tasks: Sequence[Eval], options: TaskOptions, show: ShowProgress
) -> Iterator[SelfTest]:
    """Check that the solution of each task passes and that doing nothing does not."""
    for one in tasks:
        yield asyncio.run(_test(catalog, one, options, show))


async def _test(catalog: Catalog, one: Eval, options: TaskOptions, show: ShowProgress) -> SelfTest:
    sandbox = no_isolation()
    context = task_context(catalog, RunRequest(env=options.env), sandbox, seed=0)
    runner = _TaskRunner(catalog, context, options, show)
    found = [*_refused(one, context.environment, catalog), *_static_complaints(one)]
    if any(complaint.fault is SelfTestFault.REFUSED for complaint in found):
        await sandbox.stop()
        return SelfTest(eval=one.name, rehearsed=0, complaints=tuple(found))
    await sandbox.start()
    try:
        with tempfile.TemporaryDirectory(prefix=temp_prefix()) as folder:
            found += await _complaints(one, offline(one, Path(folder)), runner)
    finally:
        await sandbox.stop()
    return SelfTest(eval=one.name, rehearsed=runner.finished, complaints=tuple(found))


async def _complaints(one: Eval, offline_copy: Eval | None, runner: _TaskRunner) -> list[Complaint]:
    """Run a task, or its copy without a network if there is one, and return what is wrong with it."""
    oracle, nothing = await runner.run_all(offline_copy or one)
    found: list[Complaint] = []
    for check in (check for check in one.checks if isinstance(check, RewardCheck)):
        network = None
        if offline_copy is not None and not all(solved(check, capture) for capture in oracle):
            network = needs_network(check, await runner.run(ORACLE, one, 1, 1))
        found += [network] if network else []
        found += task_complaints(check, () if network else oracle, nothing)
    return found


class _TaskRunner:
    """Runs tasks in parallel, and counts the runs."""

    def __init__(self, catalog: Catalog, context: TaskContext, options: TaskOptions, show: ShowProgress) -> None:
        self.finished = 0
        self._catalog, self._context, self._options, self._show = catalog, context, options, show
        self._slots = asyncio.Semaphore(options.jobs)

    async def run_all(self, one: Eval) -> tuple[list[Capture], list[Capture]]:
        """Return the captures of the solution, and those of the agent that does nothing."""
        repeat = self._options.repeat
        agents = (ORACLE, NOP) if _has_solution(one) else (NOP,)
        runs = [self.run(agent, one, number, repeat) for agent in agents for number in range(1, repeat + 1)]
        captures = await asyncio.gather(*runs)
        return captures[:-repeat], captures[-repeat:]

    async def run(self, agent: str, one: Eval, number: int, of: int) -> Capture:
        """Run a task once and return its capture."""
        subject = self._catalog.subject(agent)
        trial = Trial(eval=one, subject=subject, number=number, timeout=one.scenario.timeout or DEFAULT_TIMEOUT)
        async with self._slots:
            capture = await capture_errors(trial, 1, attempt_task(trial, 1, self._context))
        self.finished += 1
        self._show(f"{one.name}: {agent} {number} of {of}")
        return capture


def _refused(one: Eval, environment: EnvironmentChoice, catalog: Catalog) -> Iterator[Complaint]:
    """The task's refusal by the environment: every attempt would end with it, so none is made."""
    why = task_refusal(one.task, environment, catalog.environ) if one.task else None
    if why:
        detail = f"it can't run in the environment {environment.name} (choose another one with --env): {why}"
        yield Complaint(fault=SelfTestFault.REFUSED, detail=detail)


def _static_complaints(one: Eval) -> Iterator[Complaint]:
    task = one.task
    if task is None:
        return
    if not _has_solution(one):
        yield Complaint(
            fault=SelfTestFault.UNPROVEN, detail="there is no solution, so nothing shows that it can be solved"
        )
    search = search_answers(task)
    for answer in search.leaked:
        yield Complaint(fault=SelfTestFault.REVEALED, detail=answer)
    for problem in search.unreadable:
        yield Complaint(fault=SelfTestFault.UNPROVEN, detail=problem)


def _has_solution(one: Eval) -> bool:
    return one.task is not None and all(step.solution for step in one.task.steps)
