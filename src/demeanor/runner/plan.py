"""Evals x subjects → Plan: every mistake that can be found without running anything is found here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from demeanor.core.text.wording import count
from demeanor.core.values.agent import Agent, asks_user, start_seconds, unable
from demeanor.core.values.errors import BadInput, did_you_mean
from demeanor.core.values.eval import Eval
from demeanor.core.values.fault import Fault
from demeanor.core.values.intervention import Intervention
from demeanor.core.values.policy import Policy
from demeanor.core.values.run_request import RunRequest
from demeanor.core.values.subject import Subject
from demeanor.core.values.trial import DEFAULT_TRIALS, Cell, Plan, Trial
from demeanor.runner.budget import check_budgets
from demeanor.runner.catalog import Catalog
from demeanor.runner.engines import skip_refused
from demeanor.runner.features.mcp_servers import check_servers, check_tool_faults, faults_for
from demeanor.runner.judge_settings import check_judges, with_judge
from demeanor.runner.prefixes import load_prefixes
from demeanor.runner.selection import collect_evals, select_evals
from demeanor.runner.subject_choice import SubjectChoice
from demeanor.runner.template import check_template
from demeanor.runner.users import check_user_functions, check_users
from demeanor.store import refuse_shared_folders

DEFAULT_TIMEOUT = 300.0


def make_plan(
    evals: Sequence[Eval],
    subjects: Sequence[Subject] = (),
    *,
    subjects_of: Callable[[Eval], Iterable[tuple[Subject, str | None]]] | None = None,
    trials: int | None = None,
    timeout: float | None = None,
    default_trials: int = DEFAULT_TRIALS,
    default_timeout: float = DEFAULT_TIMEOUT,
    needed: Callable[[Policy, int], int] | None = None,
    start_seconds: Callable[[Subject], float] = lambda subject: 0.0,
    environ: Mapping[str, str],
) -> Plan:
    """A cell for each eval and subject; equal subjects, such as all of an agent's with `--model`, are one.

    `trials` and `timeout` override those of an eval; the defaults do not.

    The default time limit is longer by `start_seconds` for each prompt. `subjects_of` chooses the subjects of an eval
    in place of `subjects`, each with the reason why it is skipped. `needed` says how many trials must be judged.
    """
    cells = []
    for eval_ in evals:
        number = trials or eval_.trials or default_trials
        limit = timeout or eval_.scenario.timeout
        chosen = subjects_of(eval_) if subjects_of else ((subject, None) for subject in subjects)
        for subject, why_not in {str(choice[0]): choice for choice in chosen}.values():
            skipped = why_not or _skip(eval_, subject, environ)
            last = 0 if skipped else number
            starting = 0.0 if skipped or limit else start_seconds(subject) * len(eval_.scenario.prompts)
            seconds = limit or default_timeout + starting
            cells.append(
                Cell(
                    eval=eval_,
                    subject=subject,
                    skipped=skipped,
                    needed=needed(eval_.policy, number) if needed is not None and not skipped else None,
                    trials=tuple(
                        Trial(eval=eval_, subject=subject, number=n, timeout=seconds) for n in range(1, last + 1)
                    ),
                )
            )
    return Plan(cells=tuple(cells))


def _skip(eval_: Eval, subject: Subject, environ: Mapping[str, str]) -> str | None:
    if eval_.subjects and str(subject) not in eval_.subjects:
        return f"only for {', '.join(eval_.subjects)}, as its subjects= says; without --subject it runs with these"
    if eval_.gaps:
        return f"it has {count(len(eval_.gaps), 'gap')}: {'; '.join(eval_.gaps)}"
    missing = [name for name in eval_.scenario.requires_env if not environ.get(name)]
    return f"needs the environment variable {', '.join(missing)}" if missing else None


def plan_run(catalog: Catalog, request: RunRequest, environ: Mapping[str, str]) -> Plan:
    """The plan of a run."""
    return plan_evals(catalog, select_evals(collect_evals(catalog.config, request.paths), request), request, environ)


def plan_evals(catalog: Catalog, evals: Sequence[Eval], request: RunRequest, environ: Mapping[str, str]) -> Plan:
    """The plan of a run of these evals."""
    config = catalog.config
    catalog.agents()
    evals = load_prefixes(with_judge(evals, config))
    faults = request.faults or config.faults
    check_servers(evals)
    check_tool_faults(faults, evals)
    plan = make_plan(
        [with_faults(eval_, faults) for eval_ in evals],
        subjects_of=SubjectChoice(catalog=catalog, request=request, environ=environ).of,
        trials=request.trials,
        timeout=request.timeout,
        default_trials=config.trials or DEFAULT_TRIALS,
        needed=config.evidence.needed,
        default_timeout=config.timeout or DEFAULT_TIMEOUT,
        start_seconds=lambda subject: 0.0 if config.timeout else start_seconds(catalog.of(subject)),
        environ=environ,
    )
    plan = Plan(cells=tuple(_with_tools(cell, request) for cell in plan.cells))
    refuse_shared_folders(plan)
    for eval_ in evals:
        check_template(eval_.scenario, eval_.source.path)
    plan = skip_refused(catalog, Plan(cells=tuple(_skip_if_unable(catalog, cell) for cell in plan.cells)), request)
    judged = [cell.eval for cell in plan.cells if not cell.skipped]
    helpers: tuple[str, ...] = ()
    check_user_functions(config, judged)
    if request.replay is None:
        helpers = (*check_judges(catalog, judged), *check_users(catalog, judged))
    check_budgets(catalog, [cell.subject for cell in plan.cells if not cell.skipped], request, judges=helpers)
    return plan


def _with_tools(cell: Cell, request: RunRequest) -> Cell:
    """The cell, whose subject has the descriptions of tools that the eval replaces: it is another subject."""
    tools = cell.eval.scenario.tools
    if not tools:
        return cell
    if request.record is not None or request.replay is not None:
        raise BadInput(
            "cassettes hold the answers to the agent's own descriptions",
            where=cell.eval.source.path,
            key="tools",
            remedy="run this eval without --record and --replay",
        )
    subject = replace(Intervention.of(cell.subject), tools=tools).on(cell.subject)
    return replace(cell, subject=subject, trials=tuple(replace(trial, subject=subject) for trial in cell.trials))


def with_faults(eval_: Eval, faults: tuple[Fault, ...]) -> Eval:
    """The eval with its own faults, which come first, and those of the run that can occur in it."""
    faults = faults_for(eval_, faults)
    return (
        replace(eval_, scenario=replace(eval_.scenario, faults=(*eval_.scenario.faults, *faults))) if faults else eval_
    )


def _skip_if_unable(catalog: Catalog, cell: Cell) -> Cell:
    """The cell, skipped with the reason if its agent lacks an ability that the scenario needs."""
    if cell.eval.task is not None:
        return cell
    agent = catalog.of(cell.subject)
    _check_params(agent, cell.eval)
    why_not = cell.skipped or unable(agent, cell.eval.scenario)
    if cell.subject.agent in catalog.only_for_tasks:
        why_not = f"{agent.name} runs whole tasks only"
    faulted = any(fault.role == "agent" and not fault.tool for fault in cell.eval.scenario.faults)
    if not why_not and faulted and agent.dialect is None:
        why_not = f"no fault can be injected: {agent.name} does not reach its model through the gateway"
    start = cell.eval.scenario.start
    if not why_not and start is not None and start.agent != cell.subject.agent:
        why_not = f"it starts from a trial of {start.agent}, which {agent.name} can't continue"
    if not why_not and Intervention.of(cell.subject) and agent.dialect is None:
        why_not = f"no instruction can be changed: {agent.name} does not reach its model through the gateway"
    asking = cell.eval.scenario.user is not None and asks_user(agent)
    if (
        not why_not
        and (agent.dialect is not None or asking)
        and (cell.eval.scenario.network or catalog.config.network) == "none"
    ):
        what = "its model" if agent.dialect is not None else "the gateway, where it asks its user"
        why_not = f'{agent.name} needs {what}, but the network is "none"; set network = "gateway"'
    return replace(cell, trials=(), skipped=why_not) if why_not else cell


def _check_params(agent: Agent, eval_: Eval) -> None:
    """Reject `params` of an eval that the agent does not know, or whose values it can't use."""
    params, where, agent_params = eval_.scenario.params, eval_.source.path, agent.params
    for key in params:
        if agent_params is not None and key not in agent_params:
            accepted = (
                f"it accepts {', '.join(sorted(agent_params)) or 'no params'}; correct the eval, or use another agent"
            )
            remedy = did_you_mean(key, agent_params, accepted)
            raise BadInput(f"{agent.name} does not know this key", where=where, key=f"params.{key}", remedy=remedy)
    if read_params := getattr(agent, "read_params", None):
        read_params(params, where)
