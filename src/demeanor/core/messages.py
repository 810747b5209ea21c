"""What is said between an agent and a model: messages, their parts, and the tools on offer, in no provider's words.

What these words can't say rides along verbatim in `extra`, so that a round trip within one dialect loses nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Extra: TypeAlias = Mapping[str, Any]
"""Fields of the wire format that the canon has no word for, verbatim, under the name of their dialect."""

Cache: TypeAlias = Mapping[str, Any]
"""The terms on which a provider is asked to cache the conversation up to here, as in `{"type": "ephemeral"}`."""

Role: TypeAlias = Literal["system", "developer", "user", "assistant"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Text:
    """Plain text."""

    text: str
    """The text, never None."""

    cache: Cache | None = None
    """Set where the provider is to cache everything up to and including this."""

    extra: Extra = field(default_factory=dict)
    """Unknown fields, verbatim."""

    kind: Literal["text"] = "text"
    """Tells the parts apart."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Thinking:
    """A model's reasoning, as far as the provider shows it."""

    text: str = ""
    """Readable reasoning; empty where it is redacted or encrypted."""

    signature: str | None = None
    """The provider's signature over `text`, needed to send it back."""

    encrypted: str | None = None
    """Opaque reasoning that only the provider can read."""

    summary: tuple[str, ...] = ()
    """The provider's own summaries of it."""

    id: str | None = None
    """The provider's name for this piece."""

    extra: Extra = field(default_factory=dict)
    """Unknown fields, verbatim."""

    kind: Literal["thinking"] = "thinking"
    """Tells the parts apart."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Image:
    """A picture, inline or by address."""

    media_type: str | None = None
    """As in `image/png`."""

    data: str | None = None
    """The content in base64."""

    url: str | None = None
    """Its address, where it is not inline."""

    cache: Cache | None = None
    """Set where the provider is to cache everything up to and including this."""

    extra: Extra = field(default_factory=dict)
    """Unknown fields, verbatim."""

    kind: Literal["image"] = "image"
    """Tells the parts apart."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """A file that is not a picture, inline or by address."""

    media_type: str | None = None
    """As in `application/pdf`."""

    data: str | None = None
    """The content in base64."""

    text: str | None = None
    """The content as plain text, where it was sent so."""

    url: str | None = None
    """Its address, where it is not inline."""

    name: str | None = None
    """Its title or file name."""

    cache: Cache | None = None
    """Set where the provider is to cache everything up to and including this."""

    extra: Extra = field(default_factory=dict)
    """Unknown fields, verbatim."""

    kind: Literal["document"] = "document"
    """Tells the parts apart."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolCall:
    """A model's wish to use a tool."""

    id: str
    """Ties the call to its result; made up by the reader where the wire has none."""

    name: str
    """The tool's name."""

    arguments: Mapping[str, Any] | None
    """The arguments; None where they were no JSON object (see `raw`)."""

    raw: str = ""
    """The arguments exactly as the model wrote them."""

    signature: str | None = None
    """A thought signature attached to the call, to be sent back with it."""

    cache: Cache | None = None
    """Set where the provider is to cache everything up to and including this."""

    extra: Extra = field(default_factory=dict)
    """Unknown fields, verbatim."""

    kind: Literal["tool_call"] = "tool_call"
    """Tells the parts apart."""

    @property
    def malformed(self) -> bool:
        """True where the model's arguments were no JSON object."""
        return self.arguments is None


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolResult:
    """What a tool answered."""

    call_id: str
    """The id of the call it answers."""

    name: str | None = None
    """The tool's name, where the wire says it."""

    parts: tuple[Text | Image | Document, ...] = ()
    """The answer."""

    is_error: bool | None = None
    """Whether the tool failed; None where the wire does not say."""

    cache: Cache | None = None
    """Set where the provider is to cache everything up to and including this."""

    extra: Extra = field(default_factory=dict)
    """Unknown fields, verbatim."""

    kind: Literal["tool_result"] = "tool_result"
    """Tells the parts apart."""

    @property
    def text(self) -> str:
        """The textual parts, one per line."""
        return "\n".join(part.text for part in self.parts if isinstance(part, Text))


@dataclass(frozen=True, kw_only=True, slots=True)
class Opaque:
    """A part that the canon has no word for."""

    extra: Extra
    """All of it, verbatim."""

    kind: Literal["opaque"] = "opaque"
    """Tells the parts apart."""


Part: TypeAlias = Text | Thinking | Image | Document | ToolCall | ToolResult | Opaque


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """One message of a conversation."""

    role: Role
    """Who speaks. Tool results stand in `user` messages."""

    parts: tuple[Part, ...]
    """What is said, in order."""

    extra: Extra = field(default_factory=dict)
    """Unknown fields, verbatim."""

    @property
    def text(self) -> str:
        """All plain text of the message."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))


@dataclass(frozen=True, kw_only=True, slots=True)
class Tool:
    """A tool on offer."""

    name: str
    """What the model calls it by."""

    description: str = ""
    """What the model is told of it."""

    schema: Mapping[str, Any] = field(default_factory=dict)
    """The JSON schema of its arguments."""

    cache: Cache | None = None
    """Set where the provider is to cache everything up to and including this."""

    builtin: bool = False
    """Whether the provider itself runs it; such a tool is all extra."""

    extra: Extra = field(default_factory=dict)
    """Unknown fields, verbatim."""
