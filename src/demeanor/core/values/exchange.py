"""The canonical model exchange: one provider-neutral request with its response.

A dialect (gateway/dialects/) converts its wire format to these values and back. Fields without an equivalent are kept
verbatim in `extra`, so a round trip within one dialect loses nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, TypeAlias

from demeanor.core.values.messages import Extra, Message, Part, Text, Tool, ToolCall


@dataclass(frozen=True, kw_only=True, slots=True)
class Sampling:
    """Sampling parameters; None means the provider's default."""

    temperature: float | None = None
    """The sampling temperature."""

    top_p: float | None = None
    """The probability mass of nucleus sampling."""

    top_k: int | None = None
    """The number of candidate tokens."""

    max_tokens: int | None = None
    """The maximum length of the answer."""

    stop: tuple[str, ...] = ()
    """Strings that end the answer."""

    seed: int | None = None
    """The random seed, if the provider supports it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reasoning:
    """How much the model reasons first; None means the provider's default."""

    effort: str | None = None
    """`none`, `minimal`, `low`, `medium`, `high`, or another value of the wire."""

    budget: int | None = None
    """The budget in tokens."""

    show: bool | None = None
    """Whether the answer should include the reasoning or a summary of it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """An agent's request to a model."""

    model: str
    """The model's name as the agent wrote it."""

    messages: tuple[Message, ...]
    """The conversation in order, including system prompts."""

    tools: tuple[Tool, ...] = ()
    """The available tools."""

    tool_choice: str | None = None
    """`auto`, `none`, `required`, or the name of the tool that must be used."""

    parallel_tools: bool | None = None
    """Whether several tools may be called in one turn; None means the provider's default."""

    sampling: Sampling = field(default_factory=Sampling)
    """The sampling parameters."""

    reasoning: Reasoning = field(default_factory=Reasoning)
    """The reasoning parameters."""

    json_schema: Mapping[str, Any] | None = None
    """The JSON schema of the answer; empty for any JSON object, None for free text."""

    stream: bool = False
    """Whether the answer is streamed."""

    extra: Extra = field(default_factory=dict)
    """Unknown fields, verbatim."""

    @property
    def system(self) -> str:
        """All system and developer text, wherever it is in the conversation."""
        return "\n\n".join(m.text for m in self.messages if m.role in {"system", "developer"})


class StopReason(StrEnum):
    """Why a model stopped."""

    END = "end"
    """It finished."""

    TOOL_USE = "tool_use"
    """It requests tool calls."""

    LENGTH = "length"
    """The token limit was reached."""

    STOP_SEQUENCE = "stop_sequence"
    """It produced a stop string."""

    REFUSAL = "refusal"
    """It, or a filter, refused."""

    PAUSE = "pause"
    """The provider paused a long turn; the agent sends it back so that the model goes on."""

    ERROR = "error"
    """The provider failed, or the model produced a call that the provider could not read."""

    UNKNOWN = "unknown"
    """Another reason, or none was given."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """The tokens of one exchange; None if the provider did not report them."""

    input: int | None = None
    """Tokens of the request, including cached ones."""

    output: int | None = None
    """Tokens of the answer, including reasoning."""

    cache_read: int | None = None
    """Of `input`: read from a cache."""

    cache_write: int | None = None
    """Of `input`: written to a cache."""

    reasoning: int | None = None
    """Of `output`: reasoning."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Response:
    """A model's answer."""

    parts: tuple[Part, ...]
    """Text, thinking and tool calls, in order."""

    stop: StopReason = StopReason.UNKNOWN
    """Why it stopped."""

    usage: Usage = field(default_factory=Usage)
    """Tokens."""

    id: str | None = None
    """The provider's id for the answer."""

    model: str | None = None
    """The model that answered, as reported by the provider."""

    extra: Extra = field(default_factory=dict)
    """Unknown fields, verbatim."""

    @property
    def text(self) -> str:
        """All plain text of the answer."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls, in order."""
        return tuple(part for part in self.parts if isinstance(part, ToolCall))


ErrorReason: TypeAlias = Literal[
    "rate_limit",
    "auth",
    "bad_request",
    "overloaded",
    "server",
    "unreachable",
    "stalled",
    "cut",
    "budget",
    "cassette",
    "prefix",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class ProviderError:
    """A provider's refusal or failure, as the gateway saw it."""

    status: int | None
    """The HTTP status; None if there was no response."""

    reason: ErrorReason
    """The kind of failure; `cassette` means that a replay has no answer, `prefix` that the request differs from the
    recording that the trial starts from."""

    message: str
    """The provider's message, redacted."""

    own: bool = False
    """Whether the gateway refused the request because of the agent: it spent the budget of its own trial, or requested
    a model that is not its own."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Exchange:
    """One request with its response or error."""

    number: int
    """1, 2, 3 … within its trial, in the order of arrival."""

    dialect: str
    """The wire format that the agent used."""

    request: Request
    """The request."""

    response: Response | None = None
    """The response; None if there was an error instead."""

    error: ProviderError | None = None
    """The error, if any."""

    started: float = 0.0
    """When the request arrived, in seconds since the start of the trial."""

    first_byte: float | None = None
    """When the answer began, in seconds since the start of the trial."""

    ended: float = 0.0
    """When the answer was complete, in seconds since the start of the trial."""

    cost_usd: float | None = None
    """The cost; None if no price is known."""

    fault: str | None = None
    """The rule of the fault that was injected into the answer, such as `cut@2`; None if there was none."""

    interventions: tuple[str, ...] = ()
    """The ids of the instructions that were removed from or replaced in the request; `request` is the changed one."""

    replayed: bool = False
    """Whether the answer came from the prefix that the trial starts from, so that no model was asked."""
