"""Gives each trial a canary token; see core/canary.py."""

from __future__ import annotations

from collections.abc import Mapping

from demeanor.core.agent import Orders, Task
from demeanor.core.canary import canary, with_canary
from demeanor.core.scenario import Scenario
from demeanor.runner.features.feature import Feature


class CanaryToken(Feature):
    """A fake credential in the environment and in HOME."""

    def facts(self, seed: int) -> Mapping[str, str]:
        return {"canary": canary(seed)}

    def with_orders(self, orders: Orders, task: Task, scenario: Scenario) -> Orders:
        return with_canary(orders, canary(task.seed))
