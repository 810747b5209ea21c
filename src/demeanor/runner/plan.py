"""Evals x subjects → Plan: every mistake that can be found without running anything is found here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from demeanor.config import WELL_KNOWN, Table, maker_of
from demeanor.core.text.wording import count
from demeanor.core.values.agent import Agent, asks_user, start_seconds, unable
from demeanor.core.values.errors import BadInput, did_you_mean
from demeanor.core.values.eval import Eval, ProviderChoice
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
from demeanor.runner.template import check_template
from demeanor.runner.users import check_user_functions, check_users
from demeanor.store.runs import refuse_shared_folders

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


# Which subjects an eval is run with: those of the request, the eval's own, or those of the configuration.
#
# The `models` of an eval are a choice of models for the agents of the run. Only an agent that asks a model through
# the gateway needs a provider for them.


@dataclass(frozen=True, kw_only=True, slots=True)
class SubjectChoice:
    """Chooses the subjects of evals."""

    catalog: Catalog
    """The agents and models."""

    request: RunRequest
    """The subjects and the model that are asked for, if any."""

    environ: Mapping[str, str]
    """The environment, with the API keys."""

    made: dict[str, Subject] = field(default_factory=dict)
    """The subjects made so far, by name: equal subjects are one object, since their fingerprints are cached by it."""

    def of(self, eval_: Eval) -> Iterator[tuple[Subject, str | None]]:
        """The subjects of an eval, each with the reason why it can't be used; None if it can."""
        request = self.request
        if eval_.subjects and not request.subjects and request.model is None:
            place = f"{eval_.source.path}: subjects"
            yield from ((self._subject(name, place), None) for name in eval_.subjects)
            return
        choosing = request.model is None and eval_.models
        agents = []
        for text, place in self._texts():
            agent, _, model = text.partition(":")
            if choosing and (not request.subjects or (not model and self._takes_model(agent))):
                agents.append(agent)
            else:
                yield self._subject(text, place), None
        for agent in dict.fromkeys(agents):
            yield from self._with_models(eval_, agent)

    def _with_models(self, eval_: Eval, agent: str) -> Iterator[tuple[Subject, str | None]]:
        """An agent with each model of an eval."""
        place = f"{eval_.source.path}: models"
        asks = self.catalog.agent(agent).dialect is not None
        choices = {model: (model, "") for model in eval_.models}
        if asks and eval_.provider is not None:
            choices = {model: served_model(self.catalog, eval_.provider, model, self.environ) for model in eval_.models}
        missing = next((variables for _, variables in choices.values() if variables), "")
        for model, _ in choices.values():
            if missing:
                yield Subject(agent=agent, model=model), f"needs the environment variable {missing}"
            else:
                yield self._subject(f"{agent}:{model}", place), None

    def _takes_model(self, name: str) -> bool:
        """Whether the model makes a difference to an agent: it asks it, or is told its name."""
        agent = self.catalog.agent(name)
        return agent.dialect is not None or getattr(agent, "names_model", False)

    def _texts(self) -> Sequence[tuple[str, str]]:
        """The subjects of the request or the configuration, each with the place where it is written."""
        if self.request.subjects:
            return [(text, "--subject") for text in self.request.subjects]
        config = self.catalog.config
        at_night = self.request.kind == "nightly" and config.nightly.subjects
        key = "nightly.subjects" if at_night else "subjects"
        return [(text, f"{config.where}: {key}" if config.subjects else "") for text in self.catalog.subjects]

    def _subject(self, text: str, place: str) -> Subject:
        """The subject of this name, with the model and the intervention of the run."""
        model = self.request.model
        place = place if model is None else "--model"
        if text not in self.made:
            self.made[text] = self.request.intervention.on(self.catalog.subject(text, model, where=place))
        return self.made[text]


# The models of scenarios in Cline's format: `models`, `provider`, `auth` and `requiredEnv` select a provider.
#
# A model of the configuration with the same name is preferred. A scenario whose keys are missing is skipped with
# the reason, so that it does not keep the others from running; a provider that does not exist is an error in its
# file.

_CLINE = "cline"
_NAMES = {"openai-native": "openai", "google": "gemini", "openai-compatible": "openai"}
"""Names of Cline → ours. Its `openai` is any compatible server, with a URL in an environment variable."""


def served_model(catalog: Catalog, choice: ProviderChoice, model: str, environ: Mapping[str, str]) -> tuple[str, str]:
    """The catalog's name for a model of a scenario, and the variables that it lacks, if any."""
    if model in catalog.config.models or catalog.replaying:
        return model, ""
    free = choice.name is None and not choice.key_env
    if free and not choice.base_url_env and (maker := maker_of(model)):  # the same subject wherever it is written
        return model, "" if maker in catalog.config.providers else _missing(maker, environ)
    if free and not environ.get(WELL_KNOWN[_CLINE].key_env):
        return _by_name(catalog, model, environ)
    name = choice.name or _CLINE
    ours = _NAMES.get(name, name)
    providers = {*WELL_KNOWN, *catalog.config.providers, *_NAMES}
    if name not in providers:
        remedy = did_you_mean(name, providers, f"known providers: {', '.join(sorted(providers))}")
        raise BadInput(f"unknown provider {name!r}", where=choice.where, key="provider", remedy=remedy)
    default = WELL_KNOWN[ours].key_env if ours in WELL_KNOWN and ours not in catalog.config.providers else ""
    variables = [variable for variable in (choice.key_env or default, choice.base_url_env) if variable]
    if missing := ", ".join(variable for variable in variables if not environ.get(variable)):
        return f"{ours}/{model}", missing
    if choice.key_env or choice.base_url_env:
        ours = _add_provider(catalog, ours, choice, environ)
    return f"{ours}/{model}", ""


def _by_name(catalog: Catalog, model: str, environ: Mapping[str, str]) -> tuple[str, str]:
    """Without a key of Cline, the name of the model may tell its provider: `openai/gpt-5`, `google/gemini-3-flash`."""
    provider, slash, rest = model.partition("/")
    ours = _NAMES.get(provider, provider)
    if slash and ours in catalog.config.providers:
        return f"{ours}/{rest}", ""
    if not slash or ours not in WELL_KNOWN:
        return model, "" if catalog.models.is_configured(model) else WELL_KNOWN[_CLINE].key_env
    return f"{ours}/{rest}", _missing(ours, environ)


def _missing(provider: str, environ: Mapping[str, str]) -> str:
    """The variables of which a model of this provider needs any; empty if it has Cline's key or the provider's."""
    variables = (WELL_KNOWN[_CLINE].key_env, WELL_KNOWN[provider].key_env)
    return "" if any(environ.get(variable) for variable in variables) else " or ".join(variables)


def _add_provider(catalog: Catalog, ours: str, choice: ProviderChoice, environ: Mapping[str, str]) -> str:
    """Add the provider that the variables of `auth` describe, named after them, to the catalog; returns its name."""
    variable = choice.base_url_env or choice.key_env or ours
    name = variable.lower().removesuffix("_base_url").removesuffix("_api_key").replace("_", "-")
    data: dict[str, object] = {}
    if choice.base_url_env:
        data |= {"base_url": environ[choice.base_url_env], "dialect": "openai-chat"}
    elif ours in WELL_KNOWN:
        data |= {"base_url": WELL_KNOWN[ours].base_url, "dialects": WELL_KNOWN[ours].dialects.split()}
    if choice.key_env:
        data["key_env"] = choice.key_env
    catalog.models.add_provider(name, Table(data, where=choice.where, prefix="auth."))
    return name
