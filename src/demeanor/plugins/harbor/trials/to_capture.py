"""The capture of an attempt: what the gateway saw of it, and what Harbor wrote."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from demeanor.core.container_hints import podman_hint
from demeanor.core.text.wording import excerpt
from demeanor.core.values.agent import Agent, prints_events
from demeanor.core.values.capture import Breakdown, Capture
from demeanor.core.values.exchange import Exchange
from demeanor.core.values.fingerprints import TASK_ENVIRONMENT
from demeanor.core.values.process import ProcessEnd
from demeanor.core.values.trajectory import Event
from demeanor.core.values.verdict import VoidCause
from demeanor.plugins.harbor.format.trial_result import PROVIDER_CAUSES, HarborOutcome, read_spent
from demeanor.plugins.harbor.trials.agents import NOP, ORACLE
from demeanor.plugins.harbor.trials.result import NoTrial, TrialFolder


def to_capture(observed: Capture, end: ProcessEnd, folder: TrialFolder | NoTrial, agent: Agent, output: str) -> Capture:
    """Complete the capture that was `observed` here with the results of Harbor.

    `output` is the name of the file with the agent's output.
    """
    if isinstance(folder, NoTrial) or end.exit_code != 0:
        why = folder.why if isinstance(folder, NoTrial) else "its result can't be trusted"
        return replace(observed, breakdown=_did_not_run(end, why), seconds=end.seconds)
    outcome = folder.outcome
    ends = tuple(ProcessEnd(exit_code=0, stdout=output) for output in folder.outputs(output))
    log, problem = _log(agent, folder, ends)
    return replace(
        observed,
        log=log,
        log_problem=problem,
        prints_events=prints_events(agent),
        ends=ends or (ProcessEnd(exit_code=0),),
        breakdown=_with_hint(_breakdown(outcome, folder, observed.exchanges), observed.facts),
        seconds=folder.agent_seconds,
        said_spent=read_spent(folder.data),
        rewards=outcome.rewards,
        step_rewards=outcome.step_rewards,
        task_files=folder.files(),
        gaps=_gaps(agent, log),
        notes=(*observed.notes, *_agent_errors(outcome)),
        facts={**observed.facts, **({"agent_version": folder.version} if folder.version else {})},
    )


def _did_not_run(end: ProcessEnd, why: str) -> Breakdown:
    how = {"wall": "took too long and was killed"}.get(end.ended_by, f"exited with {end.exit_code}")
    how = f"was killed by signal {end.signal}" if end.signal is not None and end.ended_by == "exit" else how
    printed = excerpt("\n".join((end.stdout.text, end.stderr.text)).strip(), lines=15)
    return Breakdown(cause=VoidCause.HARNESS, detail=f"harbor {how}, and {why}:\n{printed}")


def _breakdown(outcome: HarborOutcome, folder: TrialFolder, exchanges: tuple[Exchange, ...]) -> Breakdown | None:
    """What failed outside of the agent. Harbor knows provider errors from printed text only; the gateway is more exact.

    The path of the trial's folder, which differs in each attempt, is removed from the message. The last line that a
    verifier printed often says why there is no reward.
    """
    if outcome.failure is None:
        return None
    cause, detail = outcome.failure
    failed = bool(exchanges) and exchanges[-1].error is not None
    if failed and cause in {*PROVIDER_CAUSES, VoidCause.HARNESS, VoidCause.VERIFIER}:
        return None
    if exchanges and cause in PROVIDER_CAUSES and outcome.rewards is not None:
        return None
    last = folder.verifier_last_line() if cause is VoidCause.VERIFIER else ""
    detail = detail.replace(f"{folder.folder}/", "")
    detail = f"{detail}\nthe verifier's last line: {last}" if last else detail
    return Breakdown(cause=cause, detail=detail, permanent=outcome.permanent)


def _with_hint(breakdown: Breakdown | None, facts: Mapping[str, str]) -> Breakdown | None:
    """A failure of podman with its remedy, which is a setting: without it, every attempt fails. Harbor's exception does
    not say that the container could not be started.
    """
    hint = podman_hint(breakdown.detail) if breakdown and facts.get(TASK_ENVIRONMENT) == "podman" else None
    if breakdown is None or hint is None:
        return breakdown
    return Breakdown(cause=VoidCause.SANDBOX, detail=f"{breakdown.detail}\n  → {hint}", permanent=True)


def _agent_errors(outcome: HarborOutcome) -> tuple[str, ...]:
    return (excerpt(str(outcome.agent_error), lines=3),) if outcome.agent_error else ()


def _log(agent: Agent, folder: TrialFolder, ends: tuple[ProcessEnd, ...]) -> tuple[tuple[Event, ...], str | None]:
    """The agent's own log: as our adapter reads it, or else as Harbor does."""
    problem = None
    if ends:
        try:
            if log := agent.read_log(ends, {}):
                return log, None
        except ValueError as error:
            problem = str(error)
    events = folder.events(agent.tool_kinds)
    return events, None if events else problem


def _gaps(agent: Agent, log: tuple[Event, ...]) -> tuple[str, ...] | None:
    """What is unknown when the gateway did not see the requests."""
    if agent.name == NOP:
        return ()
    if agent.name == ORACLE:
        return ("the task's own solution was run, which reports no calls",)
    if log:
        return ("only the agent's own log reports its calls; a call that was running when it ended may be missing",)
    return None
