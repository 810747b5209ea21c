"""The official clients accept what the gateway sends."""

from __future__ import annotations

import json
from typing import Any

import anthropic
import openai
import pytest
from google import genai
from google.genai import types
from openai.types.chat import ChatCompletionMessageParam

from demeanor.core.values.exchange import StopReason
from demeanor.gateway.script import Answer, Turn
from demeanor.gateway.server.session import Session
from tests.gateway.helpers import a_tool, playing

SCHEMA: Any = a_tool("read_file", "path").schema
ODD = 'ü "quoted"\n.txt'


def play(turn: Turn) -> Answer:
    """A model that reads two files at once, and then reports the content of the second one."""
    if turn.done:
        return Answer(text=f"It says {turn.result}.")
    calls = (turn.call("read", path="a.txt"), turn.call("read", path=ODD))
    return Answer(thinking="I must look.", text="Let me see.", calls=calls)


def assert_seen(session: Session) -> None:
    """Both turns were recorded completely."""
    first, second = session.exchanges()
    assert first.error is None
    assert first.response
    assert [call.arguments for call in first.response.calls] == [{"path": "a.txt"}, {"path": ODD}]
    assert first.response.stop is StopReason.TOOL_USE
    assert second.response
    assert second.response.text == "It says two."
    assert first.request.tools[0].schema == SCHEMA


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_openai_chat(stream: bool) -> None:
    """The openai client has a conversation with tools over chat completions."""
    tools: Any = [{"type": "function", "function": {"name": "read_file", "parameters": SCHEMA}}]
    messages: list[ChatCompletionMessageParam] = [{"role": "user", "content": "What do they say?"}]
    async with playing(play) as session:
        client = openai.AsyncOpenAI(base_url=f"{session.base_url}/v1", api_key=session.token, max_retries=0)
        async with client:

            async def turn() -> Any:
                if not stream:
                    return await client.chat.completions.create(model="played", messages=messages, tools=tools)
                streaming = client.chat.completions.stream(
                    model="played", messages=messages, tools=tools, stream_options={"include_usage": True}
                )
                async with streaming as events:
                    return await events.get_final_completion()

            first = await turn()
            message = first.choices[0].message
            assert message.content == "Let me see."
            assert [json.loads(call.function.arguments)["path"] for call in message.tool_calls] == ["a.txt", ODD]
            assert first.choices[0].finish_reason == "tool_calls"
            assert first.usage.total_tokens > 0
            calls = [call.model_dump(include={"id", "type", "function"}) for call in message.tool_calls]
            messages.append({"role": "assistant", "content": message.content, "tool_calls": calls})
            for call, text in zip(message.tool_calls, ("one", "two"), strict=True):
                messages.append({"role": "tool", "tool_call_id": call.id, "content": text})
            assert (await turn()).choices[0].message.content == "It says two."
            assert [model.id async for model in client.models.list()] == ["played"]
        assert_seen(session)


async def test_openai_errors() -> None:
    """The openai client raises its own errors for a wrong token and for a failing model."""
    async with playing(lambda _: str(1 / 0)) as session:
        for key, error in ((session.token, openai.InternalServerError), ("wrong", openai.AuthenticationError)):
            async with openai.AsyncOpenAI(base_url=f"{session.base_url}/v1", api_key=key, max_retries=0) as client:
                with pytest.raises(error):
                    await client.chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}])


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_anthropic(stream: bool) -> None:
    """The anthropic client has a conversation with tools and thinking."""
    tools: Any = [{"name": "read_file", "input_schema": SCHEMA}]
    messages: list[Any] = [{"role": "user", "content": "What do they say?"}]
    async with playing(play) as session:
        client = anthropic.AsyncAnthropic(base_url=session.base_url, api_key=session.token, max_retries=0)
        async with client:

            async def turn() -> Any:
                asked: Any = {"model": "played", "max_tokens": 999, "messages": messages, "tools": tools}
                if not stream:
                    return await client.messages.create(**asked)
                async with client.messages.stream(**asked) as events:
                    return await events.get_final_message()

            first = await turn()
            assert [part.type for part in first.content] == ["thinking", "text", "tool_use", "tool_use"]
            assert [part.input["path"] for part in first.content[2:]] == ["a.txt", ODD]
            assert first.stop_reason == "tool_use"
            assert first.usage.output_tokens > 0
            results = [
                {"type": "tool_result", "tool_use_id": part.id, "content": text}
                for part, text in zip(first.content[2:], ("one", "two"), strict=True)
            ]
            messages.append({"role": "assistant", "content": [part.model_dump() for part in first.content[1:]]})
            messages.append({"role": "user", "content": results})
            assert (await turn()).content[0].text == "It says two."
            counted = await client.messages.count_tokens(model="played", messages=messages)
            assert counted.input_tokens > 10
            assert [model.id async for model in client.models.list()] == ["played"]
        assert_seen(session)


async def test_anthropic_errors() -> None:
    """The anthropic client raises its own errors for a wrong token and for a failing model."""
    async with playing(lambda _: str(1 / 0)) as session:
        for key, error in ((session.token, anthropic.InternalServerError), ("wrong", anthropic.AuthenticationError)):
            async with anthropic.AsyncAnthropic(base_url=session.base_url, api_key=key, max_retries=0) as client:
                with pytest.raises(error):
                    await client.messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": "x"}])


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_openai_responses(stream: bool) -> None:
    """The openai client has a conversation with tools over the Responses API."""
    tools: Any = [{"type": "function", "name": "read_file", "parameters": SCHEMA, "strict": False}]
    asked: list[Any] = [{"role": "user", "content": "What do they say?"}]
    async with playing(play) as session:
        client = openai.AsyncOpenAI(base_url=f"{session.base_url}/v1", api_key=session.token, max_retries=0)
        async with client:

            async def turn() -> Any:
                if not stream:
                    return await client.responses.create(model="played", input=asked, tools=tools)
                async with client.responses.stream(model="played", input=asked, tools=tools) as events:
                    return await events.get_final_response()

            first = await turn()
            assert [item.type for item in first.output] == ["reasoning", "message", "function_call", "function_call"]
            calls = first.output[2:]
            assert [json.loads(call.arguments)["path"] for call in calls] == ["a.txt", ODD]
            assert first.output_text == "Let me see."
            assert first.usage.output_tokens > 0
            asked += [call.model_dump(include={"type", "call_id", "name", "arguments"}) for call in calls]
            for call, text in zip(calls, ("one", "two"), strict=True):
                asked.append({"type": "function_call_output", "call_id": call.call_id, "output": text})
            assert (await turn()).output_text == "It says two."
        assert_seen(session)


@pytest.mark.filterwarnings("ignore:Inheritance class:DeprecationWarning")  # the client's own affair
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_google_genai(stream: bool) -> None:
    """The google-genai client has a conversation with tools, and lists models and counts tokens."""
    declared = types.FunctionDeclaration(name="read_file", parameters_json_schema=SCHEMA)
    config = types.GenerateContentConfig(
        tools=[types.Tool(function_declarations=[declared])],
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
    )
    contents: list[Any] = [types.Content(role="user", parts=[types.Part(text="What do they say?")])]
    async with playing(play) as session:
        options = types.HttpOptions(base_url=session.base_url)
        client = genai.Client(api_key=session.token, http_options=options).aio

        async def turn() -> list[types.Part]:
            asked: Any = {"model": "played", "contents": contents, "config": config}
            if not stream:
                answer = await client.models.generate_content(**asked)
                return list(answer.candidates[0].content.parts)
            pieces = await client.models.generate_content_stream(**asked)
            return [part async for piece in pieces for part in piece.candidates[0].content.parts or ()]

        parts = await turn()
        calls = [part.function_call for part in parts if part.function_call]
        assert [call.args for call in calls] == [{"path": "a.txt"}, {"path": ODD}]
        assert "".join(part.text for part in parts if part.text and not part.thought) == "Let me see."
        results = [
            types.Part(function_response=types.FunctionResponse(id=call.id, name=call.name, response={"output": text}))
            for call, text in zip(calls, ("one", "two"), strict=True)
        ]
        contents += [types.Content(role="model", parts=parts), types.Content(role="user", parts=results)]
        assert "".join(part.text or "" for part in await turn()) == "It says two."
        counted = await client.models.count_tokens(model="played", contents=contents)
        assert (counted.total_tokens or 0) > 10
        await client.aclose()
        assert_seen(session)


async def test_a_request_that_refers_to_a_stored_response_is_refused() -> None:
    """A script knows only the request itself; without the conversation before, its answer would be wrong."""
    async with playing(play) as session:
        client = openai.AsyncOpenAI(base_url=f"{session.base_url}/v1", api_key=session.token, max_retries=0)
        async with client:
            with pytest.raises(openai.BadRequestError, match="previous_response_id"):
                await client.responses.create(model="played", input="And then?", previous_response_id="resp_1")
        (exchange,) = session.exchanges()
    assert exchange.response is None
    assert exchange.error
    assert exchange.error.reason == "server"
