"""What is known of a trial, in one shape for any agent; the rig is an author's view of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from demeanor.core.process import ProcessEnd
from demeanor.core.trajectory import Trajectory
from demeanor.core.tree import Tree
from demeanor.core.verdict import VoidCause


@dataclass(frozen=True, kw_only=True, slots=True)
class Spent:
    """What a trial used."""

    seconds: float = 0.0
    """Wall time of the agent's work."""

    turns: int = 0
    """Model answers."""

    input_tokens: int | None = None
    """Tokens sent; None where no provider said."""

    output_tokens: int | None = None
    """Tokens received; None where no provider said."""

    cost_usd: float | None = None
    """Money; None where no price is known."""

    @property
    def tokens(self) -> int | None:
        """Tokens in both directions, as far as known."""
        known = [n for n in (self.input_tokens, self.output_tokens) if n is not None]
        return sum(known) if known else None


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """What is known of a trial. Derived from its capture alone."""

    trial: str
    """The trial's id."""

    trajectory: Trajectory = field(default_factory=Trajectory)
    """What happened, in order."""

    before: Tree = field(default_factory=Tree)
    """The workspace at the start."""

    after: Tree = field(default_factory=Tree)
    """The workspace at the end."""

    ends: tuple[ProcessEnd, ...] = ()
    """How each of the agent's processes ended."""

    spent: Spent = field(default_factory=Spent)
    """What it used."""

    asked: str | None = None
    """System prompt and tools as the agent first sent them, what differs from run to run taken out; None if unknown."""

    trouble: tuple[VoidCause, str] | None = None
    """What broke in the world around the agent, if anything: the trial is void, whatever the checks say."""

    misdeed: str | None = None
    """What the agent itself did wrong as a program (ran out of its time, exited with an error), if anything."""

    leak: str | None = None
    """Where the trial's canary token was seen, if it was: the agent gave away what looks like a credential."""

    injected: bool = False
    """Whether the trouble was asked for: an injected fault, which another attempt would meet again."""

    rewards: Mapping[str, float] | None = None
    """What the verifier of a Harbor task gave; None where it gave nothing, or where there is none."""

    step_rewards: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """What it gave for each step, of a task with several."""

    verifier_said: str = ""
    """The end of what it printed, for people."""

    notes: tuple[str, ...] = ()
    """What a person should know: daemons left behind, output cut, log and wire disagreeing."""
