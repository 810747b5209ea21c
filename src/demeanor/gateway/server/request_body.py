"""Reads request bodies so that one agent's large requests neither fill the memory nor delay other agents.

A session reads one large body at a time, and one large body at a time is parsed, in a thread. The sessions take turns,
since each of them waits for its own previous body first.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from aiohttp import web

    from demeanor.core.values.exchange import ProviderError, Request

_LARGE = 2**20
"""Bytes from which a body is large."""

Parsed: TypeAlias = "tuple[Request, ProviderError | None]"
"""A request, and what is wrong with it."""

Parse: TypeAlias = "Callable[[bytes], Parsed]"


class TooLarge(Exception):
    """A body exceeds its limit."""


class LargeBodies:
    """The turn of one session at large bodies."""

    def __init__(self, parsing: asyncio.Lock) -> None:
        """`parsing` is shared by all sessions of a server."""
        self._own = asyncio.Lock()
        self._parsing = parsing

    async def read(self, request: web.BaseRequest, parse: Parse, *, limit: int) -> tuple[bytes, Parsed]:
        """The body of a request, and what `parse` makes of it; raises TooLarge."""
        if (request.content_length or 0) > limit:
            raise TooLarge
        body = bytearray()
        while len(body) <= _LARGE and (chunk := await request.content.readany()):
            body += chunk
        if len(body) <= min(_LARGE, limit):
            whole = bytes(body)
            return whole, parse(whole)
        async with self._own:
            while len(body) <= limit and (chunk := await request.content.readany()):
                body += chunk
            if len(body) > limit:
                raise TooLarge
            async with self._parsing:
                whole = bytes(body)
                return whole, await asyncio.to_thread(parse, whole)
