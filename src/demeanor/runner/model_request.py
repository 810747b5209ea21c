"""Demeanor's own requests to a model, for judges and simulated users: sent through the gateway like those of an agent,
so that they are recorded, priced, charged to the budgets, faulted and replayed in the same way."""

from __future__ import annotations

import asyncio

import aiohttp

from demeanor.core.values.errors import WorldError
from demeanor.core.values.exchange import ErrorReason, Request, Response
from demeanor.core.values.ports import GatewaySession
from demeanor.core.values.verdict import VoidCause
from demeanor.gateway import DIALECTS, Malformed
from demeanor.runner.schedule import Retries

_PATH = "/v1/chat/completions"
_TIMEOUT = 600.0
"""Seconds that a model gets for one response."""

_TEMPORARY = {"rate_limit", "overloaded", "server", "unreachable", "stalled", "cut"}
_CAUSES = {"budget": VoidCause.BUDGET, "cassette": VoidCause.CASSETTE}


class _NoResponse(Exception):
    """Why there is no response, with the gateway's reason if it has one."""

    def __init__(self, problem: str, reason: ErrorReason | None) -> None:
        super().__init__(problem)
        self.reason = reason


async def ask_model(
    session: GatewaySession, request: Request, retries: Retries, *, cause: VoidCause, failed: str
) -> Response:
    """The model's response; temporary failures are retried. Without one, raises WorldError with the text `failed`."""
    attempt = 1
    while True:
        try:
            return await _send(session, request)
        except _NoResponse as error:
            temporary = error.reason is None or error.reason in _TEMPORARY
            if not temporary or attempt >= retries.most:
                raise WorldError(_CAUSES.get(error.reason or "", cause), f"{failed}: {error}") from None
        await asyncio.sleep(retries.seconds(attempt))
        attempt += 1


async def _send(session: GatewaySession, request: Request) -> Response:
    """Send one request in a session, and wait for its response; raises _NoResponse."""
    headers = {"Authorization": f"Bearer {session.token}", "Content-Type": "application/json"}
    chat = DIALECTS["openai-chat"]
    body = chat.write_request(request).body
    response, problem = None, ""
    try:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=_TIMEOUT)) as client,
            client.post(session.base_url + _PATH, data=body, headers=headers) as answer,
        ):
            received = await answer.read()
            if answer.status < 400:
                response = chat.read_response(received)
    except TimeoutError:
        problem = f"it did not answer within {_TIMEOUT:g} s"
    except Malformed as error:
        problem = f"its response can't be read: {error}"
    except (aiohttp.ClientError, OSError) as error:
        problem = f"the connection failed: {error}"
    recorded = session.exchanges()[-1].error
    if response is None or recorded is not None:
        raise _NoResponse(recorded.message if recorded else problem, recorded.reason if recorded else None)
    return response
