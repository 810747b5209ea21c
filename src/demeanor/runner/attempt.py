"""One attempt at one trial: a bench is set up, the agent works, and what it leaves is gathered."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace

from demeanor.core.agent import Agent, Orders, Task
from demeanor.core.canary import canary, with_canary
from demeanor.core.capture import Breakdown, Capture
from demeanor.core.errors import WorldError
from demeanor.core.fingerprints import scenario_hashes
from demeanor.core.ports import Gateway, GatewaySession, Sandbox, SandboxSession, Template
from demeanor.core.process import Limits, ProcessEnd
from demeanor.core.scenario import Scenario
from demeanor.core.stall import stall_seconds
from demeanor.core.subject import Subject
from demeanor.core.trajectory import Event
from demeanor.core.trial import Trial
from demeanor.core.verdict import VoidCause


@dataclass(frozen=True, kw_only=True, slots=True)
class AttemptContext:
    """What attempts are made with; the same for all attempts of a run."""

    agent: Callable[[Subject], Agent]
    """The agent of a subject."""

    sandbox: Sandbox
    """Where it runs."""

    gateway: Gateway
    """What stands between it and its model."""

    template: Callable[[Scenario], Awaitable[Template]]
    """The starting workspace of a scenario, laid out once."""

    seed: int
    """The run's seed."""

    facts: Mapping[str, str] = field(default_factory=dict)
    """What every capture should tell of this machine."""

    idle: float | None = None
    """Seconds without output or model traffic after which an agent is ended."""

    output_bytes: int = 4 * 2**20
    """How much of each stream is kept."""

    canary: bool = True
    """Whether each trial is given a token whose sighting is a leak."""


async def make_attempt(trial: Trial, number: int, means: AttemptContext) -> Capture:
    """Carry out one attempt. What breaks in the world is told in the capture; only cancellation is raised."""
    return await capture_errors(trial, number, _make_attempt(trial, number, means))


async def capture_errors(trial: Trial, number: int, attempt: Awaitable[Capture]) -> Capture:
    """What an attempt left, however it ended; only cancellation is raised."""
    try:
        return await attempt
    except WorldError as error:
        return _broken(trial, number, error.cause, error.detail)
    except Exception as error:  # noqa: BLE001 - whatever it is, it must void this trial and no other
        return _broken(trial, number, VoidCause.HARNESS, f"{type(error).__name__}: {error}")


def _broken(trial: Trial, number: int, cause: VoidCause, detail: str) -> Capture:
    return Capture(trial=trial.id, attempt=number, breakdown=Breakdown(cause=cause, detail=detail))


async def _make_attempt(trial: Trial, number: int, means: AttemptContext) -> Capture:
    agent = means.agent(trial.subject)
    missing = agent.missing()
    if missing:
        raise WorldError(VoidCause.MISSING, missing)
    template = await means.template(trial.eval.scenario)
    seed = trial.seed(means.seed)
    async with AsyncExitStack() as stack:
        session: GatewaySession | None = None
        if agent.dialect is not None:
            session = await stack.enter_async_context(means.gateway.session(trial, seed=seed))
        network = trial.eval.scenario.network
        bench = await stack.enter_async_context(means.sandbox.bench(template, network=network))
        facts = {**means.facts, **means.sandbox.facts, "workspace": str(bench.workspace), "home": str(bench.home)}
        if means.canary:
            facts["canary"] = canary(seed)
        if session:
            if bench.address is not None:
                session.set_address(bench.address)
            facts |= {"base_url": session.base_url, "token": session.token, "seed": str(seed)}
            session.set_facts(facts)
        orders = agent.orders(_task(trial, bench, session, seed))
        if means.canary:
            orders = with_canary(orders, canary(seed))
        bench.write_home_files(orders.home_files)
        await bench.furnish(orders.launches)
        if session and bench.listener is not None:
            await session.listen(bench.listener)
        started = time.monotonic()
        ends, silent = await _work(trial, agent, orders, bench, session, means)
        seconds = time.monotonic() - started
        if session:
            await session.close_connections()
        capture = Capture(
            trial=trial.id,
            attempt=number,
            exchanges=session.exchanges() if session else (),
            ends=ends,
            leavings=bench.leavings(orders.leavings),
            scenario=scenario_hashes(trial.eval.scenario),
            before=template.tree,
            after=await bench.snapshot(),
            provider_silent=silent,
            seconds=seconds,
            notes=(*(session.notes if session else ()), *_bench_notes(means.sandbox, bench)),
            facts={**facts, **bench.facts},
        )
        return with_agent_log(agent, capture)


def _bench_notes(sandbox: Sandbox, bench: SandboxSession) -> tuple[str, ...]:
    """What a person should know of the bench: where there are walls, a network without any is worth a word."""
    open_network = sandbox.name != "none" and bench.facts.get("network") == "host"
    return ("the agent had the network of the host",) if open_network else ()


def _task(trial: Trial, bench: SandboxSession, session: GatewaySession | None, seed: int) -> Task:
    scenario = trial.eval.scenario
    return Task(
        prompts=scenario.prompts,
        model=trial.subject.model,
        workspace=bench.workspace,
        home=bench.home,
        base_url=session.base_url if session else "",
        token=session.token if session else "",
        seed=seed,
        params=scenario.params,
        approval=scenario.approval,
        messages=scenario.messages,
    )


async def _work(
    trial: Trial,
    agent: Agent,
    orders: Orders,
    bench: SandboxSession,
    session: GatewaySession | None,
    means: AttemptContext,
) -> tuple[tuple[ProcessEnd, ...], float | None]:
    """Run the agent's programs one after the other, within the trial's time; also: how long the provider was silent."""
    deadline = time.monotonic() + trial.timeout
    ends: list[ProcessEnd] = []
    for launch in orders.launches:
        limits = Limits(wall=max(deadline - time.monotonic(), 0.0), idle=means.idle, output_bytes=means.output_bytes)
        watch = _StallWatch(session)
        end = await bench.run(launch, limits=limits, last_activity=watch)
        ends.append(end)
        if end.ended_by != "exit":
            return tuple(ends), watch.silence(trial.timeout)
        if agent.exit_ok(end) is False:
            break
    return tuple(ends), None


class _StallWatch:
    """Looks at the gateway whenever the bench looks at the clock; for the last time before an agent is ended.

    Afterwards is too late: the end of the agent closes its connection, and nobody owes it an answer any more.
    """

    def __init__(self, session: GatewaySession | None) -> None:
        self._session = session
        self._silent: float | None = None

    def __call__(self) -> float:
        """The moment of the last byte in either direction."""
        if self._session is None:
            return 0.0
        activity = self._session.last_activity()
        self._silent = time.monotonic() - activity if self._session.waiting() else None
        return activity

    def silence(self, timeout: float) -> float | None:
        """How long the provider had owed a byte, if that is long enough to blame it for a time-out."""
        return stall_seconds(self._silent, timeout)


def with_agent_log(agent: Agent, capture: Capture) -> Capture:
    """A capture with what its agent's own log tells, and what its exit means, as the adapter reads them now."""
    log: tuple[Event, ...] = ()
    problem = None
    try:
        log = agent.read_log(capture.ends, capture.leavings)
    except ValueError as error:
        problem = str(error)
    return replace(
        capture,
        log=log,
        log_problem=problem,
        requests_told=agent.tells_requests and problem is None,
        exit_ok=agent.exit_ok(capture.ends[-1]),
    )
