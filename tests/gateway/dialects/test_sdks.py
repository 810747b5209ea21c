"""The official clients accept what the dialects write, and the dialects read what they send.

The clients are imported where they are used: importing them takes longer than the tests, and every pytest process
imports this module.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web

from demeanor.core.values.exchange import ProviderError, Request, Response, StopReason, Usage
from demeanor.core.values.messages import Text, Thinking, ToolCall
from demeanor.gateway.dialects import DIALECTS
from demeanor.gateway.dialects.conversions import REFUSAL
from demeanor.gateway.dialects.stream_events import Interrupted, deltas_of

if TYPE_CHECKING:
    import anthropic
    import openai

# Google's client makes a class of aiohttp's session, which aiohttp discourages.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")

ANSWER = Response(
    parts=(
        Thinking(text="Hm, let me see.", signature="c2lnbmF0dXJl"),
        Text(text="Reading two files."),
        ToolCall(id="call_1", name="read", arguments={"path": "a"}, raw='{"path": "a"}'),
        ToolCall(id="call_2", name="read", arguments={"path": "b"}, raw='{"path": "b"}'),
    ),
    stop=StopReason.TOOL_USE,
    usage=Usage(input=100, output=20, cache_read=60, reasoning=8),
    id="answer_1",
    model="some-model",
)
FAILURE = ProviderError(status=429, reason="rate_limit", message="slow down")
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}


class ModelServer:
    """A model server with one response, which records its requests."""

    def __init__(self, dialect: str, answer: Response | ProviderError, *, breaks: bool = False) -> None:
        self.dialect = DIALECTS[dialect]
        self.answer = answer
        self.breaks = breaks
        self.asked: list[Request] = []

    async def serve(self, http: web.Request) -> web.StreamResponse:
        route = self.dialect.route(http.method, http.path, http.query)
        assert route is not None, http.path
        assert self.dialect.token({name.lower(): value for name, value in http.headers.items()}, http.query) == "key"
        if route.operation == "models":
            wire = self.dialect.write_models(["one", "two"])
            return web.Response(body=wire.body, content_type="application/json")
        request = self.dialect.read_request(await http.read(), route)
        self.asked.append(request)
        if route.operation == "count_tokens":
            return web.Response(body=self.dialect.write_count(42).body, content_type="application/json")
        if isinstance(self.answer, ProviderError):
            wire = self.dialect.write_error(self.answer)
            return web.Response(body=wire.body, content_type="application/json", status=wire.status)
        if not request.stream:
            return web.Response(
                body=self.dialect.write_response(self.answer, request).body, content_type="application/json"
            )
        writer = self.dialect.stream_writer(request)
        stream = web.StreamResponse(headers={"Content-Type": writer.content_type})
        await stream.prepare(http)
        deltas = list(deltas_of(self.answer))
        for delta in [*deltas[:3], Interrupted(error=FAILURE)] if self.breaks else deltas:
            await stream.write(writer.write(delta))
        await stream.write(writer.close())
        await stream.write_eof()
        return stream


@asynccontextmanager
async def served(desk: ModelServer) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", desk.serve)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


def meet(desk: ModelServer, talk: Callable[[str], Awaitable[None]]) -> None:
    async def both() -> None:
        async with served(desk) as port:
            await talk(f"http://127.0.0.1:{port}")

    asyncio.run(both())


def openai_client(url: str) -> openai.AsyncOpenAI:
    import openai

    return openai.AsyncOpenAI(api_key="key", base_url=f"{url}/v1", max_retries=0)


def anthropic_client(url: str) -> anthropic.AsyncAnthropic:
    import anthropic

    return anthropic.AsyncAnthropic(api_key="key", base_url=url, max_retries=0)


def google_client(url: str) -> Any:
    from google import genai

    return genai.Client(api_key="key", http_options={"base_url": url}).aio


CHAT_TOOLS: Any = [{"type": "function", "function": {"name": "read", "description": "Reads", "parameters": SCHEMA}}]
CHAT_QUESTION: Any = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Read a and b."}]


def check_chat(completion: Any) -> None:
    message = completion.choices[0].message
    assert message.content == "Reading two files."
    assert [(call.id, call.function.name, call.function.arguments) for call in message.tool_calls] == [
        ("call_1", "read", '{"path": "a"}'),
        ("call_2", "read", '{"path": "b"}'),
    ]
    assert message.reasoning_content == "Hm, let me see."
    assert completion.choices[0].finish_reason == "tool_calls"
    assert (completion.usage.prompt_tokens, completion.usage.prompt_tokens_details.cached_tokens) == (100, 60)
    assert completion.usage.completion_tokens_details.reasoning_tokens == 8


def test_chat() -> None:
    """A complete response in the chat dialect."""
    desk = ModelServer("openai-chat", ANSWER)

    async def talk(url: str) -> None:
        async with openai_client(url) as client:
            check_chat(await client.chat.completions.create(model="m", messages=CHAT_QUESTION, tools=CHAT_TOOLS))
            assert [model.id async for model in client.models.list()] == ["one", "two"]

    meet(desk, talk)
    assert desk.asked[0].system == "Be brief."
    assert desk.asked[0].tools[0].schema == SCHEMA


def test_chat_stream() -> None:
    """A streamed response in the chat dialect, assembled by the client's own helper."""

    async def talk(url: str) -> None:
        async with (
            openai_client(url) as client,
            client.chat.completions.stream(
                model="m", messages=CHAT_QUESTION, tools=CHAT_TOOLS, stream_options={"include_usage": True}
            ) as stream,
        ):
            kinds = [event.type async for event in stream]
            check_chat(await stream.get_final_completion())
        assert "tool_calls.function.arguments.done" in kinds

    meet(ModelServer("openai-chat", ANSWER), talk)


RESPONSES_TOOLS: Any = [{"type": "function", "name": "read", "parameters": SCHEMA, "strict": False}]


def check_responses(response: Any) -> None:
    thought, message, *calls = response.output
    assert (thought.type, thought.summary[0].text) == ("reasoning", "Hm, let me see.")
    assert thought.encrypted_content == "c2lnbmF0dXJl"
    assert message.content[0].text == response.output_text == "Reading two files."
    assert [(call.call_id, call.name, call.arguments) for call in calls] == [
        ("call_1", "read", '{"path": "a"}'),
        ("call_2", "read", '{"path": "b"}'),
    ]
    assert response.status == "completed"
    assert (response.usage.input_tokens, response.usage.input_tokens_details.cached_tokens) == (100, 60)
    assert response.usage.output_tokens_details.reasoning_tokens == 8


def test_responses() -> None:
    """A complete response in the Responses dialect, and a token count."""
    desk = ModelServer("openai-responses", ANSWER)

    async def talk(url: str) -> None:
        async with openai_client(url) as client:
            check_responses(
                await client.responses.create(
                    model="m", instructions="Be brief.", input="Read a and b.", tools=RESPONSES_TOOLS
                )
            )
            assert (await client.responses.input_tokens.count(model="m", input="Hello")).input_tokens == 42

    meet(desk, talk)
    assert (desk.asked[0].system, desk.asked[0].messages[-1].text) == ("Be brief.", "Read a and b.")


def test_responses_stream() -> None:
    """A streamed response in the Responses dialect, assembled by the client's own helper."""

    async def talk(url: str) -> None:
        async with (
            openai_client(url) as client,
            client.responses.stream(model="m", input="Read a and b.", tools=RESPONSES_TOOLS) as stream,
        ):
            kinds = [event.type async for event in stream]
            check_responses(await stream.get_final_response())
        assert kinds[:2] == ["response.created", "response.in_progress"]
        assert kinds[-1] == "response.completed"

    meet(ModelServer("openai-responses", ANSWER), talk)


ANTHROPIC_QUESTION: Any = {
    "model": "m",
    "max_tokens": 100,
    "system": "Be brief.",
    "messages": [{"role": "user", "content": "Read a and b."}],
    "tools": [{"name": "read", "input_schema": SCHEMA}],
}


def check_anthropic(message: Any) -> None:
    thought, text, *calls = message.content
    assert (thought.type, thought.thinking, thought.signature) == ("thinking", "Hm, let me see.", "c2lnbmF0dXJl")
    assert text.text == "Reading two files."
    assert [(call.id, call.name, call.input) for call in calls] == [
        ("call_1", "read", {"path": "a"}),
        ("call_2", "read", {"path": "b"}),
    ]
    assert message.stop_reason == "tool_use"
    usage = message.usage
    assert (usage.input_tokens, usage.cache_read_input_tokens, usage.output_tokens) == (40, 60, 20)


def test_anthropic() -> None:
    """A complete response in the Anthropic dialect, a token count and the list of models."""
    desk = ModelServer("anthropic", ANSWER)

    async def talk(url: str) -> None:
        async with anthropic_client(url) as client:
            check_anthropic(await client.messages.create(**ANTHROPIC_QUESTION))
            question = {key: value for key, value in ANTHROPIC_QUESTION.items() if key != "max_tokens"}
            assert (await client.messages.count_tokens(**question)).input_tokens == 42
            assert [model.id async for model in client.models.list()] == ["one", "two"]

    meet(desk, talk)
    assert (desk.asked[0].system, desk.asked[0].sampling.max_tokens) == ("Be brief.", 100)


def test_anthropic_stream() -> None:
    """A streamed response in the Anthropic dialect, assembled by the client's own helper."""

    async def talk(url: str) -> None:
        async with anthropic_client(url) as client, client.messages.stream(**ANTHROPIC_QUESTION) as stream:
            texts = [text async for text in stream.text_stream]
            check_anthropic(await stream.get_final_message())
        assert "".join(texts) == "Reading two files."

    meet(ModelServer("anthropic", ANSWER), talk)


GOOGLE_CONFIG: Any = {
    "system_instruction": "Be brief.",
    "temperature": 0,
    "tools": [{"function_declarations": [{"name": "read", "parameters_json_schema": SCHEMA}]}],
    "automatic_function_calling": {"disable": True},
    "thinking_config": {"include_thoughts": True},
}


def check_google(parts: list[Any], usage: Any) -> None:
    assert "".join(part.text for part in parts if part.text and part.thought) == "Hm, let me see."
    assert "".join(part.text for part in parts if part.text and not part.thought) == "Reading two files."
    calls = [part.function_call for part in parts if part.function_call]
    assert [(call.id, call.name, call.args) for call in calls] == [
        ("call_1", "read", {"path": "a"}),
        ("call_2", "read", {"path": "b"}),
    ]
    assert any(part.thought_signature for part in parts)
    counts = (usage.prompt_token_count, usage.cached_content_token_count, usage.thoughts_token_count)
    assert counts == (100, 60, 8)
    assert usage.candidates_token_count == 12


def test_google() -> None:
    """A complete response in the Gemini dialect, and a token count."""
    desk = ModelServer("gemini", ANSWER)

    async def talk(url: str) -> None:
        async with google_client(url) as client:
            answer = await client.models.generate_content(model="m", contents="Read a and b.", config=GOOGLE_CONFIG)
            check_google(answer.candidates[0].content.parts, answer.usage_metadata)
            assert answer.candidates[0].finish_reason == "STOP"
            assert (await client.models.count_tokens(model="m", contents="Hello")).total_tokens == 42
            assert [model.name async for model in await client.models.list()] == ["models/one", "models/two"]

    meet(desk, talk)
    assert (desk.asked[0].system, desk.asked[0].model) == ("Be brief.", "m")
    assert desk.asked[0].tools[0].schema == SCHEMA


def test_google_stream() -> None:
    """A streamed response in the Gemini dialect."""

    async def talk(url: str) -> None:
        async with google_client(url) as client:
            parts, last = [], None
            stream = await client.models.generate_content_stream(model="m", contents="Hi", config=GOOGLE_CONFIG)
            async for piece in stream:
                parts += piece.candidates[0].content.parts
                last = piece
            assert last is not None
            assert last.candidates[0].finish_reason == "STOP"
            check_google(parts, last.usage_metadata)

    meet(ModelServer("gemini", ANSWER), talk)


REFUSED = Response(
    parts=(Text(text="I can't help with that.", extra={REFUSAL: True}),),
    stop=StopReason.REFUSAL,
    usage=Usage(input=100, output=20),
    id="answer_1",
    model="some-model",
)


def test_a_refusal_reaches_the_openai_client() -> None:
    """In its own field of the chat API, streamed or not; the client's helper does not read it as text."""

    async def talk(url: str) -> None:
        async with openai_client(url) as client:
            whole = await client.chat.completions.create(model="m", messages=CHAT_QUESTION)
            async with client.chat.completions.stream(model="m", messages=CHAT_QUESTION) as stream:
                kinds = {event.type async for event in stream}
                streamed = await stream.get_final_completion()
        assert {"refusal.delta", "refusal.done"} <= kinds
        assert not whole.choices[0].message.content
        for choice in (whole.choices[0], streamed.choices[0]):
            assert (choice.message.refusal, choice.finish_reason) == ("I can't help with that.", "stop")

    meet(ModelServer("openai-chat", REFUSED), talk)


def test_a_refusal_reaches_the_responses_client() -> None:
    """As a part of its own kind, streamed or not."""

    async def talk(url: str) -> None:
        async with openai_client(url) as client:
            whole: Any = await client.responses.create(model="m", input="Hi.")
            async with client.responses.stream(model="m", input="Hi.") as stream:
                kinds = {event.type async for event in stream}
                streamed: Any = await stream.get_final_response()
        assert {"response.refusal.delta", "response.refusal.done"} <= kinds
        for response in (whole, streamed):
            part = response.output[0].content[0]
            assert (part.type, part.refusal, response.status) == ("refusal", "I can't help with that.", "completed")

    meet(ModelServer("openai-responses", REFUSED), talk)


@pytest.mark.parametrize(
    ("stop", "fields", "reason"),
    [
        (StopReason.REFUSAL, {}, "refusal"),
        (StopReason.PAUSE, {}, "pause_turn"),
        (StopReason.STOP_SEQUENCE, {"stop_reason": "stop_sequence", "stop_sequence": "END"}, "stop_sequence"),
    ],
)
def test_stop_reasons_reach_the_anthropic_client(stop: StopReason, fields: dict[str, str], reason: str) -> None:
    """Streamed or not, with the stop string that was met."""

    async def talk(url: str) -> None:
        async with anthropic_client(url) as client:
            whole = await client.messages.create(**ANTHROPIC_QUESTION)
            async with client.messages.stream(**ANTHROPIC_QUESTION) as stream:
                streamed = await stream.get_final_message()
        for message in (whole, streamed):
            assert message.content[0].text == "I can't help with that."
            assert (message.stop_reason, message.stop_sequence) == (reason, fields.get("stop_sequence"))

    extra = {"anthropic": fields} if fields else {}
    meet(ModelServer("anthropic", replace(REFUSED, stop=stop, extra=extra)), talk)


@pytest.mark.parametrize("word", ["SPII", "MALFORMED_FUNCTION_CALL"])
def test_stop_reasons_reach_the_google_client(word: str) -> None:
    """A recorded response is replayed with the provider's own stop reason, streamed or not."""
    candidate = {"finishReason": word}
    stop = StopReason.REFUSAL if word == "SPII" else StopReason.ERROR
    recorded = replace(REFUSED, stop=stop, extra={"gemini": {"modelVersion": "m"}, "gemini.candidate": candidate})

    async def talk(url: str) -> None:
        async with google_client(url) as client:
            whole = await client.models.generate_content(model="m", contents="Hi.")
            stream = await client.models.generate_content_stream(model="m", contents="Hi.")
            *_, last = [piece async for piece in stream]
        assert [response.candidates[0].finish_reason.value for response in (whole, last)] == [word, word]

    meet(ModelServer("gemini", recorded), talk)


def test_history_is_sent_back_complete() -> None:
    """A client that sends a response back as history sends everything that the model needs."""
    desk = ModelServer("anthropic", ANSWER)

    async def talk(url: str) -> None:
        async with anthropic_client(url) as client:
            message = await client.messages.create(**ANTHROPIC_QUESTION)
            results: Any = [{"type": "tool_result", "tool_use_id": f"call_{n}", "content": f"file {n}"} for n in (1, 2)]
            history = [*ANTHROPIC_QUESTION["messages"], message.to_param(), {"role": "user", "content": results}]
            await client.messages.create(**{**ANTHROPIC_QUESTION, "messages": history})

    meet(desk, talk)
    again = [part for message in desk.asked[1].messages if message.role == "assistant" for part in message.parts]
    assert isinstance(again[0], Thinking)
    assert again[0].signature == "c2lnbmF0dXJl"
    assert [part.id for part in again if isinstance(part, ToolCall)] == ["call_1", "call_2"]


async def ask_chat(url: str) -> None:
    async with openai_client(url) as client:
        await client.chat.completions.create(model="m", messages=CHAT_QUESTION)


async def ask_responses(url: str) -> None:
    async with openai_client(url) as client:
        await client.responses.create(model="m", input="Hi")


async def ask_anthropic(url: str) -> None:
    async with anthropic_client(url) as client:
        await client.messages.create(**ANTHROPIC_QUESTION)


async def ask_google(url: str) -> None:
    async with google_client(url) as client:
        await client.models.generate_content(model="m", contents="Hi")


@pytest.mark.parametrize(
    ("dialect", "talk", "error"),
    [
        ("openai-chat", ask_chat, "openai:RateLimitError"),
        ("openai-responses", ask_responses, "openai:RateLimitError"),
        ("anthropic", ask_anthropic, "anthropic:RateLimitError"),
        ("gemini", ask_google, "google.genai.errors:ClientError"),
    ],
)
def test_errors(dialect: str, talk: Callable[[str], Awaitable[None]], error: str) -> None:
    """An error becomes the client's own exception, with its message."""
    with pytest.raises(resolve_name(error), match="slow down"):
        meet(ModelServer(dialect, FAILURE), talk)


async def stream_chat(url: str) -> None:
    async with openai_client(url) as client:
        async for _ in await client.chat.completions.create(model="m", messages=CHAT_QUESTION, stream=True):
            pass


async def stream_anthropic(url: str) -> None:
    async with anthropic_client(url) as client, client.messages.stream(**ANTHROPIC_QUESTION) as stream:
        await stream.get_final_message()


@pytest.mark.parametrize(
    ("dialect", "talk", "error"),
    [("openai-chat", stream_chat, "openai:APIError"), ("anthropic", stream_anthropic, "anthropic:APIStatusError")],
)
def test_an_interrupted_stream(dialect: str, talk: Callable[[str], Awaitable[None]], error: str) -> None:
    """An error in the middle of a stream becomes the client's own exception too."""
    with pytest.raises(resolve_name(error), match="slow down"):
        meet(ModelServer(dialect, ANSWER, breaks=True), talk)
