"""Deltas: pieces make the whole, and the whole makes pieces."""

from __future__ import annotations

from demeanor.core.exchange import ProviderError, Response, StopReason, Usage
from demeanor.core.messages import Text, Thinking, ToolCall
from demeanor.gateway.dialects.stream_events import (
    Assembler,
    Began,
    Broke,
    Finished,
    PartClosed,
    PartGrew,
    PartOpened,
    assembled,
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


def test_pieces_make_the_whole() -> None:
    """What is told as a stream comes together as it was."""
    assert assembled(deltas_of(ANSWER)) == ANSWER


def test_parts_may_be_open_at_once() -> None:
    """Pieces of two calls may come mixed."""
    opened = [PartOpened(index=n, part=ToolCall(id=f"c{n}", name="f", arguments={})) for n in (0, 1)]
    grown = [PartGrew(index=n, text=text) for n, text in ((0, '{"a"'), (1, "{"), (0, ": 1}"), (1, "}"))]
    whole = assembled([Began(), *opened, *grown, PartClosed(index=1), PartClosed(index=0), Finished()])
    assert [call.arguments for call in whole.calls] == [{"a": 1}, {}]


def test_malformed_arguments_are_kept() -> None:
    """Arguments that are no JSON stay as the model wrote them."""
    opened = PartOpened(index=0, part=ToolCall(id="c", name="f", arguments={}))
    call = assembled([opened, PartGrew(index=0, text='{"a": ')]).calls[0]
    assert (call.malformed, call.raw) == (True, '{"a": ')


def test_an_answer_that_broke_off() -> None:
    """What was said before the break is known, and that it broke."""
    assembler = Assembler()
    error = ProviderError(status=500, reason="server", message="sorry")
    for delta in (Began(id="a"), PartGrew(index=0, text="Hel"), Broke(error=error)):
        assembler.take(delta)
    assert (assembler.response().text, assembler.response().stop) == ("Hel", StopReason.ERROR)
    assert (assembler.error, assembler.finished) == (error, False)


def test_usage_may_come_after_the_end() -> None:
    """The reason to stop and the usage may be said one after the other."""
    whole = assembled([Finished(stop=StopReason.LENGTH), Finished(usage=Usage(output=3))])
    assert (whole.stop, whole.usage.output) == (StopReason.LENGTH, 3)
