"""What happened in a trial, in order: one small value per kind of event, and the kinds of tools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, TypeAlias


class Kind(StrEnum):
    """What a tool does, whatever an agent calls it."""

    READ = "read"
    EDIT = "edit"
    DELETE = "delete"
    SEARCH = "search"
    EXECUTE = "execute"
    FETCH = "fetch"
    THINK = "think"
    OTHER = "other"


_KNOWN: Mapping[Kind, str] = {
    Kind.READ: "read read_file read_files read_many_files read_image view cat open open_file",
    Kind.EDIT: "write write_file write_to_file create create_file edit edit_file editor file_editor replace"
    " replace_in_file str_replace str_replace_editor str_replace_based_edit_tool apply_patch patch insert multiedit"
    " multi_edit notebook_edit",
    Kind.DELETE: "delete delete_file remove remove_file rm",
    Kind.SEARCH: "search search_files search_codebase codebase_search grep grep_search glob find ls list list_files"
    " list_directory list_dir tree tool_search",
    Kind.EXECUTE: "shell local_shell bash execute execute_command exec exec_command run run_command run_commands"
    " run_shell_command terminal",
    Kind.FETCH: "fetch web_fetch webfetch fetch_web_content web_search websearch google_web_search",
    Kind.THINK: "think plan update_plan todo_write todowrite write_todos update_topic finish",
}
_BY_NAME = {name: kind for kind, names in _KNOWN.items() for name in names.split()}


def usual_kinds() -> Mapping[str, Kind]:
    """The tools' names in common use, in lower case with underscores, and what they do."""
    return _BY_NAME


def kind_of(tool: str, own: Mapping[str, Kind] | None = None) -> Kind:
    """The kind of `tool`: by the agent's own table first, then by the names in common use."""
    if own and tool in own:
        return own[tool]
    return _BY_NAME.get(tool.lower().replace("-", "_"), Kind.OTHER)


Witness: TypeAlias = Literal["wire", "log", "both"]
Permission: TypeAlias = Literal["allow", "deny", "unasked"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """The agent said something to its user."""

    turn: int
    """The model answer it belongs to: 1, 2, 3 …"""

    text: str
    """What it said."""

    type: Literal["said"] = "said"
    """Tells the events apart."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Thought:
    """The model reasoned, as far as it was shown."""

    turn: int
    """The model answer it belongs to."""

    text: str
    """The reasoning, or its summary."""

    type: Literal["thought"] = "thought"
    """Tells the events apart."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Called:
    """A tool was called, and perhaps answered."""

    turn: int
    """The model answer it belongs to; calls of one turn were asked for together."""

    id: str
    """Ties it to its result."""

    tool: str
    """The tool's name."""

    kind: Kind
    """What the tool does."""

    arguments: Mapping[str, Any]
    """The arguments; empty where they were malformed (see `raw`)."""

    raw: str = ""
    """The arguments as the model wrote them, where they were no JSON object."""

    result: str | None = None
    """What the tool answered; None where no answer was seen."""

    succeeded: bool | None = None
    """Whether it worked; None where nobody said."""

    seconds: float | None = None
    """How long it took, where the agent's log tells."""

    witness: Witness = "wire"
    """Who saw it: the gateway, the agent's own log, or both."""

    by_sub_agent: bool = False
    """Whether a sub-agent called it, within the turn of the agent itself."""

    permission: Permission | None = None
    """How the agent's request for permission was answered; `unasked` where it made none; None where nobody can tell."""

    type: Literal["called"] = "called"
    """Tells the events apart."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """The agent asked its user for permission to use a tool, and was answered."""

    turn: int
    """The model answer it belongs to."""

    id: str
    """The call that it is about."""

    tool: str
    """The tool's name, as far as it was told."""

    kind: Kind
    """What the tool does."""

    answer: Literal["allow", "deny"]
    """What the user answered, by the eval's `approval`."""

    arguments: Mapping[str, Any] = field(default_factory=dict)
    """What the tool would be given, as far as it was told."""

    type: Literal["asked"] = "asked"
    """Tells the events apart."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelFailed:
    """The provider refused or failed to answer."""

    turn: int
    """The model answer that did not come."""

    status: int | None
    """The HTTP status, if there was one."""

    reason: str
    """What kind of failure it was."""

    message: str
    """What the provider said."""

    type: Literal["model_failed"] = "model_failed"
    """Tells the events apart."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Faulted:
    """Demeanor broke an answer of the model on purpose."""

    turn: int
    """The model answer that was broken."""

    kind: str
    """How it was broken, such as `cut`."""

    detail: str
    """The rule that was followed, and what was done."""

    type: Literal["faulted"] = "faulted"
    """Tells the events apart."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Aside:
    """The agent asked its model for something beside the conversation."""

    turn: int
    """The last model answer before it; 0 where it came first."""

    purpose: str
    """`title`, `commit message`, `summary`, `sub-agent` or `other`."""

    said: str = ""
    """What the model answered in words."""

    type: Literal["aside"] = "aside"
    """Tells the events apart."""


Event: TypeAlias = Said | Thought | Called | Asked | ModelFailed | Faulted | Aside


@dataclass(frozen=True, kw_only=True, slots=True)
class Trajectory:
    """The ordered events of a trial."""

    events: tuple[Event, ...] = ()
    """In the order in which they happened."""

    gaps: tuple[str, ...] = ()
    """Why it is known to be incomplete, if it is; a forbidden-action check can then not say «it did not»."""

    disagreements: tuple[str, ...] = ()
    """Where the wire and the agent's own log contradict each other."""

    requests_told: bool = False
    """Whether the agent tells each time that it asks for permission; else nobody can say that it did not."""

    @property
    def calls(self) -> tuple[Called, ...]:
        """The tool calls, in order."""
        return tuple(event for event in self.events if isinstance(event, Called))

    @property
    def final_text(self) -> str:
        """The last thing the agent said."""
        return next((event.text for event in reversed(self.events) if isinstance(event, Said)), "")
