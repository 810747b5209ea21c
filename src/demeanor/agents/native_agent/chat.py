"""A minimal client of the OpenAI chat API: streamed answers and a few retries."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

_TRIES = 3
_MAX_PAUSE = 5.0


class ModelError(Exception):
    """A request to the model failed."""

    def __init__(self, message: str, *, reason: str, status: int | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.status = status


@dataclass(kw_only=True, slots=True)
class ChatReply:
    """One answer of the model, assembled from its stream."""

    text: str = ""
    """Its text."""

    thinking: str = ""
    """Its reasoning, if the API returns it."""

    calls: list[dict[str, str]] = field(default_factory=list)
    """Its tool calls: id, name, arguments (raw JSON text)."""

    finished: bool = False
    """Whether the stream was complete."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Chat:
    """A model and its endpoint."""

    base_url: str
    """Up to and including the version path, such as http://127.0.0.1:8000/v1."""

    key: str
    """The bearer token."""

    model: str
    """The model's name."""

    seed: int | None = None
    """A seed for sampling."""

    timeout: float = 600.0
    """Seconds to wait for the next byte."""

    def ask(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]) -> ChatReply:
        """The model's answer to a conversation; raises ModelError if all tries failed."""
        body: dict[str, Any] = {"model": self.model, "messages": messages, "tools": tools, "stream": True}
        body["stream_options"] = {"include_usage": True}
        if self.seed is not None:
            body["seed"] = self.seed
        payload = json.dumps(body).encode()
        for attempt in range(1, _TRIES + 1):
            try:
                return self._request(payload)
            except _Retryable as failure:
                if attempt == _TRIES:
                    raise failure.error from None
                time.sleep(min(failure.pause or 0.25 * 2**attempt, _MAX_PAUSE))
        raise AssertionError("unreachable")

    def _request(self, payload: bytes) -> ChatReply:
        url = urlsplit(self.base_url)
        kind = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
        connection = kind(url.netloc, timeout=self.timeout)
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.key}"}
        try:
            connection.request("POST", f"{url.path.rstrip('/')}/chat/completions", payload, headers)
            response = connection.getresponse()
            if response.status != 200:
                raise _http_error(response)
            return _assemble(_events(response))
        except (AttributeError, TypeError) as error:
            raise _Retryable(
                ModelError(f"the answer has an unexpected shape: {error}", reason="server", status=200)
            ) from None
        except (OSError, http.client.HTTPException) as error:
            raise _Retryable(ModelError(f"{type(error).__name__}: {error}", reason="unreachable")) from None
        finally:
            connection.close()


class _Retryable(Exception):
    """A failure that is worth a retry."""

    def __init__(self, error: ModelError, pause: float | None = None) -> None:
        self.error = error
        self.pause = pause


def _http_error(response: http.client.HTTPResponse) -> Exception:
    text = response.read(2000).decode("utf-8", "replace")
    reason = {401: "auth", 403: "auth", 429: "rate_limit", 503: "overloaded", 529: "overloaded"}.get(response.status)
    reason = reason or ("server" if response.status >= 500 else "bad_request")
    error = ModelError(f"HTTP {response.status}: {text}", reason=reason, status=response.status)
    if reason in {"auth", "bad_request"}:
        return error
    wait = response.headers.get("Retry-After", "")
    return _Retryable(error, float(wait) if wait.isdigit() else None)


def _events(response: http.client.HTTPResponse) -> Iterator[dict[str, Any]]:
    """The JSON objects of a server-sent event stream."""
    if "event-stream" not in response.headers.get("Content-Type", ""):
        raise _Retryable(ModelError("the answer is not an event stream", reason="server", status=200))
    for line in response:
        text = line.strip()
        if text.startswith(b"data:") and text != b"data: [DONE]":
            try:
                event = json.loads(text[5:])
            except ValueError:
                raise _Retryable(ModelError("the stream contains invalid JSON", reason="cut", status=200)) from None
            if isinstance(event, dict):
                yield event


def _assemble(events: Iterator[dict[str, Any]]) -> ChatReply:
    reply = ChatReply()
    by_index: dict[int, dict[str, str]] = {}
    for event in events:
        if event.get("error"):
            raise _Retryable(ModelError(json.dumps(event["error"])[:2000], reason="server", status=200))
        for choice in event.get("choices") or ():
            delta = choice.get("delta") or {}
            reply.text += delta.get("content") or ""
            reply.thinking += delta.get("reasoning_content") or delta.get("reasoning") or ""
            for piece in delta.get("tool_calls") or ():
                call = by_index.setdefault(piece.get("index", 0), {"id": "", "name": "", "arguments": ""})
                function = piece.get("function") or {}
                call["id"] = piece.get("id") or call["id"]
                call["name"] += function.get("name") or ""
                call["arguments"] += function.get("arguments") or ""
            reply.finished = reply.finished or bool(choice.get("finish_reason"))
    if not reply.finished:
        raise _Retryable(ModelError("the stream ended early", reason="cut", status=200))
    reply.calls = [call for _, call in sorted(by_index.items())]
    return reply
