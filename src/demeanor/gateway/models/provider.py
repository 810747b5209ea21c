"""A model provider: where it is, how it is spoken to, and how much may be asked of it at once."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from io import BytesIO
from typing import TYPE_CHECKING
from urllib.request import getproxies, proxy_bypass

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from demeanor.core.exchange import ProviderError
from demeanor.core.redaction.redactor import Mask
from demeanor.gateway.models.rate_limit import RateLimiter
from demeanor.gateway.models.upstream import UpstreamBroke

if TYPE_CHECKING:
    from demeanor.gateway.dialects.dialect import Dialect

_VERSION = re.compile(r"/v\d\w*(?=/|$)")
_IDLE = 4.0
"""Seconds for which an unused connection is kept; servers that people run themselves often keep theirs for five."""

_KEPT_BACK = (
    "connection keep-alive proxy-authenticate proxy-connection te trailer transfer-encoding upgrade"
    " content-encoding set-cookie alt-svc strict-transport-security server date"
)
"""Of a provider's head: what concerns our connection with it, and not the agent."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Opened:
    """An answer of a provider that has begun."""

    status: int
    """The HTTP status."""

    headers: CIMultiDict[str]
    """What of the head may be passed on; names are as the provider wrote them, and are found in any case."""

    chunks: AsyncIterator[bytes]
    """The body as it comes, without the key; raises UpstreamBroke where it breaks off."""

    async def read(self) -> bytes:
        """The whole body."""
        return b"".join([chunk async for chunk in self.chunks])


class Provider:
    """A provider; the models that it offers share its limits and its connections."""

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
        """The first of `dialects` is spoken with agents that speak none of them.

        `stall_after`: seconds without a single byte after which the provider is taken for dead.
        """
        self.name = name
        self.dialects = tuple(dialects)
        self.key = key
        self.throttle = RateLimiter(concurrency=concurrency, per_minute=per_minute)
        self._base_url = base_url.rstrip("/")
        self._headers = dict(headers or {})
        self._timeout = aiohttp.ClientTimeout(total=None, sock_connect=connect_timeout, sock_read=stall_after)
        self._proxy = _proxy(URL(self._base_url))
        self._client: aiohttp.ClientSession | None = None

    def __repr__(self) -> str:
        return f"Provider({self.name!r}, base_url={self._base_url!r})"

    def spoken_with(self, dialect: Dialect) -> Dialect:
        """The dialect in which the provider is asked for an agent that speaks `dialect`: the same, if it can be."""
        return next((own for own in self.dialects if own.name == dialect.name), self.dialects[0])

    def url(self, path: str) -> URL:
        """Where a path of the dialect is; the version is said once, by the base URL if it says one."""
        if _VERSION.search(URL(self._base_url).path):
            path = _VERSION.sub("", path, count=1) if _VERSION.match(path) else path
        return URL(self._base_url + path, encoded=True)

    @asynccontextmanager
    async def post(self, path: str, body: bytes, headers: Mapping[str, str]) -> AsyncIterator[Opened | ProviderError]:
        """Ask, when it is this request's turn; an error where no answer began. `headers` present the key."""
        async with self.throttle.slot():
            response = await self._send(self.url(path), body, headers)
            if isinstance(response, ProviderError):
                yield response
                return
            try:
                async with aclosing(self._chunks(response)) as chunks:
                    yield self._opened(response, chunks)
            finally:
                response.close()

    async def close(self) -> None:
        """Close all connections."""
        if self._client:
            await self._client.close()
            self._client = None

    async def _send(self, url: URL, body: bytes, headers: Mapping[str, str]) -> aiohttp.ClientResponse | ProviderError:
        if self._client is None:
            connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=_IDLE)
            self._client = aiohttp.ClientSession(
                connector=connector, timeout=self._timeout, cookie_jar=aiohttp.DummyCookieJar()
            )
        head = {**headers, **self._headers, "Accept-Encoding": "identity"}
        try:
            return await self._client.post(
                url, data=BytesIO(body), headers=head, allow_redirects=False, proxy=self._proxy
            )
        except (aiohttp.ClientError, OSError) as error:
            return self._failure(error)

    def _opened(self, response: aiohttp.ClientResponse, chunks: AsyncIterator[bytes]) -> Opened:
        headers = CIMultiDict(
            (name, Mask(self.key).text(value))
            for name, value in response.headers.items()
            if name.lower() not in _KEPT_BACK.split() and not (name.lower() == "content-length" and _packed(response))
        )
        pause = retry_after(response.headers)
        if pause and response.status in {429, 503, 529}:
            self.throttle.hold(pause)
        return Opened(status=response.status, headers=headers, chunks=chunks)

    async def _chunks(self, response: aiohttp.ClientResponse) -> AsyncGenerator[bytes, None]:
        mask = Mask(self.key)
        try:
            async for chunk in response.content.iter_any():
                if shown := mask.feed(chunk):
                    yield shown
        except (aiohttp.ClientError, OSError) as error:
            raise UpstreamBroke(self._failure(error, begun=response.status)) from None
        if rest := mask.close():
            yield rest

    def _failure(self, error: Exception, *, begun: int | None = None) -> ProviderError:
        """What it means that no answer, or no more of it, came."""
        what = Mask(self.key).text(str(error)) or type(error).__name__
        if isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError):
            return ProviderError(status=None, reason="unreachable", message=f"{self.name} can't be reached: {what}")
        if isinstance(error, TimeoutError):
            waited = f"{self.name} sent nothing for {self._timeout.sock_read:g} seconds"
            return ProviderError(status=begun, reason="stalled", message=waited)
        if isinstance(error, aiohttp.ClientResponseError):
            return ProviderError(status=begun, reason="server", message=f"{self.name} speaks no HTTP: {what}")
        return ProviderError(status=begun, reason="cut", message=f"{self.name} hung up: {what}")


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds that a provider asks to be left alone for; None where it does not say."""
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


def _packed(response: aiohttp.ClientResponse) -> bool:
    return response.headers.get("Content-Encoding", "identity") != "identity"


def _proxy(url: URL) -> str | None:
    """The proxy that the environment names for an address."""
    proxy = getproxies().get(url.scheme)
    return proxy if proxy and not proxy_bypass(url.host or "") else None
