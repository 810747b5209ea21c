"""Streamed responses in canonical form.

A dialect's stream reader turns bytes into deltas, its stream writer turns deltas into bytes, and `Assembler` turns
deltas into the complete Response. So a stream in one dialect can be translated to another piece by piece.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from demeanor.core.values.exchange import ProviderError, Response, StopReason, Usage
from demeanor.core.values.messages import Opaque, Part, Text, Thinking, ToolCall
from demeanor.gateway.dialects.strict_json import arguments, compact


@dataclass(frozen=True, kw_only=True, slots=True)
class Began:
    """The response has started."""

    id: str | None = None
    """The provider's id for the response."""

    model: str | None = None
    """The model that answers."""

    extra: Mapping[str, Any] = field(default_factory=dict)
    """Unknown fields, verbatim."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PartOpened:
    """A new part of the response starts."""

    index: int
    """Its position in the response; several parts may be open at once (parallel tool calls)."""

    part: Part
    """The part as far as it is known: a tool call's id and name, an empty text."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PartGrew:
    """An open part got longer."""

    index: int
    """The part's position in the response."""

    text: str = ""
    """More text of a Text or Thinking part, or more of a ToolCall's raw arguments."""

    signature: str | None = None
    """The signature of a Thinking part or a ToolCall, once it is known."""

    encrypted: str | None = None
    """More opaque reasoning of a Thinking part."""

    summary: str = ""
    """More of one of a Thinking part's summaries."""

    summary_index: int = 0
    """Which summary gets longer."""

    extra: Mapping[str, Any] = field(default_factory=dict)
    """Unknown fields, verbatim."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PartClosed:
    """An open part is complete."""

    index: int
    """The part's position in the response."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Finished:
    """The response is complete. A field that is None was not sent, or was sent before."""

    stop: StopReason | None = None
    """Why the model stopped."""

    usage: Usage | None = None
    """Tokens."""

    extra: Mapping[str, Any] = field(default_factory=dict)
    """Unknown fields, verbatim."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Interrupted:
    """The provider broke off in the middle of the response."""

    error: ProviderError
    """The error that it sent, or the problem with its data."""


Delta: TypeAlias = Began | PartOpened | PartGrew | PartClosed | Finished | Interrupted


def deltas_of(response: Response) -> Iterator[Delta]:
    """A complete response as a stream."""
    yield Began(id=response.id, model=response.model, extra=response.extra)
    for index, part in enumerate(response.parts):
        yield from deltas_of_part(index, part)
    yield Finished(stop=response.stop, usage=response.usage, extra=response.extra)


def deltas_of_part(index: int, part: Part) -> Iterator[Delta]:
    """A complete part as a stream."""
    if isinstance(part, Text):
        yield PartOpened(index=index, part=replace(part, text=""))
        yield PartGrew(index=index, text=part.text)
    elif isinstance(part, ToolCall):
        yield PartOpened(index=index, part=replace(part, arguments={}, raw=""))
        yield PartGrew(index=index, text=part.raw or compact(part.arguments or {}))
    elif isinstance(part, Thinking):
        yield from _thinking_deltas(index, part)
    else:
        yield PartOpened(index=index, part=part)
    yield PartClosed(index=index)


def assemble(deltas: Iterable[Delta]) -> Response:
    """The complete response from `deltas`."""
    assembler = Assembler()
    for delta in deltas:
        assembler.take(delta)
    return assembler.response()


class Assembler:
    """Builds the response from deltas; the response so far is available at any time."""

    def __init__(self) -> None:
        self.error: ProviderError | None = None
        """Why the answer broke off, if it did."""

        self.finished = False
        """Whether the response came to its end."""

        self._began = Began()
        self._parts: dict[int, _PartBuilder] = {}
        self._stop: StopReason | None = None
        self._usage = Usage()
        self._extra: dict[str, Any] = {}

    def take(self, delta: Delta) -> None:
        """Add one delta."""
        if isinstance(delta, PartGrew):
            self._parts.setdefault(delta.index, _PartBuilder(Text(text=""))).grow(delta)
        elif isinstance(delta, PartOpened):
            self._parts[delta.index] = _PartBuilder(delta.part)
        elif isinstance(delta, Began):
            self._began = delta
        elif isinstance(delta, Finished):
            self.finished = True
            self._stop = delta.stop or self._stop
            self._usage = delta.usage or self._usage
            self._extra.update(delta.extra)
        elif isinstance(delta, Interrupted):
            self.error = delta.error

    def response(self) -> Response:
        """The response as far as it is known."""
        default_stop = StopReason.ERROR if self.error else StopReason.UNKNOWN
        return Response(
            parts=tuple(self._parts[index].part() for index in sorted(self._parts)),
            stop=self._stop or default_stop,
            usage=self._usage,
            id=self._began.id,
            model=self._began.model,
            extra={**self._began.extra, **self._extra},
        )


class _PartBuilder:
    """A part and what was added to it."""

    def __init__(self, part: Part) -> None:
        self._opened = part
        self._text: list[str] = []
        self._encrypted: list[str] = []
        self._summaries: dict[int, list[str]] = {}
        self._signature: str | None = None
        self._extra: dict[str, Any] = {}

    def grow(self, delta: PartGrew) -> None:
        if delta.text:
            self._text.append(delta.text)
        if delta.summary:
            self._summaries.setdefault(delta.summary_index, []).append(delta.summary)
        if delta.encrypted:
            self._encrypted.append(delta.encrypted)
        self._signature = delta.signature or self._signature
        self._extra.update(delta.extra)

    def part(self) -> Part:
        opened, text = self._opened, "".join(self._text)
        if isinstance(opened, Opaque):
            return opened
        extra = {**opened.extra, **self._extra} if self._extra else opened.extra
        if isinstance(opened, Text):
            return replace(opened, text=opened.text + text, extra=extra)
        if isinstance(opened, ToolCall):
            raw = opened.raw + text
            signature = self._signature or opened.signature
            return replace(opened, arguments=arguments(raw), raw=raw, signature=signature, extra=extra)
        if isinstance(opened, Thinking):
            return replace(
                opened,
                text=opened.text + text,
                signature=self._signature or opened.signature,
                encrypted=(opened.encrypted or "") + "".join(self._encrypted) or None,
                summary=self._summary(opened.summary),
                extra=extra,
            )
        return opened

    def _summary(self, opened: tuple[str, ...]) -> tuple[str, ...]:
        summaries = dict(enumerate(opened))
        for summary_index, pieces in self._summaries.items():
            summaries[summary_index] = summaries.get(summary_index, "") + "".join(pieces)
        return tuple(summaries[summary_index] for summary_index in sorted(summaries))


def _thinking_deltas(index: int, thought: Thinking) -> Iterator[Delta]:
    yield PartOpened(index=index, part=replace(thought, text="", signature=None, encrypted=None, summary=()))
    for summary_index, summary in enumerate(thought.summary):
        yield PartGrew(index=index, summary=summary, summary_index=summary_index)
    if thought.text:
        yield PartGrew(index=index, text=thought.text)
    if thought.signature or thought.encrypted:
        yield PartGrew(index=index, signature=thought.signature, encrypted=thought.encrypted)
