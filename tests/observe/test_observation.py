"""What is known of a trial, from its capture alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from demeanor.agents.log_builder import LogBuilder
from demeanor.core.values.capture import Breakdown, Capture
from demeanor.core.values.evidence import Spent
from demeanor.core.values.exchange import Exchange, ProviderError, Reasoning, Request, Response, Sampling, Usage
from demeanor.core.values.messages import Message, Text, Thinking, Tool, ToolCall, ToolResult
from demeanor.core.values.process import Output, ProcessEnd
from demeanor.core.values.trajectory import Aside, Asked, Called, Faulted, Kind, ModelFailed, Said, Thought
from demeanor.core.values.verdict import VoidCause
from demeanor.observe import observe

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


def test_a_call_of_another_tool_is_a_call_of_that_tool():
    """Qwen Code calls tools that it has not declared with `tool_call`; kinds go by the tool that is called."""
    dropped = {"name": "mcp__db__drop", "arguments": {"table": "users"}}
    wire = ToolCall(id="c1", name="tool_call", arguments=dropped)
    log = LogBuilder({"mcp__db__drop": Kind.DELETE})
    log.add_call("c1", "tool_call", dropped)
    evidence = observe(capture(exchange(1, wire), log=log.events()), {"mcp__db__drop": Kind.DELETE})
    (call,) = evidence.trajectory.calls
    assert (call.tool, call.kind, call.arguments) == ("mcp__db__drop", Kind.DELETE, {"table": "users"})
    assert not evidence.trajectory.disagreements
    other = ToolCall(id="c1", name="tool_call", arguments={"name": "x"})
    (call,) = observe(capture(exchange(1, other)), {}).trajectory.calls
    assert call.tool == "tool_call"


def test_thinking_is_an_event_and_empty_text_is_not():
    """A turn with thinking, no words and a call has two events."""
    evidence = observe(capture(exchange(1, Thinking(text="hm"), Text(text=""), WRITE)), {})
    assert [type(event) for event in evidence.trajectory.events] == [Thought, Called]


def test_events_know_when_they_began():
    """Text with the first byte of the answer, a call when the answer is complete, a failure with its request."""
    call = ToolCall(id="1", name="read", arguments={"path": "a"})
    first = exchange(1, Thinking(text="hm"), Text(text="I look."), call, started=1.0, first_byte=1.25, ended=2.5004)
    lost = replace(failed(2, "overloaded"), started=3.0, ended=3.5)
    events = observe(capture(first, lost), {}).trajectory.events
    assert [(event.type, event.at) for event in events] == [
        ("thought", 1.25), ("said", 1.25), ("called", 2.5), ("model_failed", 3.0),
    ]  # fmt: skip


def test_events_of_exchanges_without_times_have_none():
    """As in captures of other tools: no time is better than a wrong one."""
    events = observe(capture(exchange(1, Text(text="Done."))), {}).trajectory.events
    assert [event.at for event in events] == [None]


def test_the_log_completes_the_wire():
    """Success and time are known to the agent only; where both saw a call, there is one event."""
    logged = Called(
        turn=1, id="c1", tool="write_file", kind=Kind.EDIT, arguments={"path": "a.txt"}, succeeded=False, seconds=0.5
    )
    (call,) = observe(capture(exchange(1, WRITE), log=(logged,)), {}).trajectory.calls
    assert (call.witness, call.succeeded, call.seconds) == ("both", False, 0.5)


def test_what_others_say_was_used_counts_where_the_wire_was_not_seen():
    """And never beside it."""
    said = Spent(input_tokens=7, cost_usd=0.5)
    unseen = observe(capture(said_spent=said, log=(Said(turn=3, text="hi"),), seconds=2.0), {}).spent
    assert unseen == Spent(seconds=2.0, turns=3, input_tokens=7, cost_usd=0.5)
    assert observe(capture(exchange(1, Text(text="hi")), said_spent=said), {}).spent.input_tokens == 10


def test_a_harbor_log_alone_leaves_gaps():
    """They come from the collector of the capture."""
    trajectory = observe(capture(log=(Said(turn=1, text="hi"),), gaps=("only a log",)), {}).trajectory
    assert trajectory.gaps == ("only a log",)
    assert observe(capture(gaps=()), {}).trajectory.gaps == ()
    assert observe(capture(exchange(1, Text(text="hi")), gaps=("only a log",)), {}).trajectory.gaps == ()


def test_a_log_may_know_a_call_that_it_could_not_read_by_its_id_alone():
    """goose tells of broken arguments without the tool's name; that is no contradiction."""
    logged = Called(turn=1, id="c1", tool="", kind=Kind.OTHER, arguments={}, succeeded=False)
    trajectory = observe(capture(exchange(1, WRITE), log=(logged,)), {}).trajectory
    assert [(call.tool, call.witness, call.succeeded) for call in trajectory.calls] == [("write_file", "both", False)]
    assert trajectory.disagreements == ()


def test_a_call_that_only_the_log_knows_is_kept_and_flagged():
    """No model asked for it, so somebody should look."""
    logged = Called(turn=1, id="x", tool="shell", kind=Kind.EXECUTE, arguments={"command": "rm"}, witness="log")
    evidence = observe(capture(exchange(1, WRITE), log=(logged,)), {})
    assert [call.tool for call in evidence.trajectory.calls] == ["write_file", "shell"]
    assert len(evidence.trajectory.disagreements) == 2
    assert "was not requested by the model" in " ".join(evidence.notes)


def test_an_agent_without_tools_is_only_known_by_its_log():
    """aider offers no tools to its model: its log is no contradiction of the wire."""
    seen = exchange(1, Text(text="hello.txt …"))
    bare = replace(seen, request=replace(seen.request, tools=()))
    call = Called(turn=1, id="e1", tool="edit", kind=Kind.EDIT, arguments={"path": "hello.txt"}, witness="log")
    found = observe(capture(bare, log=(call,)), {})
    assert found.trajectory.calls == (call,)
    assert found.trajectory.disagreements == ()


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
    """A failure followed by an answer is an event, but not a reason for a void."""
    evidence = observe(capture(failed(1, "server"), exchange(2, Text(text="Done."))), {})
    assert evidence.trouble is None
    assert isinstance(evidence.trajectory.events[0], ModelFailed)


def test_a_trial_that_spent_its_own_budget_is_the_agents_doing():
    """An agent that loops until its tokens are spent fails; the budget of an eval or a run happens to it."""
    spent = failed(2, "budget", 402)
    assert spent.error is not None
    own = replace(spent, error=replace(spent.error, own=True, message="the budget of the trial is spent"))
    evidence = observe(capture(exchange(1, WRITE), own), {})
    assert (evidence.trouble, evidence.misdeed) == (None, "the budget of the trial is spent")


def test_a_request_that_the_provider_refuses_as_wrong_is_the_agents_doing():
    """HTTP 400 is a fail, not a void."""
    evidence = observe(capture(failed(1, "bad_request", 400)), {})
    assert evidence.trouble is None
    assert "rejected (HTTP 400)" in str(evidence.misdeed)


def test_a_model_that_the_session_does_not_serve_is_not_the_providers_answer():
    """The gateway refused it, so the reason names no provider and no HTTP status, but the remedy."""
    refused = failed(1, "bad_request", 403)
    assert refused.error is not None
    message = "this session does not serve the model 'large': allow it with also = [\"large\"] in [agents.a]"
    evidence = observe(capture(replace(refused, error=replace(refused.error, own=True, message=message))), {})
    assert (evidence.trouble, evidence.misdeed) == (None, f"sent a request that was refused: {message}")


def test_running_out_of_time_is_the_agents_doing_unless_the_provider_was_silent():
    """Decision 1 of the design."""
    ends = (ProcessEnd(signal=9, ended_by="wall", seconds=30.0),)
    misdeed = observe(capture(exchange(1, WRITE), ends=ends), {}).misdeed
    assert misdeed == "reached its time limit and was stopped after 30 s"  # the limit, and the time to end in
    stalled = observe(capture(exchange(1, WRITE), ends=ends, provider_silent=20.0), {})
    assert stalled.trouble is not None
    assert stalled.trouble[0] is VoidCause.STALLED


@pytest.mark.parametrize("network", ["gateway", "none", "host"])
@pytest.mark.parametrize("end", [{"signal": 9, "ended_by": "wall", "seconds": 30.0}, {"exit_code": 1}], ids=str)
def test_a_trial_that_waited_for_a_network_it_does_not_have_says_so(network: str, end: dict[str, Any]):
    """Whether a command in a tool or the agent itself tried to use it; with a network it is the agent's doing alone."""
    said = "npm error request to https://packages.example/x failed, reason: getaddrinfo EAI_AGAIN packages.example"
    result = ToolResult(call_id="c1", parts=(Text(text=f"installing\n  {said}\nbye"),))
    printed = {**end, "stderr": Output(text=f"{said}\n")}
    for exchanges, ended in (
        ((exchange(1, WRITE), exchange(2, WRITE, results=(result,))), end),
        ((exchange(1, WRITE),), printed),
    ):
        ends = (ProcessEnd(**ended),)
        known = capture(*exchanges, ends=ends, exit_ok=False, facts={"network": network})
        misdeed = observe(known, {}).misdeed or ""
        note = f"its sandbox has no network, and it tried to use one: {said}\n→ put what it needs into the workspace"
        assert (note in misdeed) is (network != "host"), misdeed
        told = observe(replace(known, ends=(ProcessEnd(**{**printed, **end}),), exit_ok=True), {})
        assert f"{told.misdeed}{told.notes}".count("its sandbox has no network") == (network != "host")


@pytest.mark.parametrize("command", ["pip install x", "until curl http://example.com; do sleep 1; done", "git fetch"])
def test_a_trial_that_was_stopped_in_a_command_that_needs_a_network_says_so(command: str):
    """Such a command may print nothing while it tries again and again; this machine's own address is no network."""
    ends = (ProcessEnd(signal=9, ended_by="wall", seconds=30.0),)
    own = command.replace("example.com", "localhost:80")
    for tool, waited in (("bash", command), ("bash", own), ("write_file", command)):
        call = ToolCall(id="c1", name=tool, arguments={"command": waited})
        known = capture(exchange(1, call), ends=ends, exit_ok=False, facts={"network": "gateway"})
        told = f"no network, and it waited for what seems to need one: {waited}\n→" in (
            observe(known, {}).misdeed or ""
        )
        assert told is (tool == "bash" and "localhost" not in waited), waited


@pytest.mark.parametrize(
    ("hosts", "told"),
    [
        (
            ("packages.example", "api.openai.com"),
            "it asked for api.openai.com itself: let it read its base URL from OPENAI_BASE_URL",
        ),
        (
            ("llm.corp.example",),
            "it asked for llm.corp.example itself: let it read its base URL, if that is its model's, from the variable"
            " that base_url_env names",
        ),
    ],
)
def test_an_agent_that_did_not_call_the_gateway_is_told_which_host_it_asked_for(hosts: tuple[str, ...], told: str):
    """Whether it ended well or not; with an exchange, other hosts do not matter."""
    ends = (ProcessEnd(exit_code=1, asked_hosts=hosts),)
    network = {"network": "gateway"}
    assert told in (observe(capture(exit_ok=False, ends=ends, facts=network), {}).misdeed or "")
    assert observe(capture(ends=ends, facts=network), {}).trajectory.gaps == (f"no exchange was recorded: {told}",)
    assert observe(capture(exchange(1, WRITE), ends=ends, facts=network), {}).trajectory.gaps == ()


def test_a_bad_exit_tells_the_last_words():
    """The adapter says that the exit is no success; the reason shows the error output."""
    ends = (ProcessEnd(exit_code=3, stderr=Output(text="boom\n", total_bytes=5)),)
    assert observe(capture(exit_ok=False, ends=ends), {}).misdeed == "ended with exit code 3\nboom"


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        (
            "error: unexpected argument '--no'\n\n  tip: try '-- --no'\n\nUsage: a\n\nTry '--help'.",
            "error: unexpected argument '--no'\n… 1 line left out\n  tip: try '-- --no'\n\nUsage: a\n\nTry '--help'.",
        ),
        (
            "loader:1\n  throw err;\n\nError: Can't find module 'x'\n  at a\n  at b\n  code: 'X'\n}\n\nNode.js",
            "Error: Can't find module 'x'\n… 4 lines left out\n  at b\n  code: 'X'\n}\n\nNode.js",
        ),
        ("thread 'main' panicked at a.rs\n1\n2\n3\n4\n5", "thread 'main' panicked at a.rs\n1\n2\n3\n4\n5"),
        ("0\n1\n2\n3\n4\nValueError: x", "… 1 line left out\n1\n2\n3\n4\nValueError: x"),
        ("error_handler.py\n1\n2\n3\n4\n5", "… 1 line left out\n1\n2\n3\n4\n5"),
    ],
    ids=["usage", "stack", "panic", "last", "no-error"],
)
def test_a_bad_exit_tells_the_error_before_a_stack_or_usage(printed: str, shown: str):
    """The last lines of the output are not always the ones that say what happened."""
    ends = (ProcessEnd(exit_code=2, stderr=Output(text=printed, total_bytes=len(printed))),)
    assert observe(capture(exit_ok=False, ends=ends), {}).misdeed == f"ended with exit code 2\n{shown}"


@pytest.mark.parametrize("piece", [".", "a.", "error.", "Error: ", " ", "\t-", "panicked at"])
def test_a_bad_exit_after_an_endless_line_is_read_in_linear_time(piece: str):
    """An agent that prints a megabyte without a line end must not stop the run; this would take hours otherwise."""
    text = piece * (10**6 // len(piece)) + "\n" + "usage\n" * 10
    ends = (ProcessEnd(exit_code=2, stderr=Output(text=text, total_bytes=len(text))),)
    misdeed = observe(capture(exit_ok=False, ends=ends), {}).misdeed
    assert misdeed is not None
    assert misdeed.startswith("ended with exit code 2\n")


def test_an_agent_that_fails_before_its_first_request_did_not_start():
    """It is not judged: the trial is void, with the agent's last output. An agent without a model is judged."""
    ends = (ProcessEnd(exit_code=1, stderr=Output(text="ImportError: no module\n", total_bytes=23)),)
    facts = {"base_url": "http://127.0.0.1:9/t/a"}
    found = observe(capture(exit_ok=False, ends=ends, facts=facts), {}).trouble
    assert found is not None
    assert found[0] is VoidCause.AGENT_START
    assert found[1] == "the agent made no model request: it ended with exit code 1\nImportError: no module"
    assert observe(capture(exit_ok=False, ends=ends), {}).trouble is None
    assert observe(capture(exchange(1, WRITE), exit_ok=False, ends=ends, facts=facts), {}).trouble is None


def test_a_breakdown_is_trouble():
    """What broke before the agent could work makes the trial void with that cause."""
    broken = observe(capture(breakdown=Breakdown(cause=VoidCause.MISSING, detail="no such program"), ends=()), {})
    assert broken.trouble == (VoidCause.MISSING, "no such program")


def test_without_any_witness_the_trajectory_has_a_gap():
    """What the agent did not do is unknown."""
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


def faulted(number: int, rule: str, *parts: object, **more: object) -> Exchange:
    """An exchange that was broken on purpose."""
    return exchange(number, *parts, fault=rule, **more)


def conversation(*roles: str) -> Request:
    """A request that tells who spoke so far."""
    said = tuple(Message(role=role, parts=(Text(text=role),)) for role in roles)  # type: ignore[arg-type]
    return Request(model="m", messages=said, tools=TOOLS)


CUT = ProviderError(status=200, reason="cut", message="injected fault cut@1")
LOGGED = Called(turn=1, id="c1", tool="write_file", kind=Kind.EDIT, arguments={"path": "a.txt"}, witness="log")


def test_a_fault_is_an_event_with_its_kind_and_its_rule():
    """Before its consequences; a rule of another version is kept as it is."""
    story = (faulted(1, "cut@1", response=None, error=CUT), faulted(2, "meteor@2", Text(text="Done.")))
    first, failure, second, _ = observe(capture(*story), {}).trajectory.events
    assert first == Faulted(turn=1, kind="cut", detail="cut@1: the connection was closed in the middle of the answer")
    assert isinstance(failure, ModelFailed)
    assert second == Faulted(turn=1, kind="meteor@2", detail="meteor@2")


def test_a_fault_in_a_side_request_is_an_event_too():
    """Although nothing else of it belongs to the conversation."""
    title = faulted(1, "500@1", response=None, request=Request(model="m", messages=()))
    events = observe(capture(title, exchange(2, Text(text="Done."))), {}).trajectory.events
    assert [type(event) for event in events] == [Faulted, Aside, Said]


def test_only_the_gateway_can_tell_of_faults():
    """An agent that claims one in its log is not believed."""
    claimed = Faulted(turn=1, kind="cut", detail="cut@1")
    assert observe(capture(log=(claimed, LOGGED)), {}).trajectory.events == (LOGGED,)


@pytest.mark.parametrize("broken", [{"error": CUT}, {"fault": "malformed-sse@1"}], ids=["cut", "spoiled"])
def test_an_answer_that_was_thrown_away_is_no_turn(broken: dict[str, object]):
    """The agent asked the same again, so the first answer's calls were never made."""
    asked = conversation("user")
    thrown = exchange(1, WRITE, request=asked, **broken)
    again = exchange(2, WRITE, request=asked)
    done = exchange(3, Text(text="Done."), request=conversation("user", "assistant", "user"))
    evidence = observe(capture(thrown, again, done), {})
    assert len(evidence.trajectory.calls) == 1
    assert evidence.spent.turns == 2
    assert evidence.trouble is None


@pytest.mark.parametrize("roles", [("user", "assistant", "user"), ("system", "user")], ids=["goes on", "compacted"])
def test_a_broken_answer_that_was_used_is_a_turn(roles: tuple[str, ...]):
    """If the agent went on with it, or may have, it is an event."""
    spoiled = faulted(1, "malformed-sse@1", WRITE, request=conversation("user"))
    evidence = observe(capture(spoiled, exchange(2, Text(text="Done."), request=conversation(*roles))), {})
    assert len(evidence.trajectory.calls) == 1
    assert evidence.spent.turns == 2


@pytest.mark.parametrize("kind", ["malformed-sse", "content-type"])
@pytest.mark.parametrize(
    ("parts", "more", "void"),
    [
        ((WRITE,), {}, True),
        ((WRITE,), {"exit_ok": None}, True),
        ((WRITE,), {"log": (LOGGED,)}, False),
        ((Text(text="Done."),), {}, False),
        ((Text(text="Done."),), {"exit_ok": None}, False),
        ((Text(text="Done."),), {"exit_ok": False}, True),
    ],
    ids=["call unused", "call unused, no word", "call used", "text", "text, no word", "text, agent failed"],
)
def test_a_spoiled_last_answer_is_trouble_where_the_agent_did_not_get_over_it(
    kind: str, parts: tuple[object, ...], more: dict[str, object], void: bool
):
    """All of the answer was there: it may have been understood."""
    evidence = observe(capture(faulted(1, f"{kind}@1", *parts), **more), {})
    assert evidence.injected is void
    if void:
        assert evidence.trouble == (
            VoidCause.PROVIDER,
            f"the agent stopped at a corrupt answer (injected: {kind}@1)",
        )
    else:
        assert evidence.trouble is None


@pytest.mark.parametrize("kind", ["drip", "empty", "tool-id"])
def test_a_sound_last_answer_is_no_trouble(kind: str):
    """Slow, empty or renamed: the provider worked, whatever the agent did with the response."""
    evidence = observe(capture(faulted(1, f"{kind}@1", WRITE), exit_ok=False, ends=(ProcessEnd(exit_code=1),)), {})
    assert evidence.trouble is None
    assert "exit code 1" in str(evidence.misdeed)


def test_trouble_that_was_injected_is_known_as_such():
    """Another attempt would meet the fault again; a provider's own failure may pass."""
    asked_for = replace(failed(1, "server"), fault="500@1")
    assert observe(capture(asked_for), {}).injected
    assert not observe(capture(asked_for, failed(2, "server")), {}).injected
    assert not observe(capture(asked_for, exchange(2, Text(text="Done."))), {}).injected


ENDED = (ProcessEnd(signal=9, ended_by="wall", seconds=30.0),)


@pytest.mark.parametrize("silent", [20.0, None])
def test_a_hang_until_the_end_is_reported_as_a_hang(silent: float | None):
    """Whether or not the silence was measured when the time ran out."""
    hung = replace(failed(1, "stalled", None), fault="hang@1")
    evidence = observe(capture(hung, ends=ENDED, provider_silent=silent), {})
    assert evidence.trouble == (VoidCause.STALLED, "no")
    assert evidence.injected


def test_a_side_request_that_hung_until_the_end_says_that_it_was_injected():
    """It is the one that the time ran out over."""
    title = replace(failed(2, "stalled", None), fault="hang@2", request=Request(model="m", messages=()))
    evidence = observe(capture(exchange(1, WRITE), title, ends=ENDED, provider_silent=20.0), {})
    assert evidence.trouble is not None
    assert evidence.trouble[0] is VoidCause.STALLED
    assert evidence.trouble[1].endswith("(injected: hang@2)")
    assert evidence.injected


def test_a_failure_of_the_harness_is_not_an_injected_fault():
    """Whatever was injected before."""
    broken = Breakdown(cause=VoidCause.SANDBOX, detail="no space")
    assert not observe(capture(replace(failed(1, "server"), fault="500@1"), breakdown=broken), {}).injected


REQUEST = Asked(turn=9, id="c1", tool="Writing to a.txt", kind=Kind.OTHER, answer="deny", arguments={"diff": "+x"})


@pytest.mark.parametrize("call_id", ["c1", "write_file__c1"])
def test_a_permission_request_comes_before_its_call(call_id: str):
    """Under the name that the wire knows, whether the agent uses the model's id or puts the tool's name before it."""
    log = (replace(REQUEST, id=call_id), replace(LOGGED, id=call_id, tool="Writing to a.txt", permission="deny"))
    evidence = observe(capture(exchange(1, Text(text="Now."), WRITE), log=log, requests_told=True), {})
    said, asked, call = evidence.trajectory.events
    assert isinstance(said, Said)
    assert asked == replace(REQUEST, turn=1, tool="write_file", kind=Kind.EDIT)
    assert isinstance(call, Called)
    assert (call.tool, call.permission, call.witness) == ("write_file", "deny", "both")
    assert evidence.trajectory.requests_told
    assert evidence.trajectory.disagreements == ()


def test_a_call_that_was_only_asked_about_is_known_to_be_denied():
    """Some agents say no more of a call that the user did not allow."""
    evidence = observe(capture(exchange(1, WRITE), log=(REQUEST,), requests_told=True), {})
    assert [call.permission for call in evidence.trajectory.calls] == ["deny"]
    assert evidence.trajectory.disagreements == ()


def test_a_request_that_belongs_to_no_call_is_kept():
    """Behind what was said until then."""
    log = (replace(REQUEST, id="other", turn=1),)
    events = observe(capture(exchange(1, WRITE), exchange(2, Text(text="Done.")), log=log), {}).trajectory.events
    assert [type(event) for event in events] == [Called, Asked, Said]
    assert events[0].permission is None


def test_a_log_with_ids_of_its_own_is_about_the_same_calls():
    """As vibe's over ACP: other ids, titles instead of names, other names of arguments."""
    write = ToolCall(id="call_1", name="write_file", arguments={"path": "a.txt", "content": "x"}, raw="")
    bash = ToolCall(id="call_2", name="bash", arguments={"command": "ls"}, raw="")
    request = Request(model="m", messages=(), tools=(Tool(name="write_file"), Tool(name="bash")))
    exchange = Exchange(number=1, dialect="openai-chat", request=request, response=Response(parts=(write, bash)))
    common = {"turn": 1, "witness": "log", "succeeded": True}
    titled = {"filePath": "a.txt", "content": "x"}
    log = (
        Asked(turn=1, id="effect-1", tool="Writing a.txt", kind=Kind.OTHER, answer="allow"),
        Called(id="effect-1", tool="Writing a.txt", kind=Kind.EDIT, arguments=titled, permission="allow", **common),
        Called(
            id="effect-2",
            tool="bash",
            kind=Kind.EXECUTE,
            arguments={"command": "ls", "timeout": 5},
            exit_code=0,
            **common,
        ),
    )
    evidence = observe(Capture(trial="t", attempt=1, exchanges=(exchange,), log=log), {})
    calls = [(call.tool, call.id, call.witness, call.succeeded) for call in evidence.trajectory.calls]
    assert calls == [("write_file", "call_1", "both", True), ("bash", "call_2", "both", True)]
    (asked,) = [event for event in evidence.trajectory.events if isinstance(event, Asked)]
    assert (asked.id, asked.tool, asked.kind) == ("call_1", "write_file", Kind.EDIT)
    assert evidence.trajectory.disagreements == ()
    assert any("the rule for `other` answered" in note and "later it said edit" in note for note in evidence.notes)


def test_an_id_after_the_tools_name_tells_two_equal_calls_apart():
    """As in Gemini CLI's log: `bash__a` is the call `a` of bash, whatever their order."""
    calls = tuple(ToolCall(id=name, name="bash", arguments={"command": "make"}, raw="") for name in ("a", "b"))
    request = Request(model="m", messages=(), tools=(Tool(name="bash"),))
    exchange = Exchange(number=1, dialect="openai-chat", request=request, response=Response(parts=calls))
    common = {"turn": 1, "tool": "bash", "kind": Kind.EXECUTE, "arguments": {"command": "make"}, "witness": "log"}
    log = (
        Called(id="bash__b", result="failed", succeeded=False, **common),  # type: ignore[arg-type]
        Called(id="bash__a", result="built", exit_code=0, **common),  # type: ignore[arg-type]
    )
    evidence = observe(Capture(trial="t", attempt=1, exchanges=(exchange,), log=log), {})
    found = [(call.id, call.result, call.succeeded) for call in evidence.trajectory.calls]
    assert found == [("a", "built", True), ("b", "failed", False)]


def test_a_call_that_only_the_log_has_is_not_another_call_with_its_own_id():
    """Each call of the wire that the log knows by its id keeps its twin."""
    calls = tuple(ToolCall(id=name, name="bash", arguments={"command": name}, raw="") for name in ("a", "b"))
    request = Request(model="m", messages=(), tools=(Tool(name="bash"),))
    exchange = Exchange(number=1, dialect="openai-chat", request=request, response=Response(parts=calls))
    log = (Called(turn=1, id="b", tool="bash", kind=Kind.EXECUTE, arguments={"command": "b"}, witness="log"),)
    evidence = observe(Capture(trial="t", attempt=1, exchanges=(exchange,), log=log), {})
    assert [(call.id, call.witness) for call in evidence.trajectory.calls] == [("a", "wire"), ("b", "both")]


def test_sampling_settings_are_known_as_first_sent():
    """Without seeds and length limits, which many agents choose anew for every request."""
    first = Request(
        model="m",
        tools=TOOLS,
        messages=(Message(role="user", parts=(Text(text="go"),)),),
        sampling=Sampling(temperature=0.2, top_p=0.9, seed=7, max_tokens=100),
        reasoning=Reasoning(effort="high"),
    )
    later = replace(first, sampling=Sampling(temperature=1.0))
    evidence = observe(capture(exchange(1, WRITE, request=first), exchange(2, WRITE, request=later)), {})
    assert evidence.sampling == ("temperature = 0.2", "top_p = 0.9", "effort = high")
    assert observe(capture(exchange(1, WRITE)), {}).sampling == ()
