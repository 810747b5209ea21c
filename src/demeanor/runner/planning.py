"""What a run will do; every mistake that can be found without running is found here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from demeanor.config.config import Config
from demeanor.core.agent import unable
from demeanor.core.errors import BadInput
from demeanor.core.eval import Eval
from demeanor.core.fault import Fault
from demeanor.core.run_request import RunRequest
from demeanor.core.trial import Cell, Plan
from demeanor.define.discover import discover
from demeanor.runner.catalog import Catalog
from demeanor.runner.plan import DEFAULT_TIMEOUT, DEFAULT_TRIALS, EvalFilter, choose, make_plan
from demeanor.runner.tasks import check_tasks
from demeanor.runner.template import check_template


def choose_evals(
    config: Config,
    *,
    paths: Sequence[str] = (),
    names: Sequence[str] = (),
    keyword: str = "",
    suites: Sequence[str] = (),
    tags: Sequence[str] = (),
    tasks: Sequence[str] = (),
    policy: str | None = "all",
) -> tuple[Eval, ...]:
    """The evals that are asked for. A policy of None means all where evals are named, otherwise the always-passing."""
    named = bool(names or keyword or tasks or any("::" in path for path in paths))
    evals = discover(_places(config, paths))
    wanted = EvalFilter(
        names=tuple(names),
        keyword=keyword,
        suites=tuple(suites),
        tags=tuple(tags),
        tasks=tuple(tasks),
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
                remedy="name the files or folders they are in, or run `demeanor init` to begin",
            )
    return [str(place) for place in places]


def plan_run(catalog: Catalog, request: RunRequest, environ: Mapping[str, str]) -> Plan:
    """What a run will do; every mistake that can be found without running is found here."""
    config = catalog.config
    evals = choose_evals(
        config,
        paths=request.paths,
        names=request.names,
        keyword=request.keyword,
        suites=request.suites,
        tags=request.tags,
        tasks=request.tasks,
        policy=request.policy,
    )
    return plan_evals(catalog, evals, request, environ)


def plan_evals(catalog: Catalog, evals: Sequence[Eval], request: RunRequest, environ: Mapping[str, str]) -> Plan:
    """What a run of these evals will do."""
    config = catalog.config
    catalog.agents()
    asked_for = bool(request.subjects or request.model)
    faults = request.faults or config.faults
    plan = make_plan(
        [under_faults(one, faults) for one in evals],
        [catalog.subject(text, request.model) for text in request.subjects or catalog.subjects],
        subject_named=None if asked_for else catalog.subject,
        trials=request.trials,
        timeout=request.timeout,
        default_trials=config.trials or DEFAULT_TRIALS,
        default_timeout=config.timeout or DEFAULT_TIMEOUT,
        environ=environ,
    )
    for one in evals:
        check_template(one.scenario, one.source.path)
    return check_tasks(catalog, Plan(cells=tuple(_possible(catalog, cell) for cell in plan.cells)), request)


def under_faults(one: Eval, faults: tuple[Fault, ...]) -> Eval:
    """An eval under its own faults, which come first, and under those of the run."""
    return replace(one, scenario=replace(one.scenario, faults=(*one.scenario.faults, *faults))) if faults else one


def _possible(catalog: Catalog, cell: Cell) -> Cell:
    """A cell that asks for what its agent can't do, or for faults that nobody can inject, is skipped, visibly."""
    if cell.eval.task is not None:
        return cell
    agent = catalog.of(cell.subject)
    why_not = cell.skipped or unable(agent, cell.eval.scenario)
    if cell.subject.agent in catalog.task_agents:
        why_not = f"{agent.name} plays Harbor tasks only"
    if not why_not and cell.eval.scenario.faults and agent.dialect is None:
        why_not = f"no fault can be injected: {agent.name} does not reach its model through the gateway"
    if not why_not and agent.dialect is not None and (cell.eval.scenario.network or catalog.config.network) == "none":
        why_not = f'the network is none, and {agent.name} needs to reach its model; say network = "gateway"'
    return replace(cell, trials=(), skipped=why_not) if why_not else cell
