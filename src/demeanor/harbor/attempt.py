"""One attempt at a task: Harbor runs it in a bench of its own, and what it leaves is gathered.

Harbor is a program among others: it has a private HOME, an environment from an allow-list, a limit of its own, and dies
with everything that it started. Where the run is cancelled it is asked to end first, so that it can take its containers
down.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack
from pathlib import Path

from demeanor.core.capture import Capture
from demeanor.core.errors import WorldError
from demeanor.core.fingerprints import TASK_ENVIRONMENT, scenario_hashes
from demeanor.core.harbor_task import HarborTask
from demeanor.core.ports import SandboxSession
from demeanor.core.process import Launch, Limits, ProcessEnd
from demeanor.core.trial import Trial
from demeanor.core.verdict import VoidCause
from demeanor.harbor.agents import TaskAgentSpec, player
from demeanor.harbor.context import TaskContext
from demeanor.harbor.job import agent_config, job_config, longest
from demeanor.harbor.model_route import ModelRoute, open_wire
from demeanor.harbor.result import NoTrial, TrialFolder, read_trial
from demeanor.harbor.stall_watch import StallWatch
from demeanor.harbor.to_capture import gather

_JOB = "job.json"
_FAREWELL = 30.0
_OUTPUT = 2**20
_QUIET = {"HARBOR_TELEMETRY": "off", "LITELLM_LOCAL_MODEL_COST_MAP": "True", "NO_COLOR": "1"}


async def attempt_task(trial: Trial, number: int, means: TaskContext) -> Capture:
    """Carry out one attempt. What breaks is told in the capture, or raised as a WorldError."""
    task, who = trial.eval.task, player(trial.subject, means.rules)
    if task is None or who is None:
        raise WorldError(VoidCause.HARNESS, f"{trial.id} can't be played by Harbor")
    seed = trial.seed(means.seed)
    async with AsyncExitStack() as stack:
        bench = await stack.enter_async_context(means.sandbox.open_session(means.empty))
        wire = await stack.enter_async_context(open_wire(trial, who, means, bench, seed))
        facts = {
            TASK_ENVIRONMENT: means.place.name,
            "harbor": means.version,
            "wire": "seen" if wire.session else "not seen",
            **wire.facts,
        }
        if wire.session:
            wire.session.set_facts(facts)
        jobs = bench.home / "jobs"
        bench.write_home_files({_JOB: _job(trial, task, who, means, wire, jobs)})
        silence = await stack.enter_async_context(StallWatch.of(wire.session))
        end = await _run(trial, task, means, bench, who.keys if wire.direct else ())
        if wire.session:
            await wire.session.close_connections()
        found = await asyncio.to_thread(read_trial, jobs)
        seen = Capture(
            trial=trial.id,
            attempt=number,
            exchanges=wire.exchanges,
            scenario=scenario_hashes(trial.eval.scenario, task),
            provider_silent=_silent(found, silence, trial.timeout),
            notes=wire.notes,
            facts=facts,
        )
        agent = means.agent(trial.subject)
        return await asyncio.to_thread(gather, seen, end, found, agent, who.output)


def _silent(found: TrialFolder | NoTrial, silence: StallWatch, timeout: float) -> float | None:
    """How long the provider had been silent when the agent's time ran out, if that is what happened."""
    if isinstance(found, NoTrial) or not found.timed_out:
        return None
    return silence.before(found.agent_ended, timeout)


def _job(trial: Trial, task: HarborTask, who: TaskAgentSpec, means: TaskContext, wire: ModelRoute, jobs: Path) -> bytes:
    words = {"model": trial.subject.model, "token": wire.facts.get("token", ""), "seed": wire.facts.get("seed", "")}
    model, env, kwargs = who.told(url=wire.url, **words)
    agent = agent_config(who.agent, model=model if trial.subject.model else "", env=env, kwargs=kwargs)
    return job_config(trial, task, place=means.place, agent=agent, jobs=str(jobs), options=wire.options)


async def _run(
    trial: Trial, task: HarborTask, means: TaskContext, bench: SandboxSession, keys: tuple[str, ...]
) -> ProcessEnd:
    """Harbor, from its start to the end of its last process."""
    env = {name: means.environ[name] for name in keys if name in means.environ}
    env |= means.place.variables(means.environ)
    job = str(bench.home / _JOB)
    launch = Launch(
        argv=(*means.program, "run", "-c", job, "-y", "-q"), env={**env, **_QUIET, "PYTHONPATH": str(means.packages)}
    )
    limits = Limits(wall=longest(trial, task), grace=_FAREWELL, farewell=_FAREWELL, output_bytes=_OUTPUT)
    return await bench.run(launch, limits=limits, last_activity=time.monotonic)
