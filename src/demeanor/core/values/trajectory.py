"""The ordered events of a trial, and the kinds of tools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Literal, TypeAlias

from demeanor.core.values.messages import Tool


class Kind(StrEnum):
    """What a tool does, independent of its name."""

    READ = "read"
    EDIT = "edit"
    DELETE = "delete"
    SEARCH = "search"
    EXECUTE = "execute"
    FETCH = "fetch"
    THINK = "think"
    OTHER = "other"


KindName: TypeAlias = Kind | Literal["read", "edit", "delete", "search", "execute", "fetch", "think", "other"]
"""A kind as authors of evals write it, so that a type checker finds a misspelt one."""

_KNOWN: Mapping[Kind, str] = {
    Kind.READ: "read read_file read_files read_many_files read_image view cat open open_file",
    Kind.EDIT: "write write_file write_to_file create create_file edit edit_file editor file_editor replace"
    " replace_in_file str_replace str_replace_editor str_replace_based_edit_tool apply_patch patch insert multiedit"
    " multi_edit notebook_edit",
    Kind.DELETE: "delete delete_file remove remove_file rm",
    Kind.SEARCH: "search search_files search_codebase codebase_search grep grep_search glob find ls list list_files"
    " list_directory list_dir tree",
    Kind.EXECUTE: "shell local_shell bash execute execute_command exec exec_command run run_command run_commands"
    " run_shell_command terminal",
    Kind.FETCH: "fetch web_fetch webfetch fetch_web_content web_search websearch google_web_search",
    Kind.THINK: "think plan update_plan todo todo_write todowrite todolist write_todos update_topic finish",
}
_BY_NAME = {name: kind for kind, names in _KNOWN.items() for name in names.split()}


def usual_kinds() -> Mapping[str, Kind]:
    """The kinds of common tool names, which are in lower case with underscores."""
    return _BY_NAME


def kind_of(tool: str, own: Mapping[str, Kind] | None = None) -> Kind:
    """The kind of `tool`, from the agent's own table or from the common names."""
    if own and tool in own:
        return own[tool]
    return _BY_NAME.get(tool.lower().replace("-", "_"), Kind.OTHER)


def deferred_call(tool: str, arguments: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """The tool and the arguments of a call. Qwen Code's `tool_call` calls another tool, which is meant."""
    inner, inner_arguments = arguments.get("name"), arguments.get("arguments")
    if tool == "tool_call" and isinstance(inner, str) and inner and isinstance(inner_arguments, Mapping):
        return inner, inner_arguments
    return tool, arguments


Witness: TypeAlias = Literal["wire", "log", "both", "server"]
Permission: TypeAlias = Literal["allow", "deny", "unasked"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """A message from the agent to its user."""

    turn: int
    """The model answer it belongs to: 1, 2, 3 …"""

    text: str
    """The message."""

    at: float | None = None
    """When it began, in seconds since the start of the trial; None if unknown."""

    type: Literal["said"] = "said"
    """The tag of this type."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Thought:
    """The model's reasoning, as far as it is visible."""

    turn: int
    """The model answer it belongs to."""

    text: str
    """The reasoning, or its summary."""

    at: float | None = None
    """When it began, in seconds since the start of the trial; None if unknown."""

    type: Literal["thought"] = "thought"
    """The tag of this type."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Called:
    """A tool call, with its result if there is one."""

    turn: int
    """The model answer it belongs to; calls of one turn were requested together."""

    id: str
    """The call's id, which its result refers to."""

    tool: str
    """The tool's name."""

    kind: Kind
    """What the tool does."""

    arguments: Mapping[str, Any]
    """The arguments; empty if they were malformed (see `raw`)."""

    raw: str = ""
    """The arguments as the model wrote them, if they were not a JSON object."""

    result: str | None = None
    """The tool's result; None if none was seen."""

    succeeded: bool | None = None
    """Whether it succeeded; None if unknown."""

    exit_code: int | None = None
    """The exit code of the command that it ran; None if none is recorded."""

    seconds: float | None = None
    """How long it took, if the agent's log says so."""

    witness: Witness = "wire"
    """Where it was recorded: by the gateway, in the agent's own log, or both; or only by an MCP server of the eval."""

    by_sub_agent: bool = False
    """Whether a sub-agent called it, within the turn of the agent itself."""

    sub_agent: int = 0
    """Which one: 1, 2, 3 … in the order in which they started; 0 for the agent itself."""

    mcp: str = ""
    """`server.tool`, if an MCP server of the eval received the call."""

    permission: Permission | None = None
    """The answer to the agent's request for permission; `unasked` if it made none; None if unknown."""

    at: float | None = None
    """When it began, in seconds since the start of the trial; None if unknown."""

    type: Literal["called"] = "called"
    """The tag of this type."""


def proved(call: Called) -> Called:
    """The call with the outcome that its record proves. A command succeeds with exit code 0; that a tool could start it
    says nothing, and many agents report only that.
    """
    if call.exit_code is not None:
        return replace(call, succeeded=call.exit_code == 0)
    return replace(call, succeeded=None) if call.kind is Kind.EXECUTE and call.succeeded else call


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """The agent's request for permission to use a tool, with the answer."""

    turn: int
    """The model answer it belongs to."""

    id: str
    """The call that it is about."""

    tool: str
    """The tool's name, as far as it is known."""

    kind: Kind
    """What the tool does."""

    answer: Literal["allow", "deny"]
    """The answer, according to the eval's `approval`."""

    arguments: Mapping[str, Any] = field(default_factory=dict)
    """The tool's arguments, as far as they are known."""

    at: float | None = None
    """When it began, in seconds since the start of the trial; None if unknown."""

    type: Literal["asked"] = "asked"
    """The tag of this type."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelFailed:
    """The provider's refusal or failure to answer."""

    turn: int
    """The number of the missing model answer."""

    status: int | None
    """The HTTP status, if there was one."""

    reason: str
    """The kind of failure."""

    message: str
    """The provider's message."""

    at: float | None = None
    """When it began, in seconds since the start of the trial; None if unknown."""

    type: Literal["model_failed"] = "model_failed"
    """The tag of this type."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Faulted:
    """A fault that Demeanor injected into a model answer."""

    turn: int
    """The affected model answer."""

    kind: str
    """The kind of fault, such as `cut`."""

    detail: str
    """The rule and its effect."""

    at: float | None = None
    """When it began, in seconds since the start of the trial; None if unknown."""

    type: Literal["faulted"] = "faulted"
    """The tag of this type."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Aside:
    """A model request outside the conversation."""

    turn: int
    """The last model answer before it; 0 if there is none."""

    purpose: str
    """`title`, `commit message`, `summary`, `memory`, `sub-agent` or `other`."""

    said: str = ""
    """The text of the model's answer."""

    sub_agent: int = 0
    """The number of the sub-agent, as in `Called`; 0 for a side request without tools."""

    prompt: str = ""
    """The sub-agent's task, with its first request."""

    started_by: str = ""
    """The id of the call that started the sub-agent, with its first request; empty if unknown."""

    at: float | None = None
    """When it began, in seconds since the start of the trial; None if unknown."""

    type: Literal["aside"] = "aside"
    """The tag of this type."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Concluded:
    """The agent's result, where its own log names it."""

    turn: int
    """The model answer it belongs to."""

    text: str
    """The result."""

    at: float | None = None
    """When it began, in seconds since the start of the trial; None if unknown."""

    type: Literal["concluded"] = "concluded"
    """The tag of this type."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Steered:
    """A message of the user while the agent worked, by the eval's `steer`."""

    turn: int
    """The last model answer before it."""

    text: str = ""
    """What the user said; empty if they only interrupted."""

    after: str = ""
    """What it came after, as in the eval."""

    delivery: Literal["hint", "interrupt", "prompt"] = "hint"
    """How the agent got it: within its turn, by an interruption of it, or as the next prompt, since the turn had ended.
    """

    at: float | None = None
    """When it was given, in seconds since the start of the trial; None if unknown."""

    type: Literal["steered"] = "steered"
    """The tag of this type."""


Event: TypeAlias = Said | Thought | Called | Asked | ModelFailed | Faulted | Aside | Concluded | Steered


@dataclass(frozen=True, kw_only=True, slots=True)
class Trajectory:
    """The ordered events of a trial."""

    events: tuple[Event, ...] = ()
    """The events in order."""

    gaps: tuple[str, ...] = ()
    """Why it is incomplete, if it is; a check can't then conclude that something did not happen."""

    call_gaps: tuple[str, ...] = ()
    """Why there may have been further calls, though everything else is recorded."""

    disagreements: tuple[str, ...] = ()
    """Contradictions between the exchanges and the agent's own log."""

    tools: Mapping[str, Tool] = field(default_factory=dict)
    """The tools that the agent offered to its model, by name, as far as they were recorded."""

    requests_told: bool = False
    """Whether every request for permission is recorded; if not, a missing request proves nothing."""

    servers: tuple[str, ...] = ()
    """The MCP servers of the eval, which record every call that they receive."""

    sub_agent_gaps: tuple[str, ...] = ()
    """Why there may have been sub-agents that are not recorded, if so."""

    @property
    def calls(self) -> tuple[Called, ...]:
        """The tool calls, in order."""
        return tuple(event for event in self.events if isinstance(event, Called))

    @property
    def final_text(self) -> str:
        """The agent's last message: the result that its own log names, or else the last message of all."""
        named = [event.text for event in self.events if isinstance(event, Concluded) and event.text.strip()]
        said = [event.text for event in self.events if isinstance(event, Said)]
        return next(reversed(named or said), "")
