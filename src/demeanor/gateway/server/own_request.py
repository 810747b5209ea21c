"""Demeanor's own requests to a model: sent through the gateway like those of an agent, so that they are recorded,
priced, charged to the budgets, faulted and replayed in the same way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import aiohttp

from demeanor.gateway.dialects.dialect import Malformed
from demeanor.gateway.dialects.openai_chat import OPENAI_CHAT

if TYPE_CHECKING:
    from demeanor.core.exchange import Exchange, Response
    from demeanor.core.exchange import Request as ModelRequest
    from demeanor.core.ports import GatewaySession

_PATH = "/v1/chat/completions"


@dataclass(frozen=True, kw_only=True, slots=True)
class ReceivedReply:
    """What came back from the gateway."""

    exchange: Exchange
    """The exchange as the gateway recorded it."""

    response: Response | None = None
    """The response as it arrived; None if there was a problem."""

    problem: str = ""
    """Why there is no response; empty if there is one."""


async def send_request(session: GatewaySession, request: ModelRequest, *, timeout: float) -> ReceivedReply:  # noqa: ASYNC109
    """Send one request in a session, and wait for its reply."""
    wire = OPENAI_CHAT.write_request(request)
    headers = {"Authorization": f"Bearer {session.token}", "Content-Type": "application/json"}
    response, problem = None, ""
    try:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=timeout)) as client,
            client.post(session.base_url + _PATH, data=wire.body, headers=headers) as answer,
        ):
            body = await answer.read()
            if answer.status < 400:
                response = OPENAI_CHAT.read_response(body)
    except TimeoutError:
        problem = f"it did not answer within {timeout:g} s"
    except Malformed as error:
        problem = f"its response can't be read: {error}"
    except (aiohttp.ClientError, OSError) as error:
        problem = f"the connection failed: {error}"
    exchange = session.exchanges()[-1]
    if exchange.error is not None:
        response, problem = None, exchange.error.message
    return ReceivedReply(exchange=exchange, response=response, problem=problem)
