"""What a scenario and a run add to an attempt besides files and prompts: the interface of features."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field

from demeanor.core.redaction.redactor import Redactor
from demeanor.core.values.agent import Agent, Orders, Task
from demeanor.core.values.capture import Capture
from demeanor.core.values.eval import Eval
from demeanor.core.values.ports import Gateway, RunCommand
from demeanor.core.values.process import Launch
from demeanor.core.values.sandbox_spec import Network
from demeanor.core.values.scenario import Scenario
from demeanor.core.values.trial import Trial
from demeanor.judge import AskUser
from demeanor.runner.schedule import Retries
from demeanor.runner.trial_so_far import TrialSoFar


@dataclass(frozen=True, kw_only=True, slots=True)
class Services:
    """What features may use while an agent runs; the same for all attempts of a run."""

    gateway: Gateway
    """Where models are asked."""

    call_author: AskUser
    """Calls a function of the eval's author."""

    run_command: RunCommand
    """Runs the commands of such a function."""

    redactor: Redactor
    """Removes secrets from what the agent said, before a model is shown it."""

    retries: Retries = field(default_factory=lambda: Retries(most=3))
    """How often a model is asked again after a temporary failure."""


class Feature:
    """One feature. In the order of an attempt, each method gets a value and returns it with what the feature adds."""

    def check_sandbox(self, evals: Iterable[Eval], level: str, network: Network) -> None:
        """Raise BadInput if a sandbox can't provide what an eval asks for."""

    def models(self, evals: Sequence[Eval]) -> tuple[str, ...] | None:
        """The models that it asks in trials of these evals; None if it needs no gateway for any of them."""
        return None

    def sessions(self, trial: Trial) -> tuple[Trial, ...]:
        """The trials under whose ids it asks models."""
        return ()

    def needs_gateway(self, agent: Agent, scenario: Scenario) -> bool:
        """Whether the agent needs the gateway, even if it asks no model."""
        return False

    def facts(self, seed: int) -> Mapping[str, str]:
        """What differs between attempts because of the feature; recordings have placeholders in place of it."""
        return {}

    def watched(self, seed: int) -> str:
        """A text that is looked for in the whole output of the agent; empty for none."""
        return ""

    def with_task(self, task: Task, scenario: Scenario) -> Task:
        """What the adapter is told."""
        return task

    def with_orders(self, orders: Orders, task: Task, scenario: Scenario) -> Orders:
        """How the agent is started."""
        return orders

    def then(self, orders: Orders, task: Task, scenario: Scenario) -> tuple[Launch, ...]:
        """Commands that run after the agent."""
        return ()

    def with_launch(self, launch: Launch, task: Task, scenario: Scenario) -> Launch:
        """How such a command is started."""
        return launch

    def around(self, attempt: TrialSoFar, services: Services) -> AbstractAsyncContextManager[None]:
        """What happens while the agent runs; it ends when the connections of the agent are closed."""
        return nullcontext()

    async def with_capture(self, capture: Capture, attempt: TrialSoFar) -> Capture:
        """What the attempt has left; its programs have ended, and its sandbox still exists."""
        return capture
