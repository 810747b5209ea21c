"""The agents and models of a configuration: created once, and checked before anything runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from demeanor.agents import BUILT_IN, CODING_AGENTS, make_agent, third_party
from demeanor.config import Config, Table
from demeanor.core.redaction.redactor import Redactor
from demeanor.core.values.agent import Ability, Agent, Orders, Task
from demeanor.core.values.errors import UnknownName, UsageError, WorldError
from demeanor.core.values.process import ProcessEnd
from demeanor.core.values.subject import Subject
from demeanor.core.values.trajectory import Event, Kind
from demeanor.core.values.verdict import VoidCause
from demeanor.gateway.local import DEFAULT_MODEL, WEIGHTS
from demeanor.runner.engines import Engine, engine_class, installed_engines
from demeanor.runner.secrets import known_secrets

if TYPE_CHECKING:
    from demeanor.core.values.trial import Plan
    from demeanor.gateway.models import ModelRegistry, Provider

SCRIPTED = "scripted"

NATIVE = "native"

BARE_AGENTS = (NATIVE, *CODING_AGENTS)
"""Agents that need no table in the configuration."""


@dataclass(kw_only=True)
class Catalog:
    """The agents and models of a configuration: created once, and checked before anything runs."""

    config: Config
    """The configuration."""

    environ: Mapping[str, str]
    """The environment, which holds the API keys."""

    replaying: bool = False
    """Whether cassettes answer for all models, so that no model needs to be available."""

    made: dict[str, Agent] = field(default_factory=dict)
    """The agents created so far, by name."""

    built: bool = False
    """Whether the project is built, if it has a build command; until then, its files may be missing."""

    engines: dict[str, Engine] = field(default_factory=dict)
    """The engines created so far, by name."""

    only_for_tasks: set[str] = field(default_factory=set)
    """The names of the agents created so far that run whole tasks only."""

    def engine(self, name: str) -> Engine:
        """The engine of that name."""
        if name not in self.engines:
            self.engines[name] = engine_class(name)(self)
        return self.engines[name]

    def agents(self) -> dict[str, Agent]:
        """The native agent and every agent of the configuration, by name."""
        return {name: self.agent(name) for name in dict.fromkeys((NATIVE, *self.config.agents))}

    def agent(self, name: str) -> Agent:
        """The agent of that name."""
        if name not in self.made:
            agents = {*BARE_AGENTS, *self.config.agents}
            if name not in agents and name not in third_party():
                return self._task_agent(name, {*agents, *third_party()})
            unbuilt = bool(self.config.build.command) and not self.built
            table = self.config.tables("agents", unbuilt=unbuilt).get(name) or Table(
                {}, where=self.config.where, prefix=f"agents.{name}."
            )
            table.texts("also")
            bare = name in BUILT_IN or name not in self.config.agents
            self.made[name] = make_agent(name, table.text("adapter", name, required=not bare), table)
        return self.made[name]

    def _task_agent(self, name: str, others: set[str]) -> Agent:
        """The agent of that name of an engine; raises UnknownName if none has it."""
        dialects: dict[str, str | None] = {}
        broken: UsageError | None = None
        for engine in installed_engines():
            try:
                dialects |= self.engine(engine).agents()
            except UsageError as error:
                broken = error
        if name not in dialects:
            raise broken or UnknownName("agent", name, {*others, *dialects}, where=self.config.file)
        self.only_for_tasks.add(name)
        self.made[name] = TaskAgent(name=name, dialect=dialects[name])
        return self.made[name]

    def use_built_files(self, subjects: Iterable[Subject]) -> None:
        """Create the agents of these subjects again, now that the project is built; a missing file is an error.

        If it is built elsewhere, the files are missing here, and nothing changes.
        """
        if self.config.executor.builds:
            return
        if self.config.build.command and not self.built:
            self.built = True
            self.made.clear()
        for subject in subjects:
            self.of(subject)

    def refuse_missing_programs(self, plan: Plan) -> None:
        """Raise UsageError if a program that a trial of the plan starts on this machine is missing."""
        if self.config.executor.remote:
            return
        started = {c.subject.agent: c.subject for c in plan.cells if c.trials and c.eval.task is None}
        for subject in started.values():
            if missing := self.of(subject).missing():
                raise UsageError(missing.replace("; ", "\n  → ", 1))

    @cached_property
    def models(self) -> ModelRegistry:
        """The models of the configuration; imported only if one is needed."""
        from demeanor.gateway.models import ModelRegistry

        config = self.config
        return ModelRegistry(
            config.tables("models"),
            config.tables("providers"),
            root=config.root,
            environ=self.environ,
            where=config.where,
            need_keys=not config.executor.remote,
        )

    def make_room(self, trials: int) -> None:
        """Let the models on this machine that were asked for hold the conversations of so many trials at once."""
        if "models" in vars(self):
            self.models.make_room(trials)

    @property
    def price_list(self) -> str:
        """The name and version of the price list, if a model has its price from there; otherwise empty."""
        return self.models.price_list if "models" in vars(self) else ""

    @cached_property
    def redactor(self) -> Redactor:
        """Removes the project's secrets from everything that is stored."""
        return Redactor(known_secrets(self.config, self.environ))

    @cached_property
    def subjects(self) -> tuple[str, ...]:
        """The subjects to test if none are named: those of the configuration, or else the native agent with the local
        model, or with `scripted` if there is no local model."""
        return self.config.subjects or (f"native:{SCRIPTED if self.no_local_model else DEFAULT_MODEL}",)

    @cached_property
    def no_local_model(self) -> str | None:
        """Why the default local model can't be used, and what to do about it; None if it can."""
        from demeanor.gateway.local import missing_requirement

        return missing_requirement(WEIGHTS[DEFAULT_MODEL], self.environ)

    @property
    def used_providers(self) -> tuple[Provider, ...]:
        """The providers of the models that were asked for."""
        return self.models.providers if "models" in vars(self) else ()

    @property
    def added_providers(self) -> Mapping[str, Mapping[str, object]]:
        """The providers that evals brought along, by name."""
        return self.models.added if "models" in vars(self) else {}

    def also(self, agent: str) -> tuple[str, ...]:
        """The models that an agent may request besides its subject's."""
        table = self.config.tables("agents").get(agent)
        return table.texts("also") if table else ()

    def of(self, subject: Subject) -> Agent:
        """The agent of a subject."""
        return self.agent(subject.agent)

    def subject(self, text: str, model: str | None = None, *, where: str = "") -> Subject:
        """The subject written as `agent:model` at the place `where`; `model` replaces the written one."""
        agent, _, named = text.partition(":")
        chosen = model if model is not None else named
        try:
            needs_model = self.agent(agent).dialect is not None
        except UnknownName as error:
            raise (UnknownName(error.kind, agent, error.known, where=where) if error.name == agent else error) from None
        if needs_model and not chosen:
            problem = f"subject {text!r} has no model\n  → write {agent}:MODEL, such as {agent}:{SCRIPTED}"
            raise UsageError(f"{where}: {problem}" if where else problem)
        names = (chosen, *self.also(agent)) if needs_model and not self.replaying else ()
        answers = "+".join(self.models.hash_of(name, where if name == chosen else None) for name in names)
        return Subject(agent=agent, model=chosen, settings=dict(self.config.agents.get(agent, {})), model_hash=answers)


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskAgent:
    """An agent that only an engine can start; see `Agent` in core/values/agent.py."""

    name: str
    """Its name in a subject."""

    dialect: str | None = None
    """The model API it uses; None if it needs no model."""

    tool_kinds: Mapping[str, Kind] = field(default_factory=dict)
    """The kinds of its tools; empty for the usual names."""

    cannot: Mapping[Ability, str] = field(default_factory=dict)
    """Its missing abilities; none are known."""

    params: tuple[str, ...] | None = None
    """Its parameters; None, because a task passes no settings to it."""

    tells_requests: bool = False
    """Whether it reports permission requests; an engine does not let it."""

    def orders(self, task: Task) -> Orders:
        """Raise WorldError: only its engine can start it."""
        raise WorldError(VoidCause.HARNESS, f"{self.name} can run tasks only")

    def exit_ok(self, end: ProcessEnd) -> bool | None:
        """None: its exit code says nothing."""
        return None

    def read_log(self, ends: tuple[ProcessEnd, ...], leavings: Mapping[str, bytes]) -> tuple[Event, ...]:
        """Nothing: its engine reads its log."""
        return ()

    def missing(self) -> str | None:
        """None: its engine installs it."""
        return None

    def version(self) -> str | None:
        """None: its engine reports it with each trial."""
        return None
