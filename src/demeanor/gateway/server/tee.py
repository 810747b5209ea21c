"""Reading an answer on the side while its bytes pass through unchanged."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Protocol

from demeanor.core.exchange import ProviderError
from demeanor.gateway.dialects.dialect import Malformed

if TYPE_CHECKING:
    from collections.abc import Callable

    from demeanor.gateway.dialects.dialect import Dialect
    from demeanor.gateway.models.upstream import Ask, Passed
    from demeanor.gateway.server.exchange_recorder import ExchangeRecorder

_MOST_KEPT = 64 * 2**20
"""Bytes of an answer that are kept to be read once it is complete."""


def listener(ask: Ask, reply: Passed, recording: ExchangeRecorder) -> ResponseTee:
    """Whoever understands this answer: a stream, a whole answer, or an error."""
    return _Careful(_listener(ask, reply, recording), recording)


def _listener(ask: Ask, reply: Passed, recording: ExchangeRecorder) -> ResponseTee:
    if reply.status >= 400:
        return _Error(ask.dialect, reply, recording)
    growing = ask.request.stream and ask.route.framing == "array"
    if growing or "event-stream" in reply.headers.get("Content-Type", ""):
        return _Stream(ask.dialect, recording)
    return _Whole(ask.dialect, reply, recording)


class ResponseTee(Protocol):
    """Hears every byte of an answer and tells a recording what it means."""

    def feed(self, chunk: bytes) -> None:
        """Hear some more."""
        ...

    def close(self) -> None:
        """Hear that it is complete."""
        ...


class _Careful:
    """Keeps what goes wrong in the reading from disturbing what passes through."""

    def __init__(self, listener: ResponseTee, recording: ExchangeRecorder) -> None:
        self._listener: ResponseTee | None = listener
        self._recording = recording

    def feed(self, chunk: bytes) -> None:
        if self._listener:
            self._try(partial(self._listener.feed, chunk))

    def close(self) -> None:
        if self._listener:
            self._try(self._listener.close)

    def _try(self, hear: Callable[[], None]) -> None:
        try:
            hear()
        except Exception as error:  # noqa: BLE001 - whatever a provider sends, the agent gets it
            self._listener = None
            message = f"the provider's answer can't be read: {type(error).__name__}: {error}"
            self._recording.failed(ProviderError(status=None, reason="server", message=message))


class _Stream:
    def __init__(self, dialect: Dialect, recording: ExchangeRecorder) -> None:
        self._reader = dialect.stream_reader()
        self._recording = recording

    def feed(self, chunk: bytes) -> None:
        self._recording.heard(self._reader.feed(chunk))

    def close(self) -> None:
        self._recording.heard(self._reader.close())


class _Kept:
    """Keeps the bytes until they are complete, up to a limit."""

    def __init__(self, dialect: Dialect, reply: Passed, recording: ExchangeRecorder) -> None:
        self._dialect = dialect
        self._reply = reply
        self._recording = recording
        self._body = bytearray()

    def feed(self, chunk: bytes) -> None:
        if len(self._body) < _MOST_KEPT:
            self._body += chunk


class _Whole(_Kept):
    def close(self) -> None:
        try:
            self._recording.answered(self._dialect.read_response(bytes(self._body)))
        except Malformed as error:
            message = f"the provider's answer can't be read: {error}"
            self._recording.failed(ProviderError(status=self._reply.status, reason="server", message=message))


class _Error(_Kept):
    def close(self) -> None:
        headers = {name.lower(): value for name, value in self._reply.headers.items()}
        self._recording.failed(self._dialect.read_error(self._reply.status, bytes(self._body), headers))
