"""Tests tasks without a model: Harbor runs the solution, and an agent that does nothing, several times each."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.core.trees.temp_names import temp_prefix
from demeanor.core.values.checks import RewardCheck
from demeanor.core.values.eval import Eval
from demeanor.core.values.trial import Trial
from demeanor.gateway import NullGateway
from demeanor.judge import Complaint, SelfTest, SelfTestFault
from demeanor.plugins.harbor.environments.task_images import task_refusal
from demeanor.plugins.harbor.format.answer_leaks import search_answers
from demeanor.plugins.harbor.format.task import harbor_task
from demeanor.plugins.harbor.format.task_offline import offline
from demeanor.plugins.harbor.self_test.complaints import needs_network, solved, task_complaints
from demeanor.plugins.harbor.trials.agents import NOP, ORACLE
from demeanor.plugins.harbor.trials.attempt import attempt_task
from demeanor.runner import DEFAULT_TIMEOUT, ShowProgress, TaskOptions, capture_errors, no_isolation

if TYPE_CHECKING:
    from demeanor.core.values.capture import Capture
    from demeanor.plugins.harbor.engine import HarborEngine
    from demeanor.plugins.harbor.environments.choice import EnvironmentChoice
    from demeanor.plugins.harbor.trials.context import TaskContext
    from demeanor.runner import Catalog


def check_statically(engine: HarborEngine, eval_: Eval, options: TaskOptions) -> SelfTest:
    """Check a task without running it."""
    environment = engine.choice(options.env)
    refused = _refused(eval_, environment, engine.catalog)
    return SelfTest(eval=eval_.name, rehearsed=0, complaints=(*refused, *_static_complaints(eval_)))


def run_test(engine: HarborEngine, eval_: Eval, options: TaskOptions, show: ShowProgress) -> SelfTest:
    """Check that the solution of a task passes and that doing nothing does not."""
    return asyncio.run(_test(engine, eval_, options, show))


async def _test(engine: HarborEngine, eval_: Eval, options: TaskOptions, show: ShowProgress) -> SelfTest:
    sandbox = no_isolation()
    context = engine.context(options.env, sandbox, NullGateway(), seed=0)
    runner = _TaskRunner(engine.catalog, context, options, show)
    complaints = [*_refused(eval_, context.environment, engine.catalog), *_static_complaints(eval_)]
    if any(complaint.fault is SelfTestFault.REFUSED for complaint in complaints):
        await sandbox.stop()
        return SelfTest(eval=eval_.name, rehearsed=0, complaints=tuple(complaints))
    await sandbox.start()
    try:
        with tempfile.TemporaryDirectory(prefix=temp_prefix()) as folder:
            complaints += await _complaints(eval_, offline(eval_, Path(folder)), runner)
    finally:
        await sandbox.stop()
    return SelfTest(eval=eval_.name, rehearsed=runner.finished, complaints=tuple(complaints))


async def _complaints(eval_: Eval, offline_copy: Eval | None, runner: _TaskRunner) -> list[Complaint]:
    """Run a task, or its copy without a network if there is one, and return what is wrong with it."""
    oracle, nothing = await runner.run_all(offline_copy or eval_)
    complaints: list[Complaint] = []
    for check in (check for check in eval_.checks if isinstance(check, RewardCheck)):
        network = None
        if offline_copy is not None and not all(solved(check, capture) for capture in oracle):
            network = needs_network(check, await runner.run(ORACLE, eval_, 1, 1))
        complaints += [network] if network else []
        complaints += task_complaints(check, () if network else oracle, nothing)
    return complaints


class _TaskRunner:
    """Runs tasks in parallel, and counts the runs."""

    def __init__(self, catalog: Catalog, context: TaskContext, options: TaskOptions, show: ShowProgress) -> None:
        self.finished = 0
        self._catalog, self._context, self._options, self._show = catalog, context, options, show
        self._slots = asyncio.Semaphore(options.jobs)

    async def run_all(self, eval_: Eval) -> tuple[list[Capture], list[Capture]]:
        """Return the captures of the solution, and those of the agent that does nothing."""
        repeat = self._options.repeat
        agents = (ORACLE, NOP) if _has_solution(eval_) else (NOP,)
        runs = [self.run(agent, eval_, number, repeat) for agent in agents for number in range(1, repeat + 1)]
        captures = await asyncio.gather(*runs)
        return captures[:-repeat], captures[-repeat:]

    async def run(self, agent: str, eval_: Eval, number: int, of: int) -> Capture:
        """Run a task once and return its capture."""
        subject = self._catalog.subject(agent)
        trial = Trial(eval=eval_, subject=subject, number=number, timeout=eval_.scenario.timeout or DEFAULT_TIMEOUT)
        async with self._slots:
            capture = await capture_errors(trial, 1, attempt_task(trial, 1, self._context))
        self.finished += 1
        self._show(f"{eval_.name}: {agent} {number} of {of}")
        return capture


def _refused(eval_: Eval, environment: EnvironmentChoice, catalog: Catalog) -> Iterator[Complaint]:
    """The task's refusal by the environment: every attempt would end with it, so none is made."""
    if why := task_refusal(harbor_task(eval_), environment, catalog.environ):
        detail = f"it can't run in the environment {environment.name} (choose another one with --env): {why}"
        yield Complaint(fault=SelfTestFault.REFUSED, detail=detail)


def _static_complaints(eval_: Eval) -> Iterator[Complaint]:
    if not _has_solution(eval_):
        yield Complaint(
            fault=SelfTestFault.UNPROVEN, detail="there is no solution, so nothing shows that it can be solved"
        )
    search = search_answers(harbor_task(eval_))
    for answer in search.leaked:
        yield Complaint(fault=SelfTestFault.REVEALED, detail=answer)
    for problem in search.unreadable:
        yield Complaint(fault=SelfTestFault.UNPROVEN, detail=problem)


def _has_solution(eval_: Eval) -> bool:
    return all(step.solution for step in harbor_task(eval_).steps)
