"""What the tests of the gateway have in common: a trial, a running gateway, and questions to it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

from holdfast.core.evals import Eval, Source
from holdfast.core.policy import Policy
from holdfast.core.scenario import Scenario
from holdfast.core.subject import Subject
from holdfast.core.trial import Trial
from holdfast.gateway.script import Script, ScriptedModel
from holdfast.gateway.server import GatewayServer
from holdfast.gateway.session import Session


def a_trial(model: str = "played", *, name: str = "saves_the_note", number: int = 1) -> Trial:
    """A trial of an eval of this name."""
    source = Source(path=Path("eval_notes.py"))
    found = Eval(
        name=name, policy=Policy.USUALLY_PASSES, scenario=Scenario(prompts=("Hi.",)), checks=(), source=source
    )
    return Trial(eval=found, subject=Subject(agent="native", model=model), number=number, timeout=60.0)


@asynccontextmanager
async def running(models: Any, **settings: Any) -> AsyncIterator[GatewayServer]:
    """A gateway that listens."""
    gateway = GatewayServer(models, **settings)
    await gateway.start()
    try:
        yield gateway
    finally:
        await gateway.stop()


@asynccontextmanager
async def playing(play: Script, *, seed: int = 1) -> AsyncIterator[Session]:
    """A session of a gateway whose model `played` plays a script."""
    async with running({"played": ScriptedModel(play=play)}) as gateway, gateway.session(a_trial(), seed=seed) as door:
        yield door


def chat(prompt: str = "Hi.", *, model: str = "played", **more: Any) -> dict[str, Any]:
    """A request of the chat API."""
    return {"model": model, "messages": [{"role": "user", "content": prompt}], **more}


async def post(door: Session, body: Any, *, path: str = "/v1/chat/completions", token: str | None = None) -> Reply:
    """Send a request to a session as an agent would."""
    headers = {"Authorization": f"Bearer {door.token if token is None else token}"}
    sent = {"data": body} if isinstance(body, bytes) else {"json": body}
    async with aiohttp.ClientSession() as client, client.post(door.base_url + path, headers=headers, **sent) as answer:
        return Reply(answer.status, await answer.read(), dict(answer.headers))


class Reply:
    """What came back."""

    def __init__(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.status = status
        self.body = body
        self.headers = headers
