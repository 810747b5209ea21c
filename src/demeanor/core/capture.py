"""The raw leavings of one attempt at a trial: everything that is kept, nothing that is concluded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from demeanor.core.evidence import Spent
from demeanor.core.exchange import Exchange
from demeanor.core.process import Output, ProcessEnd
from demeanor.core.trajectory import Event
from demeanor.core.tree import Tree
from demeanor.core.verdict import VoidCause


@dataclass(frozen=True, kw_only=True, slots=True)
class Breakdown:
    """Why an attempt could not be carried through."""

    cause: VoidCause
    """What kind of thing broke."""

    detail: str
    """What exactly, for a person."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Capture:
    """The raw leavings of one attempt."""

    trial: str
    """The trial's id."""

    attempt: int
    """1 for the first go; more where an earlier one was void."""

    exchanges: tuple[Exchange, ...] = ()
    """What went over the wire."""

    log: tuple[Event, ...] = ()
    """What the agent's own log tells, read by its adapter."""

    log_problem: str | None = None
    """Why the agent's own log could not be read, if so."""

    task_files: Mapping[str, Output] = field(default_factory=dict)
    """What a task left beside its workspace, by path and within bounds: native logs, what its verifier printed."""

    gaps: tuple[str, ...] | None = None
    """Why what is told above is known to be incomplete; none at all where it is known to be whole, None where whoever
    gathered it can't say."""

    requests_told: bool = False
    """Whether that log tells each time that the agent asks for permission."""

    ends: tuple[ProcessEnd, ...] = ()
    """How each of the agent's processes ended, one per turn."""

    exit_ok: bool | None = None
    """Whether the adapter takes the exit for a success; None where it says nothing about it."""

    leavings: Mapping[str, bytes] = field(default_factory=dict)
    """The files in HOME that the agent's own log is read from, besides what it printed."""

    scenario: Mapping[str, str] = field(default_factory=dict)
    """Twelve hex digits of each part of the situation besides the files: it differs as soon as the part does."""

    before: Tree = field(default_factory=Tree)
    """The workspace at the start."""

    after: Tree = field(default_factory=Tree)
    """The workspace at the end, read when every process was gone."""

    breakdown: Breakdown | None = None
    """Why the attempt could not be carried through, if so."""

    provider_silent: float | None = None
    """Seconds for which the provider had owed an answer when the agent's time ran out; None where it owed none."""

    seconds: float = 0.0
    """Wall time of the agent's work."""

    said_spent: Spent | None = None
    """What Harbor says that an agent used, where the wire was not seen; None where nobody says anything."""

    rewards: Mapping[str, float] | None = None
    """What the verifier of a Harbor task gave, by key; None where it gave nothing, or where there is none."""

    step_rewards: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """What the verifier gave for each step of a task with several; a step without any is left out."""

    notes: tuple[str, ...] = ()
    """What a person should know of the bench or of the model that answered."""

    facts: Mapping[str, str] = field(default_factory=dict)
    """What else is known of the bench: sandbox level, agent version."""
