"""Asks the agent for a verbose log, and keeps it with the attempt."""

from __future__ import annotations

from dataclasses import replace

from demeanor.core.text.bounded_output import bounded
from demeanor.core.values.agent import DEBUG_VARIABLE, Orders, Task
from demeanor.core.values.capture import Capture
from demeanor.core.values.scenario import Scenario
from demeanor.runner.features.feature import Feature
from demeanor.runner.trial_so_far import TrialSoFar


class DebugLog(Feature):
    """The verbose log of the agent, without its middle if it is too large."""

    def with_task(self, task: Task, scenario: Scenario) -> Task:
        return replace(task, debug=True)

    def with_orders(self, orders: Orders, task: Task, scenario: Scenario) -> Orders:
        launches = (replace(launch, env={DEBUG_VARIABLE: "1", **launch.env}) for launch in orders.launches)
        return replace(orders, launches=tuple(launches))

    async def with_capture(self, capture: Capture, attempt: TrialSoFar) -> Capture:
        run = attempt.run
        files = run.sandbox.collect_files(run.orders.debug_files)
        logs = {name: bounded(content, run.limits.output_bytes) for name, content in files.items()}
        return replace(capture, task_files={**capture.task_files, **logs})
