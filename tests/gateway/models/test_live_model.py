"""Live models: requests to the provider, its responses, and its errors."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from demeanor.core.values.exchange import Exchange, ProviderError, Request, Response, Sampling, StopReason, Usage
from demeanor.core.values.messages import Message, Text, ToolCall
from demeanor.gateway.dialects import DIALECTS
from demeanor.gateway.dialects.dialect import Route
from demeanor.gateway.dialects.errors import read_error
from demeanor.gateway.dialects.stream_events import assemble, deltas_of
from demeanor.gateway.models.live_model import LiveModel
from demeanor.gateway.models.prices import Price
from demeanor.gateway.models.provider import Provider
from demeanor.gateway.server.session import Session
from tests.gateway.helpers import HttpReply, a_tool, a_trial, chat, post, provider, raw_provider, running, session_of

KEY = "sk-really-secret-0123456789"
CHAT = DIALECTS["openai-chat"]
STREAM = (
    b'data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m",'
    b'"choices":[{"index":0,"delta":{"role":"assistant","content":"Hel"},"finish_reason":null}]}\n\n',
    b'data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m",'
    b'"choices":[{"index":0,"delta":{"content":"lo."},"finish_reason":"stop"}]}\n\n',
    b'data: {"id":"c1","choices":[],"usage":{"prompt_tokens":1000,"completion_tokens":100,"total_tokens":1100}}\n\n',
    b": a comment, and an unknown field\nfoo: bar\n\n",
    b"data: [DONE]\n\n",
)
WHOLE = (
    b'{"id": "c1",  "object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"finish_reason":"stop",'
    b'"message":{"role":"assistant","content":"Hello."}}],"usage":{"prompt_tokens":1000,"completion_tokens":100},'
    b'"unheard_of":[1,2]}\n'
)


async def streams(request: web.BaseRequest) -> web.StreamResponse:
    """A provider that streams a response."""
    answer = web.StreamResponse(headers={"Content-Type": "text/event-stream", "X-Request-Id": "r1"})
    await answer.prepare(request)
    for piece in STREAM:
        await answer.write(piece)
    return answer


async def tells(_request: web.BaseRequest) -> web.StreamResponse:
    """A provider that sends its response at once."""
    return web.Response(body=WHOLE, content_type="application/json")


def refuses(status: int, message: str, **headers: str) -> Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]:
    """A provider that sends an error."""

    async def handle(_request: web.BaseRequest) -> web.StreamResponse:
        return web.json_response({"error": {"message": message, "type": "x"}}, status=status, headers=headers)

    return handle


@asynccontextmanager
async def live(
    base_url: str, *, price: Price | None = None, model: str = "played", **settings: Any
) -> AsyncIterator[Session]:
    """A session whose model is a provider's."""
    found = Provider("acme", base_url=base_url, dialects=[settings.pop("dialect", CHAT)], key=KEY, **settings)
    async with session_of(LiveModel(provider=found, price=price, model=model)) as session:
        yield session


async def asked(base_url: str, body: Any = None, **settings: Any) -> tuple[HttpReply, Exchange]:
    """Send one request through a session, and return the recorded exchange."""
    async with live(base_url, **settings) as session:
        reply = await post(session, body or chat())
        (exchange,) = session.exchanges()
        return reply, exchange


async def test_a_stream_passes_unchanged() -> None:
    """Same dialect: the same bytes in both directions, and the response is recorded."""
    body = json.dumps(chat(stream=True, unknown={"kept": [1]}), indent=3).encode()
    async with provider(streams) as (url, received):
        reply, exchange = await asked(url, body, price=Price(input=2.0, output=10.0))
    assert received.bodies == [body]
    assert reply.body == b"".join(STREAM)
    assert reply.headers["X-Request-Id"] == "r1"
    assert exchange.response
    assert (exchange.response.text, exchange.response.stop) == ("Hello.", StopReason.END)
    assert exchange.response.usage == Usage(input=1000, output=100)
    assert exchange.cost_usd == pytest.approx(0.003)


async def test_tokens_of_a_renamed_model_are_estimated() -> None:
    """A count is not turned into a request for a response, which would cost money."""
    question = {"model": "large", "messages": [{"role": "user", "content": "x" * 400}]}
    async with (
        provider(tells) as (url, received),
        live(url, dialect=DIALECTS["anthropic"], model="large-2026") as session,
    ):
        headers = {"x-api-key": session.token}
        reply = await post(session, question, path="/v1/messages/count_tokens", headers=headers)
    assert json.loads(reply.body)["input_tokens"] > 50
    assert not received.bodies


async def test_a_complete_response_passes_unchanged() -> None:
    """A response that is not streamed keeps every byte, and its length."""
    async with provider(tells) as (url, _):
        reply, exchange = await asked(url)
    assert reply.body == WHOLE
    assert reply.headers["Content-Length"] == str(len(WHOLE))
    assert exchange.response
    assert exchange.response.text == "Hello."
    assert exchange.cost_usd is None


async def test_a_stream_is_forwarded_as_it_arrives() -> None:
    """The first bytes reach the agent before the last ones exist."""
    go_on = asyncio.Event()

    async def slow(request: web.BaseRequest) -> web.StreamResponse:
        answer = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await answer.prepare(request)
        await answer.write(STREAM[0])
        await go_on.wait()
        return answer

    async with provider(slow) as (url, _), live(url) as session, aiohttp.ClientSession() as client:
        headers = {"Authorization": f"Bearer {session.token}"}
        answer = await client.post(f"{session.base_url}/v1/chat/completions", json=chat(stream=True), headers=headers)
        assert await answer.content.readany() == STREAM[0]
        assert session.waiting()
        go_on.set()
        await answer.read()


async def test_the_agent_token_stays_and_the_key_goes() -> None:
    """The provider gets its key and the agent's own headers, but not the agent's token."""
    async with provider(tells) as (url, received), live(url, headers={"X-Team": "evals"}) as session:
        await post(session, chat(), path=f"/v1/chat/completions?key={session.token}&beta=true")
        (request,) = received.requests
        head = str(dict(request.headers)) + str(request.rel_url)
    assert request.headers["Authorization"] == f"Bearer {KEY}"
    assert request.headers["X-Team"] == "evals"
    assert request.query == {"beta": "true"}
    assert session.token not in head


@pytest.mark.parametrize(
    ("base", "path"),
    [("", "/v1/chat/completions"), ("/v1", "/v1/chat/completions"), ("/api/v2/", "/api/v2/chat/completions")],
)
async def test_the_version_appears_once(base: str, path: str) -> None:
    """A base URL may end with its version or not; both work."""
    async with provider(tells) as (url, received):
        await asked(url + base)
    assert received.requests[0].path == path


async def test_a_model_can_have_another_name_at_its_provider() -> None:
    """The name is replaced; everything else stays."""
    async with provider(tells) as (url, received):
        await asked(url, chat(unknown=1), model="acme-large-2026")
    assert json.loads(received.bodies[0]) == chat(unknown=1, model="acme-large-2026")


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (429, "rate_limit"),
        (401, "auth"),
        (403, "auth"),
        (500, "server"),
        (503, "overloaded"),
        (529, "overloaded"),
        (400, "bad_request"),
    ],
)
async def test_an_error_is_forwarded_and_classified(status: int, reason: str) -> None:
    """The agent gets the provider's own response; the exchange has the reason."""
    async with provider(refuses(status, "not now", **{"Retry-After": "7"})) as (url, _):
        reply, exchange = await asked(url)
    assert reply.status == status
    assert reply.headers["Retry-After"] == "7"
    assert json.loads(reply.body)["error"]["message"] == "not now"
    assert exchange.error
    assert (exchange.error.status, exchange.error.reason) == (status, reason)
    assert exchange.response is None


@pytest.mark.parametrize(
    ("status", "error", "reason"),
    [
        (401, {"message": "No such organization: org-x"}, "bad_request"),
        (402, {"message": "This request requires more credits, or fewer max_tokens."}, "bad_request"),
        (403, {"message": "Your input was flagged: the model requires moderation"}, "bad_request"),
        (
            429,
            {"message": "Request too large for m on tokens per min (TPM): Limit 30000, Requested 50000"},
            "bad_request",
        ),
        (500, {"message": "This model's maximum context length is 4096 tokens"}, "bad_request"),
        (500, {"message": "no", "type": "invalid_request_error"}, "bad_request"),
        (403, {"message": "no", "code": "model_not_found"}, "bad_request"),
        (422, {"message": "no", "param": "temperature"}, "bad_request"),
        (400, {"message": "no", "code": "invalid_api_key"}, "auth"),
        (400, {"message": "no", "details": [{"reason": "API_KEY_INVALID"}]}, "auth"),
        (400, {"message": "Your credit balance is too low to access the API"}, "budget"),
        (400, {"message": "Unknown parameter: 'your credit balance is too low'"}, "bad_request"),
        (429, {"message": "You exceeded your current quota", "code": "insufficient_quota"}, "rate_limit"),
        (429, {"message": "Too many tokens, please wait before trying again."}, "rate_limit"),
    ],
)
async def test_an_error_is_told_apart_by_what_caused_it(status: int, error: dict[str, Any], reason: str) -> None:
    """Whatever its status: the request's size, content, organization, model and parameters are the agent's; an outage,
    a revoked key and a spent quota are the provider's, and no words of the request can look like them."""

    async def refuses_so(_request: web.BaseRequest) -> web.StreamResponse:
        return web.json_response({"error": error}, status=status)

    async with provider(refuses_so) as (url, _):
        _, exchange = await asked(url)
    assert exchange.error
    assert (exchange.error.status, exchange.error.reason) == (status, reason)


async def test_only_known_headers_of_the_agent_are_forwarded() -> None:
    """A header that names another account could let the provider refuse the request as if the key were wrong."""
    given = {"OpenAI-Organization": "org-x", "X-Goog-User-Project": "p", "X-Made-Up": "1", "X-Stainless-Lang": "js"}
    async with provider(tells) as (url, received), live(url) as session:
        await post(session, chat(), headers={"Authorization": f"Bearer {session.token}", **given})
        (request,) = received.requests
    assert [name for name in given if name in request.headers] == ["X-Stainless-Lang"]


async def test_a_provider_that_is_not_there_is_unreachable() -> None:
    """A refused connection becomes an error of the dialect."""
    async with raw_provider() as url:
        gone = url
    reply, exchange = await asked(gone)
    assert reply.status == 502
    assert json.loads(reply.body)["error"]["message"].startswith("acme can't be reached")
    assert exchange.error
    assert (exchange.error.status, exchange.error.reason) == (None, "unreachable")


async def test_an_unknown_host_is_unreachable() -> None:
    """The same for a host name that does not exist."""
    _, exchange = await asked("http://no-such-host.invalid")
    assert exchange.error
    assert exchange.error.reason == "unreachable"


async def test_a_silent_provider_is_stalled() -> None:
    """Without a byte for too long, the agent gets an error."""
    async with raw_provider(then_wait=True) as url:
        reply, exchange = await asked(url, stall_after=0.05)
    assert reply.status == 504
    assert exchange.error
    assert (exchange.error.status, exchange.error.reason) == (None, "stalled")


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
FIRST = b"%x\r\n%s\r\n" % (len(STREAM[0]), STREAM[0])


@pytest.mark.parametrize(("then_wait", "reason"), [(True, "stalled"), (False, "cut")], ids=["falls silent", "hangs up"])
async def test_an_interrupted_stream_is_cut_for_the_agent_too(then_wait: bool, reason: str) -> None:
    """The part that arrived is recorded with the error; the agent can't take it for complete."""
    async with raw_provider(HEAD, FIRST, then_wait=then_wait) as url, live(url, stall_after=0.5) as session:
        with pytest.raises(aiohttp.ClientError):
            await post(session, chat(stream=True))
        (exchange,) = session.exchanges()
    assert exchange.error
    assert (exchange.error.status, exchange.error.reason) == (200, reason)
    assert exchange.response
    assert exchange.response.text == "Hel"


async def test_a_stream_that_ends_too_early_is_cut() -> None:
    """A stream that ends properly is an error too if the response in it is incomplete."""
    async with raw_provider(HEAD, FIRST, b"0\r\n\r\n") as url:
        reply, exchange = await asked(url, chat(stream=True))
    assert reply.body == STREAM[0]
    assert exchange.error
    assert exchange.error.reason == "cut"


async def test_the_first_of_two_errors_counts() -> None:
    """A provider that sends an error and then closes the connection has sent the reason."""
    error_event = b'data: {"error": {"message": "out of memory", "type": "server_error"}}\n\n'
    async with (
        raw_provider(HEAD, FIRST, b"%x\r\n%s\r\n" % (len(error_event), error_event)) as url,
        live(url) as session,
    ):
        with pytest.raises(aiohttp.ClientError):
            await post(session, chat(stream=True))
        (exchange,) = session.exchanges()
    assert exchange.error
    assert (exchange.error.reason, exchange.error.message) == ("server", "out of memory")


async def test_a_dropped_connection_is_cut() -> None:
    """A provider that closes the connection without a response."""
    async with raw_provider() as url:
        reply, exchange = await asked(url)
    assert reply.status == 502
    assert exchange.error
    assert exchange.error.reason == "cut"


async def test_garbage_is_a_server_error() -> None:
    """Neither invalid HTTP nor an invalid response is accepted."""
    async with raw_provider(b"SSH-2.0-OpenSSH_9.9\r\n") as url:
        _, no_http = await asked(url)
    async with raw_provider(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nduck") as url:
        reply, no_answer = await asked(url)
    assert reply.body == b"duck"
    assert [found.error and found.error.reason for found in (no_http, no_answer)] == ["server", "server"]


@pytest.mark.parametrize("key", ["x", "k", "Brest", "password", KEY])
@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
async def test_only_a_repeated_key_is_changed_in_traffic(key: str, stream: bool) -> None:
    """A key that is an ordinary word reaches the agent; a real one is masked, without changing the size of anything."""
    function = {"name": "shell", "arguments": json.dumps({"command": f"echo {key} > index-{key}.txt"})}
    call = {"index": 0, "id": f"call_{key}", "type": "function", "function": function}
    message = {"role": "assistant", "content": f"Brest, password, {key}.", "tool_calls": [call]}
    choice = {"index": 0, "finish_reason": "tool_calls", ("delta" if stream else "message"): message}
    body = json.dumps({"id": f"c-{key}", "object": "chat.completion", "model": "m", "choices": [choice]}).encode()
    body = b"data: %s\n\ndata: [DONE]\n\n" % body if stream else body
    kind = "text/event-stream" if stream else "application/json"
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nX-Echo: {key}\r\nContent-Length: {len(body)}\r\n\r\n"
    middle = body.index(b"Brest") + 2
    async with raw_provider(head.encode(), body[:middle], body[middle:]) as url:
        acme = Provider("acme", base_url=url, dialects=[CHAT], key=key)
        async with session_of(LiveModel(provider=acme, model="played")) as session:
            reply = await post(session, chat(f"Is {key} my key?", stream=stream))
            (exchange,) = session.exchanges()
        notes = session.notes
    shown = "*" * len(KEY) if key == KEY else key
    assert reply.body == body.replace(key.encode(), shown.encode())
    assert reply.headers["X-Echo"] == shown
    assert ("masked" in str(notes)) is (key == KEY)
    assert exchange.request.messages[0].text == f"Is {key} my key?"
    assert exchange.response
    assert exchange.response.calls[0].arguments == {"command": f"echo {shown} > index-{shown}.txt"}


async def test_a_translated_error_is_complete_and_has_no_key() -> None:
    """The agent gets the provider's own words with the key masked; so does the recording."""
    refused = refuses(401, f"Incorrect API key provided: {KEY}")
    async with provider(refused) as (url, _), live(url, dialect=DIALECTS["anthropic"]) as session:
        reply = await post(session, chat())
        (exchange,) = session.exchanges()
    masked = f"Incorrect API key provided: {'*' * len(KEY)}"
    assert masked in json.loads(reply.body)["error"]["message"]
    assert exchange.error
    assert exchange.error.message == masked


async def test_headers_and_doubly_escaped_keys_are_masked() -> None:
    """A proxy that quotes the configured headers, as JSON in a JSON string."""
    secret = 'proxy/"token"-4711-\\x'
    twice = json.dumps(json.dumps({"got": f"Bearer {secret}"}))[1:-1]
    body = f'{{"error": {{"message": "{twice}"}}}}'.encode()
    head = f"HTTP/1.1 401 No\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    async with raw_provider(head.encode(), body[:40], body[40:]) as url:
        reply, _ = await asked(url, headers={"X-Proxy-Auth": f"Bearer {secret}"})
    assert len(reply.body) == len(body)
    assert b"4711" not in reply.body
    assert b"got" in reply.body


async def test_headers_that_describe_the_client_do_not_change_answers() -> None:
    """Some providers ask for the project's URL and name, which occur in answers and are executed in calls."""
    body = b'{"choices": [{"message": {"role": "assistant", "content": "git clone https://git.example/acme/my-tool"}}]}'
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    async with raw_provider(head.encode(), body) as url:
        reply, _ = await asked(
            url, headers={"HTTP-Referer": "https://git.example/acme/my-tool", "X-Title": "my-tool-2"}
        )
    assert reply.body == body


async def test_the_key_stays_out_of_descriptions() -> None:
    """The repr of a provider does not contain its key."""
    assert KEY not in repr(
        LiveModel(provider=Provider("acme", base_url="http://x", dialects=[CHAT], key=KEY), model="m")
    )


async def test_a_redirect_is_not_followed() -> None:
    """Neither the key nor the agent follows a redirect."""
    async with provider(tells) as (elsewhere, stranger):

        async def points_elsewhere(_request: web.BaseRequest) -> web.StreamResponse:
            return web.Response(status=307, headers={"Location": elsewhere})

        async with provider(points_elsewhere) as (url, _):
            reply, exchange = await asked(url)
    assert reply.status == 502
    assert stranger.bodies == []
    assert exchange.error
    assert elsewhere in exchange.error.message


async def test_the_case_of_header_names_does_not_matter() -> None:
    """Many servers use lower case."""
    head = b"HTTP/1.1 429 No\r\ncontent-length: 2\r\nretry-after-ms: 1500\r\n\r\n{}"
    async with raw_provider(head) as url:
        reply, _ = await asked(url, dialect=DIALECTS["anthropic"])
    assert (reply.status, reply.headers["Retry-After-Ms"]) == (429, "1500")


async def test_a_json_array_stream_passes_unchanged() -> None:
    """Gemini's other kind of stream is not an event stream, and is recorded all the same."""
    gemini = DIALECTS["gemini"]
    route = Route(operation="generate", stream=True, model="played", framing="array")
    wire = gemini.write_request(replace(QUESTION, stream=True))
    writer = gemini.stream_writer(gemini.read_request(wire.body, route))
    written = b"".join(writer.write(delta) for delta in deltas_of(ANSWER)) + writer.close()

    async def answers(_request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(body=written, content_type="application/json")

    async with provider(answers) as (url, _), live(url, dialect=gemini) as session:
        path = wire.path.partition("?")[0]
        reply = await post(session, wire.body, path=path, headers=gemini.key_headers(session.token))
        (exchange,) = session.exchanges()
    assert written.startswith(b"[")
    assert reply.body == written
    assert exchange.response
    assert exchange.response.text == "Let me see."


async def test_all_trials_share_the_limits_of_a_provider() -> None:
    """No more requests are open at a provider than it allows, however many trials run."""
    open_now, most = 0, 0

    async def counts(_request: web.BaseRequest) -> web.StreamResponse:
        nonlocal open_now, most
        open_now += 1
        most = max(most, open_now)
        await asyncio.sleep(0.005)
        open_now -= 1
        return web.Response(body=WHOLE, content_type="application/json")

    async with provider(counts) as (url, _):
        acme = Provider("acme", base_url=url, dialects=[CHAT], concurrency=2)
        models = {"played": LiveModel(provider=acme, model="played"), "other": LiveModel(provider=acme, model="other")}
        async with (
            running(models) as gateway,
            gateway.session(a_trial(), seed=1) as one,
            gateway.session(a_trial("other"), seed=1) as two,
        ):
            await asyncio.gather(
                *(post(session, chat(model=name)) for session, name in ((one, "played"), (two, "other")) * 5)
            )
    assert most == 2


async def test_a_large_request_is_forwarded() -> None:
    """Images make requests of several megabytes."""
    body = json.dumps(chat("x" * 3_000_000)).encode()
    async with provider(tells) as (url, received):
        await asked(url, body)
    assert received.bodies == [body]


async def test_a_slow_agent_slows_its_provider_down() -> None:
    """Data is not buffered without limit, and the provider owes nothing meanwhile."""
    sent = 0

    async def floods(request: web.BaseRequest) -> web.StreamResponse:
        nonlocal sent
        answer = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await answer.prepare(request)
        while True:
            await answer.write(b": " + b"x" * 65_533 + b"\n")
            sent += 1

    async with provider(floods) as (url, _), live(url) as session, aiohttp.ClientSession() as client:
        headers = {"Authorization": f"Bearer {session.token}"}
        answer = await client.post(f"{session.base_url}/v1/chat/completions", json=chat(stream=True), headers=headers)
        counts = [0, 1]
        while len(set(counts[-5:])) > 1 or not sent:
            await asyncio.sleep(0.05)
            counts.append(sent)
        assert sent < 400
        assert not session.waiting()
        answer.close()


ANSWER = Response(
    parts=(Text(text="Let me see."), ToolCall(id="call_1", name="read_file", arguments={"path": "a.txt"})),
    stop=StopReason.TOOL_USE,
    usage=Usage(input=12, output=7),
    id="r1",
    model="m",
)


PAIRS = [(mine, theirs) for mine in DIALECTS for theirs in DIALECTS]
QUESTION = Request(
    model="played",
    messages=(
        Message(role="system", parts=(Text(text="Be brief."),)),
        Message(role="user", parts=(Text(text="Read a.txt"),)),
    ),
    tools=(a_tool("read_file", "path"),),
    sampling=Sampling(max_tokens=500),
)


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize(("mine", "theirs"), PAIRS, ids=[f"{mine} to {theirs}" for mine, theirs in PAIRS])
async def test_any_agent_can_use_any_provider(mine: str, theirs: str, stream: bool) -> None:
    """Whatever the dialects of agent and provider, the content is the same."""
    ours, foreign = DIALECTS[mine], DIALECTS[theirs]
    received: list[Request] = []

    async def answers(request: web.BaseRequest) -> web.StreamResponse:
        route = foreign.route(request.method, request.path, request.query)
        assert route
        assert foreign.token({name.lower(): value for name, value in request.headers.items()}, {}) == KEY
        received.append(foreign.read_request(await request.read(), route))
        if not received[0].stream:
            wire = foreign.write_response(ANSWER, received[0])
            return web.Response(body=wire.body, headers={"Content-Type": "application/json"})
        writer = foreign.stream_writer(received[0])
        body = b"".join(writer.write(delta) for delta in deltas_of(ANSWER)) + writer.close()
        return web.Response(body=body, headers={"Content-Type": writer.content_type})

    wire = ours.write_request(replace(QUESTION, stream=stream))
    async with provider(answers) as (url, _), live(url, dialect=foreign) as session:
        reply = await post(session, wire.body, path=wire.path, headers=ours.key_headers(session.token))
        (exchange,) = session.exchanges()
    assert reply.status == 200, reply.body
    assert received[0].stream is stream
    assert received[0].messages[-1].text == "Read a.txt"
    assert received[0].system == "Be brief."
    assert received[0].tools[0].schema == QUESTION.tools[0].schema
    reader = ours.stream_reader()
    written = assemble([*reader.feed(reply.body), *reader.close()]) if stream else ours.read_response(reply.body)
    for response in (written, exchange.response):
        assert response
        assert (response.text, response.stop) == ("Let me see.", StopReason.TOOL_USE)
        assert [(call.name, call.arguments) for call in response.calls] == [("read_file", {"path": "a.txt"})]
        assert (response.usage.input, response.usage.output) == (12, 7)


@pytest.mark.parametrize("mine", DIALECTS)
@pytest.mark.parametrize("theirs", DIALECTS)
async def test_an_error_is_translated_to_the_agents_dialect(mine: str, theirs: str) -> None:
    """It keeps its status and Retry-After."""
    ours, foreign = DIALECTS[mine], DIALECTS[theirs]
    refusal = foreign.write_error(ProviderError(status=429, reason="rate_limit", message="too many"))

    async def handle(_request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(status=429, body=refusal.body, headers={"Retry-After": "3"})

    wire = ours.write_request(QUESTION)
    async with provider(handle) as (url, _), live(url, dialect=foreign) as session:
        reply = await post(session, wire.body, path=wire.path, headers=ours.key_headers(session.token))
        (exchange,) = session.exchanges()
    assert (reply.status, reply.headers["Retry-After"]) == (429, "3")
    assert read_error(429, reply.body).message == "too many"
    assert exchange.error
    assert (exchange.error.reason, exchange.error.message) == ("rate_limit", "too many")


REFERENCES: Any = {
    "previous_response_id": ("openai-responses", {"previous_response_id": "resp_1"}),
    "conversation": ("openai-responses", {"conversation": {"id": "conv_1"}}),
    "prompt": ("openai-responses", {"prompt": {"id": "pmpt_1"}}),
    "item_reference": ("openai-responses", {"input": [{"type": "item_reference", "id": "msg_1"}]}),
    "cachedContent": ("gemini", {"cachedContent": "cachedContents/1"}),
}


@pytest.mark.parametrize("name", REFERENCES)
async def test_stored_data_of_a_provider_is_not_translated(name: str) -> None:
    """Only the provider that stored it can use it; another one would answer without the conversation."""
    mine, fields = REFERENCES[name]
    wire = DIALECTS[mine].write_request(QUESTION)
    body = json.dumps({**json.loads(wire.body), **fields}).encode()
    async with provider(tells) as (url, received), live(url) as session:
        head = DIALECTS[mine].key_headers(session.token)
        reply = await post(session, body, path=wire.path, headers=head)
        (exchange,) = session.exchanges()
    assert (reply.status, received.bodies) == (400, [])
    assert exchange.error
    assert exchange.error.message.startswith(f"{name}: the model 'played' stores nothing")
    assert exchange.error.reason == "server"
    async with provider(tells) as (url, received), live(url, dialect=DIALECTS[mine]) as session:
        await post(session, body, path=wire.path, headers=DIALECTS[mine].key_headers(session.token))
    assert received.bodies == [body]
