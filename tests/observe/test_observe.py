"""What is known of a trial, from its capture alone."""

from __future__ import annotations

import pytest

from holdfast.core.capture import Breakdown, Capture
from holdfast.core.exchange import (
    Exchange,
    Message,
    ProviderError,
    Request,
    Response,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResult,
    Usage,
)
from holdfast.core.process import Output, ProcessEnd
from holdfast.core.trajectory import Called, Kind, ModelFailed, Said, Thought
from holdfast.core.verdict import VoidCause
from holdfast.observe import observe

WRITE = ToolCall(id="c1", name="write_file", arguments={"path": "a.txt"})
TOOLS = (Tool(name="write_file"),)


def exchange(number: int, *parts: object, results: tuple[ToolResult, ...] = (), **more: object) -> Exchange:
    """An exchange in which the model answered with `parts`."""
    message = Message(role="user", parts=results or (Text(text="go"),))
    fields: dict[str, object] = {
        "number": number,
        "dialect": "openai-chat",
        "request": Request(model="m", messages=(message,), tools=TOOLS),
        "response": Response(parts=parts, usage=Usage(input=10, output=5)),  # type: ignore[arg-type]
        "cost_usd": 0.01,
    }
    return Exchange(**{**fields, **more})  # type: ignore[arg-type]


def failed(number: int, reason: str, status: int | None = 500) -> Exchange:
    """An exchange in which the provider failed."""
    return exchange(number, response=None, error=ProviderError(status=status, reason=reason, message="no"), cost_usd=0)  # type: ignore[arg-type]


def capture(*exchanges: Exchange, **more: object) -> Capture:
    """A capture of one quick process that ended well."""
    fields: dict[str, object] = {"trial": "e/s/1", "attempt": 1, "exchanges": exchanges, "exit_ok": True}
    return Capture(**{"ends": (ProcessEnd(exit_code=0),), **fields, **more})  # type: ignore[arg-type]


def test_a_call_is_tied_to_the_result_that_the_next_request_tells():
    """The wire tells calls in answers and results in requests; the trajectory has them in one event."""
    result = ToolResult(call_id="c1", parts=(Text(text="wrote it"),), is_error=False)
    evidence = observe(capture(exchange(1, WRITE), exchange(2, Text(text="Done."), results=(result,))), {})
    call, said = evidence.trajectory.events
    assert call == Called(
        turn=1,
        id="c1",
        tool="write_file",
        kind=Kind.EDIT,
        arguments={"path": "a.txt"},
        result="wrote it",
        succeeded=True,
    )
    assert said == Said(turn=2, text="Done.")


def test_thinking_is_told_and_empty_text_is_not():
    """A turn with thinking, no words and a call has two events."""
    evidence = observe(capture(exchange(1, Thinking(text="hm"), Text(text=""), WRITE)), {})
    assert [type(event) for event in evidence.trajectory.events] == [Thought, Called]


def test_the_log_completes_the_wire():
    """Success and time are known to the agent only; where both saw a call it is told once."""
    logged = Called(
        turn=1, id="c1", tool="write_file", kind=Kind.EDIT, arguments={"path": "a.txt"}, succeeded=False, seconds=0.5
    )
    (call,) = observe(capture(exchange(1, WRITE), log=(logged,)), {}).trajectory.calls
    assert (call.witness, call.succeeded, call.seconds) == ("both", False, 0.5)


def test_a_call_that_only_the_log_knows_is_kept_and_flagged():
    """No model asked for it, so somebody should look."""
    logged = Called(turn=1, id="x", tool="shell", kind=Kind.EXECUTE, arguments={"command": "rm"}, witness="log")
    evidence = observe(capture(exchange(1, WRITE), log=(logged,)), {})
    assert [call.tool for call in evidence.trajectory.calls] == ["write_file", "shell"]
    assert len(evidence.trajectory.disagreements) == 2
    assert "no model asked for it" in " ".join(evidence.notes)


def test_side_requests_are_kept_apart():
    """A request without tools, among others with tools, is a title or a summary: no turn of the conversation."""
    title = exchange(2, Text(text="A title"), request=Request(model="m", messages=()))
    evidence = observe(capture(exchange(1, WRITE), title, exchange(3, Text(text="Done."))), {})
    assert [event.text for event in evidence.trajectory.events if isinstance(event, Said)] == ["Done."]
    assert evidence.spent.turns == 2
    assert evidence.spent.tokens == 45


@pytest.mark.parametrize(
    ("reason", "status", "cause"),
    [
        ("rate_limit", 429, VoidCause.RATE_LIMIT),
        ("auth", 401, VoidCause.AUTH),
        ("server", 500, VoidCause.PROVIDER),
        ("cut", 200, VoidCause.PROVIDER),
        ("unreachable", None, VoidCause.PROVIDER),
        ("budget", 402, VoidCause.BUDGET),
    ],
)
def test_a_provider_that_fails_to_the_end_is_trouble(reason: str, status: int | None, cause: VoidCause):
    """The cause comes from what the gateway saw, whatever the agent's exit code says."""
    evidence = observe(capture(exchange(1, WRITE), failed(2, reason, status)), {})
    assert evidence.trouble is not None
    assert evidence.trouble[0] is cause
    assert isinstance(evidence.trajectory.events[-1], ModelFailed)


def test_an_agent_that_got_over_a_failure_has_coped():
    """A failure followed by an answer is told, but is no trouble."""
    evidence = observe(capture(failed(1, "server"), exchange(2, Text(text="Done."))), {})
    assert evidence.trouble is None
    assert isinstance(evidence.trajectory.events[0], ModelFailed)


def test_a_request_that_the_provider_refuses_as_wrong_is_the_agents_doing():
    """HTTP 400 is a fail, not a void."""
    evidence = observe(capture(failed(1, "bad_request", 400)), {})
    assert evidence.trouble is None
    assert "refused (HTTP 400)" in str(evidence.misdeed)


def test_running_out_of_time_is_the_agents_doing_unless_the_provider_was_silent():
    """Decision 1 of the design."""
    ends = (ProcessEnd(signal=9, ended_by="wall", seconds=30.0),)
    assert "ran out of its time" in str(observe(capture(exchange(1, WRITE), ends=ends), {}).misdeed)
    stalled = observe(capture(exchange(1, WRITE), ends=ends, provider_silent=20.0), {})
    assert stalled.trouble is not None
    assert stalled.trouble[0] is VoidCause.STALLED


def test_a_bad_exit_tells_the_last_words():
    """The adapter says that the exit is no success; the reason shows the error output."""
    ends = (ProcessEnd(exit_code=3, stderr=Output(text="boom\n", total_bytes=5)),)
    assert observe(capture(exit_ok=False, ends=ends), {}).misdeed == "ended with exit code 3\nboom"


def test_a_breakdown_is_trouble():
    """What broke before the agent could work makes the trial void with that cause."""
    broken = observe(capture(breakdown=Breakdown(cause=VoidCause.MISSING, detail="no such program"), ends=()), {})
    assert broken.trouble == (VoidCause.MISSING, "no such program")


def test_without_any_witness_the_trajectory_has_a_gap():
    """Nobody can say what the agent did not do."""
    assert observe(capture(), {}).trajectory.gaps
    assert not observe(capture(exchange(1, WRITE)), {}).trajectory.gaps


def test_an_unknown_price_makes_the_cost_unknown():
    """Unknown is not zero."""
    known, unknown = exchange(1, WRITE), exchange(2, Text(text="x"), cost_usd=None)
    assert observe(capture(known), {}).spent.cost_usd == pytest.approx(0.01)
    assert observe(capture(known, unknown), {}).spent.cost_usd is None


def test_daemons_and_cut_output_are_noted():
    """What a person should know is in the notes."""
    text = "a … b"
    end = ProcessEnd(exit_code=0, leftovers=2, stdout=Output(text=text, total_bytes=1000, left_out=990))
    notes = " ".join(observe(capture(exchange(1, WRITE), ends=(end,)), {}).notes)
    assert "left 2 processes behind" in notes
    assert "1000 bytes of output" in notes
