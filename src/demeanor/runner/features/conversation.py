"""What an agent is told besides its prompts: the beginning of its conversation, answers to its requests, steering."""

from __future__ import annotations

from dataclasses import replace

from demeanor.core.values.agent import Task
from demeanor.core.values.scenario import Scenario
from demeanor.runner.features.feature import Feature


class EarlierMessages(Feature):
    """The conversation that the agent resumes."""

    def with_task(self, task: Task, scenario: Scenario) -> Task:
        return replace(task, messages=scenario.messages)


class StartingPrefix(Feature):
    """The recorded beginning of a trial, which the gateway replays to an agent with the model of the recording."""

    def with_task(self, task: Task, scenario: Scenario) -> Task:
        return task if scenario.start is None else replace(task, model=scenario.start.model)


class ApprovalAnswers(Feature):
    """The answers to the agent's requests for confirmation."""

    def with_task(self, task: Task, scenario: Scenario) -> Task:
        return replace(task, approval=scenario.approval)


class SteeringMessages(Feature):
    """What the user says while the agent works."""

    def with_task(self, task: Task, scenario: Scenario) -> Task:
        return replace(task, steer=scenario.steer)
