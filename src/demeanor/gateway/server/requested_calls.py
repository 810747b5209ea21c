"""Tells which tool calls the model requested in a session, for a client in the sandbox that has to judge a call.

An agent that speaks ACP asks for permission before it runs a tool, and may not say which tool it is. Its exchanges do.
They contain nothing that the agent has not received already.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from aiohttp import web

if TYPE_CHECKING:
    from demeanor.core.exchange import Exchange
    from demeanor.gateway.server.session import Session

PATH = "/demeanor/calls"
"""Below the prefix of a session; acp/wire.py asks for it."""

_MAX_CALLS = 100
_MAX_ARGUMENTS = 20_000
"""Characters; the arguments of a larger call are left out."""


def requested_calls(request: web.BaseRequest, session: Session) -> web.Response:
    """The response to a request for the calls; it needs the session's token."""
    presented = request.headers.get("Authorization", "").removeprefix("Bearer ")
    if not hmac.compare_digest(presented.encode(), session.token.encode()):
        return web.json_response({"error": {"message": "this is not the token of this session"}}, status=401)
    return web.json_response({"calls": list(islice(_newest_first(session.exchanges()), _MAX_CALLS))})


def _newest_first(exchanges: Iterable[Exchange]) -> Iterator[dict[str, Any]]:
    for exchange in reversed(tuple(exchanges)):
        for call in exchange.response.calls if exchange.response else ():
            arguments = call.arguments if len(call.raw) <= _MAX_ARGUMENTS else None
            yield {"id": call.id, "tool": call.name, "arguments": arguments}
