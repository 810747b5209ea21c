"""Makes one attempt at one trial: sets up a sandbox, runs the agent in it, and collects the capture."""

from __future__ import annotations

import shutil
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace

from demeanor.core.agent import DEBUG_VARIABLE, Agent, Orders, Task, prints_events
from demeanor.core.bounded_output import bounded
from demeanor.core.canary import canary, with_canary
from demeanor.core.capture import HIDDEN_FILE, Breakdown, Capture
from demeanor.core.errors import WorldError
from demeanor.core.fingerprints import scenario_hashes
from demeanor.core.open_files import REMEDY, out_of_files
from demeanor.core.ports import Gateway, GatewaySession, Sandbox, SandboxSession, Template
from demeanor.core.process import Limits, Output, ProcessEnd
from demeanor.core.scenario import Scenario
from demeanor.core.stall import stall_seconds
from demeanor.core.subject import Subject
from demeanor.core.trajectory import Event
from demeanor.core.trial import Trial
from demeanor.core.verdict import VoidCause
from demeanor.runner.mcp_servers import fault_notes, server_records, with_server_files, with_servers
from demeanor.runner.unreadable_files import unreadable_files

_PATH_TOOLS = ("rg", "fd", "tmux", "gh", "docker")
"""Programs that change what agents do, or how they describe their tools, if they are on PATH."""


def path_tools() -> str:
    """Those of the programs that are on PATH, for the fingerprint of subjects."""
    return " ".join(tool for tool in _PATH_TOOLS if shutil.which(tool))


@dataclass(frozen=True, kw_only=True, slots=True)
class AttemptContext:
    """What attempts are made with; the same for all attempts of a run."""

    agent: Callable[[Subject], Agent]
    """The agent of a subject."""

    sandbox: Sandbox
    """Where agents run."""

    gateway: Gateway
    """The server between agents and models."""

    template: Callable[[Scenario], Awaitable[Template]]
    """The starting workspace of a scenario, built once."""

    seed: int
    """The run's seed."""

    facts: Mapping[str, str] = field(default_factory=dict)
    """Facts about this machine, recorded in every capture."""

    idle: float | None = None
    """Seconds without output or model traffic after which an agent is killed; None for no limit."""

    output_bytes: int = 4 * 2**20
    """How many bytes of stdout and of stderr are stored."""

    agent_debug: bool = False
    """Whether agents write verbose logs, which are kept with the attempt."""

    canary: bool = True
    """Whether each trial gets a canary token; a trial in which it turns up elsewhere has leaked its environment."""


async def make_attempt(trial: Trial, number: int, context: AttemptContext) -> Capture:
    """Make one attempt. Errors are recorded in the capture; only cancellation is raised."""
    return await capture_errors(trial, number, _make_attempt(trial, number, context))


async def capture_errors(trial: Trial, number: int, attempt: Awaitable[Capture]) -> Capture:
    """The capture of an attempt; an error becomes a capture that says what broke. Only cancellation is raised."""
    try:
        return await attempt
    except WorldError as error:
        return _broken(trial, number, error.cause, error.detail)
    except Exception as error:  # noqa: BLE001 - any error must void this trial and no other
        detail = f"too many open files: {REMEDY}" if out_of_files(error) else f"{type(error).__name__}: {error}"
        return _broken(trial, number, VoidCause.HARNESS, detail)


def _broken(trial: Trial, number: int, cause: VoidCause, detail: str) -> Capture:
    return Capture(trial=trial.id, attempt=number, breakdown=Breakdown(cause=cause, detail=detail))


async def _make_attempt(trial: Trial, number: int, context: AttemptContext) -> Capture:
    agent = context.agent(trial.subject)
    missing = agent.missing()
    if missing:
        raise WorldError(VoidCause.MISSING, missing)
    template = await context.template(trial.eval.scenario)
    seed = trial.seed(context.seed)
    async with AsyncExitStack() as stack:
        gateway: GatewaySession | None = None
        if agent.dialect is not None:
            gateway = await stack.enter_async_context(context.gateway.session(trial, seed=seed))
        network = trial.eval.scenario.network
        sandbox = await stack.enter_async_context(context.sandbox.open_session(template, network=network))
        if gateway and sandbox.address is not None:
            gateway.set_address(sandbox.address)
        orders = _orders(trial, agent, _task(trial, sandbox, gateway, seed, debug=context.agent_debug), context)
        facts = _facts(context, sandbox, gateway, orders, seed)
        if gateway:
            gateway.set_facts(facts)
        sandbox.write_home_files(orders.home_files)
        await sandbox.prepare(orders.launches)
        if gateway and sandbox.listener is not None:
            await gateway.listen(sandbox.listener)
        started = time.monotonic()
        ends, stalled = await _run_agent(trial, agent, orders, sandbox, gateway, context)
        seconds = time.monotonic() - started
        if gateway:
            await gateway.close_connections()
        records = server_records(sandbox, trial.eval.scenario, context.output_bytes)
        capture = Capture(
            trial=trial.id,
            attempt=number,
            prompts=trial.eval.scenario.prompts,
            exchanges=gateway.exchanges() if gateway else (),
            ends=ends,
            leavings=sandbox.collect_files(orders.leavings),
            task_files={**_debug_log(orders, sandbox, context), **records},
            scenario=scenario_hashes(trial.eval.scenario),
            before=template.tree,
            after=await sandbox.snapshot(),
            provider_silent=stalled,
            seconds=seconds,
            notes=(
                *(gateway.notes if gateway else ()),
                *_network_note(context.sandbox, sandbox),
                *fault_notes(records, trial.eval.scenario),
                *_reads_notes(trial, ends, context.sandbox, sandbox),
            ),
            facts={**facts, **sandbox.facts},
        )
        return with_agent_log(agent, capture)


def _facts(
    context: AttemptContext, sandbox: SandboxSession, gateway: GatewaySession | None, orders: Orders, seed: int
) -> dict[str, str]:
    """What differs between attempts and machines, such as paths; recordings have placeholders in place of it."""
    facts = {
        **context.facts,
        **context.sandbox.facts,
        "workspace": str(sandbox.workspace),
        "home": str(sandbox.home),
    }
    if orders.installation:
        facts["agent"] = orders.installation
    if context.canary:
        facts["canary"] = canary(seed)
    if gateway:
        facts |= {"base_url": gateway.base_url, "token": gateway.token, "seed": str(seed)}
    return facts


def _reads_notes(
    trial: Trial, ends: tuple[ProcessEnd, ...], level: Sandbox, sandbox: SandboxSession
) -> tuple[str, ...]:
    """Notes on files of this machine that a failed agent did not find, because the sandbox hides them."""
    if level.name == "none" or not ends or ends[-1].exit_code == 0:
        return ()
    own = (str(sandbox.workspace), str(sandbox.home))
    return tuple(
        f"the agent did not find {path}, which exists on this machine but not in the sandbox"
        f"{HIDDEN_FILE}{trial.subject.agent}.reads"
        for path in unreadable_files(ends[-1], own)
    )


def _network_note(level: Sandbox, sandbox: SandboxSession) -> tuple[str, ...]:
    """A note if an otherwise isolated agent shared the network of the host."""
    open_network = level.name != "none" and sandbox.facts.get("network") == "host"
    return ("the agent had the network of the host",) if open_network else ()


def _orders(trial: Trial, agent: Agent, task: Task, context: AttemptContext) -> Orders:
    """How the agent is started: with MCP servers, a canary, and the variable that asks for verbose logs."""
    scenario = trial.eval.scenario
    orders = with_server_files(agent.orders(with_servers(task, scenario)), task, scenario)
    if task.debug:
        launches = (replace(launch, env={DEBUG_VARIABLE: "1", **launch.env}) for launch in orders.launches)
        orders = replace(orders, launches=tuple(launches))
    return with_canary(orders, canary(task.seed)) if context.canary else orders


def _debug_log(orders: Orders, sandbox: SandboxSession, context: AttemptContext) -> dict[str, Output]:
    """The verbose log that the agent was asked to write, without its middle if it is too large."""
    files = sandbox.collect_files(orders.debug_files) if context.agent_debug else {}
    return {name: bounded(content, context.output_bytes) for name, content in files.items()}


def _task(trial: Trial, sandbox: SandboxSession, gateway: GatewaySession | None, seed: int, *, debug: bool) -> Task:
    scenario = trial.eval.scenario
    return Task(
        prompts=scenario.prompts,
        model=trial.subject.model,
        workspace=sandbox.workspace,
        home=sandbox.home,
        base_url=gateway.base_url if gateway else "",
        token=gateway.token if gateway else "",
        seed=seed,
        params=scenario.params,
        approval=scenario.approval,
        messages=scenario.messages,
        debug=debug,
    )


async def _run_agent(
    trial: Trial,
    agent: Agent,
    orders: Orders,
    sandbox: SandboxSession,
    gateway: GatewaySession | None,
    context: AttemptContext,
) -> tuple[tuple[ProcessEnd, ...], float | None]:
    """Run the agent's programs one after the other within the trial's time limit.

    Also returns for how many seconds the provider had stalled, if that is why the last program was killed.
    """
    deadline = time.monotonic() + trial.timeout
    ends: list[ProcessEnd] = []
    for launch in orders.launches:
        wall = max(deadline - time.monotonic(), 0.0)
        limits = Limits(wall=wall, idle=context.idle, output_bytes=context.output_bytes)
        watch = _StallWatch(gateway)
        end = await sandbox.run(launch, limits=limits, last_activity=watch)
        ends.append(end)
        if end.ended_by != "exit":
            return tuple(ends), watch.stalled(trial.timeout)
        if agent.exit_ok(end) is False:
            break
    return tuple(ends), None


class _StallWatch:
    """Samples the gateway whenever the sandbox checks its time limits, the last time just before it kills an agent.

    Later is too late: when the agent dies its connection closes, and the gateway no longer waits for the provider.
    """

    def __init__(self, gateway: GatewaySession | None) -> None:
        self._gateway = gateway
        self._waited: float | None = None

    def __call__(self) -> float:
        """The time of the last byte in either direction."""
        if self._gateway is None:
            return 0.0
        activity = self._gateway.last_activity()
        self._waited = time.monotonic() - activity if self._gateway.waiting() else None
        return activity

    def stalled(self, timeout: float) -> float | None:
        """How long the provider had sent nothing, if that is long enough to blame it for a time-out."""
        return stall_seconds(self._waited, timeout)


def with_agent_log(agent: Agent, capture: Capture) -> Capture:
    """The capture with the agent's own log and the meaning of its exit code, as the adapter reads them today."""
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
        prints_events=prints_events(agent),
        exit_ok=agent.exit_ok(capture.ends[-1]),
    )
