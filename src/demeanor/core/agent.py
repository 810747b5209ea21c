"""A coding agent as the rest of the house meets it: how to start it, how to read it, and what it can't do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from demeanor.core.scenario import Approval, PriorMessage, Scenario

if TYPE_CHECKING:
    from demeanor.core.process import Launch, ProcessEnd
    from demeanor.core.trajectory import Event, Kind


class Ability(StrEnum):
    """What a coding agent is expected to do. What one can't do is declared by its adapter, and shown."""

    CREATE = "create"
    """Creates a file."""

    EDIT = "edit"
    """Edits a file that is there."""

    ANSWER = "answer"
    """Answers without using a tool."""

    PARALLEL = "parallel"
    """Uses two tools that the model asks for in one answer."""

    TOOL_ERROR = "tool-error"
    """Tells the model of a tool that failed, and goes on."""

    TURNS = "turns"
    """Goes on with the same conversation when it is prompted again."""

    MESSAGES = "messages"
    """Takes up an earlier conversation that it never had."""

    DENY = "deny"
    """Can be kept from using a tool by an answer of «no»."""

    MALFORMED = "malformed"
    """Gets over tool arguments that are no JSON."""

    THINKING = "thinking"
    """Gets over an answer that begins with thinking."""

    RATE_LIMIT = "rate-limit"
    """Tries again after a 429, and succeeds."""

    OUTAGE = "outage"
    """Gives up at a provider that answers every request with 500."""

    HANG = "hang"
    """Is ended at the deadline where the provider never answers."""

    CUT = "cut"
    """Gets over, or ends at, a stream that breaks off."""

    CLEAN = "clean"
    """Leaves no process behind, whatever it was doing when it was ended."""

    TOGETHER = "together"
    """Two at once do not disturb each other."""

    REPLAY = "replay"
    """Repeats itself from a cassette, with no live exchange."""

    QUIET = "quiet"
    """Needs, and waits for, no other host than its model."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """What an adapter needs to know to start its agent."""

    prompts: tuple[str, ...]
    """What the agent is asked, turn by turn."""

    model: str
    """The model's name."""

    workspace: Path
    """The folder to work in, as the agent sees it."""

    home: Path
    """The agent's own HOME, as it sees it."""

    base_url: str
    """The gateway's address for this trial; empty where the agent needs no model."""

    token: str
    """The key to present there; worthless elsewhere."""

    seed: int
    """For an agent that draws."""

    params: Mapping[str, Any] = field(default_factory=dict)
    """Settings from the eval."""

    approval: Approval = field(default_factory=Approval)
    """How requests for confirmation are answered."""

    messages: tuple[PriorMessage, ...] = ()
    """The earlier conversation to resume."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Orders:
    """How an adapter wants its agent to be started."""

    launches: tuple[Launch, ...]
    """One program after the other in the same bench; usually one per prompt."""

    home_files: Mapping[str, bytes] = field(default_factory=dict)
    """Configuration to lay into the agent's HOME first, by relative path."""

    leavings: tuple[str, ...] = ()
    """Files of HOME that `Agent.read_log` wants to see when the last program has ended, by relative path.

    `*` stands for anything within one name: `sessions/*/log-*.jsonl`.
    """


class Agent(Protocol):
    """One coding agent: how to start it, and how to read what it leaves."""

    @property
    def name(self) -> str:
        """As written in a subject."""
        ...

    @property
    def dialect(self) -> str | None:
        """The model API it speaks; None where it needs no model."""
        ...

    @property
    def tool_kinds(self) -> Mapping[str, Kind]:
        """What its own tools do; names in common use need not be listed."""
        ...

    @property
    def cannot(self) -> Mapping[Ability, str]:
        """What it can't do, with the reason."""
        ...

    @property
    def params(self) -> tuple[str, ...] | None:
        """The settings that an eval may hand to it; None where it takes any."""
        ...

    @property
    def tells_requests(self) -> bool:
        """Whether its log tells each time that it asks for permission."""
        ...

    def orders(self, task: Task) -> Orders:
        """How to start it for `task`."""
        ...

    def exit_ok(self, end: ProcessEnd) -> bool | None:
        """Whether this end is a success; None where its exit says nothing."""
        ...

    def read_log(self, ends: tuple[ProcessEnd, ...], leavings: Mapping[str, bytes]) -> tuple[Event, ...]:
        """The events its own output tells; raises ValueError where it can't be read."""
        ...

    def missing(self) -> str | None:
        """What is not there that it needs, with the remedy; None where all is well."""
        ...

    def version(self) -> str | None:
        """Its version, asked of the program itself; None where it can't tell."""
        ...


def unable(agent: Agent, scenario: Scenario) -> str | None:
    """Why an agent can't be put into this situation; None where it can."""
    needed = {
        Ability.TURNS: len(scenario.prompts) > 1,
        Ability.MESSAGES: bool(scenario.messages),
        Ability.DENY: scenario.approval.denies,
    }
    for ability, is_needed in needed.items():
        if is_needed and ability in agent.cannot:
            return f"{agent.name} can't do this ({ability}): {agent.cannot[ability]}"
    strange = [] if agent.params is None else [name for name in scenario.params if name not in agent.params]
    if strange:
        known = f"it knows {', '.join(agent.params or ())}" if agent.params else "it knows none"
        return f"{agent.name} has no setting {strange[0]!r} for an eval's params; {known}"
    return None
