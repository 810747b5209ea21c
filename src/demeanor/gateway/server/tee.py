"""Reads a response while its bytes are forwarded unchanged.

The tee reads every byte, and before the gateway notices what the agent does about it. So that, such as hanging up at a
response that it can't parse, has no influence on what is recorded.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Protocol

from demeanor.core.text.wording import one_line
from demeanor.core.values.exchange import ProviderError
from demeanor.gateway.dialects.dialect import Malformed
from demeanor.gateway.dialects.errors import error_in_body, read_error
from demeanor.gateway.dialects.sse import first_line_is_event
from demeanor.gateway.dialects.stream_events import Interrupted

if TYPE_CHECKING:
    from collections.abc import Callable

    from demeanor.gateway.models.upstream import ModelCall, PassthroughReply
    from demeanor.gateway.server.exchange_recorder import ExchangeRecorder


def response_tee(call: ModelCall, reply: PassthroughReply, recording: ExchangeRecorder) -> ResponseTee:
    """The tee for this response: a stream, a complete body or an error. Parse errors never reach the agent."""
    return _SafeTee(_unsafe_tee(call, reply, recording), recording)


def _unsafe_tee(call: ModelCall, reply: PassthroughReply, recording: ExchangeRecorder) -> ResponseTee:
    if reply.status >= 400:
        return _ErrorTee(call, reply, recording)
    if call.request.stream:
        return _DetectingTee(call, reply, recording)
    return (_StreamTee if _has_event_type(reply) else _ResponseTee)(call, reply, recording)


class ResponseTee(Protocol):
    """Receives every byte of a response and records what it means."""

    @property
    def immediate(self) -> bool:
        """Whether bytes may be forwarded at once; otherwise when the response is complete."""
        ...

    def forwards(self, chunk: bytes) -> bool:
        """Whether `immediate` will be true once the tee has taken these bytes; False if it is not known yet."""
        ...

    def feed(self, chunk: bytes) -> None:
        """Take some bytes."""
        ...

    def close(self) -> None:
        """Note that the response is complete."""
        ...

    def abandon(self) -> None:
        """Note that the agent hung up: the response may already be complete."""
        ...


class _SafeTee:
    """Keeps errors in parsing from disturbing the forwarding."""

    def __init__(self, tee: ResponseTee, recording: ExchangeRecorder) -> None:
        self._tee: ResponseTee | None = tee
        self._recording = recording

    @property
    def immediate(self) -> bool:
        return self._tee is None or self._tee.immediate

    def forwards(self, chunk: bytes) -> bool:
        return self._tee is None or self._tee.forwards(chunk)

    def feed(self, chunk: bytes) -> None:
        if self._tee:
            self._try(partial(self._tee.feed, chunk))

    def close(self) -> None:
        if self._tee:
            self._try(self._tee.close)

    def abandon(self) -> None:
        if self._tee:
            self._try(self._tee.abandon)

    def _try(self, take: Callable[[], None]) -> None:
        try:
            take()
        except Exception as error:  # noqa: BLE001 - the agent gets the response, even if it can't be parsed
            self._tee = None
            message = f"the provider's response can't be read: {type(error).__name__}: {error}"
            self._recording.set_error(ProviderError(status=None, reason="server", message=message))


class _DetectingTee:
    """Tells from its first bytes what a provider sent to a request for a stream; content types are often wrong."""

    def __init__(self, call: ModelCall, reply: PassthroughReply, recording: ExchangeRecorder) -> None:
        self._of = (call, reply, recording)
        self._array = call.route.framing == "array"
        self._promised = self._array or _has_event_type(reply)
        self._start = b""
        self._tee: ResponseTee | None = None

    @property
    def immediate(self) -> bool:
        return self._promised if self._tee is None else self._tee.immediate

    def forwards(self, chunk: bytes) -> bool:
        if self._tee is not None:
            return self._tee.forwards(chunk)
        return not self._array and not self._start and first_line_is_event(chunk.lstrip()) is True

    def feed(self, chunk: bytes) -> None:
        if self._tee is None:
            self._start = chunk = (self._start + chunk).lstrip()  # blanks may arrive for ever
            self._tee = self._detected()
        if self._tee is not None:
            self._tee.feed(chunk)

    def close(self) -> None:
        if self._tee is None:
            _set_unreadable(self._of[2], self._start)
        else:
            self._tee.close()

    def abandon(self) -> None:
        if self._tee is not None:
            self._tee.abandon()

    def _detected(self) -> ResponseTee | None:
        """The tee for what the first bytes are; None if there are too few."""
        start = self._start
        if start[:1] in {b"{", b"["}:
            return (_StreamTee if self._array else _UnstreamedTee)(*self._of)
        event_stream = first_line_is_event(start)
        if event_stream is None:
            return None
        return (_StreamTee if event_stream else _UnreadableTee)(*self._of)


class _StreamTee:
    immediate = True

    def __init__(self, call: ModelCall, _reply: PassthroughReply, recording: ExchangeRecorder) -> None:
        self._reader = call.dialect.stream_reader()
        self._recording = recording

    def forwards(self, chunk: bytes) -> bool:
        return True

    def feed(self, chunk: bytes) -> None:
        self._recording.add_deltas(self._reader.feed(chunk))

    def close(self) -> None:
        self._recording.add_deltas(self._reader.close())

    def abandon(self) -> None:
        self._recording.add_deltas(delta for delta in self._reader.close() if not isinstance(delta, Interrupted))


class _BufferedTee:
    """Buffers the bytes until they are complete; the session limits how many there may be."""

    immediate = False

    def __init__(self, call: ModelCall, reply: PassthroughReply, recording: ExchangeRecorder) -> None:
        self._dialect = call.dialect
        self._reply = reply
        self._recording = recording
        self._body = bytearray()

    def forwards(self, chunk: bytes) -> bool:
        return False

    def feed(self, chunk: bytes) -> None:
        self._body += chunk

    def abandon(self) -> None:
        """The agent got nothing yet."""


class _ResponseTee(_BufferedTee):
    def close(self) -> None:
        body = bytes(self._body)
        error = error_in_body(body)
        try:
            self._recording.set_response(self._dialect.read_response(body))
        except Malformed as malformed:
            message = f"the provider's response can't be read: {malformed}"
            error = error or ProviderError(status=self._reply.status, reason="server", message=message)
        if error is not None:
            self._recording.set_error(error)


class _UnstreamedTee(_ResponseTee):
    """One JSON body instead of a stream, in which a client finds no events."""

    def close(self) -> None:
        super().close()
        message = "the request asks for a stream, but the provider sent a single JSON body"
        self._recording.set_error(ProviderError(status=self._reply.status, reason="server", message=message))


class _UnreadableTee(_BufferedTee):
    """Something else instead of a stream, such as the web page of a proxy."""

    immediate = True

    def feed(self, chunk: bytes) -> None:
        _set_unreadable(self._recording, chunk)

    def close(self) -> None:
        """The error is already recorded."""


class _ErrorTee(_BufferedTee):
    def close(self) -> None:
        self._recording.set_error(read_error(self._reply.status, bytes(self._body)))


def _has_event_type(reply: PassthroughReply) -> bool:
    return "event-stream" in reply.headers.get("Content-Type", "")


def _set_unreadable(recording: ExchangeRecorder, start: bytes) -> None:
    shown = one_line(start.decode("utf-8", "replace"), width=200) or "nothing"
    message = f"the request asks for a stream, but the provider sent: {shown}"
    recording.set_error(ProviderError(status=200, reason="server", message=message))
