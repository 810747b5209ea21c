"""Probes a server that implements a dialect: does it answer, stream well-formed events, keep ids and report usage?"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from demeanor.core.text.wording import excerpt
from demeanor.core.values.exchange import Request, Response, Sampling, StopReason
from demeanor.core.values.messages import Message, Text, Tool, ToolCall, ToolResult
from demeanor.gateway.contract.case import ContractOutcome
from demeanor.gateway.contract.view import events_of
from demeanor.gateway.contract.wellformed import Note, stream_problems
from demeanor.gateway.dialects import DIALECTS
from demeanor.gateway.dialects.dialect import Dialect, Malformed
from demeanor.gateway.dialects.errors import read_error, without_keys
from demeanor.gateway.dialects.stream_events import Assembler

if TYPE_CHECKING:
    import aiohttp

_SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
_NO_VERDICT = frozenset({401, 403, 404, 408, 429, 502, 503, 504, 529})
"""Statuses that say nothing about the server's format: a wrong key, model or URL, too many requests, or an outage."""

_TOOL = Tool(name="get_weather", description="Tells the weather in a city.", schema=_SCHEMA)


async def probe_url(
    url: str, dialect: str, model: str, key: str = "", *, timeout_seconds: float = 60
) -> tuple[ContractOutcome, ...]:
    """Run every probe against the server at `url`, the base URL as the dialect's own clients expect it.

    `timeout_seconds` limits the time for one response.
    """
    import aiohttp

    limit = aiohttp.ClientTimeout(total=timeout_seconds)
    async with aiohttp.ClientSession(timeout=limit) as session:
        client = _ServerClient(session=session, url=url.rstrip("/"), dialect=DIALECTS[dialect], model=model, key=key)
        return tuple([await _run_probe(name, why, probe, client) for name, (why, probe) in _PROBES.items()])


@dataclass(frozen=True, kw_only=True, slots=True)
class _ServerClient:
    """A client for the server."""

    session: aiohttp.ClientSession
    url: str
    dialect: Dialect
    model: str
    key: str

    def text_request(self, *messages: Message) -> Request:
        asked = Message(role="user", parts=(Text(text="What is the weather in Oslo?"),))
        return Request(model=self.model, messages=(asked, *messages), sampling=Sampling(max_tokens=1024))

    def tool_request(self) -> Request:
        return replace(self.text_request(), tools=(_TOOL,), tool_choice=_TOOL.name)

    async def post(self, request: Request) -> bytes:
        wire = self.dialect.write_request(request)
        status, body = await self.send(wire.path, wire.body)
        if status != 200:
            message = f"status {status}: {without_keys(read_error(status, body).message)}"
            raise _Undecided(message) if status in _NO_VERDICT else Malformed(message)
        return body

    async def send(self, path: str, body: bytes) -> tuple[int, bytes]:
        headers = {"Content-Type": "application/json", **self.dialect.key_headers(self.key)}
        async with self.session.post(self.url + path, data=body, headers=headers) as answer:
            return answer.status, await answer.read()

    async def answer(self, request: Request) -> Response:
        return self.dialect.read_response(await self.post(request))

    async def stream(self, request: Request) -> tuple[Response, list[str]]:
        """The response, and problems and notes about its stream."""
        body = await self.post(replace(request, stream=True))
        reader, assembler = self.dialect.stream_reader(), Assembler()
        for delta in [*reader.feed(body), *reader.close()]:
            assembler.take(delta)
        problems = stream_problems(self.dialect.name, events_of(body), broke=assembler.error is not None)
        if assembler.error is not None:
            problems.append(f"the stream broke off ({assembler.error.reason}): {assembler.error.message}")
        return assembler.response(), problems


class _Undecided(Exception):
    """The server did not answer the question."""


_Probe: TypeAlias = Callable[[_ServerClient], Awaitable[list[str]]]


async def _run_probe(name: str, why: str, probe: _Probe, client: _ServerClient) -> ContractOutcome:
    import aiohttp

    undecided, remarks = "", []
    try:
        remarks = await probe(client)
    except Malformed as error:
        remarks = [str(error)]
    except _Undecided as error:
        undecided = excerpt(str(error))
    except TimeoutError:
        seconds = client.session.timeout.total or 0
        undecided = excerpt(f"{client.url} can't be reached: there was no response within {seconds:g} seconds")
    except aiohttp.ClientConnectionError as error:
        undecided = excerpt(f"{client.url} can't be reached: {error}")
    except (aiohttp.ClientError, OSError) as error:
        remarks = [f"no response from {client.url}: {type(error).__name__} {error}"]
    problems = tuple(excerpt(problem) for problem in remarks if not isinstance(problem, Note))
    notes = tuple(excerpt(note) for note in remarks if isinstance(note, Note))
    return ContractOutcome(name=name, why=why, problems=problems, notes=notes, undecided=undecided)


async def _answers(client: _ServerClient) -> list[str]:
    answer = await client.answer(client.text_request())
    problems = [] if answer.text else ["the response has no text"]
    if answer.stop not in {StopReason.END, StopReason.LENGTH}:
        message = f"the stop reason is {answer.stop.value}, not the end of the response"
        problems.append(Note(message) if answer.stop is StopReason.UNKNOWN else message)
    return problems


async def _counts(client: _ServerClient) -> list[str]:
    answer = await client.answer(client.text_request())
    streamed, _ = await client.stream(client.text_request())
    return [*_usage("the response", answer), *_usage("the stream", streamed)]


async def _streams(client: _ServerClient) -> list[str]:
    answer, problems = await client.stream(client.text_request())
    return problems if answer.text else [*problems, "the stream has no text"]


async def _calls(client: _ServerClient) -> list[str]:
    return _call("the response", await client.answer(client.tool_request()))


async def _streams_calls(client: _ServerClient) -> list[str]:
    answer, problems = await client.stream(client.tool_request())
    return [*problems, *_call("the stream", answer)]


async def _keeps_ids(client: _ServerClient) -> list[str]:
    calls = tuple(
        ToolCall(id=f"call_{city}", name=_TOOL.name, arguments={"city": city}, raw=f'{{"city": "{city}"}}')
        for city in ("oslo", "bergen")
    )
    results = tuple(ToolResult(call_id=call.id, parts=(Text(text="sunny"),)) for call in calls)
    turns = (Message(role="assistant", parts=calls), Message(role="user", parts=results))
    answer = await client.answer(replace(client.text_request(*turns), tools=(_TOOL,)))
    return [] if answer.parts else ["two calls with their results got no response"]


async def _refuses(client: _ServerClient) -> list[str]:
    path = client.dialect.write_request(client.text_request()).path
    status, body = await client.send(path, b'{"nonsense": ')
    problems = [] if 400 <= status < 500 else [f"a body that is not JSON is answered with status {status}"]
    if read_error(status, body).message == f"status {status}" or not body.lstrip().startswith(b"{"):
        problems.append("the error response has no message in the dialect's format")
    return problems


def _usage(where: str, answer: Response) -> list[str]:
    missing = [name for name in ("input", "output") if not getattr(answer.usage, name)]
    return [f"{where} does not report {name} tokens" for name in missing]


def _call(where: str, answer: Response) -> list[str]:
    if not answer.calls:
        return [f"{where} does not call the required tool"]
    call = answer.calls[0]
    problems = [] if call.id else [f"{where}: the call has no id"]
    if call.name != _TOOL.name:
        problems.append(f"{where}: the call is of {call.name!r}, not of {_TOOL.name!r}")
    if call.malformed:
        problems.append(f"{where}: the arguments are not a JSON object: {call.raw}")
    return problems


_PROBES: dict[str, tuple[str, _Probe]] = {
    "answers": ("An agent can't start without a response.", _answers),
    "reports usage": ("Without usage, the cost of a trial is unknown.", _counts),
    "streams": ("Agents read streams with the provider's official client, which is strict.", _streams),
    "calls a tool": ("An agent acts only through tools.", _calls),
    "streams a call": ("Agents read calls from streams.", _streams_calls),
    "takes results": ("Several calls in one turn are answered with several results, matched by id.", _keeps_ids),
    "refuses": ("An agent must be able to tell its own mistake from a broken server.", _refuses),
}
