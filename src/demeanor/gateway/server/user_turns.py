"""Lets a client in the sandbox ask the user of its trial: for the next message, or for the answer to a question.

Agents that are one program for the whole conversation use it; others are started again for each message. An agent that
asks by itself, with its own token, gets what its client would get, and all of it is recorded.
"""

from __future__ import annotations

import hmac
import json
from typing import TYPE_CHECKING, Any

from aiohttp import web

from demeanor.core.user_channel import PATH

if TYPE_CHECKING:
    from demeanor.gateway.server.session import Session

__all__ = ["PATH", "user_turn"]

_MOST_BYTES = 4 * 2**20
_MOST_OPTIONS = 100


async def user_turn(request: web.BaseRequest, session: Session) -> web.Response:
    """The response to a request for the user; it needs the session's token."""
    presented = request.headers.get("Authorization", "").removeprefix("Bearer ")
    if not hmac.compare_digest(presented.encode(), session.token.encode()):
        return _refused("this is not the token of this session", 401)
    if session.user is None:
        return _refused("this trial has no user who can be asked", 404)
    body = bytearray()
    while len(body) <= _MOST_BYTES and (chunk := await request.content.readany()):
        body += chunk
    try:
        asked = json.loads(body) if len(body) <= _MOST_BYTES else None
    except (ValueError, RecursionError):
        asked = None
    if not isinstance(asked, dict):
        return _refused("the body is not a JSON object, or it is too large", 400)
    question, options = asked.get("question"), asked.get("options")
    if isinstance(question, str):
        shown = [_text(option) for option in options[:_MOST_OPTIONS]] if isinstance(options, list) else []
        said = await session.user.answer(_text(question), tuple(shown))
    else:
        said = await session.user.reply(_text(asked.get("said")))
    return web.json_response({"said": said})


def _refused(problem: str, status: int) -> web.Response:
    return web.json_response({"error": {"message": problem}}, status=status)


def _text(value: Any) -> str:
    """A text of the agent that can be stored."""
    return str(value if value is not None else "").encode("utf-8", "replace").decode()
