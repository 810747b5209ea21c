"""The raw data of one attempt at a trial: everything that was recorded, without any conclusions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from demeanor.core.trees.tree import Tree
from demeanor.core.values.evidence import Spent
from demeanor.core.values.exchange import Exchange
from demeanor.core.values.judge_question import JudgeAnswer
from demeanor.core.values.process import Output, ProcessEnd
from demeanor.core.values.trajectory import Event
from demeanor.core.values.user import UserTurn
from demeanor.core.values.verdict import VoidCause

NOTE_REMEDY = "\n→ "
"""Before the remedy, in a note on what of this machine a failed agent did not find in its sandbox."""
_LONG_SILENCE = 10.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Breakdown:
    """Why an attempt could not be completed."""

    cause: VoidCause
    """The kind of problem."""

    detail: str
    """The problem in detail."""

    permanent: bool = False
    """Whether every further attempt would fail in the same way, so that none is made."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Capture:
    """The raw data of one attempt."""

    trial: str
    """The trial's id."""

    attempt: int
    """1 for the first attempt, 2 for the first retry …"""

    prompts: tuple[str, ...] = ()
    """What the agent was asked, turn by turn, also by a user; empty for a whole task."""

    exchanges: tuple[Exchange, ...] = ()
    """The exchanges with the model."""

    log: tuple[Event, ...] = ()
    """The events in the agent's own log, read by its adapter."""

    log_problem: str | None = None
    """Why the agent's own log could not be read, if it couldn't."""

    task_files: Mapping[str, Output] = field(default_factory=dict)
    """Files of a task outside its workspace, truncated if large: native logs, the verifier's output."""

    gaps: tuple[str, ...] | None = None
    """Why the above is incomplete; empty if it is known to be complete, None if that is unknown."""

    requests_told: bool = False
    """Whether the agent's log records every request for permission."""

    ends: tuple[ProcessEnd, ...] = ()
    """How each of the agent's processes ended, one per turn."""

    prints_events: bool = False
    """Whether the agent's standard output is a log of events instead of text for the user."""

    exit_ok: bool | None = None
    """Whether the adapter regards the exit as a success; None if the exit says nothing."""

    then: tuple[ProcessEnd, ...] = ()
    """How each of the commands ended that ran after the agent."""

    home_before: Tree = field(default_factory=Tree)
    """The kept files of HOME at the start."""

    home_after: Tree | None = None
    """The kept files of HOME at the end; None if the eval keeps none."""

    leavings: Mapping[str, bytes] = field(default_factory=dict)
    """Files in HOME from which the agent's own log is read, besides its output."""

    scenario: Mapping[str, str] = field(default_factory=dict)
    """Twelve hex digits for each part of the scenario besides the files, which change when the part does."""

    before: Tree = field(default_factory=Tree)
    """The workspace at the start."""

    after: Tree = field(default_factory=Tree)
    """The workspace at the end, read after every process had ended."""

    breakdown: Breakdown | None = None
    """Why the attempt could not be completed, if it couldn't."""

    provider_silent: float | None = None
    """Seconds waited for the provider's answer when the agent timed out; None if no answer was due."""

    seconds: float = 0.0
    """Wall-clock time of the agent's work."""

    said_spent: Spent | None = None
    """The usage that Harbor reports for an agent that bypassed the gateway; None without a report."""

    rewards: Mapping[str, float] | None = None
    """The rewards of a Harbor task's verifier, by key; None without a verifier or a reward."""

    step_rewards: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """The rewards of each step, for a task with several steps; steps without a reward are left out."""

    judge_answers: tuple[JudgeAnswer, ...] = ()
    """The answers of judges to the checks' questions; they are reused when the trial is judged again."""

    user: tuple[UserTurn, ...] = ()
    """What the user was asked for during the trial, and what it said."""

    notes: tuple[str, ...] = ()
    """Remarks about the sandbox or the model, for the reader of a report."""

    facts: Mapping[str, str] = field(default_factory=dict)
    """Further facts about the environment: sandbox level, agent version."""


def stall_seconds(silent: float | None, timeout: float) -> float | None:
    """`silent`, the seconds waited for the provider, if that is long enough to explain a timeout after `timeout`."""
    return silent if silent is not None and silent >= min(_LONG_SILENCE, timeout / 4) else None
