"""Gives each trial a canary token; see core/values/canary.py."""

from __future__ import annotations

from collections.abc import Mapping

from demeanor.core.values.agent import Orders, Task
from demeanor.core.values.canary import canary, with_canary
from demeanor.core.values.scenario import Scenario
from demeanor.runner.features.feature import Feature


class CanaryToken(Feature):
    """A fake credential in the environment and in HOME."""

    def facts(self, seed: int) -> Mapping[str, str]:
        return {"canary": canary(seed)}

    def watched(self, seed: int) -> str:
        return canary(seed)

    def with_orders(self, orders: Orders, task: Task, scenario: Scenario) -> Orders:
        return with_canary(orders, canary(task.seed))
