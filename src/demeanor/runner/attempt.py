"""Makes one attempt at one trial: sets up a sandbox, runs the agent in it, and collects the capture."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from demeanor.core.trees.open_files import REMEDY, out_of_files
from demeanor.core.values.agent import Agent, Orders, Task
from demeanor.core.values.capture import NOTE_REMEDY, Breakdown, Capture
from demeanor.core.values.errors import BadInput, WorldError
from demeanor.core.values.fingerprints import AGENT_FILES, scenario_hashes
from demeanor.core.values.ports import Gateway, GatewaySession, Sandbox, SandboxSession, Template
from demeanor.core.values.process import Launch, Limits, ProcessEnd
from demeanor.core.values.scenario import Scenario
from demeanor.core.values.subject import Subject
from demeanor.core.values.trial import Trial
from demeanor.core.values.verdict import VoidCause
from demeanor.runner.agent_files import AgentFiles
from demeanor.runner.agent_run import AgentRun
from demeanor.runner.features import Feature, Services
from demeanor.runner.trial_so_far import TrialSoFar, with_agent_log
from demeanor.sandboxes import can_read, paths_to_bind

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

    files: AgentFiles | None = None
    """Tells what the agents are made of; None leaves that out of their fingerprints."""

    idle: float | None = None
    """Seconds without output or model traffic after which an agent is killed; None for no limit."""

    output_bytes: int = 4 * 2**20
    """How many bytes of stdout and of stderr are stored."""

    services: Services
    """What features may use."""

    features: tuple[Feature, ...] = ()
    """What evals and the run add to each attempt."""


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
    try:
        template = await context.template(trial.eval.scenario)
    except BadInput as error:
        raise WorldError(VoidCause.SETUP, str(error)) from None
    seed, scenario = trial.seed(context.seed), trial.eval.scenario
    async with AsyncExitStack() as stack:
        gateway: GatewaySession | None = None
        if agent.dialect is not None or any(feature.needs_gateway(agent, scenario) for feature in context.features):
            gateway = await stack.enter_async_context(context.gateway.session(trial, seed=seed))
        sandbox = await stack.enter_async_context(context.sandbox.open_session(template, network=scenario.network))
        if gateway and sandbox.address is not None:
            gateway.set_address(sandbox.address)
        task = _task(trial, sandbox, gateway, seed, context)
        orders = _orders(trial, agent, task, context)
        facts = _facts(context, sandbox, gateway, orders, seed, uses_model=agent.dialect is not None)
        if context.files is not None:
            confined = context.sandbox.name != "none"
            if identity := context.files.identity(agent, orders, confined=confined):
                facts[AGENT_FILES] = identity
        if gateway:
            gateway.set_facts({**facts, "network": sandbox.facts.get("network", "host")})
        sandbox.write_home_files(orders.home_files)
        then = _then(trial, orders, task, context)
        await sandbox.prepare((*orders.launches, *then))
        if gateway and sandbox.listener is not None:
            await gateway.listen(sandbox.listener)
        run = AgentRun(
            agent=agent,
            task=task,
            orders=orders,
            order=partial(_orders, trial, agent, context=context),
            sandbox=sandbox,
            gateway=gateway,
            limits=Limits(
                wall=trial.timeout,
                idle=context.idle,
                output_bytes=context.output_bytes,
                watch=next(filter(None, (feature.watched(seed) for feature in context.features)), ""),
            ),
            then=then,
        )
        so_far = TrialSoFar(trial=trial, run=run, before=template.tree, facts=facts, command=context.sandbox.command)
        async with AsyncExitStack() as during:
            for feature in context.features:
                await during.enter_async_context(feature.around(so_far, context.services))
            await run.run(so_far.last_message)
            if gateway:
                await gateway.close_connections()
        capture = await _capture(number, context, so_far)
        return with_agent_log(agent, replace(capture, seconds=round(run.seconds, 6)))


async def _capture(number: int, context: AttemptContext, so_far: TrialSoFar) -> Capture:
    """What the attempt has left."""
    run, trial, scenario = so_far.run, so_far.trial, so_far.trial.eval.scenario
    sandbox, gateway = run.sandbox, run.gateway
    capture = Capture(
        trial=trial.id,
        attempt=number,
        prompts=scenario.prompts,
        exchanges=gateway.exchanges() if gateway else (),
        ends=tuple(run.ends),
        then=tuple(run.then_ends),
        leavings=sandbox.collect_files(run.orders.leavings),
        scenario=scenario_hashes(scenario),
        before=so_far.before,
        after=await sandbox.snapshot(),
        breakdown=Breakdown(cause=VoidCause.SANDBOX, detail=run.refused) if run.refused else None,
        provider_silent=run.stalled,
        notes=(
            *(gateway.notes if gateway else ()),
            *_network_note(context.sandbox, sandbox),
            *await _start_notes(trial, context.sandbox, run),
        ),
        facts={**so_far.facts, **sandbox.facts},
    )
    for feature in context.features:
        capture = await feature.with_capture(capture, so_far)
    return capture


def _then(trial: Trial, orders: Orders, task: Task, context: AttemptContext) -> tuple[Launch, ...]:
    """How the commands after the agent are started."""
    scenario = trial.eval.scenario
    launches = [launch for feature in context.features for launch in feature.then(orders, task, scenario)]
    for feature in context.features:
        launches = [feature.with_launch(launch, task, scenario) for launch in launches]
    return tuple(launches)


def _facts(
    context: AttemptContext,
    sandbox: SandboxSession,
    gateway: GatewaySession | None,
    orders: Orders,
    seed: int,
    *,
    uses_model: bool,
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
    for feature in context.features:
        facts |= feature.facts(seed)
    if gateway:
        facts |= {"token": gateway.token, "seed": str(seed)}
    if gateway and uses_model:
        facts["base_url"] = gateway.base_url
    return facts


async def _start_notes(trial: Trial, level: Sandbox, run: AgentRun) -> tuple[str, ...]:
    """Notes on what a failed agent did not find: files that the sandbox hides, and a Python module."""
    if level.name == "none" or not run.ends or run.ends[-1].exit_code == 0:
        return ()
    from demeanor.runner.missing_module import ModuleSearch, explain_missing_module, missing_module

    agent, end, launch = trial.subject.agent, run.ends[-1], run.orders.launches[-1]
    readable = partial(can_read, shown=paths_to_bind(launch.reads))
    own = (str(run.sandbox.workspace), str(run.sandbox.home))
    notes = [
        f"the agent did not find {path}, which exists on this machine but not in the sandbox"
        f"{NOTE_REMEDY}add it to agents.{agent}.reads"
        for path in hidden_files(end, own, readable)
    ]
    if name := missing_module(end):
        search = ModuleSearch(words=(*run.orders.program, *launch.argv), env=launch.env, readable=readable)
        if explanation := await asyncio.to_thread(explain_missing_module, name, search, agent):
            notes.append(NOTE_REMEDY.join(explanation))
    return tuple(notes)


def _network_note(level: Sandbox, sandbox: SandboxSession) -> tuple[str, ...]:
    """A note if an otherwise isolated agent shared the network of the host."""
    open_network = level.name != "none" and sandbox.facts.get("network") == "host"
    return ("the agent had the network of the host",) if open_network else ()


def _orders(trial: Trial, agent: Agent, task: Task, context: AttemptContext) -> Orders:
    """How the agent is started, with what the features of the run add."""
    scenario = trial.eval.scenario
    orders = agent.orders(task)
    for feature in context.features:
        orders = feature.with_orders(orders, task, scenario)
    return orders


def _task(
    trial: Trial, sandbox: SandboxSession, gateway: GatewaySession | None, seed: int, context: AttemptContext
) -> Task:
    scenario = trial.eval.scenario
    task = Task(
        prompts=scenario.prompts,
        model=trial.subject.model,
        workspace=sandbox.workspace,
        home=sandbox.home,
        base_url=gateway.base_url if gateway else "",
        token=gateway.token if gateway else "",
        seed=seed,
        params=scenario.params,
    )
    for feature in context.features:
        task = feature.with_task(task, scenario)
    return task


# Files of this machine that an agent did not find, because the sandbox hides them.

_COMPLAINT = re.compile(
    r"no such file|not found|can(?:not|'t) (?:find|open|read|load|stat|access)|enoent|eacces|permission denied"
    r"|does(?: not|n't) exist|no module named",
    re.IGNORECASE,
)
_PATH = re.compile(r"/[^\s'\"`:;,()\[\]{}<>|*?\0]+")
_MOST_CHARACTERS = 20_000
_MOST_PATHS = 3


def hidden_files(end: ProcessEnd, own: Sequence[str], readable: Callable[[str], bool]) -> tuple[str, ...]:
    """The paths that a program's last output says are missing, although they exist on this machine.

    `own` are the beginnings of paths that are the program's own, and thus not those of this machine; `readable` tells
    whether it can read a path.
    """
    paths: dict[str, None] = {}
    for text in (end.stderr.text, end.stdout.text):
        for line in text[-_MOST_CHARACTERS:].splitlines():
            if _COMPLAINT.search(line):
                paths |= dict.fromkeys(
                    path.rstrip(".") for path in _PATH.findall(line) if not path.startswith(tuple(own))
                )
    return tuple(path for path in paths if _exists(path) and not readable(path))[:_MOST_PATHS]


def _exists(path: str) -> bool:
    try:
        return Path(path).is_file() or (Path(path).is_dir() and path.count("/") > 1)
    except OSError:
        return False
