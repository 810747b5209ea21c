"""A model that answers from cassettes, asked over the wire."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from demeanor.core.exchange import Exchange, ProviderError
from demeanor.gateway.cassette.folder import CassetteFolder
from demeanor.gateway.cassette.make import make_cassette
from demeanor.gateway.cassette.replay import ReplayModel
from demeanor.gateway.script import ScriptedModel, Turn
from demeanor.gateway.server.session import Session
from tests.gateway.cassettes import a_capture
from tests.gateway.lab import a_trial, chat, post, running

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
async def session(upstream: Any, workspace: str) -> AsyncIterator[Session]:
    """A session on a bench in this workspace."""
    async with running(lambda name: upstream) as gateway, gateway.session(a_trial(), seed=1) as door:
        door.set_facts({"workspace": workspace, "home": "/root"})
        yield door


async def record(folder: Path, play: Any, *asked: tuple[str, dict[str, Any]]) -> tuple[Exchange, ...]:
    """Ask a script these things and keep the cassette."""
    async with session(ScriptedModel(play=play), "/tmp/hf-1/3/workspace") as door:
        for dialect, told in asked:
            await post(door, told, path=PATHS[dialect])
        exchanges = door.exchanges()
    CassetteFolder(folder).write(make_cassette(a_trial(), a_capture(*exchanges)))
    return exchanges


def replaying(folder: Path) -> ReplayModel:
    """A model that knows these cassettes."""
    trial = a_trial()
    return ReplayModel(folder=CassetteFolder(folder), trials={trial.id: trial})


@pytest.mark.parametrize("dialect", PATHS)
async def test_every_dialect_is_answered_as_it_was(tmp_path: Path, dialect: str):
    """The same answer, tokens included; no money is spent."""
    (before,) = await record(tmp_path, lambda turn: "Hello!", (dialect, body(dialect, "Hi.")))
    async with session(replaying(tmp_path), "/elsewhere/workspace") as door:
        reply = await post(door, body(dialect, "Hi."), path=PATHS[dialect])
        (after,) = door.exchanges()
    assert (reply.status, after.response, after.cost_usd) == (200, before.response, 0.0)
    assert "replayed from" in door.notes[0]


async def test_an_answer_names_the_workspace_of_the_bench_it_is_played_on(tmp_path: Path):
    """A model that wrote absolute paths wrote those of another machine."""

    def play(turn: Turn) -> Any:
        return turn.call_tool("write_file", {"path": "/tmp/hf-1/3/workspace/a.txt", "content": "x"})

    tool = {"type": "function", "function": {"name": "write_file", "parameters": {"type": "object"}}}
    prompt = "Work in {}."
    asked = body("openai-chat", prompt.format("/tmp/hf-1/3/workspace")) | {"tools": [tool]}
    await record(tmp_path, play, ("openai-chat", asked))
    async with session(replaying(tmp_path), "/elsewhere/workspace") as door:
        again = body("openai-chat", prompt.format("/elsewhere/workspace")) | {"tools": [tool]}
        reply = await post(door, again)
    (found,) = json.loads(reply.body)["choices"][0]["message"]["tool_calls"]
    assert json.loads(found["function"]["arguments"])["path"] == "/elsewhere/workspace/a.txt"


@pytest.mark.parametrize("dialect", PATHS)
async def test_a_miss_is_refused_in_the_agents_dialect(tmp_path: Path, dialect: str):
    """With a status that clients don't try again, and a difference that a person can read."""
    await record(tmp_path, lambda turn: "Hello!", (dialect, body(dialect, "Hi there.")))
    async with session(replaying(tmp_path), "/elsewhere/workspace") as door:
        reply = await post(door, body(dialect, "Hi here."), path=PATHS[dialect])
        (exchange,) = door.exchanges()
    assert reply.status == 400
    assert b"recorded: Hi there." in reply.body
    assert exchange.error is not None
    assert (exchange.error.reason, exchange.response) == ("cassette", None)
    assert "they first differ at messages[0].parts[0].text" in exchange.error.message


async def test_recorded_errors_come_again(tmp_path: Path):
    """An agent that got over a 429 must get over it again."""
    error = ProviderError(status=429, reason="rate_limit", message="Too many.")
    (fine,) = await record(tmp_path, lambda turn: "Ok.", ("openai-chat", body("openai-chat", "Hi.")))
    failed = Exchange(number=1, dialect="openai-chat", request=fine.request, error=error)
    second = Exchange(number=2, dialect="openai-chat", request=fine.request, response=fine.response)
    CassetteFolder(tmp_path).write(make_cassette(a_trial(), a_capture(failed, second)))
    async with session(replaying(tmp_path), "/elsewhere") as door:
        told = [(await post(door, body("openai-chat", "Hi."))).status for _ in range(3)]
    assert told == [429, 200, 200]


async def test_an_answer_that_broke_off_breaks_off_again(tmp_path: Path):
    """As far as it came, and then the error."""
    asked = body("openai-chat", "Hi.", stream=True)
    (fine,) = await record(tmp_path, lambda turn: "Half of it.", ("openai-chat", asked))
    cut = ProviderError(status=200, reason="cut", message="gone")
    broken = Exchange(number=1, dialect="openai-chat", request=fine.request, response=fine.response, error=cut)
    CassetteFolder(tmp_path).write(make_cassette(a_trial(), a_capture(broken)))
    async with session(replaying(tmp_path), "/elsewhere") as door:
        reply = await post(door, asked)
        (exchange,) = door.exchanges()
    assert b"Half of it." in reply.body
    assert exchange.error is not None
    assert exchange.error.reason == "cut"


async def test_absent_and_unreadable_are_told_apart(tmp_path: Path):
    """Each has its own words."""
    async with session(replaying(tmp_path), "/elsewhere") as door:
        await post(door, chat())
    path = CassetteFolder(tmp_path).place("saves_the_note", "native:played", 1)
    path.parent.mkdir(parents=True)
    path.write_text("{")
    async with session(replaying(tmp_path), "/elsewhere") as other:
        await post(other, chat())
    errors = [door.exchanges()[0].error, other.exchanges()[0].error]
    assert [error.reason for error in errors if error] == ["cassette", "cassette"]
    assert "there is no cassette" in str(errors[0])
    assert "no JSON" in str(errors[1])
    assert path.read_text() == "{"


async def test_a_new_attempt_starts_the_cassette_anew(tmp_path: Path):
    """What one attempt used up is there for the next."""
    replies = iter(["One.", "Two."])
    asked = ("openai-chat", body("openai-chat", "Hi."))
    await record(tmp_path, lambda turn: next(replies), asked, asked)
    upstream = replaying(tmp_path)
    for _ in range(2):
        async with session(upstream, "/elsewhere") as door:
            told = [json.loads((await post(door, asked[1])).body)["choices"][0]["message"]["content"] for _ in "12"]
        assert told == ["One.", "Two."]
