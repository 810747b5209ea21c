"""Calls in unusual places, and answers whose calls were not seen."""

from __future__ import annotations

from dataclasses import replace

import pytest

from demeanor.core.values.exchange import Request, Response
from demeanor.core.values.messages import Message, Opaque, Text, Tool, ToolCall
from demeanor.core.values.trajectory import Said
from demeanor.gateway.dialects import DIALECTS
from demeanor.observe import observe
from tests.judge.helpers import tree
from tests.observe.test_observation import WRITE, capture, exchange

CALL = {"id": "c2", "type": "function", "function": {"name": "rm", "arguments": "{}"}}
SEVERAL = Request(
    model="m",
    messages=(Message(role="user", parts=(Text(text="go"),)),),
    tools=(Tool(name="rm"),),
    extra={"openai-chat": {"n": 2}},
)


def test_a_call_of_the_old_api_is_a_call() -> None:
    """It has a field of its own, in a whole answer and in a stream."""
    old = {"openai-chat.message": {"function_call": {"name": "rm", "arguments": '{"path": "a"}'}}}
    (call,) = observe(capture(exchange(1, response=Response(parts=(), extra=old))), {}).trajectory.calls
    assert (call.tool, call.arguments) == ("rm", {"path": "a"})
    reader = DIALECTS["openai-chat"].stream_reader()
    chunks = ('{"name": "rm", "arguments": ""}', '{"arguments": "{}"}')
    data = "".join(f'data: {{"choices": [{{"delta": {{"function_call": {part}}}}}]}}\n\n' for part in chunks)
    opened = [getattr(delta, "part", None) for delta in reader.feed(data.encode())]
    assert [part.name for part in opened if isinstance(part, ToolCall)] == ["rm"]


def test_the_answer_that_the_agent_went_on_with_was_given() -> None:
    """Of several answers at once, the conversation shows which one the agent took: here the second."""
    several = exchange(1, Text(text="Hello."), request=SEVERAL)
    taken = Message(role="assistant", parts=(ToolCall(id="c2", name="rm", arguments={}),))
    second = exchange(2, Text(text="Done."))
    later = replace(second, request=replace(SEVERAL, messages=(*SEVERAL.messages, taken)))
    assert [call.tool for call in observe(capture(several, later), {}).trajectory.calls] == ["rm"]


@pytest.mark.parametrize(
    ("response", "stream", "known"),
    [
        (Response(parts=(), extra={"openai-chat.others": [{"message": {"tool_calls": [CALL]}}]}), False, False),
        (Response(parts=(), extra={"openai-chat.others": [{"message": {"content": "Hi"}}]}), False, True),
        (Response(parts=()), True, False),
        (Response(parts=(Opaque(extra={"x": {"type": "mcp_call"}}),)), False, False),
        (Response(parts=(Opaque(extra={"x": {"type": "compaction"}}),)), False, True),
        (Response(parts=(), extra={"openai-chat.message": {"executed_tools": [{}]}}), False, False),
    ],
)
def test_what_is_forwarded_and_not_read_is_a_gap(response: Response, stream: bool, known: bool) -> None:
    """That no such call was made is then unknown."""
    seen = exchange(1, response=response, request=replace(SEVERAL, stream=stream))
    assert (observe(capture(seen), {}).trajectory.call_gaps == ()) is known


def test_calls_may_be_in_the_text_where_no_tool_is_declared() -> None:
    """Unless the agent's own log was read, or calls were seen."""
    bare = exchange(1, Text(text="rm -rf build"), request=replace(SEVERAL, tools=(), extra={}))
    (gap,) = observe(capture(bare), {}).trajectory.call_gaps
    assert "no request declares a tool" in gap
    assert not observe(capture(bare, log=(Said(turn=1, text="Done."),)), {}).trajectory.call_gaps
    assert not observe(capture(exchange(1, WRITE)), {}).trajectory.call_gaps


@pytest.mark.parametrize(
    ("after", "calls", "known"),
    [
        ({"own.txt": "new"}, (), False),
        ({"kept.txt": "other"}, (), False),
        ({"kept.txt": "", ".gitignore": "*.log", ".git/index": "2", "own.txt": "new"}, (), True),
        ({}, (ToolCall(id="c1", name="read_file", arguments={"path": "kept.txt"}),), False),
        ({}, (ToolCall(id="c1", name="shell", arguments={"command": "make"}),), True),
        ({}, (WRITE,), True),
    ],
)
def test_a_change_that_no_call_explains_was_made_by_one_that_was_not_seen(
    after: dict[str, str], calls: tuple[ToolCall, ...], known: bool
) -> None:
    """An agent may declare a tool for show, and do its work with others."""
    before = tree({"kept.txt": "", ".gitignore": "", ".git/index": "1"})
    after = {**dict.fromkeys((".gitignore", ".git/index"), ""), **after}
    seen = capture(exchange(1, *calls, Text(text="Done.")), before=before, after=tree(after))
    assert (observe(seen, {}).trajectory.call_gaps == ()) is known
