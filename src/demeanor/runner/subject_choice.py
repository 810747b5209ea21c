"""Which subjects an eval is run with: those of the request, the eval's own, or those of the configuration.

The `models` of an eval are a choice of models for the agents of the run. Only an agent that asks a model through the
gateway needs a provider for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from demeanor.core.values.eval import Eval
from demeanor.core.values.run_request import RunRequest
from demeanor.core.values.subject import Subject
from demeanor.runner.catalog import Catalog
from demeanor.runner.scenario_models import served_model


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
