"""One attempt at a task: Harbor runs it in its own sandbox session, and its results become a capture.

Harbor is run like an agent: with a private HOME, an environment from an allow-list and a time limit, and all its
processes are killed at the end. When the run is cancelled it gets time to exit first, so that it can remove its
containers.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from demeanor.core.values.capture import Capture, stall_seconds
from demeanor.core.values.errors import WorldError
from demeanor.core.values.fingerprints import TASK_ENVIRONMENT, scenario_hashes
from demeanor.core.values.ports import GatewaySession, SandboxSession
from demeanor.core.values.process import Launch, Limits, ProcessEnd
from demeanor.core.values.trial import Trial
from demeanor.core.values.verdict import VoidCause
from demeanor.plugins.harbor.format.task import HarborTask
from demeanor.plugins.harbor.trials.agents import TaskAgentSpec, task_agent_spec
from demeanor.plugins.harbor.trials.context import TaskContext
from demeanor.plugins.harbor.trials.job import agent_config, job_config, max_seconds
from demeanor.plugins.harbor.trials.model_route import ModelRoute, open_route
from demeanor.plugins.harbor.trials.result import NoTrial, TrialFolder, read_trial
from demeanor.plugins.harbor.trials.to_capture import to_capture

_JOB = "job.json"
_GRACE = 30.0
_OUTPUT = 2**20
_ENVIRONMENT = {"HARBOR_TELEMETRY": "off", "LITELLM_LOCAL_MODEL_COST_MAP": "True", "NO_COLOR": "1"}


async def attempt_task(trial: Trial, number: int, context: TaskContext) -> Capture:
    """Run one attempt. Failures are recorded in the capture, or raised as a WorldError."""
    task, spec = trial.eval.task, task_agent_spec(trial.subject, context.rules)
    if not isinstance(task, HarborTask) or spec is None:
        raise WorldError(VoidCause.HARNESS, f"Harbor can't run {trial.id}: it has no task, or the agent is unknown")
    seed = trial.seed(context.seed)
    async with AsyncExitStack() as stack:
        session = await stack.enter_async_context(context.sandbox.open_session(context.empty))
        route = await stack.enter_async_context(open_route(trial, spec, context, session, seed))
        facts = {
            TASK_ENVIRONMENT: context.environment.name,
            "harbor": context.version,
            "wire": "seen" if route.session else "not seen",
            **route.facts,
        }
        if route.session:
            route.session.set_facts(facts)
        jobs = session.home / "jobs"
        session.write_home_files({_JOB: _job(trial, task, spec, context, route, jobs)})
        stalls = await stack.enter_async_context(StallWatch.of(route.session))
        end = await _run(trial, task, context, session, spec.keys if route.direct else ())
        if route.session:
            await route.session.close_connections()
        folder = await asyncio.to_thread(read_trial, jobs)
        observed = Capture(
            trial=trial.id,
            attempt=number,
            exchanges=route.exchanges,
            scenario=scenario_hashes(trial.eval.scenario, task),
            provider_silent=_provider_silence(folder, stalls, trial.timeout),
            notes=route.notes,
            facts=facts,
        )
        agent = context.agent(trial.subject)
        return await asyncio.to_thread(to_capture, observed, end, folder, agent, spec.output)


def _provider_silence(folder: TrialFolder | NoTrial, stalls: StallWatch, timeout: float) -> float | None:
    """How long the provider had been silent when the agent timed out; None if it did not time out."""
    if isinstance(folder, NoTrial) or not folder.timed_out:
        return None
    return stalls.at(folder.agent_ended, timeout)


def _job(
    trial: Trial, task: HarborTask, spec: TaskAgentSpec, context: TaskContext, route: ModelRoute, jobs: Path
) -> bytes:
    values = {"model": trial.subject.model, "token": route.facts.get("token", ""), "seed": route.facts.get("seed", "")}
    model, env, kwargs = spec.settings_for(url=route.url, **values)
    agent = agent_config(spec.agent, model=model if trial.subject.model else "", env=env, kwargs=kwargs)
    return job_config(trial, task, environment=context.environment, agent=agent, jobs=str(jobs), options=route.options)


async def _run(
    trial: Trial, task: HarborTask, context: TaskContext, session: SandboxSession, keys: tuple[str, ...]
) -> ProcessEnd:
    """Run Harbor until its last process has ended."""
    env = {name: context.environ[name] for name in keys if name in context.environ}
    env |= context.environment.variables(context.environ)
    job = str(session.home / _JOB)
    launch = Launch(
        argv=(*context.program, "run", "-c", job, "-y", "-q"),
        env={**env, **_ENVIRONMENT, "PYTHONPATH": str(context.packages)},
    )
    limits = Limits(wall=max_seconds(trial, task), grace=_GRACE, farewell=_GRACE, output_bytes=_OUTPUT)
    return await session.run(launch, limits=limits, last_activity=time.monotonic)


# Records how long the provider has been silent while an agent runs.
#
# When an agent times out, its connections are closed, and the gateway no longer waits for an answer. Harbor kills
# the agent, not Demeanor, so the gateway is polled all the time, and the record is searched afterwards.

_INTERVAL = 0.5
_TOLERANCE = 3.0


class StallWatch:
    """When the gateway was waiting for the provider, and for how long."""

    def __init__(self, session: GatewaySession | None) -> None:
        self._session = session
        self._silences: list[tuple[float, float]] = []

    @classmethod
    @asynccontextmanager
    async def of(cls, session: GatewaySession | None) -> AsyncIterator[StallWatch]:
        """A watch that polls the session within this context."""
        watch = cls(session)
        polling = asyncio.ensure_future(watch._poll_repeatedly()) if session else None
        try:
            yield watch
        finally:
            if polling:
                polling.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await polling

    async def _poll_repeatedly(self) -> None:
        while True:
            self._poll()
            await asyncio.sleep(_INTERVAL)

    def _poll(self) -> None:
        if self._session is None or not self._session.waiting():
            return
        silent = time.monotonic() - self._session.last_activity()
        if self._silences and silent > self._silences[-1][1]:
            self._silences.pop()  # the same silence continues
        self._silences.append((time.time(), silent))

    def at(self, moment: float | None, timeout: float) -> float | None:
        """How long the provider had been silent at a time (seconds since 1970), if that is long enough to blame it."""
        if moment is None:
            return None
        silent = max((seconds for when, seconds in self._silences if abs(when - moment) < _TOLERANCE), default=None)
        return stall_seconds(silent, timeout)
