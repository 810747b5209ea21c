"""The interface of a coding agent: how to start it, how to read its log, and what it can't do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from demeanor.core.values.scenario import Approval, PriorMessage, Scenario
from demeanor.core.values.steering import Steer
from demeanor.core.values.trajectory import Kind

if TYPE_CHECKING:
    from demeanor.core.values.process import Launch, ProcessEnd
    from demeanor.core.values.trajectory import Event


class Ability(StrEnum):
    """What a coding agent is expected to do. An adapter declares what its agent can't do, and reports show it."""

    CREATE = "create"
    """Creates a file."""

    EDIT = "edit"
    """Edits an existing file."""

    ANSWER = "answer"
    """Answers without using a tool."""

    PARALLEL = "parallel"
    """Uses two tools that the model asks for in one answer."""

    TOOL_ERROR = "tool-error"
    """Reports a failed tool to the model and continues."""

    CALLS = "calls"
    """Its calls are recorded with name, kind, arguments, result, outcome, order and time."""

    EXIT_CODE = "exit-code"
    """A command that fails is recorded as failed, and another one as succeeded."""

    TURNS = "turns"
    """Continues the same conversation when prompted again."""

    MESSAGES = "messages"
    """Resumes an earlier conversation that is given to it."""

    DENY = "deny"
    """Does not use a tool after its request for permission is denied."""

    DENY_KIND = "deny-kind"
    """Does not use a tool whose kind is denied, and still uses the others."""

    SEARCH = "search"
    """Finds files and texts with its search tools."""

    SUB_AGENTS = "sub-agents"
    """Has a sub-agent do a part of its task, and uses the sub-agent's answer."""

    MCP = "mcp"
    """Uses the tools of an MCP server."""

    SIDE_REQUESTS = "side-requests"
    """What it asks its model for itself, such as a title, is not taken for an answer to the user."""

    FINAL_TEXT = "final-text"
    """Its result is its last message."""

    MALFORMED = "malformed"
    """Recovers from tool arguments that are not valid JSON."""

    THINKING = "thinking"
    """Handles an answer that begins with thinking."""

    RATE_LIMIT = "rate-limit"
    """Retries after a 429 and succeeds."""

    OUTAGE = "outage"
    """Gives up if the provider answers every request with 500."""

    HANG = "hang"
    """Can be killed at the deadline if the provider never answers."""

    CUT = "cut"
    """Recovers from, or ends after, a stream that is cut off."""

    CLEAN = "clean"
    """Leaves no process behind when it is killed."""

    TOGETHER = "together"
    """Two instances in parallel do not disturb each other."""

    REPLAY = "replay"
    """Repeats its run from a cassette, without live exchanges."""

    QUIET = "quiet"
    """Contacts no host other than its model's."""


DEBUG_LOG = "agent-debug.log"
"""The verbose log of an agent, in its HOME and in the folder `logs` of the trial."""

DEBUG_VARIABLE = "DEMEANOR_AGENT_DEBUG"
"""Asks for verbose logs; it is also passed on to agents."""


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
    """The gateway's URL for this trial; empty if the agent needs no model."""

    token: str
    """The API key for the gateway; useless elsewhere."""

    seed: int
    """The random seed, for agents that take one."""

    params: Mapping[str, Any] = field(default_factory=dict)
    """Settings from the eval."""

    approval: Approval = field(default_factory=Approval)
    """How requests for confirmation are answered."""

    messages: tuple[PriorMessage, ...] = ()
    """The earlier conversation to resume."""

    steer: tuple[Steer, ...] = ()
    """What the user says while the agent works."""

    user: bool = False
    """Whether a user may say more after the last prompt, so that the conversation must be kept."""

    ports: tuple[int, ...] = ()
    """Free ports for the MCP servers that it reaches over HTTP: one for each, and one for its program."""

    debug: bool = False
    """Whether it writes a verbose log: to DEBUG_LOG in its HOME, or to standard error."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Orders:
    """How an adapter starts its agent."""

    launches: tuple[Launch, ...]
    """Programs to run one after the other in the same sandbox; usually one per prompt."""

    home_files: Mapping[str, bytes] = field(default_factory=dict)
    """Configuration files to write into the agent's HOME first, by relative path."""

    leavings: tuple[str, ...] = ()
    """Files in HOME that `Agent.read_log` reads after the last program has ended, by relative path.

    `*` matches within one path component: `sessions/*/log-*.jsonl`.
    """

    debug_files: tuple[str, ...] = (DEBUG_LOG,)
    """Files in HOME that are the verbose log, likewise."""

    program: tuple[str, ...] = ()
    """The agent's program with its leading arguments; empty if it is the first word of its launches."""

    installation: str = ""
    """The folder that the agent is installed in, which differs between machines; empty if it is not known."""


class Agent(Protocol):
    """One coding agent: how to start it, and how to read its log."""

    @property
    def name(self) -> str:
        """Its name in a subject."""
        ...

    @property
    def dialect(self) -> str | None:
        """The model API that it uses; None if it needs no model."""
        ...

    @property
    def tool_kinds(self) -> Mapping[str, Kind]:
        """The kinds of its own tools; common tool names need not be listed."""
        ...

    @property
    def cannot(self) -> Mapping[Ability, str]:
        """What it can't do, with reasons."""
        ...

    @property
    def params(self) -> tuple[str, ...] | None:
        """The keys of an eval's `params` that it knows; None if it passes all of them on.

        An adapter with a method `read_params(params, where)` checks their values before anything runs; it raises
        BadInput.
        """
        ...

    @property
    def tells_requests(self) -> bool:
        """Whether its log records every request for permission."""
        ...

    def orders(self, task: Task) -> Orders:
        """How to start it for `task`."""
        ...

    def exit_ok(self, end: ProcessEnd) -> bool | None:
        """Whether this exit is a success; None if the exit says nothing."""
        ...

    def read_log(self, ends: tuple[ProcessEnd, ...], leavings: Mapping[str, bytes]) -> tuple[Event, ...]:
        """The events in its own log; raises ValueError if the log can't be read."""
        ...

    def missing(self) -> str | None:
        """What is missing on this machine, with the remedy; None if nothing is."""
        ...

    def version(self) -> str | None:
        """The version that the program reports; None if it can't."""
        ...


def prints_events(agent: Agent) -> bool:
    """Whether its standard output is a log of events, such as JSON lines, instead of text for the user.

    Its attribute `prints_events` says so; an adapter without the attribute prints text.
    """
    return bool(getattr(agent, "prints_events", False))


def version_note(agent: Agent) -> str:
    """Which version runs, and why. Its attribute `why` has the reason; empty for an adapter without one."""
    why = getattr(agent, "why", "")
    return f"{agent.name} {agent.version() or '(version unknown)'} was used: {why}" if why else ""


def asks_user(agent: Agent) -> bool:
    """Whether its program asks the gateway for the user's next message, instead of being started for each prompt.

    Its attribute `asks_user` says so; an adapter without the attribute is started once per prompt.
    """
    return bool(getattr(agent, "asks_user", False))


def steers(agent: Agent) -> bool:
    """Whether a user can say something while it works. Its attribute `steers` says so; few agents can."""
    return bool(getattr(agent, "steers", False))


def resumes_calls(agent: Agent) -> bool:
    """Whether it can resume an earlier conversation with tool calls. Its attribute `resumes_calls` says so."""
    return bool(getattr(agent, "resumes_calls", False))


def start_seconds(agent: Agent) -> float:
    """How long an agent may take to start on a busy machine, for each prompt; default time limits are longer by that.

    An adapter without the attribute `start_seconds` starts quickly.
    """
    return float(getattr(agent, "start_seconds", 0.0))


def unable(agent: Agent, scenario: Scenario) -> str | None:
    """Why an agent can't run this scenario; None if it can."""
    needed = {
        Ability.TURNS: len(scenario.prompts) > 1 or scenario.user is not None,
        Ability.MESSAGES: bool(scenario.messages),
        Ability.DENY: scenario.approval.denies,
        Ability.MCP: bool(scenario.mcp),
    }
    named = dict.fromkeys((Ability(name.replace("_", "-")) for name in scenario.needs), True)
    for ability, is_needed in (needed | named).items():
        if is_needed and ability in agent.cannot:
            return f"{agent.name} can't do this ({ability}): {agent.cannot[ability]}"
    if scenario.steer and not steers(agent):
        return f"{agent.name} can't do this (steer): it takes no message while it works"
    if any(message.calls for message in scenario.messages) and not resumes_calls(agent):
        return f"{agent.name} can't do this (messages): its session format can't be given tool calls"
    if scenario.mcp and agent.params is not None and "mcp_servers" not in agent.params:
        return f"{agent.name} can't do this ({Ability.MCP}): Demeanor can't tell it about MCP servers"
    return None


def tool_kinds(agent: Agent, scenario: Scenario) -> Mapping[str, Kind]:
    """The kinds of the agent's tools, with those that the eval sets."""
    own = scenario.params.get("tool_kinds")
    if not isinstance(own, Mapping) or "tool_kinds" not in (agent.params or ()):
        return agent.tool_kinds
    return {**agent.tool_kinds, **{tool: Kind(kind) for tool, kind in own.items() if kind in set(Kind)}}
