"""Everything that a run is conducted with."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from demeanor._version import __version__
from demeanor.config.config import Config
from demeanor.config.tables import Limit
from demeanor.core.capture import Capture
from demeanor.core.codec import encode
from demeanor.core.fingerprints import PATH_TOOLS
from demeanor.core.ports import Gateway, Store
from demeanor.core.record import RunInfo
from demeanor.core.redaction.values import Cleaner
from demeanor.core.run_request import RunRequest
from demeanor.core.trial import Plan, Trial
from demeanor.gateway.local import weights as local
from demeanor.gateway.null import NullGateway
from demeanor.runner.attempt import AttemptContext, capture_errors, make_attempt
from demeanor.runner.cassettes import recorder, replay_model
from demeanor.runner.catalog import Catalog
from demeanor.runner.execute import RunContext, StopConditions
from demeanor.runner.executors.local import LocalExecutor
from demeanor.runner.plan import DEFAULT_TRIALS
from demeanor.runner.sandbox import Level, probed_sandbox
from demeanor.runner.schedule import Retries
from demeanor.runner.tasks import has_tasks, only_tasks, require_harbor, task_means
from demeanor.runner.template import TemplateCache
from demeanor.sandboxes.levels.none import NoneSandbox
from demeanor.store.runs.run_dirs import new_run
from demeanor.store.runs.run_folder import RunFolder
from demeanor.vcs.git_info import git_state

if TYPE_CHECKING:
    from demeanor.harbor.context import TaskContext

Attempt: TypeAlias = Callable[[Trial, int], Awaitable[Capture]]
"""What makes one attempt at a trial."""

_TELLING_TOOLS = ("rg", "fd", "tmux", "gh", "docker")
"""Programs on PATH that make agents describe other tools, or use them."""


def telling_tools() -> str:
    """Those that are here."""
    return " ".join(tool for tool in _TELLING_TOOLS if shutil.which(tool))


def run_info(config: Config, request: RunRequest) -> RunInfo:
    """Who runs what, now."""
    state = git_state(config.root)
    seed = random.SystemRandom().getrandbits(32) if request.seed is None else request.seed
    return RunInfo(
        id="",
        uid=f"{random.SystemRandom().getrandbits(64):016x}",
        started=datetime.now(UTC).isoformat(timespec="seconds"),
        kind=request.kind,
        seed=seed,
        demeanor=__version__,
        commit=state.commit,
        branch=state.branch,
        dirty=state.dirty,
        trials=request.trials or config.trials or DEFAULT_TRIALS,
        arguments=encode(request),
    )


def new_store(results: Path) -> RunFolder:
    """A folder for a run that begins now."""
    return new_run(results, datetime.now(UTC))


def open_run_store(config: Config, run: RunFolder, environ: Mapping[str, str]) -> Store:
    """A run's folder with the history behind it, and the captures where they are to be published."""
    from demeanor.store.captures.capture_store import open_capture_store
    from demeanor.store.history import place_of
    from demeanor.store.runs.run_store import RunStore

    return RunStore(run, place_of(config, environ, run.folder.parent), vault=open_capture_store(config))


def open_sandbox(config: Config, request: RunRequest, plan: Plan) -> Level:
    """Where agents run. A UsageError where it can't be had or does not keep what it promises, and where a plan needs
    Harbor and there is none.

    Tasks bring walls of their own.
    """
    if has_tasks(plan):
        require_harbor(config, os.environ)
        if only_tasks(plan):
            return NoneSandbox()
    return probed_sandbox(request.sandbox or config.sandbox, config, os.environ)


def check_sandbox(config: Config, request: RunRequest, plan: Plan) -> None:
    """Raise now what `open_sandbox` would raise later: for commands that build something first."""
    asyncio.run(open_sandbox(config, request, plan).stop())


def assemble(
    catalog: Catalog, plan: Plan, request: RunRequest, store: RunFolder, *, seed: int, sandbox: Level | None = None
) -> RunContext:
    """Everything that a run is conducted with."""
    config = catalog.config
    sandbox = sandbox or open_sandbox(config, request, plan)
    gateway = _gateway(catalog, plan, request)
    templates = TemplateCache(sandbox.folder)
    means = AttemptContext(
        agent=catalog.of,
        sandbox=sandbox,
        gateway=gateway,
        template=templates.get,
        seed=seed,
        facts={PATH_TOOLS: telling_tools()},
        idle=config.idle_timeout,
        output_bytes=config.limits.output,
        canary=config.canary != "off",
    )
    slots = request.jobs or config.jobs or _usual_jobs(plan)
    benches: tuple[NoneSandbox, ...] = ()
    notes: tuple[str, ...] = ()
    attempt: Attempt = partial(make_attempt, means=means)
    if has_tasks(plan):
        benches = (NoneSandbox(),)
        for_tasks = task_means(catalog, request, benches[0], gateway, seed=seed)
        attempt = _with_tasks(attempt, for_tasks)
        notes = for_tasks.place.notes
    return RunContext(
        agent=catalog.of,
        executor=LocalExecutor(slots=slots, attempt=attempt),
        sandbox=sandbox,
        benches=benches,
        notes=notes,
        gateway=gateway,
        store=open_run_store(config, store, catalog.environ),
        retries=Retries(most=config.attempts),
        update_snapshots=request.update_snapshots,
        record=recorder(catalog, request),
        cleaner=Cleaner(catalog.redactor),
        leaks_fail=config.canary == "fail",
    )


def _with_tasks(attempt: Attempt, means: TaskContext) -> Attempt:
    """What makes attempts at tasks by Harbor, and at other evals as ever."""
    from demeanor.harbor.attempt import attempt_task

    async def either(trial: Trial, number: int) -> Capture:
        if trial.eval.task is None:
            return await attempt(trial, number)
        return await capture_errors(trial, number, attempt_task(trial, number, means))

    return either


def _usual_jobs(plan: Plan) -> int:
    """Trials at once: agents mostly wait for a provider, but a model on this machine answers few at a time."""
    if any(cell.subject.model in local.WEIGHTS for cell in plan.cells):
        return local.MAX_CONCURRENT_CHATS
    if has_tasks(plan):
        return os.cpu_count() or 1
    return min(2 * (os.cpu_count() or 1), 8)


def _gateway(catalog: Catalog, plan: Plan, request: RunRequest) -> Gateway:
    """The model server; loaded only where an agent of the plan needs a model."""
    models = {cell.subject.model for cell in plan.cells if catalog.of(cell.subject).dialect is not None}
    if not models:
        return NullGateway()
    from demeanor.gateway.server.budget import Budget, Budgets
    from demeanor.gateway.server.http_server import GatewayServer

    limits = dict(catalog.config.budgets)
    if request.budget_usd is not None:
        limits["run"] = replace(limits.get("run", Limit()), usd=request.budget_usd)
    budgets = Budgets(**{scope: Budget(usd=limit.usd, tokens=limit.tokens) for scope, limit in limits.items()})
    if request.replay is not None:
        replayed = replay_model(catalog, plan, request.replay)
        return GatewayServer(lambda name: replayed, budgets=budgets)
    known = {model: catalog.models.model(model) for model in models}
    if has_tasks(plan):  # adapters of Harbor's cut off what stands before a slash
        known |= {model.rpartition("/")[2]: known[model] for model in models if model.rpartition("/")[2] not in known}
    return GatewayServer(known, budgets=budgets)


def stop_conditions(config: Config, request: RunRequest) -> StopConditions:
    """When a run ends before all of its trials are done."""
    limit = config.budgets.get("run", Limit())
    return StopConditions(fail_fast=request.fail_fast, budget_usd=request.budget_usd or limit.usd)
