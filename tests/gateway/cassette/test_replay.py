"""Replaying cassettes over HTTP."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from demeanor.core.values.exchange import Exchange, ProviderError
from demeanor.gateway.cassette.folder import CassetteFolder
from demeanor.gateway.cassette.recording import make_cassette
from demeanor.gateway.cassette.replay import ReplayModel
from demeanor.gateway.script import ScriptedModel, Turn
from demeanor.gateway.server.session import Session
from tests.gateway.cassette.helpers import a_capture
from tests.gateway.helpers import a_trial, chat, post, running

PATHS = {
    "openai-chat": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
    "anthropic": "/v1/messages",
    "gemini": "/v1beta/models/played:generateContent",
}


def body(dialect: str, prompt: str, *, stream: bool = False) -> dict[str, Any]:
    """The same question in each dialect."""
    if dialect == "gemini":
        return {"contents": [{"role": "user", "parts": [{"text": prompt}]}]}
    if dialect == "openai-responses":
        return {"model": "played", "input": prompt, "stream": stream}
    limit = {"max_tokens": 100} if dialect == "anthropic" else {}
    return {**chat(prompt), **limit, "stream": stream}


@asynccontextmanager
async def open_session(upstream: Any, workspace: str) -> AsyncIterator[Session]:
    """A session with this workspace."""
    async with running(lambda name: upstream) as gateway, gateway.session(a_trial(), seed=1) as session:
        session.set_facts({"workspace": workspace, "home": "/root"})
        yield session


async def record(folder: Path, play: Any, *asked: tuple[str, dict[str, Any]]) -> tuple[Exchange, ...]:
    """Send these requests to a script and record the cassette."""
    async with open_session(ScriptedModel(play=play), "/tmp/demeanor-1/3/workspace") as session:
        for dialect, request in asked:
            await post(session, request, path=PATHS[dialect])
        exchanges = session.exchanges()
    CassetteFolder(folder).write(make_cassette(a_trial(), a_capture(*exchanges)))
    return exchanges


def replaying(folder: Path) -> ReplayModel:
    """A replay model with these cassettes."""
    trial = a_trial()
    return ReplayModel(folder=CassetteFolder(folder), trials={trial.id: trial})


@pytest.mark.parametrize("dialect", PATHS)
async def test_every_dialect_gets_the_recorded_response(tmp_path: Path, dialect: str):
    """The same response with the same tokens, at no cost."""
    (before,) = await record(tmp_path, lambda turn: "Hello!", (dialect, body(dialect, "Hi.")))
    async with open_session(replaying(tmp_path), "/elsewhere/workspace") as session:
        reply = await post(session, body(dialect, "Hi."), path=PATHS[dialect])
        (after,) = session.exchanges()
    assert (reply.status, after.response, after.cost_usd) == (200, before.response, 0.0)
    assert "replayed from" in session.notes[0]


async def test_a_response_contains_the_workspace_of_the_replay(tmp_path: Path):
    """A model that wrote absolute paths wrote those of another machine."""

    def play(turn: Turn) -> Any:
        return turn.call_tool("write_file", {"path": "/tmp/demeanor-1/3/workspace/a.txt", "content": "x"})

    tool = {"type": "function", "function": {"name": "write_file", "parameters": {"type": "object"}}}
    prompt = "Work in {}."
    asked = body("openai-chat", prompt.format("/tmp/demeanor-1/3/workspace")) | {"tools": [tool]}
    await record(tmp_path, play, ("openai-chat", asked))
    async with open_session(replaying(tmp_path), "/elsewhere/workspace") as session:
        again = body("openai-chat", prompt.format("/elsewhere/workspace")) | {"tools": [tool]}
        reply = await post(session, again)
    (found,) = json.loads(reply.body)["choices"][0]["message"]["tool_calls"]
    assert json.loads(found["function"]["arguments"])["path"] == "/elsewhere/workspace/a.txt"


@pytest.mark.parametrize("dialect", PATHS)
async def test_a_miss_is_refused_in_the_agents_dialect(tmp_path: Path, dialect: str):
    """The status is one that clients do not retry, and the difference is readable."""
    await record(tmp_path, lambda turn: "Hello!", (dialect, body(dialect, "Hi there.")))
    async with open_session(replaying(tmp_path), "/elsewhere/workspace") as session:
        reply = await post(session, body(dialect, "Hi here."), path=PATHS[dialect])
        (exchange,) = session.exchanges()
    assert reply.status == 400
    assert b"recorded: Hi there." in reply.body
    assert exchange.error is not None
    assert (exchange.error.reason, exchange.response) == ("cassette", None)
    assert "the first difference is at messages[0].parts[0].text" in exchange.error.message


async def test_recorded_errors_are_replayed(tmp_path: Path):
    """An agent that recovered from a 429 must recover again."""
    error = ProviderError(status=429, reason="rate_limit", message="Too many.")
    (fine,) = await record(tmp_path, lambda turn: "Ok.", ("openai-chat", body("openai-chat", "Hi.")))
    failed = Exchange(number=1, dialect="openai-chat", request=fine.request, error=error)
    second = Exchange(number=2, dialect="openai-chat", request=fine.request, response=fine.response)
    CassetteFolder(tmp_path).write(make_cassette(a_trial(), a_capture(failed, second)))
    async with open_session(replaying(tmp_path), "/elsewhere") as session:
        statuses = [(await post(session, body("openai-chat", "Hi."))).status for _ in range(3)]
    assert statuses == [429, 200, 200]


async def test_an_interrupted_response_is_interrupted_again(tmp_path: Path):
    """The recorded part is sent, then the error."""
    asked = body("openai-chat", "Hi.", stream=True)
    (fine,) = await record(tmp_path, lambda turn: "Half of it.", ("openai-chat", asked))
    truncated = ProviderError(status=200, reason="cut", message="gone")
    broken = Exchange(number=1, dialect="openai-chat", request=fine.request, response=fine.response, error=truncated)
    CassetteFolder(tmp_path).write(make_cassette(a_trial(), a_capture(broken)))
    async with open_session(replaying(tmp_path), "/elsewhere") as session:
        reply = await post(session, asked)
        (exchange,) = session.exchanges()
    assert b"Half of it." in reply.body
    assert exchange.error is not None
    assert exchange.error.reason == "cut"


async def test_absent_and_unreadable_are_different_errors(tmp_path: Path):
    """Each has its own message."""
    async with open_session(replaying(tmp_path), "/elsewhere") as session:
        await post(session, chat())
    path = CassetteFolder(tmp_path).path("saves_the_note", "native:played", 1)
    path.parent.mkdir(parents=True)
    path.write_text("{")
    async with open_session(replaying(tmp_path), "/elsewhere") as other:
        await post(other, chat())
    errors = [session.exchanges()[0].error, other.exchanges()[0].error]
    assert [error.reason for error in errors if error] == ["cassette", "cassette"]
    assert "there is no cassette" in str(errors[0])
    assert "not valid JSON" in str(errors[1])
    assert path.read_text() == "{"


async def test_a_new_attempt_starts_the_cassette_again(tmp_path: Path):
    """Exchanges that one attempt used are available to the next."""
    replies = iter(["One.", "Two."])
    asked = ("openai-chat", body("openai-chat", "Hi."))
    await record(tmp_path, lambda turn: next(replies), asked, asked)
    upstream = replaying(tmp_path)
    for _ in range(2):
        async with open_session(upstream, "/elsewhere") as session:
            texts = [json.loads((await post(session, asked[1])).body)["choices"][0]["message"]["content"] for _ in "12"]
        assert texts == ["One.", "Two."]
