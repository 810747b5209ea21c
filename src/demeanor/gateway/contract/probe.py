"""Asks a server that speaks a dialect: does it answer, stream well-formed events, keep ids and report usage?"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from demeanor.core.exchange import Request, Response, Sampling, StopReason
from demeanor.core.messages import Message, Text, Tool, ToolCall, ToolResult
from demeanor.core.text import excerpt
from demeanor.gateway.contract.outcome import ContractOutcome
from demeanor.gateway.contract.view import events_of
from demeanor.gateway.contract.wellformed import complaints
from demeanor.gateway.dialects import DIALECTS
from demeanor.gateway.dialects.dialect import Dialect, Malformed
from demeanor.gateway.dialects.stream_events import Assembler

if TYPE_CHECKING:
    import aiohttp

_SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
_TOOL = Tool(name="get_weather", description="Tells the weather in a city.", schema=_SCHEMA)


async def probe_url(
    url: str, dialect: str, model: str, key: str = "", *, patience: float = 60
) -> tuple[ContractOutcome, ...]:
    """Every probe against the server at `url`, the base URL as the dialect's own clients are given it.

    `patience` is how many seconds an answer may take.
    """
    import aiohttp

    limit = aiohttp.ClientTimeout(total=patience)
    async with aiohttp.ClientSession(timeout=limit) as session:
        caller = _Caller(session=session, url=url.rstrip("/"), dialect=DIALECTS[dialect], model=model, key=key)
        return tuple([await _ask(name, why, ask, caller) for name, (why, ask) in _PROBES.items()])


@dataclass(frozen=True, kw_only=True, slots=True)
class _Caller:
    """How to reach the server."""

    session: aiohttp.ClientSession
    url: str
    dialect: Dialect
    model: str
    key: str

    def question(self, *messages: Message) -> Request:
        asked = Message(role="user", parts=(Text(text="What is the weather in Oslo?"),))
        return Request(model=self.model, messages=(asked, *messages), sampling=Sampling(max_tokens=1024))

    def tool_question(self) -> Request:
        return replace(self.question(), tools=(_TOOL,), tool_choice=_TOOL.name)

    async def post(self, request: Request) -> bytes:
        wire = self.dialect.write_request(request)
        status, body = await self.send(wire.path, wire.body)
        if status != 200:
            raise Malformed(f"status {status}: {self.dialect.read_error(status, body, {}).message}")
        return body

    async def send(self, path: str, body: bytes) -> tuple[int, bytes]:
        headers = {"Content-Type": "application/json", **self.dialect.key_headers(self.key)}
        async with self.session.post(self.url + path, data=body, headers=headers) as answer:
            return answer.status, await answer.read()

    async def answer(self, request: Request) -> Response:
        return self.dialect.read_response(await self.post(request))

    async def stream(self, request: Request) -> tuple[Response, list[str]]:
        body = await self.post(replace(request, stream=True))
        reader, assembler = self.dialect.stream_reader(), Assembler()
        for delta in [*reader.feed(body), *reader.close()]:
            assembler.take(delta)
        found = complaints(self.dialect.name, events_of(body), broke=assembler.error is not None)
        if assembler.error is not None:
            found.append(f"the stream broke off ({assembler.error.reason}): {assembler.error.message}")
        return assembler.response(), found


_Ask: TypeAlias = Callable[[_Caller], Awaitable[list[str]]]


async def _ask(name: str, why: str, ask: _Ask, caller: _Caller) -> ContractOutcome:
    import aiohttp

    try:
        problems = await ask(caller)
    except Malformed as error:
        problems = [str(error)]
    except (TimeoutError, aiohttp.ClientError, OSError) as error:
        problems = [f"no answer from {caller.url}: {type(error).__name__} {error}"]
    return ContractOutcome(name=name, why=why, problems=tuple(excerpt(problem) for problem in problems))


async def _answers(caller: _Caller) -> list[str]:
    answer = await caller.answer(caller.question())
    problems = [] if answer.text else ["the answer has no text"]
    if answer.stop not in {StopReason.END, StopReason.LENGTH}:
        problems.append(f"the reason to stop is {answer.stop.value}, not the end of the answer")
    return problems


async def _counts(caller: _Caller) -> list[str]:
    answer = await caller.answer(caller.question())
    streamed, _ = await caller.stream(caller.question())
    return [*_usage("the answer", answer), *_usage("the stream", streamed)]


async def _streams(caller: _Caller) -> list[str]:
    answer, found = await caller.stream(caller.question())
    return found if answer.text else [*found, "the stream has no text"]


async def _calls(caller: _Caller) -> list[str]:
    return _call("the answer", await caller.answer(caller.tool_question()))


async def _streams_calls(caller: _Caller) -> list[str]:
    answer, found = await caller.stream(caller.tool_question())
    return [*found, *_call("the stream", answer)]


async def _keeps_ids(caller: _Caller) -> list[str]:
    calls = tuple(
        ToolCall(id=f"call_{city}", name=_TOOL.name, arguments={"city": city}, raw=f'{{"city": "{city}"}}')
        for city in ("oslo", "bergen")
    )
    results = tuple(ToolResult(call_id=call.id, parts=(Text(text="sunny"),)) for call in calls)
    turns = (Message(role="assistant", parts=calls), Message(role="user", parts=results))
    answer = await caller.answer(replace(caller.question(*turns), tools=(_TOOL,)))
    return [] if answer.parts else ["two calls with their results were not answered"]


async def _refuses(caller: _Caller) -> list[str]:
    path = caller.dialect.write_request(caller.question()).path
    status, body = await caller.send(path, b'{"nonsense": ')
    problems = [] if 400 <= status < 500 else [f"a body that is no JSON is answered with status {status}"]
    if caller.dialect.read_error(status, body, {}).message == f"status {status}" or not body.lstrip().startswith(b"{"):
        problems.append("the refusal has no error message in the dialect's form")
    return problems


def _usage(where: str, answer: Response) -> list[str]:
    missing = [name for name in ("input", "output") if not getattr(answer.usage, name)]
    return [f"{where} does not report {name} tokens" for name in missing]


def _call(where: str, answer: Response) -> list[str]:
    if not answer.calls:
        return [f"{where} has no call of the tool that was demanded"]
    call = answer.calls[0]
    problems = [] if call.id else [f"{where}: the call has no id"]
    if call.name != _TOOL.name:
        problems.append(f"{where}: the call is of {call.name!r}, not of {_TOOL.name!r}")
    if call.malformed:
        problems.append(f"{where}: the arguments are no JSON object: {call.raw}")
    return problems


_PROBES: dict[str, tuple[str, _Ask]] = {
    "answers": ("An agent can't begin without an answer.", _answers),
    "reports usage": ("Without usage nobody knows what a trial cost.", _counts),
    "streams": ("Agents read streams with their provider's own client, which is strict.", _streams),
    "calls a tool": ("An agent acts through tools only.", _calls),
    "streams a call": ("Agents read calls from streams.", _streams_calls),
    "takes results": ("Several calls in one turn come back with several results, by id.", _keeps_ids),
    "refuses": ("An agent must be able to tell its own mistake from a broken server.", _refuses),
}
