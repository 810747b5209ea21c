"""A model at a real provider.

If the agent and the provider use the same dialect, bytes pass unchanged in both directions. Otherwise the request is
translated to the provider's dialect, and the response, piece by piece, to the agent's.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from demeanor.core.text.wording import one_line
from demeanor.core.values.exchange import ProviderError
from demeanor.gateway.dialects.dialect import Malformed
from demeanor.gateway.dialects.errors import error_in_body, read_error
from demeanor.gateway.dialects.stream_events import Interrupted
from demeanor.gateway.models.upstream import (
    RETRY_HEADERS,
    ErrorReply,
    FullReply,
    PassthroughReply,
    StreamReply,
    TokenCountReply,
    UpstreamInterrupted,
    estimated_tokens,
    stored_state_error,
)

if TYPE_CHECKING:
    from demeanor.gateway.dialects.dialect import Dialect
    from demeanor.gateway.dialects.stream_events import Delta
    from demeanor.gateway.models.prices import Price
    from demeanor.gateway.models.provider import Provider, ProviderResponse
    from demeanor.gateway.models.upstream import ModelCall, Reply

_FORWARDED = frozenset(
    {
        *("accept", "content-type", "user-agent", "anthropic-version", "anthropic-beta", "openai-beta"),
        *("x-goog-api-client", "http-referer", "x-title", "x-app", "originator"),
    }
)
"""Request headers that are forwarded, beside those of the SDKs: what a response depends on, and who asks. Any other one
could name another account, project or tier, and let the provider refuse a request as if its key were to blame."""

_OF_SDKS = "x-stainless-"


@dataclass(frozen=True, kw_only=True, slots=True)
class LiveModel:
    """An upstream that forwards to a provider."""

    provider: Provider
    """The provider."""

    model: str
    """The provider's name for the model. The provider is asked for this one, whatever name the agent uses."""

    price: Price | None = None
    """What its tokens cost; None if unknown."""

    notes: tuple[str, ...] = ()
    """Notes for the user."""

    async def close(self) -> None:
        """Close the provider's connections."""
        await self.provider.close()

    @asynccontextmanager
    async def answer(self, call: ModelCall) -> AsyncIterator[Reply]:
        """The provider's reply."""
        dialect = self.provider.dialect_for(call.dialect)
        same = dialect.name == call.dialect.name
        if call.route.operation == "count_tokens" and not (same and call.request.model == self.model):
            yield TokenCountReply(tokens=estimated_tokens(len(call.body)))
            return
        if refused := self._network_error(call) or (None if same else stored_state_error(call)):
            yield refused
            return
        path, body, headers = self._provider_request(call, dialect)
        headers = {**headers, **dialect.key_headers(self.provider.key)}
        async with self.provider.post(path, body, headers, call) as response:
            if isinstance(response, ProviderError):
                yield ErrorReply(error=response)
            elif 300 <= response.status < 400:
                yield ErrorReply(error=self._redirect_error(response))
            elif same:
                yield PassthroughReply(status=response.status, headers=response.headers, chunks=response.chunks)
            else:
                async with aclosing(_deltas(response, dialect)) as deltas:
                    yield await self._translate(response, deltas, dialect)

    def _network_error(self, call: ModelCall) -> ErrorReply | None:
        """The error for a request that would reach the network through the provider; None if the eval allows that."""
        if call.facts.get("network") in (None, "host") or (exit_ := provider_side(call.body)) is None:
            return None
        call.note(
            f'a request was refused: {exit_} would reach the network from the provider (network = "host" allows it)'
        )
        message = f"{exit_} is not available here: this trial has no network"
        return ErrorReply(error=ProviderError(status=403, reason="bad_request", message=message, own=True))

    def _provider_request(self, call: ModelCall, dialect: Dialect) -> tuple[str, bytes, Mapping[str, str]]:
        """What to send to the provider: the agent's own bytes, if they can stay as they are."""
        same = dialect.name == call.dialect.name
        if same and call.request.model == self.model:
            return call.path, call.body, _forwarded_headers(call)
        wire = dialect.write_request(replace(call.request, model=self.model))
        own = _forwarded_headers(call) if same else {}
        return wire.path, wire.body, {**own, "Content-Type": "application/json"}

    async def _translate(self, response: ProviderResponse, deltas: AsyncIterator[Delta], dialect: Dialect) -> Reply:
        """The reply, translated from the provider's dialect."""
        if response.status < 400 and "event-stream" in response.headers.get("Content-Type", ""):
            return StreamReply(deltas=deltas)
        try:
            body = await response.read()
            if response.status < 400:
                error = error_in_body(body)
                return ErrorReply(error=error) if error else FullReply(response=dialect.read_response(body))
        except UpstreamInterrupted as broke:
            return ErrorReply(error=broke.error)
        except Malformed as malformed:
            message = f"{self.provider.name} sent a response that can't be read: {malformed}"
            return ErrorReply(error=ProviderError(status=502, reason="server", message=message))
        again = {name: response.headers[name] for name in RETRY_HEADERS if name in response.headers}
        return ErrorReply(error=read_error(response.status, body), headers=again)

    def _redirect_error(self, response: ProviderResponse) -> ProviderError:
        """The error for a redirect: neither the key nor the agent follows it."""
        location = response.headers.get("Location", "elsewhere")
        message = f"{self.provider.name} redirects to {location}: if that is right, make it the base URL"
        return ProviderError(status=502, reason="server", message=message)


async def _deltas(response: ProviderResponse, dialect: Dialect) -> AsyncGenerator[Delta, None]:
    reader = dialect.stream_reader()
    try:
        async for chunk in response.chunks:
            for delta in reader.feed(chunk):
                yield delta
    except UpstreamInterrupted as broke:
        yield Interrupted(error=broke.error)
        return
    for delta in reader.close():
        yield delta


def _forwarded_headers(call: ModelCall) -> dict[str, str]:
    return {name: value for name, value in call.headers.items() if name in _FORWARDED or name.startswith(_OF_SDKS)}


# What a request lets the provider reach in the network: an exit of the sandbox that the gateway closes.
#
# A request can name tools that run at the provider (web search, MCP servers), or files that the provider fetches by
# their address. An agent without a network would have one this way, and could send there what it has read.

_AT_PROVIDER = re.compile(
    r"(?!.*(tool|file)_?search)(?=.*(search|fetch|brows|crawl|url|maps|mcp|retrieval|connector|code_?(exec|interp)|builtin))"
    r"|openrouter:",
    re.IGNORECASE,
)
"""Words in the types of tools that reach the network from the provider, or run code there, and in the names of
Gemini's. Tools of agents have other types."""

_SETTINGS = re.compile(r"(?!disable|no_).*(search|mcp_servers|plugins).*|compound_custom", re.IGNORECASE)
_ADDRESS = re.compile(r".*ur[li]|file_data|data|image", re.IGNORECASE)
_WITHOUT = frozenset(("args", "arguments", "response", "metadata", "annotations", "citations"))
"""What models and tools have said: addresses in it are not fetched."""

_REMOTE = re.compile(r"\s*(https?|ftp|gs|s3)://", re.IGNORECASE)
_TOOLS = ("tools", "toolConfig", "tool_choice")


def provider_side(body: bytes) -> str | None:
    """What the provider would use the network for, to answer a request; None if nothing."""
    try:
        data = json.loads(body, object_pairs_hook=_object)
        return next(_exits(data), None) if isinstance(data, dict) else None
    except _Repeated as repeated:
        return f"{one_line(str(repeated), width=100)!r}, which stands twice in an object,"
    except (ValueError, RecursionError):
        return None  # the gateway answers it with an error


class _Repeated(Exception):
    """A field that an object has twice: the provider may take the one that the gateway does not."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        raise _Repeated(next(name for name in names if names.count(name) > 1))
    return fields


def _exits(data: Mapping[str, Any]) -> Iterator[str]:
    yield from (name for name, value in data.items() if value and _SETTINGS.fullmatch(name))
    tools = data.get("tools")
    for tool in tools if isinstance(tools, list) else ():
        if isinstance(tool, dict):
            kind = tool.get("type")
            if isinstance(kind, str) and _AT_PROVIDER.match(kind):
                yield f"the tool {one_line(kind, width=100)}"
            if kind is None and "name" not in tool:  # those of Gemini
                yield from (f"the tool {key}" for key in tool if _AT_PROVIDER.match(key))
            if isinstance(tool.get("environment"), dict):
                yield f"the environment of the tool {kind}"
    conversation = [value for key, value in data.items() if key not in _TOOLS]  # a schema may have any names
    yield from (f"the content of {one_line(address, width=100)}" for address in _addresses(conversation))


def _addresses(value: Any) -> Iterator[str]:
    """The addresses of images and files, wherever they stand; arguments of calls are texts or have other names."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting += value
        elif isinstance(value, dict):
            for key, item in value.items():
                if isinstance(item, str) and _REMOTE.match(item) and _ADDRESS.fullmatch(key):
                    yield item
                elif key not in _WITHOUT and (key != "input" or isinstance(item, list)):  # a dict: arguments of a call
                    waiting.append(item)
