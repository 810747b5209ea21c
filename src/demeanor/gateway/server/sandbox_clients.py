"""Answers clients in the sandbox that need more than a model: they ask the user of their trial, or for its tool calls.

Agents that are one program for the whole conversation ask for the user's next message, or for the answer to a question;
others are started again for each message. An agent that speaks ACP asks for permission before it runs a tool, and may
not say which tool it is; the calls that the model requested do. An agent that asks by itself, with its own token, gets
what its client would get: nothing that it has not received already, and all of it is recorded.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from aiohttp import web

from demeanor.core.values.user_channel import PATH as USER_PATH

if TYPE_CHECKING:
    from demeanor.core.values.exchange import Exchange
    from demeanor.gateway.server.session import Session

CALLS_PATH = "/demeanor/calls"
"""Below the prefix of a session; agents/acp_client/wire.py asks for it."""

_MOST_OPTIONS = 100
_MAX_CALLS = 100
_MAX_ARGUMENTS = 20_000
"""Characters; the arguments of a larger call are left out."""


async def answer_client(request: web.BaseRequest, session: Session, path: str) -> web.Response | None:
    """The response to a client's request, which needs the session's token; None if it is not one of these."""
    if (request.method, path) not in {("GET", CALLS_PATH), ("POST", USER_PATH)}:
        return None
    presented = request.headers.get("Authorization", "").removeprefix("Bearer ")
    if not hmac.compare_digest(presented.encode(), session.token.encode()):
        return _refused("this is not the token of this session", 401)
    if path == USER_PATH:
        return await _user_turn(request, session)
    return web.json_response({"calls": list(islice(_newest_first(session.exchanges()), _MAX_CALLS))})


async def _user_turn(request: web.BaseRequest, session: Session) -> web.Response:
    if session.user is None:
        return _refused("this trial has no user who can be asked", 404)
    body = bytearray()
    while session.asked <= session.limits.asked and (chunk := await request.content.readany()):
        body += chunk
        session.asked += len(chunk)
    try:
        asked = json.loads(body) if session.asked <= session.limits.asked else None
    except (ValueError, RecursionError):
        asked = None
    if not isinstance(asked, dict):
        return _refused("the body is not a JSON object, or it and those before are too large", 400)
    question, options = asked.get("question"), asked.get("options")
    if isinstance(question, str):
        shown = [_text(option) for option in options[:_MOST_OPTIONS]] if isinstance(options, list) else []
        said = await session.user.answer(_text(question), tuple(shown))
    else:
        said = await session.user.reply(_text(asked.get("said")))
    return web.json_response({"said": said})


def _newest_first(exchanges: Iterable[Exchange]) -> Iterator[dict[str, Any]]:
    for exchange in reversed(tuple(exchanges)):
        for call in exchange.response.calls if exchange.response else ():
            arguments = call.arguments if len(call.raw) <= _MAX_ARGUMENTS else None
            yield {"id": call.id, "tool": call.name, "arguments": arguments}


def _refused(problem: str, status: int) -> web.Response:
    return web.json_response({"error": {"message": problem}}, status=status)


def _text(value: Any) -> str:
    """A text of the agent that can be stored."""
    return str(value if value is not None else "").encode("utf-8", "replace").decode()
