"""A session of a coding agent with a person: what was asked, and what the agent did about it.

It is read from what was kept of it: a session file of the agent, traffic of the gateway, a stored trial, a trajectory.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from demeanor.core.trees.tree import Tree
from demeanor.core.values.scenario import PriorMessage, Scenario
from demeanor.core.values.trajectory import Event


@dataclass(frozen=True, kw_only=True, slots=True)
class SeenFile:
    """The whole content of a file at the time of a call, as far as the source shows it."""

    call: str
    """The id of the call that read or was about to change it."""

    path: str
    """Its path as the source has it: absolute, or relative to the folder of the session."""

    text: str | None
    """Its content before the call; None if it did not exist."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Round:
    """One prompt of the user, and what the agent did until the next."""

    prompt: str
    """The prompt. Hostile text, like everything in a session."""

    events: tuple[Event, ...] = ()
    """What the agent did; turns are counted within the round."""

    seen: tuple[SeenFile, ...] = ()
    """Files that the source shows."""

    interrupted: bool = False
    """Whether the user interrupted the agent."""

    snapshot: str = ""
    """A commit of the user's repository with the files as they were when the round began; empty if there is none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PastSession:
    """One session."""

    agent: str
    """The agent's name; empty if unknown."""

    rounds: tuple[Round, ...]
    """The prompts, in order."""

    id: str = ""
    """The id that the source gives it."""

    model: str = ""
    """The model's name; empty if unknown."""

    folder: str = ""
    """The folder that the agent worked in, on the machine of the session; empty if unknown."""

    started: str = ""
    """When it began, in ISO 8601; empty if unknown."""

    commit: str = ""
    """The commit that was checked out when it began, maybe abbreviated; empty if unknown."""

    changes: str | None = None
    """The uncommitted changes when it began, as a patch; None if unknown."""

    before: Tree | None = None
    """All files when it began, if they are known exactly."""

    after: Tree | None = None
    """All files when it ended, if they are known exactly."""

    scenario: Scenario = field(default_factory=lambda: Scenario(prompts=("",)))
    """What else the agent found: prior messages, approval, parameters. Only a stored trial has it."""

    gaps: tuple[str, ...] = ()
    """What the source does not contain."""

    @property
    def earlier(self) -> tuple[PriorMessage, ...]:
        """The conversation before the first round."""
        return self.scenario.messages
