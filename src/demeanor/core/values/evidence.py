"""What is known about a trial, in one form for all agents; the rig is an author's view of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from demeanor.core.trees.tree import Tree
from demeanor.core.values.process import ProcessEnd
from demeanor.core.values.trajectory import Trajectory
from demeanor.core.values.user import UserTurn
from demeanor.core.values.verdict import VoidCause


@dataclass(frozen=True, kw_only=True, slots=True)
class Spent:
    """What a trial used."""

    seconds: float = 0.0
    """Wall-clock time of the agent's work."""

    turns: int = 0
    """The number of model answers."""

    input_tokens: int | None = None
    """Tokens sent; None if not reported."""

    output_tokens: int | None = None
    """Tokens received; None if not reported."""

    cost_usd: float | None = None
    """The cost; None if no price is known."""

    @property
    def tokens(self) -> int | None:
        """Tokens in both directions, as far as they are known."""
        counts = [n for n in (self.input_tokens, self.output_tokens) if n is not None]
        return sum(counts) if counts else None


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """What is known about a trial, derived from its capture alone."""

    trial: str
    """The trial's id."""

    trajectory: Trajectory = field(default_factory=Trajectory)
    """The ordered events."""

    before: Tree = field(default_factory=Tree)
    """The workspace at the start."""

    after: Tree = field(default_factory=Tree)
    """The workspace at the end."""

    ends: tuple[ProcessEnd, ...] = ()
    """How each of the agent's processes ended."""

    then: tuple[ProcessEnd, ...] = ()
    """How each of the commands ended that ran after the agent."""

    home_before: Tree = field(default_factory=Tree)
    """The kept files of HOME at the start."""

    home_after: Tree | None = None
    """The kept files of HOME at the end; None if the eval keeps none."""

    prints_events: bool = False
    """Whether its standard output is a log of events, and never its message to the user."""

    spent: Spent = field(default_factory=Spent)
    """Tokens, cost and time used."""

    asked: str | None = None
    """System prompt and tools as first sent, without parts that vary between runs; None if unknown."""

    sampling: tuple[str, ...] = ()
    """The sampling and reasoning settings as first sent, such as `temperature = 0.2`; empty if the agent sets none."""

    trouble: tuple[VoidCause, str] | None = None
    """What failed outside the agent, if anything: the trial is void, unless what was seen before is a certain no."""

    unfinished: str = ""
    """Why more could have followed; if set, a check learns only what later events can't change: what was called."""

    misdeed: str | None = None
    """How the agent itself failed as a program (timeout, exit with an error), if it did. Beside a trouble, only what
    that does not explain."""

    leak: str | None = None
    """Where the trial's canary token was seen, if it was: the agent leaked what looks like a credential."""

    injected: bool = False
    """Whether an injected fault caused the failure, so that another attempt would fail again."""

    rewards: Mapping[str, float] | None = None
    """The rewards of a Harbor task's verifier; None without a verifier or a reward."""

    step_rewards: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """The rewards of each step, for a task with several steps."""

    verifier_said: str = ""
    """The last lines of the verifier's output."""

    prompts: tuple[str, ...] = ()
    """What the agent was asked, turn by turn, also by a user; empty if unknown."""

    user: tuple[UserTurn, ...] = ()
    """What the user was asked for during the trial, and what it said."""

    notes: tuple[str, ...] = ()
    """Remarks for the reader: processes left behind, truncated output, contradictions of log and wire."""
