"""A model's answer while it is being given: the canonical form of a stream.

A dialect's stream reader turns bytes into deltas, its stream writer turns deltas into bytes, and `Assembler` folds
deltas into the finished Response. So a stream in one dialect can be told in another, piece by piece.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from holdfast.core.exchange import Part, ProviderError, StopReason, Usage


@dataclass(frozen=True, kw_only=True, slots=True)
class Began:
    """The answer has begun."""

    id: str | None = None
    """The provider's name for the answer."""

    model: str | None = None
    """The model that answers."""

    extra: Mapping[str, Any] = field(default_factory=dict)
    """Unknown fields, verbatim."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PartOpened:
    """A new part of the answer begins."""

    index: int
    """Its place in the answer; parts may be open at the same time (parallel tool calls)."""

    part: Part
    """The part as far as it is known: a tool call's id and name, a text that is still empty."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PartGrew:
    """An open part became longer."""

    index: int
    """The part's place in the answer."""

    text: str = ""
    """More text of a Text or Thinking part, or more of a ToolCall's raw arguments."""

    signature: str | None = None
    """The signature of a Thinking part or a ToolCall, once it is known."""

    encrypted: str | None = None
    """More opaque reasoning of a Thinking part."""

    extra: Mapping[str, Any] = field(default_factory=dict)
    """Unknown fields, verbatim."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PartClosed:
    """An open part is complete."""

    index: int
    """The part's place in the answer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Finished:
    """The answer is complete. What is None was not said, or was said before."""

    stop: StopReason | None = None
    """Why the model stopped."""

    usage: Usage | None = None
    """Tokens."""

    extra: Mapping[str, Any] = field(default_factory=dict)
    """Unknown fields, verbatim."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Broke:
    """The provider broke off in the middle."""

    error: ProviderError
    """What it said, or what was wrong with what it said."""


Delta: TypeAlias = Began | PartOpened | PartGrew | PartClosed | Finished | Broke
