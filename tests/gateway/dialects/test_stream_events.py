"""Deltas: a response becomes deltas, and deltas become a response."""

from __future__ import annotations

from demeanor.core.values.exchange import ProviderError, Response, StopReason, Usage
from demeanor.core.values.messages import Text, Thinking, ToolCall
from demeanor.gateway.dialects.stream_events import (
    Assembler,
    Began,
    Finished,
    Interrupted,
    PartClosed,
    PartGrew,
    PartOpened,
    assemble,
    deltas_of,
)

ANSWER = Response(
    parts=(
        Thinking(text="Hm.", signature="s", summary=("a", "b"), encrypted="e", id="rs_1"),
        Text(text="Hello"),
        ToolCall(id="c", name="read", arguments={"a": 1}, raw='{"a": 1}', signature="t"),
    ),
    stop=StopReason.TOOL_USE,
    usage=Usage(input=1, output=2),
    id="answer",
    model="m",
)


def test_deltas_make_the_response() -> None:
    """A response that is split into deltas is assembled unchanged."""
    assert assemble(deltas_of(ANSWER)) == ANSWER


def test_a_call_without_its_text_is_streamed_too() -> None:
    """Scripts give the arguments only as an object."""
    call = ToolCall(id="c", name="read", arguments={"a": 1})
    assert [(each.arguments, each.raw) for each in assemble(deltas_of(Response(parts=(call,)))).calls] == [
        ({"a": 1}, '{"a":1}')
    ]


def test_parts_may_be_open_at_once() -> None:
    """Deltas of two calls may be interleaved."""
    opened = [PartOpened(index=n, part=ToolCall(id=f"c{n}", name="f", arguments={})) for n in (0, 1)]
    grown = [PartGrew(index=n, text=text) for n, text in ((0, '{"a"'), (1, "{"), (0, ": 1}"), (1, "}"))]
    complete = assemble([Began(), *opened, *grown, PartClosed(index=1), PartClosed(index=0), Finished()])
    assert [call.arguments for call in complete.calls] == [{"a": 1}, {}]


def test_malformed_arguments_are_kept() -> None:
    """Arguments that are not JSON stay as the model wrote them."""
    opened = PartOpened(index=0, part=ToolCall(id="c", name="f", arguments={}))
    call = assemble([opened, PartGrew(index=0, text='{"a": ')]).calls[0]
    assert (call.malformed, call.raw) == (True, '{"a": ')


def test_an_interrupted_response() -> None:
    """The response up to the error is known, and the error."""
    assembler = Assembler()
    error = ProviderError(status=500, reason="server", message="sorry")
    for delta in (Began(id="a"), PartGrew(index=0, text="Hel"), Interrupted(error=error)):
        assembler.take(delta)
    assert (assembler.response().text, assembler.response().stop) == ("Hel", StopReason.ERROR)
    assert (assembler.error, assembler.finished) == (error, False)


def test_usage_may_come_after_the_end() -> None:
    """Stop reason and usage may arrive separately."""
    complete = assemble([Finished(stop=StopReason.LENGTH), Finished(usage=Usage(output=3))])
    assert (complete.stop, complete.usage.output) == (StopReason.LENGTH, 3)
