"""The contract: the built-in dialects fulfil it, and violations are reported readably."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import reduce
from operator import getitem
from typing import Any

import pytest
from aiohttp import web

from demeanor.core.values.exchange import ProviderError, Request, Response, StopReason, Usage
from demeanor.core.values.messages import Part, Text, ToolCall
from demeanor.gateway import contract
from demeanor.gateway.contract.runner import ABSENT, look_up, mismatches, spellings
from demeanor.gateway.contract.view import events_of
from demeanor.gateway.dialects import DIALECTS
from demeanor.gateway.dialects.dialect import Malformed
from demeanor.gateway.dialects.stream_events import (
    Assembler,
    Began,
    Interrupted,
    PartClosed,
    PartGrew,
    PartOpened,
    deltas_of,
)
from tests.gateway.dialects.helpers import changed, in_pieces, places, without


def test_the_built_in_dialects_fulfil_the_contract() -> None:
    """Every case passes with the built-in converter."""
    failed = [result.explain() for result in contract.run() if not result.passed]
    assert not failed, "\n\n".join(failed[:5])


def test_a_recorded_stream_fulfils_the_contract_too() -> None:
    """A replay writes the stream from the complete response, so nothing may be kept in the pieces only."""

    def replay(source: str, target: str, kind: contract.MessageKind, body: bytes) -> bytes:
        reader, asked = DIALECTS[source].stream_reader(), {target: {"stream_options": {"include_usage": True}}}
        recorder = Assembler()
        for delta in [*reader.feed(body), *reader.close()]:
            recorder.take(delta)
        if kind != "stream" or recorder.error is not None:
            return contract.builtin_converter(source, target, kind, body)
        writer = DIALECTS[target].stream_writer(Request(model="some-model", messages=(), extra=asked))
        return b"".join(map(writer.write, deltas_of(recorder.response()))) + writer.close()

    cases = [case for case in contract.cases() if case.kind == "stream" and "text-arrives-in-pieces" not in case.name]
    failed = [result.explain() for result in contract.run(replay, only=cases) if not result.passed]
    assert not failed, "\n\n".join(failed[:5])


STREAMS = {(case.source, case.body): case.name for case in contract.cases() if case.kind == "stream"}
PARALLEL = ("openai-chat", "openai-responses")
"""Dialects in which several parts of a kind may be open at once, and calls beside anything."""


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_stream_is_read_in_order_and_in_any_pieces(dialect: str) -> None:
    """It begins and ends once; a part opens once, with the next number, grows while it is open, and closes once."""
    for (source, body), name in STREAMS.items():
        if source != dialect:
            continue
        deltas = in_pieces(DIALECTS[source], body, len(body))
        assert in_pieces(DIALECTS[source], body, 5) == deltas, name
        began, parts, finished = 0, 0, False
        opened: dict[int, Part] = {}
        for delta in deltas:
            assert not finished, name
            if isinstance(delta, Began):
                began += 1
            elif isinstance(delta, PartOpened):
                beside = (ToolCall, type(delta.part)) if source in PARALLEL else ()
                assert all(isinstance(part, beside) for part in opened.values()), name
                assert delta.index == parts, name
                opened[delta.index] = delta.part
                parts += 1
            elif isinstance(delta, PartGrew):
                assert delta.index in opened, name
            elif isinstance(delta, PartClosed):
                del opened[delta.index]
            else:
                finished = True
                assert isinstance(delta, Interrupted) or not opened, name
        assert finished, name
        assert began == 1 or isinstance(deltas[-1], Interrupted), name


def test_there_are_hundreds_of_cases() -> None:
    """Every pair of dialects is covered for every kind of message, and all names are unique."""
    cases = contract.cases()
    assert len(cases) > 1000
    assert len({case.name for case in cases}) == len(cases)
    pairs = {(case.source, case.target, case.kind) for case in cases}
    assert len(pairs) == 4 * 4 * 3


def test_no_case_is_vacuous() -> None:
    """A converter with empty output fails every case."""
    passed = [result.name for result in contract.run(lambda *_: b"{}") if result.passed]
    assert passed == []


def test_a_converter_that_changes_nothing_fails() -> None:
    """Returning the message unchanged fails nearly everywhere where the dialects differ."""
    foreign = [case for case in contract.cases() if case.source != case.target]
    passed = [result.name for result in contract.run(lambda *message: message[-1], only=foreign) if result.passed]
    assert len(passed) < 15


RESPONSE = ("created_at", "error", "incomplete_details", "instructions", "metadata", "parallel_tool_calls")
RESPONSE += ("temperature", "tool_choice", "tools", "top_p")
WITHOUT_MEANING = {
    "openai-chat": {
        *("chunk: choices.*.logprobs", "chunk: choices.*.delta.reasoning_details.*.format"),
        *("chunk: choices.*.delta.content", "chunk: choices.*.delta.tool_calls.*.function.arguments"),  # empty ones
        "chunk: usage",  # null, until it is known
        *("doubled reasoning_details", "doubled usage"),  # a signature, and counts that are totals
        *("swapped reasoning_details", "swapped tool_calls", "swapped finish_reason"),  # with what it is independent of
    },
    "openai-responses": {
        *(f"response.{kind}: response.{key}" for kind in ("created", "in_progress", "completed") for key in RESPONSE),
        *(
            f"response.content_part.{kind}: part.{key}"
            for kind in ("added", "done")
            for key in ("annotations", "logprobs")
        ),
        *(f"response.output_text.{kind}: logprobs" for kind in ("delta", "done")),
        *(f"response.output_item.added: item.{key}" for key in ("arguments", "content", "status", "summary")),  # empty
    },
    "anthropic": {
        *(
            f"message_start: message.usage.{key}_tokens" for key in ("input", "cache_read_input", "output")
        ),  # until then
        *(f"message_delta: usage.{key}_tokens" for key in ("input", "cache_read_input")),  # as in message_start
        "doubled message_delta",
    },
    "gemini": {
        "piece: candidates.*.index",
        *("piece: candidates.*.content.parts.*", "piece: candidates.*.content.parts.*.text"),  # empty at the end
    },
}
"""What may be lost, changed, doubled or swapped, because it says nothing, or nothing new."""


def _label(event: dict[str, Any]) -> str:
    """What an event is about."""
    (choice,) = event["data"].get("choices") or [{}] if isinstance(event["data"], dict) else [{}]
    delta = [key for key in choice.get("delta", {}) if key not in ("reasoning_content", "role")]
    return event["name"] or next(iter(delta), "finish_reason" if choice else "usage")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_field_of_a_stream_is_checked(dialect: str) -> None:
    """A stream in which one is lost or changed, or an event is lost, doubled or in another place, fails its case."""
    (case,) = (each for each in contract.cases() if each.name == f"8-stream-fields/everything: anthropic → {dialect}")
    events = events_of(contract.builtin_converter(case.source, case.target, case.kind, case.body))

    def passes(stream: list[dict[str, Any]]) -> bool:
        data = [each["data"] if each["data"] == "[DONE]" else json.dumps(each["data"]) for each in stream]
        named = [f"event: {each['name']}\n" if each["name"] else "" for each in stream]
        body = "".join(f"{name}data: {text}\n\n" for name, text in zip(named, data, strict=True))
        return contract.run(lambda *_: body.encode(), only=[case])[0].passed

    assert passes(events)
    unseen = set()
    for at, event in enumerate(events):
        after = events[at + 1 : at + 2]
        variants = {"lost": [], "doubled": [event, event], **({"swapped": [*after, event]} if after else {})}
        for what, instead in variants.items():
            if passes([*events[:at], *instead, *events[at + (2 if what == "swapped" else 1) :]]):
                unseen.add(f"{what} {_label(event)}")
        for path in places(event["data"])[1:] if isinstance(event["data"], dict) else ():
            name = event["name"] or {"openai-chat": "chunk", "gemini": "piece"}[dialect]
            value = reduce(getitem, path, event["data"])
            other = value + 1 if isinstance(value, int) else "other"
            for data in (without(event["data"], path), changed(event["data"], path, other)):
                if passes([*events[:at], {**event, "data": data}, *events[at + 1 :]]):
                    unseen.add(f"{name}: {'.'.join('*' if isinstance(step, int) else step for step in path)}")
    assert unseen == WITHOUT_MEANING[dialect]


def test_a_converter_that_raises_fails_readably() -> None:
    """An exception of the converter fails the case."""

    def convert(*_: object) -> bytes:
        raise KeyError("role")

    result = contract.run(convert, only=contract.cases()[:1])[0]
    assert result.problems == ("the converter raised KeyError: 'role'",)
    assert result.explain().startswith("1-basics/question: ")


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("a[0].b", 1),
        ("a[-1].b", 2),
        ("a[*].b", [1, 2]),
        ("a[k=x].b", [2]),
        ("a[7].b", ABSENT),
        ("none", ABSENT),
        ("a[*].none", []),
    ],
)
def test_paths(path: str, found: object) -> None:
    """Paths select one value or many."""
    assert look_up({"a": [{"b": 1}, {"b": 2, "k": "x"}]}, path) == found


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"id": "x"}, 'id: expected "x", found "long"'),
        ({"id": {"$longest": 2}}, 'id: expected at most 2 long and not empty, found "long"'),
        ({"id": {"$same": "other"}}, 'id: expected the same as at "other", found "long"; there is "short"'),
        ({"id": {"$absent": True}}, 'id: expected nothing, found "long"'),
        ({"list": [1]}, "list: expected [1], found [1, 2]"),
        ({"list": {"$count": 3}}, "list: expected 3 of them, found [1, 2]"),
        ({"args": {"$json": {"a": 2}}}, 'args: expected the JSON text of {"a": 2}, found "{\\"a\\": 1}"'),
    ],
)
def test_mismatches_are_readable(wanted: dict[str, object], message: str) -> None:
    """A mismatch contains path, expectation and value."""
    found = mismatches({"id": "long", "other": "short", "list": [1, 2], "args": '{"a": 1}'}, wanted)
    assert [problem.splitlines()[0] for problem in found] == [message]


def test_differing_lists_are_shown_as_a_diff() -> None:
    """The diff shows where two lists or objects differ."""
    assert mismatches({"list": [1, 2]}, {"list": [1]})[0].splitlines()[-3:] == ["      +  1,", "      +  2", "       ]"]


class Server:
    """A small model server for one dialect that can misbehave."""

    def __init__(self, dialect: str, fault: str = "") -> None:
        self.dialect = DIALECTS[dialect]
        self.fault = fault

    def answer(self, request: Request) -> Response:
        usage = Usage() if self.fault == "no usage" else Usage(input=10, output=5)
        if request.tool_choice == "get_weather":
            bad = self.fault == "bad arguments"
            typed = None if bad else {"city": "Oslo"}
            call = ToolCall(id="call_1", name="get_weather", arguments=typed, raw="{" if bad else '{"city": "Oslo"}')
            return Response(parts=(call,), stop=StopReason.TOOL_USE, usage=usage, id="a", model="m")
        return Response(parts=(Text(text="Sunny."),), stop=StopReason.END, usage=usage, id="a", model="m")

    async def serve(self, http: web.Request) -> web.Response:
        route = self.dialect.route(http.method, http.path, http.query)
        assert route is not None
        try:
            request = self.dialect.read_request(await http.read(), route)
        except Malformed as error:
            wire = self.dialect.write_error(ProviderError(status=400, reason="bad_request", message=str(error)))
            return web.Response(body=b"oops" if self.fault == "bare error" else wire.body, status=wire.status)
        if not request.stream:
            return web.Response(body=self.dialect.write_response(self.answer(request), request).body)
        writer = self.dialect.stream_writer(request)
        body = b"".join([writer.write(delta) for delta in deltas_of(self.answer(request))]) + writer.close()
        return web.Response(body=body[: len(body) // 2] if self.fault == "cut stream" else body)


@asynccontextmanager
async def serving(server: Server) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", server.serve)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def probe(dialect: str, fault: str = "") -> dict[str, contract.ContractOutcome]:
    async def talk() -> dict[str, contract.ContractOutcome]:
        async with serving(Server(dialect, fault)) as url:
            found = await contract.probe_url(url, dialect, "m", "key", timeout_seconds=10)
            return {each.name: each for each in found}

    return asyncio.run(talk())


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_good_server_passes_every_probe(dialect: str) -> None:
    """A server that follows its dialect passes."""
    problems = [each.explain() for each in probe(dialect).values() if not each.passed]
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    ("fault", "failing"),
    [
        ("no usage", {"reports usage"}),
        ("cut stream", {"streams", "streams a call"}),
        ("bare error", {"refuses"}),
        ("bad arguments", {"calls a tool", "streams a call"}),
    ],
)
def test_a_bad_server_fails_the_probe(dialect: str, fault: str, failing: set[str]) -> None:
    """Each fault is found by the probe for it."""
    failed = {name for name, each in probe(dialect, fault).items() if not each.passed}
    assert failing <= failed


def test_nothing_is_decided_about_an_unreachable_server() -> None:
    """It neither passes nor fails, and every probe says why."""
    found = asyncio.run(contract.probe_url("http://127.0.0.1:9", "anthropic", "m", timeout_seconds=5))
    assert all(each.undecided.startswith("http://127.0.0.1:9 can't be reached") for each in found)
    assert not any(each.passed or each.problems for each in found)


def test_nothing_is_decided_with_a_wrong_key() -> None:
    """A server that refuses the key says nothing about its streams."""

    class Strict(Server):
        async def serve(self, http: web.Request) -> web.Response:
            return web.json_response({"error": {"message": "who are you?"}}, status=401)

    async def talk() -> tuple[contract.ContractOutcome, ...]:
        async with serving(Strict("openai-chat")) as url:
            return await contract.probe_url(url, "openai-chat", "m", "key", timeout_seconds=10)

    answers, *_ = asyncio.run(talk())
    assert (answers.undecided, answers.problems) == ("status 401: who are you?", ())


@pytest.mark.parametrize("status", [502, 503, 504, 529])
def test_nothing_is_decided_during_an_outage(status: int) -> None:
    """A proxy that answers for a server that is down says nothing about its streams."""

    class Down(Server):
        async def serve(self, http: web.Request) -> web.Response:
            return web.Response(text="try later", status=status)

    async def talk() -> tuple[contract.ContractOutcome, ...]:
        async with serving(Down("openai-chat")) as url:
            return await contract.probe_url(url, "openai-chat", "m", "key", timeout_seconds=60)

    answers, *_ = asyncio.run(talk())
    assert answers.undecided.startswith(f"status {status}")
    assert answers.problems == ()


def test_nothing_is_decided_about_a_server_that_never_answers() -> None:
    """A firewall that drops packets looks like this: nothing is ever read from these connections."""
    with socket.create_server(("127.0.0.1", 0), backlog=16) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        found = asyncio.run(contract.probe_url(url, "openai-chat", "m", "key", timeout_seconds=0.1))
    assert all("there was no response within 0.1 seconds" in each.undecided for each in found)
    assert not any(each.passed or each.problems for each in found)


def test_a_difference_between_providers_is_a_note() -> None:
    """A server whose chunks have different ids passes, and the difference is shown."""

    class Changing(Server):
        async def serve(self, http: web.Request) -> web.Response:
            answer = await super().serve(http)
            body = answer.body
            assert isinstance(body, bytes)
            return web.Response(body=body.replace(b'"id":"a"', b'"id":"b"', 1), status=answer.status)

    async def talk() -> tuple[contract.ContractOutcome, ...]:
        async with serving(Changing("openai-chat")) as url:
            return await contract.probe_url(url, "openai-chat", "m", "key", timeout_seconds=10)

    found = asyncio.run(talk())
    assert all(each.passed for each in found)
    assert {note for each in found for note in each.notes} == {"the chunks do not have the same id"}


@pytest.mark.parametrize("spelling", [0, 1], ids=["strings", "lists"])
def test_equivalent_spellings_are_accepted(spelling: int) -> None:
    """A string and a list with one text mean the same in a request."""

    def convert(source: str, target: str, kind: contract.MessageKind, body: bytes) -> bytes:
        written = contract.builtin_converter(source, target, kind, body)
        return json.dumps(spellings(json.loads(written))[spelling]).encode() if kind == "request" else written

    failed = [result.explain() for result in contract.run(convert) if not result.passed]
    assert not failed, "\n\n".join(failed[:5])


def test_other_text_is_not_an_equivalent_spelling() -> None:
    """Two texts are not one, and a picture is not a text."""
    texts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    picture = [{"type": "image_url", "image_url": {"url": "a"}}]
    request = {"messages": [{"role": "user", "content": texts}, {"role": "user", "content": picture}]}
    assert spellings(request) == (request, request)
    assert mismatches(request, {"messages[0].content": "ab"}, equivalent=spellings(request))


def test_cases_are_plain_data() -> None:
    """Bodies of requests and responses are JSON."""
    assert all(json.loads(case.body) for case in contract.cases() if case.kind != "stream")
