"""A model provider: its URL, its dialects and its rate limits."""

from __future__ import annotations

import json
import re
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from io import BytesIO
from typing import TYPE_CHECKING
from urllib.request import getproxies, proxy_bypass

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from demeanor.core.redaction.encodings import can_be_secret, secret_headers
from demeanor.core.values.exchange import ProviderError
from demeanor.gateway.models.rate_limit import RateLimiter
from demeanor.gateway.models.upstream import UpstreamInterrupted

if TYPE_CHECKING:
    from demeanor.gateway.dialects.dialect import Dialect
    from demeanor.gateway.models.upstream import ModelCall

_VERSION = re.compile(r"/v\d\w*(?=/|$)")
_IDLE_SECONDS = 4.0
"""Seconds for which an unused connection is kept; self-hosted servers often close theirs after five."""

_DROPPED_HEADERS = (
    "connection keep-alive proxy-authenticate proxy-connection te trailer transfer-encoding upgrade"
    " content-encoding set-cookie alt-svc strict-transport-security server date"
)
"""Response headers that are not forwarded: those of the gateway's own connection with the provider."""

_DROPPED = frozenset(_DROPPED_HEADERS.split())

_SMALL = 2**16
"""Bytes of a body that is sent at once, together with its headers; a larger one is sent in pieces, between which other
sessions get their turn."""

_KEY_HEADERS = frozenset(("authorization", "proxy-authorization", "x-api-key", "x-goog-api-key", "api-key", "cookie"))


@dataclass(frozen=True, kw_only=True, slots=True)
class ProviderResponse:
    """A response of a provider that has started to arrive."""

    status: int
    """The HTTP status."""

    headers: CIMultiDict[str]
    """The headers that are forwarded, spelled as the provider wrote them; lookup ignores case."""

    chunks: AsyncIterator[bytes]
    """The body as it arrives; raises UpstreamInterrupted if it breaks off."""

    async def read(self) -> bytes:
        """The whole body."""
        return b"".join([chunk async for chunk in self.chunks])


class Provider:
    """A provider; its models share its rate limits and connections."""

    def __init__(
        self,
        name: str,
        *,
        base_url: str,
        dialects: Sequence[Dialect],
        key: str = "",
        headers: Mapping[str, str] | None = None,
        concurrency: int | None = None,
        per_minute: int | None = None,
        connect_timeout: float = 15.0,
        stall_after: float = 300.0,
    ) -> None:
        """The first of `dialects` is used for agents that use none of them.

        `stall_after`: seconds without a single byte after which the provider counts as stalled.
        """
        self.name = name
        self.dialects = tuple(dialects)
        self.key = key
        self.rate_limiter = RateLimiter(concurrency=concurrency, per_minute=per_minute)
        self.base_url = base_url.rstrip("/")
        self._headers = dict(headers or {})
        self._timeout = aiohttp.ClientTimeout(total=None, sock_connect=connect_timeout, sock_read=stall_after)
        self._proxy_url = _proxy_url(URL(self.base_url))
        self._client: aiohttp.ClientSession | None = None
        self._secret_forms = secret_forms(self._secrets())

    @property
    def identity(self) -> tuple[str, tuple[str, ...], Mapping[str, str]]:
        """What the answers depend on: the URL, the dialects and the headers, without anything that is a key."""
        headers = {name: value for name, value in self._headers.items() if name.lower() not in _KEY_HEADERS}
        return self.base_url, tuple(dialect.name for dialect in self.dialects), headers

    def __repr__(self) -> str:
        return f"Provider({self.name!r}, base_url={self.base_url!r})"

    def dialect_for(self, dialect: Dialect) -> Dialect:
        """The dialect in which to call the provider for an agent that uses `dialect`: the same one, if possible."""
        return next((own for own in self.dialects if own.name == dialect.name), self.dialects[0])

    def url(self, path: str) -> URL:
        """The URL for a path of the dialect; a version in the base URL replaces the one in the path."""
        if _VERSION.search(URL(self.base_url).path):
            path = _VERSION.sub("", path, count=1) if _VERSION.match(path) else path
        return URL(self.base_url + path, encoded=True)

    @asynccontextmanager
    async def post(
        self,
        path: str,
        body: bytes,
        headers: Mapping[str, str],
        call: ModelCall,
    ) -> AsyncIterator[ProviderResponse | ProviderError]:
        """Send the request of a call when the rate limits allow it; an error if no response started. `headers` contain
        the key; if the response repeats it or a configured header, that is masked and noted."""
        mask = EchoMask(self._secret_forms, call.note)
        call.queued(True)
        async with self.rate_limiter.slot(call.trial):
            call.queued(False)
            response = await self._send(self.url(path), body, headers)
            if isinstance(response, ProviderError):
                yield response
                return
            try:
                async with aclosing(self._chunks(response, mask, call)) as chunks:
                    yield self._wrap(response, chunks, mask)
            finally:
                response.close()

    async def close(self) -> None:
        """Close all connections."""
        if self._client:
            await self._client.close()
            self._client = None

    async def _send(self, url: URL, body: bytes, headers: Mapping[str, str]) -> aiohttp.ClientResponse | ProviderError:
        if self._client is None:
            connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=_IDLE_SECONDS)
            self._client = aiohttp.ClientSession(
                connector=connector, timeout=self._timeout, cookie_jar=aiohttp.DummyCookieJar()
            )
        head = {**headers, **self._headers, "Accept-Encoding": "identity"}
        try:
            return await self._client.post(
                url,
                data=body if len(body) <= _SMALL else BytesIO(body),
                headers=head,
                allow_redirects=False,
                proxy=self._proxy_url,
            )
        except (aiohttp.ClientError, OSError) as error:
            return self._to_provider_error(error)

    def _secrets(self) -> Iterator[str]:
        """The key, and the values of the headers that can be secrets with their last words, as in `Bearer …`."""
        headers = secret_headers(self._headers).values()
        for value in (self.key, *headers, *(text.rpartition(" ")[2] for text in headers)):
            if can_be_secret(value):
                yield value

    def _wrap(self, response: aiohttp.ClientResponse, chunks: AsyncIterator[bytes], mask: EchoMask) -> ProviderResponse:
        headers = CIMultiDict(
            (name, mask.text(value))
            for name, value in response.headers.items()
            if name.lower() not in _DROPPED and not (name.lower() == "content-length" and _is_compressed(response))
        )
        pause = retry_after(response.headers)
        if pause and response.status in {429, 503, 529}:
            self.rate_limiter.pause(pause)
        return ProviderResponse(status=response.status, headers=headers, chunks=chunks)

    async def _chunks(
        self, response: aiohttp.ClientResponse, mask: EchoMask, call: ModelCall
    ) -> AsyncGenerator[bytes, None]:
        try:
            async for chunk in response.content.iter_any():
                call.received(len(chunk))
                if ready := mask.feed(chunk):
                    yield ready
            if rest := mask.close():
                yield rest
        except (aiohttp.ClientError, OSError) as error:
            raise UpstreamInterrupted(self._to_provider_error(error, status=response.status)) from None

    def _to_provider_error(self, error: Exception, *, status: int | None = None) -> ProviderError:
        """The error that no response, or no more of it, arrived."""
        detail = str(error) or type(error).__name__
        if isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError):
            return ProviderError(status=None, reason="unreachable", message=f"{self.name} can't be reached: {detail}")
        if isinstance(error, TimeoutError):
            waited = f"{self.name} sent nothing for {self._timeout.sock_read:g} seconds"
            return ProviderError(status=status, reason="stalled", message=waited)
        if isinstance(error, aiohttp.ClientResponseError):
            return ProviderError(
                status=status, reason="server", message=f"{self.name} did not answer in HTTP: {detail}"
            )
        return ProviderError(status=status, reason="cut", message=f"{self.name} closed the connection: {detail}")


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The number of seconds that a provider asks clients to wait; None if it does not say."""
    for name, unit in (("Retry-After-Ms", 1000.0), ("Retry-After", 1.0)):
        value = headers.get(name, "").strip()
        if re.fullmatch(r"\d+(\.\d+)?", value):
            return float(value) / unit
        if value:
            try:
                return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
            except ValueError:
                continue
    return None


def _is_compressed(response: aiohttp.ClientResponse) -> bool:
    return response.headers.get("Content-Encoding", "identity") != "identity"


def _proxy_url(url: URL) -> str | None:
    """The proxy that the environment sets for a URL."""
    proxy = getproxies().get(url.scheme)
    return proxy if proxy and not proxy_bypass(url.host or "") else None


# Masks the key and the headers of a provider where the provider repeats them to the agent.
#
# Some providers and proxies quote a rejected key in their error. It becomes asterisks of the same length, so that
# nothing else of a response changes, not even its size.

NOTE = "the provider repeated its key or a configured header to the agent; it was masked"

_SHORTEST = 8
"""Shorter values occur in ordinary text by chance."""


def secret_forms(secrets: Iterable[str]) -> Sequence[bytes]:
    """How secrets may occur in a response: the longest form first, because it may contain another."""
    forms = {form for secret in secrets if len(secret) >= _SHORTEST for form in _forms(secret)}
    return sorted(forms, key=len, reverse=True)


class EchoMask:
    """Masks secrets in the chunks of one response."""

    def __init__(self, forms: Sequence[bytes], note: Callable[[str], None]) -> None:
        """`forms` are those of the secrets, see `secret_forms`; `note` is called if something was masked."""
        self._forms = forms
        self._note = note
        self._held = b""

    def feed(self, chunk: bytes) -> bytes:
        """The next chunk; an end that may be the beginning of a secret is held back."""
        data = self._masked(self._held + chunk)
        keep = max((_overlap(data, form) for form in self._forms), default=0)
        self._held = data[len(data) - keep :]
        return data[: len(data) - keep]

    def close(self) -> bytes:
        """What was held back."""
        rest, self._held = self._held, b""
        return rest

    def text(self, text: str) -> str:
        """A whole text, such as the value of a header."""
        return self._masked(text.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")

    def _masked(self, data: bytes) -> bytes:
        for form in self._forms:
            if form in data:
                data = data.replace(form, b"*" * len(form))
                self._note(NOTE)
        return data


def _forms(secret: str) -> Iterator[bytes]:
    """A secret as it is, and escaped up to three times in JSON strings."""
    for ascii_only in (True, False):
        text = secret
        for _ in range(4):
            yield text.encode("utf-8", "surrogateescape")
            yield text.replace("/", "\\/").encode("utf-8", "surrogateescape")
            text = json.dumps(text, ensure_ascii=ascii_only)[1:-1]


def _overlap(data: bytes, form: bytes) -> int:
    """The length of the end of `data` that is a beginning of `form`."""
    start = max(0, len(data) - len(form) + 1)
    at = data.find(form[:1], start)
    while at >= 0:
        if form.startswith(data[at:]):
            return len(data) - at
        at = data.find(form[:1], at + 1)
    return 0
