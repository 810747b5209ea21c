"""How a command ended, in the records of each agent: for most of them, that the tool ran is a success."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from demeanor.agents.recipes.gemini_cli import exit_code
from demeanor.core.values.trajectory import Called, Event, Kind
from tests.agents.helpers import agent, end

FAILED = ("call_1", 3, "checked")
PASSED = ("call_2", 0, "checked")


def lines(*values: dict[str, Any]) -> str:
    """JSON lines."""
    return "".join(f"{json.dumps(value)}\n" for value in values)


def copilot(call: str, code: int, output: str) -> tuple[Event, ...]:
    """Its session says `success` of both."""
    request = {"toolCallId": call, "name": "bash", "arguments": {"command": "sh check.sh"}}
    done = {"toolCallId": call, "shellExecution": {"exitCode": code}, "success": True, "result": {"content": output}}
    log = lines(
        {"type": "assistant.message", "data": {"toolRequests": [request]}},
        {"type": "tool.execution_complete", "data": done},
    )
    return agent("copilot").read_log((end(),), {"events.jsonl": log.encode()})


def opencode(call: str, code: int, output: str) -> tuple[Event, ...]:
    """Both are completed."""
    state = {"status": "completed", "input": {"command": "sh check.sh"}, "output": output, "metadata": {"exit": code}}
    part = {"type": "tool", "tool": "bash", "callID": call, "state": state}
    return agent("opencode").read_log((end(lines({"type": "tool_use", "part": part})),), {})


def vibe(call: str, code: int, output: str) -> tuple[Event, ...]:
    """The result is JSON."""
    asked = {"id": call, "name": "bash", "type": "tool_call", "arguments": {"value": {"command": "sh check.sh"}}}
    text = json.dumps({"command": "sh check.sh", "returncode": code, "stdout": output})
    result = {"role": "tool", "name": "bash", "tool_call_id": call, "outcome": "success", "content": [{"text": text}]}
    chunk = [{"message": {"role": "assistant", "content": [asked]}}, {"message": result}]
    folder = ".vibe/logs/session/unified/s1"
    leavings = {
        f"{folder}/generations/1/manifest.json": b'{"checkpoint": {"chunks": ["c"]}}',
        f"{folder}/chunks/c.json": json.dumps(chunk).encode(),
    }
    return agent("vibe").read_log((end('{"sessionId": "s1"}'),), leavings)


def openhands(call: str, code: int, output: str) -> tuple[Event, ...]:
    """Neither is an error."""
    asked = {"kind": "ActionEvent", "tool_call_id": call, "tool_name": "terminal", "tool_call": {"arguments": "{}"}}
    seen = {"content": [{"text": output}], "is_error": False, "exit_code": code}
    events = (asked, {"kind": "ObservationEvent", "tool_call_id": call, "observation": seen})
    return agent("openhands").read_log((end(),), {str(n): json.dumps(event).encode() for n, event in enumerate(events)})


def goose(call: str, code: int, output: str) -> tuple[Event, ...]:
    """It has the exit code, and `isError`."""
    asked = {"type": "toolRequest", "id": call, "toolCall": {"value": {"name": "shell", "arguments": {}}}}
    value = {"content": [{"text": output}], "structuredContent": {"exit_code": code}, "isError": code != 0}
    result = {"type": "toolResponse", "id": call, "toolResult": {"status": "success", "value": value}}
    messages = ({"role": "assistant", "content": [asked]}, {"role": "user", "content": [result]})
    log = lines(*({"type": "message", "message": message} for message in messages))
    return agent("goose").read_log((end(log),), {})


def gemini_session(call: str, code: int, output: str) -> dict[str, Any]:
    """A call in its session file."""
    own = f"run_shell_command__{call}"
    ending = f"Exit Code: {code}\n" if code else ""
    text = f"<untrusted_context>\nOutput: {output or '(empty)'}\n{ending}Process Group PGID: 17\n</untrusted_context>"
    result = [{"functionResponse": {"id": own, "response": {"output": text}}}]
    return {"id": own, "name": "run_shell_command", "result": result, "resultDisplay": output}


def gemini(call: str, code: int, output: str) -> tuple[Event, ...]:
    """Its output shows only what the command printed; its session what the model got."""
    own = f"run_shell_command__{call}"
    log = lines(
        {
            "type": "tool_use",
            "tool_name": "run_shell_command",
            "tool_id": own,
            "parameters": {"command": "sh check.sh"},
        },
        {"type": "tool_result", "tool_id": own, "status": "success", "output": output},
    )
    session = lines({"id": "m", "toolCalls": [gemini_session(call, code, output)]})
    return agent("gemini-cli").read_log((end(log),), {".gemini/tmp/w/chats/session-1.jsonl": session.encode()})


def claude(call: str, code: int, output: str) -> tuple[Event, ...]:
    """A failing command is an error; there is no other exit code."""
    asked = {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": "sh check.sh"}}
    result = {"type": "tool_result", "tool_use_id": call, "content": output, "is_error": code != 0}
    log = lines(
        {"type": "assistant", "message": {"content": [asked]}},
        {"type": "user", "message": {"content": [result]}, "tool_use_result": {"stdout": output}},
    )
    return agent("claude-code").read_log((end(log),), {})


def outcome(events: tuple[Event, ...]) -> bool | None:
    """Whether the only call succeeded."""
    (call,) = (event for event in events if isinstance(event, Called))
    assert call.kind is Kind.EXECUTE
    return call.succeeded


@pytest.mark.parametrize("read", [copilot, opencode, vibe, openhands, goose, gemini, claude])
def test_a_failing_command_has_failed(read: Callable[..., tuple[Event, ...]]):
    """As recorded with real agents."""
    assert outcome(read(*FAILED)) is False
    assert outcome(read(*PASSED)) is True


def test_a_command_that_has_not_ended_has_no_outcome():
    """OpenHands reports -1; Claude Code moves a slow command to the background; Continue records no exit codes."""
    assert outcome(openhands("call_1", -1, "…")) is None
    asked = {"type": "tool_use", "id": "c", "name": "Bash", "input": {"command": "sleep 999"}}
    result = {"type": "tool_result", "tool_use_id": "c", "content": "It runs.", "is_error": False}
    log = lines(
        {"type": "assistant", "message": {"content": [asked]}},
        {"type": "user", "message": {"content": [result]}, "tool_use_result": {"backgroundTaskId": "b1"}},
    )
    assert outcome(agent("claude-code").read_log((end(log),), {})) is None
    function = {"name": "Bash", "arguments": '{"command": "sh check.sh"}'}
    state = {
        "toolCallId": "c",
        "toolCall": {"function": function},
        "status": "done",
        "output": [{"content": "checked"}],
    }
    history = {"history": [{"message": {"role": "assistant"}, "toolCallStates": [state]}]}
    leavings = {".continue/sessions/demeanor.json": json.dumps(history).encode()}
    assert outcome(agent("continue").read_log((end(),), leavings)) is None


@pytest.mark.parametrize("code", [0, 3])
@pytest.mark.parametrize("output", ["", "checked", "Exit Code: 1\nProcess Group PGID: 2", "a\nExit Code: 1", "(empty)"])
def test_what_a_command_prints_is_not_taken_for_its_exit_code(code: int, output: str):
    """Gemini CLI writes the exit code after the command's output, into the same text."""
    assert exit_code(gemini_session("call_1", code, output)) == code


def test_a_killed_command_has_failed_and_a_cancelled_one_has_no_exit_code():
    """Gemini CLI writes a signal in place of the exit code, or nothing."""
    call = gemini_session("call_1", 0, "checked")
    response = call["result"][0]["functionResponse"]["response"]
    response["output"] = response["output"].replace("Process", "Signal: SIGKILL\nProcess")
    assert exit_code(call) == -1
    response["output"] = "Command was cancelled by user before it could complete."
    assert exit_code(call) is None
