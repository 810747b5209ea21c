"""The canonical model exchange: one request with its response, in no provider's words.

A dialect (gateway/dialects/) reads its own wire format into these values and writes them back. What the canon has no
word for rides along verbatim in `extra`, so that a round trip within one dialect loses nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

from demeanor.core.messages import Extra, Message, Part, Text, Tool, ToolCall


@dataclass(frozen=True, kw_only=True, slots=True)
class Sampling:
    """How the answer is to be drawn; None means the provider's default."""

    temperature: float | None = None
    """Randomness."""

    top_p: float | None = None
    """Nucleus."""

    top_k: int | None = None
    """Candidates."""

    max_tokens: int | None = None
    """The longest answer."""

    stop: tuple[str, ...] = ()
    """Strings that end the answer."""

    seed: int | None = None
    """For repeatability, where the provider offers it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reasoning:
    """How much the model is to think first; None means the provider's default."""

    effort: str | None = None
    """In a word: `none`, `minimal`, `low`, `medium`, `high`, or whatever else the wire says."""

    budget: int | None = None
    """In tokens."""

    show: bool | None = None
    """Whether the thoughts, or a summary of them, are wanted in the answer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What an agent asked a model."""

    model: str
    """The model's name as the agent wrote it."""

    messages: tuple[Message, ...]
    """The conversation, system prompts included, in order."""

    tools: tuple[Tool, ...] = ()
    """The tools on offer."""

    tool_choice: str | None = None
    """`auto`, `none`, `required`, or the name of the tool that must be used."""

    parallel_tools: bool | None = None
    """Whether several tools may be called in one turn; None means the provider's default."""

    sampling: Sampling = field(default_factory=Sampling)
    """How to draw the answer."""

    reasoning: Reasoning = field(default_factory=Reasoning)
    """How much to think first."""

    json_schema: Mapping[str, Any] | None = None
    """The schema that the answer must fit; empty where any JSON object will do, None where it is free."""

    stream: bool = False
    """Whether the answer is wanted piece by piece."""

    extra: Extra = field(default_factory=dict)
    """Unknown fields, verbatim."""

    @property
    def system(self) -> str:
        """All system and developer text, wherever it stood."""
        return "\n\n".join(m.text for m in self.messages if m.role in {"system", "developer"})


class StopReason(StrEnum):
    """Why a model stopped."""

    END = "end"
    """It was finished."""

    TOOL_USE = "tool_use"
    """It wants tools to be used."""

    LENGTH = "length"
    """The token limit was reached."""

    STOP_SEQUENCE = "stop_sequence"
    """A stop string came up."""

    REFUSAL = "refusal"
    """It, or a filter, refused."""

    ERROR = "error"
    """The provider broke off."""

    UNKNOWN = "unknown"
    """The wire said something else, or nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """Tokens of one exchange; None where the provider did not say."""

    input: int | None = None
    """Tokens of the request, cached ones included."""

    output: int | None = None
    """Tokens of the answer, reasoning included."""

    cache_read: int | None = None
    """Of `input`: read from a cache."""

    cache_write: int | None = None
    """Of `input`: written to a cache."""

    reasoning: int | None = None
    """Of `output`: reasoning."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Response:
    """What a model answered."""

    parts: tuple[Part, ...]
    """Text, thinking and tool calls, in order."""

    stop: StopReason = StopReason.UNKNOWN
    """Why it stopped."""

    usage: Usage = field(default_factory=Usage)
    """Tokens."""

    id: str | None = None
    """The provider's name for the answer."""

    model: str | None = None
    """The model that really answered."""

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


@dataclass(frozen=True, kw_only=True, slots=True)
class ProviderError:
    """A provider's refusal or failure, as the gateway saw it."""

    status: int | None
    """The HTTP status; None where no answer came at all."""

    reason: Literal[
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
    ]
    """What kind of failure it was; `cassette`: a replay that holds no answer."""

    message: str
    """What the provider said, redacted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Exchange:
    """One request with its response, or with the error that came instead."""

    number: int
    """1, 2, 3 … within its trial, in the order of arrival."""

    dialect: str
    """The wire format the agent spoke."""

    request: Request
    """What was asked."""

    response: Response | None = None
    """What was answered; None where an error came instead."""

    error: ProviderError | None = None
    """What went wrong, if anything did."""

    started: float = 0.0
    """Seconds since the trial began when the request arrived."""

    first_byte: float | None = None
    """Seconds since the trial began when the answer began."""

    ended: float = 0.0
    """Seconds since the trial began when the answer was complete."""

    cost_usd: float | None = None
    """What it cost; None where no price is known."""

    fault: str | None = None
    """The rule by which Demeanor broke the answer on purpose, such as `cut@2`; None where it did not."""
