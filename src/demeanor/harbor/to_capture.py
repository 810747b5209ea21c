"""What an attempt left, gathered: what was seen of it on the wire, and what Harbor wrote."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from demeanor.core.agent import Agent
from demeanor.core.capture import Breakdown, Capture
from demeanor.core.exchange import Exchange
from demeanor.core.process import ProcessEnd
from demeanor.core.text import excerpt
from demeanor.core.trajectory import Event
from demeanor.core.verdict import VoidCause
from demeanor.harbor.agents import NOP, ORACLE
from demeanor.harbor.result import NoTrial, TrialFolder
from demeanor.harbor_format.result import OF_THE_PROVIDER, HarborOutcome, read_spent


def gather(seen: Capture, end: ProcessEnd, found: TrialFolder | NoTrial, agent: Agent, output: str) -> Capture:
    """The capture of an attempt: what was `seen` of it here, and what Harbor left.

    `output` is the file that the agent's own words are in.
    """
    if isinstance(found, NoTrial) or end.exit_code != 0:
        why = found.why if isinstance(found, NoTrial) else "its result is not to be believed"
        return replace(seen, breakdown=_did_not_run(end, why), seconds=end.seconds)
    outcome = found.outcome
    ends = tuple(ProcessEnd(exit_code=0, stdout=output) for output in found.printed(output))
    log, problem = _log(agent, found, ends)
    return replace(
        seen,
        log=log,
        log_problem=problem,
        ends=ends or (ProcessEnd(exit_code=0),),
        breakdown=_breakdown(outcome, found.folder, seen.exchanges),
        seconds=found.agent_seconds,
        said_spent=read_spent(found.data),
        rewards=outcome.rewards,
        step_rewards=outcome.step_rewards,
        task_files=found.leavings(),
        gaps=_gaps(agent, log),
        notes=(*seen.notes, *_own_doing(outcome)),
        facts={**seen.facts, **({"agent_version": found.version} if found.version else {})},
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
    if outcome.trouble is None:
        return None
    cause, detail = outcome.trouble
    failed = bool(exchanges) and exchanges[-1].error is not None
    if failed and cause in {*OF_THE_PROVIDER, VoidCause.HARNESS, VoidCause.VERIFIER}:
        return None
    if exchanges and cause in OF_THE_PROVIDER and outcome.rewards is not None:
        return None
    return Breakdown(cause=cause, detail=detail.replace(f"{folder}/", ""))


def _own_doing(outcome: HarborOutcome) -> tuple[str, ...]:
    return (excerpt(str(outcome.own), lines=3),) if outcome.own else ()


def _log(agent: Agent, found: TrialFolder, ends: tuple[ProcessEnd, ...]) -> tuple[tuple[Event, ...], str | None]:
    """What the agent's own log tells: read by our adapter where it can, else what Harbor made of it."""
    problem = None
    if ends:
        try:
            if log := agent.read_log(ends, {}):
                return log, None
        except ValueError as error:
            problem = str(error)
    told = found.told(agent.tool_kinds)
    return told, None if told else problem


def _gaps(agent: Agent, log: tuple[Event, ...]) -> tuple[str, ...] | None:
    """What nobody can know where the wire was not seen."""
    if agent.name == NOP:
        return ()
    if agent.name == ORACLE:
        return ("the task's own solution was played, which tells of no calls",)
    if log:
        return ("only the agent's own log tells what it did; a call that was under way when it ended may be missing",)
    return None
