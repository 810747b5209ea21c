"""One attempt at a task: Harbor runs it in a bench of its own, and what it leaves is gathered.

Harbor is a program among others: it has a private HOME, an environment from an allow-list, a limit of its own, and dies
with everything that it started. Where the run is cancelled it is asked to end first, so that it can take its containers
down.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from holdfast.core.agent import Agent
from holdfast.core.capture import Breakdown, Capture
from holdfast.core.errors import WorldError
from holdfast.core.exchange import Exchange
from holdfast.core.harbor_result import OF_THE_PROVIDER, HarborOutcome
from holdfast.core.harbor_rules import HarborRules
from holdfast.core.harbor_task import HarborTask
from holdfast.core.identity import scenario_hashes
from holdfast.core.ports import Bench, Gateway, GatewaySession, Sandbox, Template
from holdfast.core.process import Launch, Limits, Output, ProcessEnd
from holdfast.core.subject import Subject
from holdfast.core.text import excerpt
from holdfast.core.trajectory import Event
from holdfast.core.trial import Trial
from holdfast.core.verdict import VoidCause
from holdfast.harbor.environments import PORT, TaskPlace
from holdfast.harbor.handover import DOOR, handing_over
from holdfast.harbor.job import agent_config, job_config, longest
from holdfast.harbor.result import NoTrial, TrialFolder, read_trial
from holdfast.harbor.roster import WITHOUT_MODEL, Player, player
from holdfast.harbor.silence import Silence

_FAREWELL = 30.0
_OUTPUT = 2**20
_QUIET = {
    "HARBOR_TELEMETRY": "off",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "NO_COLOR": "1",
}
UNSEEN = "the agent went straight to its provider: the wire was not seen"


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskMeans:
    """What attempts at tasks are made with; the same for all of a run."""

    program: tuple[str, ...]
    """The words that start Harbor."""

    version: str
    """Its version, as far as known."""

    rules: HarborRules
    """What the configuration says of it."""

    place: TaskPlace
    """The environment that tasks run in."""

    agent: Callable[[Subject], Agent]
    """The agent of a subject, to read its log."""

    sandbox: Sandbox
    """Where Harbor itself runs: without walls, since it makes them."""

    empty: Template
    """An empty folder to run it in."""

    gateway: Gateway
    """What stands between agents and models."""

    seed: int
    """The run's seed."""

    packages: Path
    """A folder that holds our own package and nothing else, for Harbor to import from."""

    installed: Callable[[Subject], Mapping[str, str]] = lambda subject: {}
    """What our own environment must know to show the installation of a subject's agent."""

    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    """This machine's variables; few of them are passed on."""

    facts: Mapping[str, str] = field(default_factory=dict)
    """What every capture should tell of this machine."""


async def attempt_task(trial: Trial, number: int, means: TaskMeans) -> Capture:
    """Carry out one attempt. What breaks is told in the capture, or raised as a WorldError."""
    task, who = trial.eval.task, player(trial.subject, means.rules)
    if task is None or who is None:
        raise WorldError(VoidCause.HARNESS, f"{trial.id} can't be played by Harbor")
    seed = trial.seed(means.seed)
    async with AsyncExitStack() as stack:
        bench = await stack.enter_async_context(means.sandbox.bench(means.empty))
        wire = await stack.enter_async_context(_wire(trial, who, means, bench, seed))
        facts = {
            **means.facts,
            "environment": means.place.name,
            "harbor": means.version,
            "wire": "seen" if wire.session else "not seen",
            **wire.facts,
        }
        if wire.session:
            wire.session.know(facts)
        jobs = bench.home / "jobs"
        bench.lay_home({"job.json": _job(trial, task, who, means, wire, jobs)})
        watch = await stack.enter_async_context(Silence.of(wire.session))
        end = await _run(trial, task, who, means, bench, watch, direct=wire.direct)
        if wire.session:
            await wire.session.hang_up()
        return _capture(trial, number, means, who, wire, facts, end, read_trial(jobs), watch)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Wire:
    """How an attempt's agent reaches its model."""

    url: str = ""
    """The address that it is told; empty where it is told none."""

    session: GatewaySession | None = None
    """Who serves it there; None where no gateway is asked."""

    options: Mapping[str, str | int] = field(default_factory=dict)
    """What the environment must know of it."""

    direct: bool = False
    """Whether the agent goes straight to its provider."""

    facts: Mapping[str, str] = field(default_factory=dict)
    """What the capture should tell of it."""


@asynccontextmanager
async def _wire(trial: Trial, who: Player, means: TaskMeans, bench: Bench, seed: int) -> AsyncIterator[_Wire]:
    """The way to the model: into our own environment, to an address of this machine, or past us where it may be."""
    if not trial.subject.model or who.agent in WITHOUT_MODEL:
        yield _Wire()
        return
    if why_not := unreachable(who, means.rules, means.place):
        if not means.rules.direct:
            raise WorldError(VoidCause.HARNESS, why_not)
        yield _Wire(direct=True)
        return
    async with AsyncExitStack() as stack:
        session = await stack.enter_async_context(means.gateway.session(trial, seed=seed))
        own = urlsplit(session.base_url)
        options: dict[str, str | int] = {}
        if not who.inside or _shares_network(means.place, trial.eval.task):
            url = session.base_url
        elif means.place.ours:
            await stack.enter_async_context(handing_over(session, bench.workspace))
            options = {"gateway": DOOR, "port": PORT, **means.installed(trial.subject)}
            url = f"http://127.0.0.1:{PORT}{own.path}"
        else:
            sock = stack.enter_context(socket.create_server(("0.0.0.0", 0), backlog=128))  # noqa: S104 - one session's own door, with a token
            await session.listen(sock)
            url = f"http://{means.rules.gateway_host}:{sock.getsockname()[1]}{own.path}"
        facts = {"base_url": url, "token": session.token, "seed": str(seed)}
        yield _Wire(url=url, session=session, options=options, facts=facts)


def _shares_network(place: TaskPlace, task: HarborTask | None) -> bool:
    """Whether an environment of ours is asked for the network of this machine, so that the gateway is there anyway."""
    public = task is not None and task.environment.network.mode == "public"
    return place.ours and public and place.kwargs.get("network") == "host"


def unreachable(who: Player, rules: HarborRules, place: TaskPlace) -> str | None:
    """Why the gateway can't stand between this agent and its model; None where it can."""
    if not who.reachable:
        return (
            f"Harbor's adapter {who.agent} can't be told another address than its provider's;"
            " `harbor.direct = true` lets it go there unseen"
        )
    if who.inside and not place.ours and not rules.gateway_host:
        return (
            f"the gateway can't be reached from an environment of {place.name}: say by which name this machine is, with"
            " `harbor.gateway_host`, or let agents go straight to their provider with `harbor.direct = true`"
        )
    return None


def _job(trial: Trial, task: HarborTask, who: Player, means: TaskMeans, wire: _Wire, jobs: Path) -> bytes:
    words = {"model": trial.subject.model, "token": wire.facts.get("token", ""), "seed": wire.facts.get("seed", "")}
    model, env, kwargs = who.told(url=wire.url, **words)
    agent = agent_config(who.agent, model=model if trial.subject.model else "", env=env, kwargs=kwargs)
    return job_config(trial, task, place=means.place, agent=agent, jobs=str(jobs), options=wire.options)


async def _run(
    trial: Trial, task: HarborTask, who: Player, means: TaskMeans, bench: Bench, watch: Silence, *, direct: bool
) -> ProcessEnd:
    """Harbor, from its start to the end of its last process."""
    passed = (*means.place.pass_env, *(who.keys if direct else ()))
    env = {name: means.environ[name] for name in passed if name in means.environ}
    job = str(bench.home / "job.json")
    launch = Launch(
        argv=(*means.program, "run", "-c", job, "-y", "-q"), env={**env, **_QUIET, "PYTHONPATH": str(means.packages)}
    )
    limits = Limits(wall=longest(trial, task), grace=_FAREWELL, farewell=_FAREWELL, output_bytes=_OUTPUT)
    return await bench.run(launch, limits=limits, last_activity=time.monotonic)


def _capture(
    trial: Trial,
    number: int,
    means: TaskMeans,
    who: Player,
    wire: _Wire,
    facts: Mapping[str, str],
    end: ProcessEnd,
    found: TrialFolder | NoTrial,
    watch: Silence,
) -> Capture:
    exchanges = wire.session.exchanges() if wire.session else ()
    notes = (*(wire.session.notes if wire.session else ()), *((UNSEEN,) if wire.direct else ()))
    if isinstance(found, NoTrial) or end.exit_code != 0:
        why = found.why if isinstance(found, NoTrial) else "its result is not to be believed"
        return Capture(
            trial=trial.id,
            attempt=number,
            exchanges=exchanges,
            breakdown=_did_not_run(end, why),
            seconds=end.seconds,
            notes=notes,
            facts=facts,
        )
    outcome = found.outcome
    agent = means.agent(trial.subject)
    printed = found.printed(who.output)
    log, problem = _log(agent, found, printed)
    silent = watch.before(found.agent_ended, trial.timeout) if _timed_out(outcome) else None
    return Capture(
        trial=trial.id,
        attempt=number,
        exchanges=exchanges,
        log=log,
        log_problem=problem,
        ends=(ProcessEnd(exit_code=0, stdout=printed[-1] if printed else Output(), seconds=found.agent_seconds),),
        breakdown=_breakdown(outcome, found.folder, exchanges),
        provider_silent=silent,
        seconds=found.agent_seconds,
        scenario=scenario_hashes(trial.eval.scenario, trial.eval.task),
        rewards=outcome.rewards,
        step_rewards=outcome.step_rewards,
        task_files=found.leavings(),
        gaps=_gaps(log, seen=bool(exchanges)),
        notes=(*notes, *_own_doing(outcome)),
        facts={**facts, **({"agent_version": found.version} if found.version else {})},
    )


def _did_not_run(end: ProcessEnd, why: str) -> Breakdown:
    how = {"wall": "took too long and was ended"}.get(end.ended_by, f"ended with exit code {end.exit_code}")
    how = f"was ended by signal {end.signal}" if end.signal is not None and end.ended_by == "exit" else how
    said = excerpt("\n".join((end.stdout.text, end.stderr.text)).strip(), lines=15)
    return Breakdown(cause=VoidCause.HARNESS, detail=f"harbor {how}, and {why}:\n{said}")


def _breakdown(outcome: HarborOutcome, folder: Path, exchanges: tuple[Exchange, ...]) -> Breakdown | None:
    """What broke around the agent. Of its provider Harbor knows by what was printed: who saw the wire knows better.

    The trial's folder, which is another one in each attempt, is left out of what is told.
    """
    failed = bool(exchanges) and exchanges[-1].error is not None
    if outcome.trouble is None:
        return None
    cause, detail = outcome.trouble
    if failed and cause in {*OF_THE_PROVIDER, VoidCause.HARNESS, VoidCause.VERIFIER}:
        return None
    if exchanges and cause in OF_THE_PROVIDER and outcome.rewards is not None:
        return None
    return Breakdown(cause=cause, detail=detail.replace(f"{folder}/", ""))


def _timed_out(outcome: HarborOutcome) -> bool:
    return outcome.own is not None and outcome.own.kind.startswith("AgentTimeout")


def _own_doing(outcome: HarborOutcome) -> tuple[str, ...]:
    return (excerpt(str(outcome.own), lines=3),) if outcome.own else ()


def _log(agent: Agent, found: TrialFolder, printed: tuple[Output, ...]) -> tuple[tuple[Event, ...], str | None]:
    """What the agent's own log tells: read by our adapter where it can, else what Harbor made of it."""
    problem = None
    if printed:
        try:
            ends = tuple(ProcessEnd(exit_code=0, stdout=output) for output in printed)
            if log := agent.read_log(ends, {}):
                return log, None
        except ValueError as error:
            problem = str(error)
    told = found.told(agent.tool_kinds)
    return told, None if told else problem


def _gaps(log: tuple[Event, ...], *, seen: bool) -> tuple[str, ...]:
    if seen or not log:
        return ()
    return ("only the agent's own log tells what it did; a call that was under way when it ended may be missing",)
