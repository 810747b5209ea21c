"""The user of an eval, who answers after the agent's turns; see runner/users.py."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

from demeanor.core.values.agent import Agent, Task, asks_user
from demeanor.core.values.capture import Capture
from demeanor.core.values.eval import Eval
from demeanor.core.values.scenario import Scenario
from demeanor.core.values.trial import Trial
from demeanor.core.values.user import user_said
from demeanor.runner.features.feature import Feature, Services
from demeanor.runner.trial_so_far import TrialSoFar
from demeanor.runner.users import TrialUser, user_models, user_trial


class Users(Feature):
    """The user, who is asked by the attempt, or by the agent's program through the gateway."""

    def models(self, evals: Sequence[Eval]) -> tuple[str, ...] | None:
        return user_models(evals) if any(eval_.scenario.user is not None for eval_ in evals) else None

    def sessions(self, trial: Trial) -> tuple[Trial, ...]:
        return (user_trial(trial),)

    def needs_gateway(self, agent: Agent, scenario: Scenario) -> bool:
        return scenario.user is not None and asks_user(agent)

    def with_task(self, task: Task, scenario: Scenario) -> Task:
        return replace(task, user=scenario.user is not None)

    @asynccontextmanager
    async def around(self, attempt: TrialSoFar, services: Services) -> AsyncIterator[None]:
        run = attempt.run
        if attempt.trial.eval.scenario.user is None:
            yield
            return
        user = TrialUser(attempt.trial, services, attempt.evidence, seed=run.task.seed, facts=attempt.facts)
        run.user = user
        try:
            if run.gateway and asks_user(run.agent):
                run.gateway.set_user(user)
            yield
            await user.end()
        finally:
            await user.close()

    async def with_capture(self, capture: Capture, attempt: TrialSoFar) -> Capture:
        user = attempt.run.user
        if user is None:
            return capture
        return replace(
            capture,
            prompts=(*capture.prompts, *user_said(user.turns)),
            user=tuple(user.turns),
            notes=(*capture.notes, *user.notes),
        )
