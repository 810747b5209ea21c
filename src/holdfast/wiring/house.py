"""Everything that a run is conducted with."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from holdfast._version import __version__
from holdfast.core.codec import encode
from holdfast.core.config import Config, Limit
from holdfast.core.identity import PATH_TOOLS
from holdfast.core.ports import Gateway, Store
from holdfast.core.record import RunInfo
from holdfast.core.redacted import Cleaner
from holdfast.core.request import RunRequest
from holdfast.core.trial import Plan
from holdfast.executors.local import LocalExecutor
from holdfast.gateway.absent import AbsentGateway
from holdfast.gateway.local import weights as local
from holdfast.plan import DEFAULT_TRIALS
from holdfast.run.attempt import Means, make_attempt
from holdfast.run.schedule import Retries
from holdfast.run.template import TemplateCache
from holdfast.session import House, Terms
from holdfast.store.folder import RunFolder
from holdfast.store.provenance import git_state
from holdfast.store.results import new_run
from holdfast.wiring.cassettes import recorder, replay_model
from holdfast.wiring.cast import Cast
from holdfast.wiring.sandbox import Level, probed_sandbox

_TELLING_TOOLS = ("rg", "fd", "tmux", "gh", "docker")
"""Programs on PATH that make agents describe other tools, or use them."""


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
        holdfast=__version__,
        commit=state.commit,
        branch=state.branch,
        dirty=state.dirty,
        trials=request.trials or config.trials or DEFAULT_TRIALS,
        arguments=encode(request),
    )


def new_store(results: Path) -> RunFolder:
    """A folder for a run that begins now."""
    return new_run(results, datetime.now(UTC))


def remembered(config: Config, run: RunFolder, environ: Mapping[str, str]) -> Store:
    """A run's folder with the history behind it, and the captures where they are to be published."""
    from holdfast.store.history import place_of
    from holdfast.store.remembered import RememberedRun
    from holdfast.store.vault import open_vault

    return RememberedRun(run, place_of(config, environ, run.folder.parent), vault=open_vault(config))


def open_sandbox(config: Config, request: RunRequest) -> Level:
    """Where agents run; a UsageError where it can't be had, or does not keep what it promises."""
    return probed_sandbox(request.sandbox or config.sandbox, config, os.environ)


def house(
    cast: Cast, plan: Plan, request: RunRequest, store: RunFolder, *, seed: int, sandbox: Level | None = None
) -> House:
    """Everything that a run is conducted with."""
    config = cast.config
    sandbox = sandbox or open_sandbox(config, request)
    gateway = _gateway(cast, plan, request)
    templates = TemplateCache(sandbox.folder)
    means = Means(
        agent=cast.of,
        sandbox=sandbox,
        gateway=gateway,
        template=templates.get,
        seed=seed,
        facts={PATH_TOOLS: " ".join(tool for tool in _TELLING_TOOLS if shutil.which(tool))},
        idle=config.idle_timeout,
        output_bytes=config.limits.output,
        canary=config.canary != "off",
    )
    slots = request.jobs or config.jobs or _usual_jobs(plan)
    return House(
        agent=cast.of,
        executor=LocalExecutor(slots=slots, attempt=partial(make_attempt, means=means)),
        sandbox=sandbox,
        gateway=gateway,
        store=remembered(config, store, cast.environ),
        retries=Retries(most=config.attempts),
        update_snapshots=request.update_snapshots,
        record=recorder(cast, request),
        cleaner=Cleaner(cast.redactor),
        leaks_fail=config.canary == "fail",
    )


def _usual_jobs(plan: Plan) -> int:
    """Trials at once: agents mostly wait for a provider, but a model on this machine answers few at a time."""
    if any(cell.subject.model in local.WEIGHTS for cell in plan.cells):
        return local.AT_ONCE
    return min(2 * (os.cpu_count() or 1), 8)


def _gateway(cast: Cast, plan: Plan, request: RunRequest) -> Gateway:
    """The model server; loaded only where an agent of the plan needs a model."""
    models = {cell.subject.model for cell in plan.cells if cast.of(cell.subject).dialect is not None}
    if not models:
        return AbsentGateway()
    from holdfast.gateway.budget import Budget, Budgets
    from holdfast.gateway.server import GatewayServer

    limits = dict(cast.config.budgets)
    if request.budget_usd is not None:
        limits["run"] = replace(limits.get("run", Limit()), usd=request.budget_usd)
    budgets = Budgets(**{scope: Budget(usd=limit.usd, tokens=limit.tokens) for scope, limit in limits.items()})
    if request.replay is not None:
        replayed = replay_model(cast, plan, request.replay)
        return GatewayServer(lambda name: replayed, budgets=budgets)
    return GatewayServer({model: cast.models.model(model) for model in models}, budgets=budgets)


def run_terms(config: Config, request: RunRequest) -> Terms:
    """When a run ends before all of its trials are done."""
    limit = config.budgets.get("run", Limit())
    return Terms(fail_fast=request.fail_fast, budget_usd=request.budget_usd or limit.usd)
