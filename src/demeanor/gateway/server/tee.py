"""Reads a response while its bytes are forwarded unchanged."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Protocol

from demeanor.core.exchange import ProviderError
from demeanor.gateway.dialects.dialect import Malformed

if TYPE_CHECKING:
    from collections.abc import Callable

    from demeanor.gateway.dialects.dialect import Dialect
    from demeanor.gateway.models.upstream import ModelCall, PassthroughReply
    from demeanor.gateway.server.exchange_recorder import ExchangeRecorder

_MAX_BUFFERED_BYTES = 64 * 2**20
"""Bytes of a response that are buffered until it is complete."""


def response_tee(call: ModelCall, reply: PassthroughReply, recording: ExchangeRecorder) -> ResponseTee:
    """The tee for this response: a stream, a complete body or an error. Parse errors never reach the agent."""
    return _SafeTee(_unsafe_tee(call, reply, recording), recording)


def _unsafe_tee(call: ModelCall, reply: PassthroughReply, recording: ExchangeRecorder) -> ResponseTee:
    if reply.status >= 400:
        return _ErrorTee(call.dialect, reply, recording)
    growing = call.request.stream and call.route.framing == "array"
    if growing or "event-stream" in reply.headers.get("Content-Type", ""):
        return _StreamTee(call.dialect, recording)
    return _ResponseTee(call.dialect, reply, recording)


class ResponseTee(Protocol):
    """Receives every byte of a response and records what it means."""

    def feed(self, chunk: bytes) -> None:
        """Take some bytes."""
        ...

    def close(self) -> None:
        """Note that the response is complete."""
        ...


class _SafeTee:
    """Keeps errors in parsing from disturbing the forwarding."""

    def __init__(self, tee: ResponseTee, recording: ExchangeRecorder) -> None:
        self._tee: ResponseTee | None = tee
        self._recording = recording

    def feed(self, chunk: bytes) -> None:
        if self._tee:
            self._try(partial(self._tee.feed, chunk))

    def close(self) -> None:
        if self._tee:
            self._try(self._tee.close)

    def _try(self, take: Callable[[], None]) -> None:
        try:
            take()
        except Exception as error:  # noqa: BLE001 - the agent gets the response, even if it can't be parsed
            self._tee = None
            message = f"the provider's response can't be read: {type(error).__name__}: {error}"
            self._recording.set_error(ProviderError(status=None, reason="server", message=message))


class _StreamTee:
    def __init__(self, dialect: Dialect, recording: ExchangeRecorder) -> None:
        self._reader = dialect.stream_reader()
        self._recording = recording

    def feed(self, chunk: bytes) -> None:
        self._recording.add_deltas(self._reader.feed(chunk))

    def close(self) -> None:
        self._recording.add_deltas(self._reader.close())


class _BufferedTee:
    """Buffers the bytes until they are complete, up to a limit."""

    def __init__(self, dialect: Dialect, reply: PassthroughReply, recording: ExchangeRecorder) -> None:
        self._dialect = dialect
        self._reply = reply
        self._recording = recording
        self._body = bytearray()

    def feed(self, chunk: bytes) -> None:
        if len(self._body) < _MAX_BUFFERED_BYTES:
            self._body += chunk


class _ResponseTee(_BufferedTee):
    def close(self) -> None:
        try:
            self._recording.set_response(self._dialect.read_response(bytes(self._body)))
        except Malformed as error:
            message = f"the provider's response can't be read: {error}"
            self._recording.set_error(ProviderError(status=self._reply.status, reason="server", message=message))


class _ErrorTee(_BufferedTee):
    def close(self) -> None:
        headers = {name.lower(): value for name, value in self._reply.headers.items()}
        self._recording.set_error(self._dialect.read_error(self._reply.status, bytes(self._body), headers))
