"""Chooses adapters from the configuration; the one place where all rooms meet."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast._version import __version__
from holdfast.agents import ADAPTERS, make_agent
from holdfast.core.codec import encode
from holdfast.core.config import Config, Limit
from holdfast.core.errors import BadInput, UnknownName, UsageError, WorldError
from holdfast.core.evals import Eval
from holdfast.core.fault import Fault
from holdfast.core.folder import scan
from holdfast.core.ports import Agent, CommandResult, Gateway
from holdfast.core.record import Record, RunInfo
from holdfast.core.request import RunRequest
from holdfast.core.scenario import Scenario
from holdfast.core.subject import Subject
from holdfast.core.table import Table
from holdfast.core.trial import Cell, Plan
from holdfast.core.verdict import VoidCause
from holdfast.core.workspace import Tree
from holdfast.decide.rules import decide
from holdfast.decide.run import exit_code
from holdfast.define.load import load
from holdfast.executors.local import LocalExecutor
from holdfast.gateway.absent import AbsentGateway
from holdfast.gateway.local import weights as local
from holdfast.plan import DEFAULT_TIMEOUT, DEFAULT_TRIALS, Choice, choose, make_plan
from holdfast.report.run_report import RunReport, run_report
from holdfast.run.attempt import Means, make_attempt
from holdfast.run.schedule import Retries
from holdfast.run.template import TemplateCache, build_template, check_template
from holdfast.sandboxes.local import LocalSandbox
from holdfast.session import House, Terms
from holdfast.store.folder import RunFolder, write_whole
from holdfast.store.provenance import git_state
from holdfast.store.results import new_run, point_latest

if TYPE_CHECKING:
    from holdfast.gateway.cassette.audit import CassetteFault
    from holdfast.gateway.cassette.recorder import Recorder
    from holdfast.gateway.models import ModelBook
    from holdfast.gateway.upstream import Upstream
    from holdfast.judge.self_test import SelfTest

SCRIPTED = "scripted"
SANDBOXES = ("local",)
_SCRIPTED_NOTE = (
    "`scripted` is a rule-reader that stands in for a model: it shows how Holdfast works, not how a model does"
)
BARE_AGENTS = ("native",)


@dataclass(kw_only=True)
class Cast:
    """The agents and models that a configuration offers: made once, and checked before anything runs."""

    config: Config
    """The configuration."""

    environ: Mapping[str, str]
    """Where keys are."""

    replaying: bool = False
    """Whether cassettes answer for all models, so that none of them need be there."""

    made: dict[str, Agent] = field(default_factory=dict)
    """The agents made so far, by name."""

    def agents(self) -> dict[str, Agent]:
        """Every agent on offer, by name."""
        return {name: self.agent(name) for name in dict.fromkeys((*BARE_AGENTS, *self.config.agents))}

    def agent(self, name: str) -> Agent:
        """The agent of that name."""
        known = {*BARE_AGENTS, *self.config.agents}
        if name not in known:
            raise UnknownName("agent", name, known, where=self.config.file)
        if name not in self.made:
            table = self.config.tables("agents").get(name) or Table(
                {}, where=self.config.where, prefix=f"agents.{name}."
            )
            self.made[name] = make_agent(name, table.text("adapter", name, required=name not in ADAPTERS), table)
        return self.made[name]

    @cached_property
    def models(self) -> ModelBook:
        """The models on offer; loaded only where somebody needs one."""
        from holdfast.gateway.models import ModelBook

        config = self.config
        return ModelBook(
            config.tables("models"),
            config.tables("providers"),
            root=config.root,
            environ=self.environ,
            where=config.where,
        )

    @cached_property
    def subjects(self) -> tuple[str, ...]:
        """Whom to try when nobody is named: a real model where one is on this machine, and never a pretended one."""
        return self.config.subjects or (f"native:{SCRIPTED if self.no_local_model else local.DEFAULT}",)

    @cached_property
    def no_local_model(self) -> str | None:
        """Why the default local model can't be tried, and what to do about it; None where it can."""
        from holdfast.gateway.local.model import obstacle

        return obstacle(local.WEIGHTS[local.DEFAULT], self.environ)

    def of(self, subject: Subject) -> Agent:
        """The agent of a subject."""
        return self.agent(subject.agent)

    def subject(self, text: str, model: str | None = None) -> Subject:
        """The subject written as `agent:model`; `model` overrules the one that is written."""
        agent, _, named = text.partition(":")
        chosen = model if model is not None else named
        needs_model = self.agent(agent).dialect is not None
        if needs_model and not chosen:
            raise UsageError(f"subject {text!r} names no model\n  → write {agent}:MODEL, such as {agent}:{SCRIPTED}")
        if needs_model and not self.replaying:
            self.models.model(chosen)
        return Subject(agent=agent, model=chosen, settings=dict(self.config.agents.get(agent, {})))


def choose_evals(
    config: Config,
    *,
    paths: Sequence[str] = (),
    names: Sequence[str] = (),
    keyword: str = "",
    suites: Sequence[str] = (),
    tags: Sequence[str] = (),
    policy: str | None = "all",
) -> tuple[Eval, ...]:
    """The evals that are asked for. A policy of None means all where evals are named, otherwise the always-passing."""
    named = bool(names or keyword or any("::" in path for path in paths))
    evals = load(_places(config, paths))
    wanted = Choice(
        names=tuple(names),
        keyword=keyword,
        suites=tuple(suites),
        tags=tuple(tags),
        policy="all" if policy == "all" or (policy is None and named) else "always",
    )
    return choose(evals, wanted)


def _places(config: Config, paths: Sequence[str]) -> list[str]:
    """What to load: the paths of the command line, or those of the configuration."""
    if paths:
        return list(paths)
    places = [config.root / path for path in config.paths]
    for place in places:
        if not place.exists():
            raise BadInput(
                "there are no evals here",
                where=place,
                remedy="name the files or folders they are in, or run `holdfast init` to begin",
            )
    return [str(place) for place in places]


def plan_run(cast: Cast, request: RunRequest, environ: Mapping[str, str]) -> Plan:
    """What a run will do; every mistake that can be found without running is found here."""
    config = cast.config
    evals = choose_evals(
        config,
        paths=request.paths,
        names=request.names,
        keyword=request.keyword,
        suites=request.suites,
        tags=request.tags,
        policy=request.policy,
    )
    return plan_evals(cast, evals, request, environ)


def plan_evals(cast: Cast, evals: Sequence[Eval], request: RunRequest, environ: Mapping[str, str]) -> Plan:
    """What a run of these evals will do."""
    config = cast.config
    cast.agents()
    asked_for = bool(request.subjects or request.model)
    faults = request.faults or config.faults
    plan = make_plan(
        [_under(one, faults) for one in evals],
        [cast.subject(text, request.model) for text in request.subjects or cast.subjects],
        subject_named=None if asked_for else cast.subject,
        trials=request.trials,
        timeout=request.timeout,
        default_trials=config.trials or DEFAULT_TRIALS,
        default_timeout=config.timeout or DEFAULT_TIMEOUT,
        environ=environ,
    )
    for one in evals:
        check_template(one.scenario, one.source.path)
    return Plan(cells=tuple(_breakable(cast, cell) for cell in plan.cells))


def _under(one: Eval, faults: tuple[Fault, ...]) -> Eval:
    """An eval under its own faults, which come first, and under those of the run."""
    return replace(one, scenario=replace(one.scenario, faults=(*one.scenario.faults, *faults))) if faults else one


def _breakable(cast: Cast, cell: Cell) -> Cell:
    """A cell that asks for faults is skipped, visibly, where nobody can inject them."""
    if cell.skipped or not cell.eval.scenario.faults or cast.of(cell.subject).dialect is not None:
        return cell
    why_not = f"no fault can be injected: {cell.subject.agent} does not reach its model through the gateway"
    return replace(cell, trials=(), skipped=why_not)


def run_info(config: Config, request: RunRequest) -> RunInfo:
    """Who runs what, now."""
    state = git_state(config.root)
    seed = random.SystemRandom().getrandbits(32) if request.seed is None else request.seed
    return RunInfo(
        id="",
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


def house(cast: Cast, plan: Plan, request: RunRequest, store: RunFolder, *, seed: int) -> House:
    """Everything that a run is conducted with."""
    config = cast.config
    sandbox = make_sandbox(request.sandbox or config.sandbox)
    gateway = _gateway(cast, plan, request)
    templates = TemplateCache(sandbox.folder)
    means = Means(
        agent=cast.of,
        sandbox=sandbox,
        gateway=gateway,
        template=templates.get,
        seed=seed,
        idle=config.idle_timeout,
    )
    slots = request.jobs or config.jobs or _usual_jobs(plan)
    return House(
        agent=cast.of,
        executor=LocalExecutor(slots=slots, attempt=partial(make_attempt, means=means)),
        sandbox=sandbox,
        gateway=gateway,
        store=store,
        retries=Retries(most=config.attempts),
        update_snapshots=request.update_snapshots,
        record=_recorder(cast, request),
    )


def _usual_jobs(plan: Plan) -> int:
    """Trials at once: agents mostly wait for a provider, but a model on this machine answers few at a time."""
    if any(cell.subject.model in local.WEIGHTS for cell in plan.cells):
        return local.AT_ONCE
    return min(2 * (os.cpu_count() or 1), 8)


def make_sandbox(name: str) -> LocalSandbox:
    """The sandbox of that name."""
    if name not in SANDBOXES:
        raise UnknownName("sandbox", name, SANDBOXES)
    return LocalSandbox()


def probe_sandbox(name: str) -> None:
    """Start a program in the sandbox, really, and see it end; raises WorldError where that does not work."""
    sandbox = make_sandbox(name)

    async def probe() -> CommandResult:
        await sandbox.start()
        try:
            return await asyncio.to_thread(sandbox.command, Tree(), ("sh", "-c", "echo works"), timeout=10)
        finally:
            await sandbox.stop()

    result = asyncio.run(probe())
    if result.stdout != "works\n":
        raise WorldError(VoidCause.SANDBOX, f"a program in the sandbox gave {result}")


def self_tests(evals: Sequence[Eval]) -> Iterator[SelfTest]:
    """Prove of each eval that it can pass and can fail."""
    from holdfast.judge.self_test import self_test

    sandbox = make_sandbox("local")
    asyncio.run(sandbox.start())
    try:
        for one in evals:
            yield self_test(one, lay_out=_lay_out, read_back=scan, run_command=sandbox.command)
    finally:
        asyncio.run(sandbox.stop())


def cassette_faults(cast: Cast, chosen: Sequence[Eval]) -> tuple[CassetteFault, ...]:
    """What is wrong with the project's cassettes, as far as the chosen evals are concerned."""
    config = cast.config
    folder = config.root / config.cassettes
    if not folder.is_dir():
        return ()
    from holdfast.gateway.cassette.audit import audit
    from holdfast.gateway.cassette.folder import CassetteFolder

    known = {one.name: one for one in (*_known_evals(config), *chosen)}
    names = {one.name for one in chosen}
    agents = {*BARE_AGENTS, *config.agents}
    trials = config.trials or DEFAULT_TRIALS
    return tuple(audit(CassetteFolder(_near(folder)), known, chosen=names, agents=agents, trials=trials))


def _near(folder: Path) -> Path:
    """A folder as a person here would write it."""
    return folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder


def _known_evals(config: Config) -> tuple[Eval, ...]:
    """Every eval of the configuration's paths, as far as these are there."""
    return load([str(path) for name in config.paths if (path := config.root / name).exists()])


def _lay_out(scenario: Scenario, folder: Path) -> Tree:
    """The starting workspace in an empty folder."""
    folder.rmdir()
    return build_template(scenario, folder).tree


def _recorder(cast: Cast, request: RunRequest) -> Recorder | None:
    """What makes cassettes of the trials, if that is wanted."""
    if request.record is None:
        return None
    from holdfast.gateway.cassette.folder import CassetteFolder
    from holdfast.gateway.cassette.record import secrets_in
    from holdfast.gateway.cassette.recorder import Recorder

    return Recorder(folder=CassetteFolder(Path(request.record)), secrets=secrets_in(cast.environ))


def _replay_model(cast: Cast, plan: Plan, folder: str) -> Upstream:
    """What answers for every model of a run that is replayed."""
    from holdfast.gateway.cassette.folder import CassetteFolder
    from holdfast.gateway.cassette.normalise import Normaliser
    from holdfast.gateway.cassette.record import secrets_in
    from holdfast.gateway.cassette.replay import ReplayModel

    return ReplayModel(
        folder=CassetteFolder(_near(Path(folder))),
        trials={trial.id: trial for trial in plan.trials()},
        normaliser=Normaliser(cast.config.replay),
        secrets=secrets_in(cast.environ),
    )


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
        replayed = _replay_model(cast, plan, request.replay)
        return GatewayServer(lambda name: replayed, budgets=budgets)
    return GatewayServer({model: cast.models.model(model) for model in models}, budgets=budgets)


def run_terms(config: Config, request: RunRequest) -> Terms:
    """When a run ends before all of its trials are done."""
    limit = config.budgets.get("run", Limit())
    return Terms(fail_fast=request.fail_fast, budget_usd=request.budget_usd or limit.usd)


def make_report(
    run: RunInfo,
    plan: Plan,
    records: Sequence[Record],
    *,
    folder: Path,
    seconds: float | None = None,
    stopped: str | None = None,
    interrupted: bool = False,
    plug_in: bool = False,
    notes: Sequence[str] = (),
) -> RunReport:
    """Records → tallies → decisions → the value that every report is made of."""
    return run_report(
        run,
        plan,
        records,
        decide=decide,
        exit_code=exit_code,
        root=Path.cwd(),
        folder=folder,
        seconds=seconds,
        notes=(*_notes(plan, stopped), *notes),
        interrupted=interrupted,
        estimator="plug-in" if plug_in else "unbiased",
    )


def _notes(plan: Plan, stopped: str | None) -> tuple[str, ...]:
    scripted = any(cell.subject.model == SCRIPTED for cell in plan.cells)
    faults = dict.fromkeys(str(fault) for cell in plan.cells for fault in cell.eval.scenario.faults)
    broken = (f"faults were asked for, so answers of the model were broken on purpose: {', '.join(faults)}",)
    return ((stopped,) if stopped else ()) + (broken if faults else ()) + ((_SCRIPTED_NOTE,) if scripted else ())


def publish(report: RunReport, folder: Path, *, environ: Mapping[str, str], junit: Path | None = None) -> None:
    """Write the report's files into the run's folder, and wherever else it is wanted."""
    from holdfast.report.json_report import json_report
    from holdfast.report.markdown import markdown

    write_whole(folder / "report.json", json_report(report))
    summary = markdown(report)
    write_whole(folder / "summary.md", summary)
    if junit is not None:
        from holdfast.report.junit import junit as junit_xml

        junit.parent.mkdir(parents=True, exist_ok=True)
        write_whole(junit, junit_xml(report))
    step_summary = environ.get("GITHUB_STEP_SUMMARY")
    if step_summary:
        with Path(step_summary).open("a", encoding="utf-8") as file:
            file.write(summary)
    point_latest(folder)
