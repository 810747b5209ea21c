"""Calls that MCP servers recorded, in the trajectory."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from demeanor.core.values.capture import Capture
from demeanor.core.values.fingerprints import BASE_URL
from demeanor.core.values.process import Output, ProcessEnd
from demeanor.core.values.trajectory import Called, Faulted, Kind
from demeanor.core.values.verdict import VoidCause
from demeanor.observe.observation import observe


def call(tool: str, **arguments: Any) -> Called:
    """A call of the agent's own log."""
    return Called(turn=1, id="1", tool=tool, kind=Kind.OTHER, arguments=arguments, witness="log")


def capture(*lines: object, log: tuple[Called, ...] = ()) -> Capture:
    """A capture with the record of the server `db`."""
    text = "\n".join(map(json.dumps, lines))
    return Capture(trial="e/a:m/1", attempt=1, log=log, task_files={"mcp/db.jsonl": Output(text=text)})


LISTED = {"listed": True}
FIND = {"server": "db", "tool": "find", "arguments": {"q": "x"}, "result": "1", "succeeded": True}


@pytest.mark.parametrize("name", ["mcp__db__find", "db_find", "find", "db-find", "mcp_db_find"])
def test_a_call_is_known_under_the_name_of_its_server(name: str):
    """Whatever the agent calls it; other calls are left alone."""
    found = observe(capture(LISTED, FIND, log=(call("find", q="y"), call(name, q="x", optional=None))), {})
    assert [one.mcp for one in found.trajectory.calls] == ["", "db.find"]
    assert found.trajectory.calls[1].succeeded is True
    assert found.trouble is None


@pytest.mark.parametrize("arguments", [{"q": "x"}, '{"q": "x"}'])
def test_a_search_for_a_tool_is_not_a_call_of_it(arguments: object):
    """An agent with one tool for all servers names the tool in an argument, and so does a search for it."""
    log = (call("tool_search", query="find"), call("use_mcp", name="find", arguments=arguments))
    found = observe(capture(LISTED, FIND, log=log), {})
    assert [one.mcp for one in found.trajectory.calls] == ["", "db.find"]


def test_arguments_that_an_agent_keeps_for_itself_do_not_hide_its_call():
    """OpenHands adds one to every tool. A call with exactly the same arguments is preferred."""
    log = (call("find", q="x", security_risk="LOW"), call("find", q="y", security_risk="LOW"))
    found = observe(capture(LISTED, {**FIND, "arguments": {"q": "y"}}, FIND, log=log), {})
    assert [(one.mcp, one.arguments["q"]) for one in found.trajectory.calls] == [("db.find", "x"), ("db.find", "y")]
    log = (call("find", q="x", limit=1), call("find", q="x"))
    found = observe(capture(LISTED, FIND, log=log), {})
    assert [one.mcp for one in found.trajectory.calls] == ["", "db.find"]


def test_a_call_that_only_the_server_saw_is_added():
    """An agent without log or gateway."""
    (only,) = observe(capture(LISTED, FIND), {}).trajectory.calls
    assert (only.tool, only.mcp, only.result, only.witness) == ("db.find", "db.find", "1", "server")


def test_a_fault_follows_its_call():
    """With the rule."""
    faulted = {**FIND, "fault": "tool:db.find:500@1", "result": "HTTP 500", "succeeded": False}
    events = observe(capture(LISTED, faulted), {}).trajectory.events
    assert [type(event) for event in events] == [Called, Faulted]
    assert events[1].kind == "500@1"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ([], "the agent never asked it for its tools"),
        ([{"failed": "ImportError: no mcp"}], "ImportError: no mcp"),
        ([LISTED, {**FIND, "unanswered": True}], "no reply to find(q='x')"),
    ],
)
def test_a_server_that_did_not_keep_its_promise_voids_the_trial(lines: list[object], why: str):
    """It was not started, or a call had no reply."""
    trouble = observe(capture(*lines), {}).trouble
    assert trouble is not None
    assert trouble[0] is VoidCause.FIXTURE
    assert why in trouble[1]


def test_a_failed_server_is_the_reason_why_an_agent_did_not_start():
    """Some agents refuse to start without their servers."""
    ended = ProcessEnd(exit_code=1, ended_by="exit", seconds=1.0)
    before = replace(capture({"failed": "exit code 3"}), facts={BASE_URL: "http://x"}, ends=(ended,), exit_ok=False)
    trouble = observe(before, {}).trouble
    assert trouble is not None
    assert trouble[0] is VoidCause.FIXTURE
    assert "exit code 3" in trouble[1]
    trouble = observe(replace(before, task_files={"mcp/db.jsonl": Output(text="")}), {}).trouble
    assert trouble is not None
    assert trouble[0] is VoidCause.AGENT_START, "the agent never tried to start the server"
