"""What an eval or a run adds to an attempt besides files and prompts: the interface of features."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from demeanor.core.values.agent import Orders, Task
from demeanor.core.values.capture import Capture
from demeanor.core.values.eval import Eval
from demeanor.core.values.ports import SandboxSession
from demeanor.core.values.process import Launch
from demeanor.core.values.sandbox_spec import Network
from demeanor.core.values.scenario import Scenario


@dataclass(frozen=True, kw_only=True, slots=True)
class AttemptEnd:
    """An attempt whose programs have ended, while its sandbox still exists."""

    scenario: Scenario
    orders: Orders
    """How the agent was started."""

    sandbox: SandboxSession
    output_bytes: int
    """The limit of a file that is kept as text."""


class Feature:
    """One feature. In the order of an attempt, each method gets a value and returns it with what the feature adds."""

    def check_sandbox(self, evals: Iterable[Eval], level: str, network: Network) -> None:
        """Raise BadInput if a sandbox can't provide what an eval asks for."""

    def facts(self, seed: int) -> Mapping[str, str]:
        """What differs between attempts because of the feature; recordings have placeholders in place of it."""
        return {}

    def with_task(self, task: Task, scenario: Scenario) -> Task:
        """What the adapter is told."""
        return task

    def with_orders(self, orders: Orders, task: Task, scenario: Scenario) -> Orders:
        """How the agent is started."""
        return orders

    def with_launch(self, launch: Launch, task: Task, scenario: Scenario) -> Launch:
        """How a command that runs after the agent is started."""
        return launch

    async def with_capture(self, capture: Capture, end: AttemptEnd) -> Capture:
        """What the attempt has left."""
        return capture
