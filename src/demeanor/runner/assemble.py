"""Assembles everything that a run is executed with: sandbox, gateway, executor and store."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from demeanor._version import __version__
from demeanor.config import Config
from demeanor.core.redaction.redactor import Redactor
from demeanor.core.redaction.values import Cleaner
from demeanor.core.text.codec import encode
from demeanor.core.trees.open_files import require_open_files
from demeanor.core.values.agent import Agent, version_note
from demeanor.core.values.capture import Capture
from demeanor.core.values.errors import BadInput
from demeanor.core.values.fingerprints import PATH_TOOLS
from demeanor.core.values.ports import Executor, Gateway, Sandbox
from demeanor.core.values.record import RunInfo, Store
from demeanor.core.values.run_request import RunRequest
from demeanor.core.values.subject import Subject
from demeanor.core.values.trial import DEFAULT_TRIALS, Plan, Trial
from demeanor.gateway import NullGateway
from demeanor.gateway.local import MAX_CONCURRENT_CHATS, WEIGHTS
from demeanor.judge import ask_here, blame_unknown
from demeanor.runner.agent_files import project_agent_files
from demeanor.runner.attempt import AttemptContext, capture_errors, make_attempt, path_tools
from demeanor.runner.budget import budget_limits
from demeanor.runner.cassettes import changed_task_notes, recorder, replay_model
from demeanor.runner.catalog import Catalog
from demeanor.runner.checks import Checks
from demeanor.runner.engines import Attempt, EngineRun, only_tasks, plan_engines, require_engines
from demeanor.runner.executors import ExecutorRun, make_executor
from demeanor.runner.features import Feature, Services, asked_models, run_features, sessions_of
from demeanor.runner.gateways import make_gateway
from demeanor.runner.judges import Judges
from demeanor.runner.own_files import tree_of
from demeanor.runner.sandbox import Level, probed_sandbox
from demeanor.runner.schedule import Retries
from demeanor.runner.template import TemplateCache
from demeanor.sandboxes.levels import NoneSandbox
from demeanor.store.runs import RunFolder, new_run
from demeanor.vcs import ci_branch


@dataclass(frozen=True, kw_only=True, slots=True)
class RunContext:
    """Everything that a run is executed with."""

    agent: Callable[[Subject], Agent]
    """The agent of a subject."""

    executor: Executor
    """Where attempts run."""

    sandbox: Sandbox
    """Where agents and the commands of checks run."""

    gateway: Gateway
    """The server between agents and models."""

    store: Store
    """Where everything is stored."""

    retries: Retries
    """How void trials are retried."""

    other_sandboxes: tuple[Sandbox, ...] = ()
    """Further sandboxes that must be up during the run, for attempts that do not run in `sandbox`."""

    notes: tuple[str, ...] = ()
    """What the user should know about this set-up."""

    update_snapshots: bool = False
    """Whether prompt snapshots are written instead of compared."""

    record: Callable[[Trial, Capture], None] | None = None
    """Records a cassette of a judged trial; None if nothing is recorded."""

    cleaner: Cleaner = field(default_factory=lambda: Cleaner(Redactor()))
    """Removes secrets from everything that is stored."""

    checks: Checks = field(default_factory=lambda: Checks(ask=ask_here, find_blame=blame_unknown))
    """Where checks are evaluated."""

    judges: Judges | None = None
    """Asks the judges of checks; None if none can be asked."""

    leaks_fail: bool = True
    """Whether a trial whose canary token leaked fails; otherwise the leak is only noted."""

    judged_cells: set[str] = field(default_factory=set)
    """The cells with a judged attempt: the version of their agent is known and their starting state is stored."""

    @property
    def services(self) -> tuple[Sandbox | Gateway | Judges, ...]:
        """What must be started before the first trial, in order."""
        judges = (self.judges,) if self.judges else ()
        return (self.sandbox, *self.other_sandboxes, self.gateway, *judges)


def run_info(config: Config, request: RunRequest, environ: Mapping[str, str], results: Path) -> RunInfo:
    """The description of a run that starts now."""
    state = tree_of(config, request, results)
    seed = random.SystemRandom().getrandbits(32) if request.seed is None else request.seed
    return RunInfo(
        id="",
        uid=f"{random.SystemRandom().getrandbits(64):016x}",
        started=datetime.now(UTC).isoformat(timespec="seconds"),
        kind=request.kind,
        seed=seed,
        demeanor=__version__,
        commit=state.commit,
        branch=state.branch or ci_branch(environ, state.commit),
        dirty=state.dirty,
        trials=request.trials or config.trials or DEFAULT_TRIALS,
        arguments=encode(request),
    )


def new_run_folder(results: Path) -> RunFolder:
    """Create the folder of a run that starts now."""
    return new_run(results, datetime.now(UTC))


def _open_store(config: Config, folder: RunFolder, environ: Mapping[str, str]) -> Store:
    """The run folder, the history behind it, and the capture store to which captures are published."""
    from demeanor.store.captures import open_capture_store
    from demeanor.store.history import history_address
    from demeanor.store.runs import RunStore

    return RunStore(folder, history_address(config, environ, folder.folder.parent), captures=open_capture_store(config))


def open_sandbox(config: Config, request: RunRequest, plan: Plan) -> Level:
    """The sandbox in which the agents of a plan run.

    Raises UsageError if the sandbox does not work here or is not as tight as it promises, and if the plan has tasks
    whose engine does not work here. A plan of tasks only needs no sandbox: engines bring their own environments.
    """
    require_engines(Catalog(config=config, environ=os.environ), plan)
    if only_tasks(plan):
        return NoneSandbox()
    if not config.executor.remote:
        trials = sum(1 for _ in plan.trials())
        require_open_files(max(1, min(_jobs(config, request, plan), trials)))
    level = probed_sandbox(request.sandbox or config.sandbox, config, os.environ)
    try:
        for feature in _features(config, request):
            feature.check_sandbox((cell.eval for cell in plan.cells), level.name, config.network)
    except BadInput:
        asyncio.run(level.stop())
        raise
    return level


def check_sandbox(config: Config, request: RunRequest, plan: Plan) -> None:
    """Raise now what `prepare` would raise later: for commands that build something first."""
    asyncio.run(open_sandbox(config, request, plan).stop())


def assemble(
    catalog: Catalog,
    plan: Plan,
    request: RunRequest,
    folder: RunFolder,
    sandbox: Level,
    *,
    seed: int,
    checks: Checks,
    in_history: bool = True,
) -> RunContext:
    """Everything that a run is executed with."""
    config = catalog.config
    templates = TemplateCache(sandbox.folder, checks.run_setup)
    remote = config.executor.remote
    gateway = NullGateway() if remote else _gateway(catalog, plan, request)
    context = AttemptContext(
        agent=catalog.of,
        sandbox=sandbox,
        gateway=gateway,
        template=templates.get,
        seed=seed,
        facts={PATH_TOOLS: path_tools()},
        files=project_agent_files(config),
        idle=config.idle_timeout,
        output_bytes=config.limits.output,
        features=_features(config, request),
        services=_services(catalog, gateway, sandbox, checks),
    )
    attempt: Attempt = partial(make_attempt, context=context)
    engines = {name: catalog.engine(name).prepare(plan, request, gateway, seed=seed) for name in plan_engines(plan)}
    notes = [note for engine in engines.values() for note in engine.notes]
    if not remote:
        agents = map(catalog.agent, dict.fromkeys(cell.subject.agent for cell in plan.cells))
        notes += filter(None, map(version_note, agents))
    if engines:
        attempt = _with_tasks(attempt, engines)
        notes += changed_task_notes(plan, request)
    executor = make_executor(
        ExecutorRun(
            catalog=catalog,
            plan=plan,
            request=request,
            seed=seed,
            attempt=attempt,
            template=templates.get,
            folder=sandbox.folder / "executor",
            slots=_jobs(config, request, plan),
        )
    )
    return RunContext(
        agent=catalog.of,
        executor=executor,
        sandbox=sandbox,
        other_sandboxes=tuple(sandbox for engine in engines.values() for sandbox in engine.sandboxes),
        notes=tuple(notes),
        gateway=gateway,
        store=_open_store(config, folder, catalog.environ) if in_history else folder,
        retries=Retries(most=config.attempts),
        update_snapshots=request.update_snapshots,
        record=recorder(catalog, request),
        cleaner=Cleaner(catalog.redactor),
        leaks_fail=config.canary == "fail",
        checks=checks,
        judges=_judges(catalog, gateway, request),
    )


def _features(config: Config, request: RunRequest) -> tuple[Feature, ...]:
    return run_features(canary=config.canary != "off", agent_debug=request.agent_debug)


def _services(catalog: Catalog, gateway: Gateway, sandbox: Level, checks: Checks) -> Services:
    return Services(
        gateway=gateway,
        call_author=checks.call_author,
        run_command=sandbox.command,
        redactor=catalog.redactor,
        retries=Retries(most=catalog.config.attempts),
    )


def _judges(catalog: Catalog, gateway: Gateway, request: RunRequest) -> Judges:
    """The judges of the run; they spend the same budgets as its agents."""
    account = getattr(gateway, "eval_account", None)
    limits = budget_limits(catalog.config, request)
    return Judges(catalog, limits, parent_account=account, replay=request.replay)


def _gateway(catalog: Catalog, plan: Plan, request: RunRequest) -> Gateway:
    """The gateway on this machine."""
    replay = None
    if request.replay is not None:
        trials = {session.id: trial for trial in plan.trials() for session in sessions_of(trial)}
        replay = partial(replay_model, catalog, trials, request.replay)
    gateway = make_gateway(
        catalog,
        (cell.subject for cell in plan.cells if cell.skipped is None),
        budget_limits(catalog.config, request),
        replay=replay,
        tasks=bool(plan_engines(plan)),
        others=asked_models(cell.eval for cell in plan.cells if cell.skipped is None),
    )
    catalog.make_room(_jobs(catalog.config, request, plan))
    return gateway


def _with_tasks(attempt: Attempt, engines: Mapping[str, EngineRun]) -> Attempt:
    """Attempts at tasks are made by their engines, those at other evals by `attempt`."""

    async def either(trial: Trial, number: int) -> Capture:
        if trial.eval.task is None:
            return await attempt(trial, number)
        engine = engines[trial.eval.task.engine]
        return await capture_errors(trial, number, engine.attempt(trial, number))

    return either


def _jobs(config: Config, request: RunRequest, plan: Plan) -> int:
    """Trials in parallel, as asked for or by default."""
    return request.jobs or config.jobs or _default_jobs(plan)


def _default_jobs(plan: Plan) -> int:
    """Trials in parallel. Agents mostly wait for a provider; a model on this machine serves few of them at a time."""
    if any(cell.subject.model in WEIGHTS for cell in plan.cells):
        return MAX_CONCURRENT_CHATS
    if plan_engines(plan):
        return os.cpu_count() or 1
    return min(2 * (os.cpu_count() or 1), 8)
