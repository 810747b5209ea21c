"""What a script sees in its turn, and what it may return."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from demeanor.core.values.exchange import Request
from demeanor.core.values.messages import Message, Text, ToolCall, ToolResult
from demeanor.gateway.script import Answer, Turn
from demeanor.gateway.script.turn import ScriptPiece, to_answer
from tests.gateway.helpers import a_tool, a_turn, chat, playing, post

CALL = ToolCall(id="", name="read", arguments={})


def turn_of(*messages: Message, seed: int = 1) -> Turn:
    """A turn of a conversation."""
    return Turn(Request(model="m", messages=messages), seed=seed)


def user(*texts: str) -> Message:
    """A user message."""
    return Message(role="user", parts=tuple(Text(text=text) for text in texts))


def result(text: str, *remarks: str) -> Message:
    """A tool's result, optionally with remarks of the agent."""
    parts = (ToolResult(call_id="x", parts=(Text(text=text),)), *(Text(text=remark) for remark in remarks))
    return Message(role="user", parts=parts)


@pytest.mark.parametrize(
    "texts",
    [
        ["Do it."],
        ["<system-reminder>\nBe good.\n</system-reminder>", "Do it."],
        ["<environment_context><cwd>/x</cwd></environment_context>\nDo it."],
        ["<user_input mode='act'>Do it.</user_input>"],
        ["<task>\nDo it.\n</task>", "<environment_details>noise</environment_details>"],
    ],
)
def test_the_prompt_is_what_the_user_said(texts: list[str]) -> None:
    """Tags that agents put around a prompt or next to it are removed."""
    turn = turn_of(user(*texts[:1]), user(*texts[1:])) if "<task>" not in texts[0] else turn_of(user(texts[0]))
    assert turn.prompt == "Do it."


def test_a_reminder_is_never_a_prompt() -> None:
    """Kimi Code sends reminders as messages of their own, after the prompt."""
    turn = turn_of(user("Do it."), user("<system-reminder>Be good.</system-reminder>"))
    assert (turn.prompt, turn.done) == ("Do it.", 0)


def test_markup_in_a_prompt_stays() -> None:
    """Text that only looks like a tag is part of the prompt."""
    assert turn_of(user("Make <h1>Hi</h1> a <title>Hi</title>.")).prompt == "Make <h1>Hi</h1> a <title>Hi</title>."


def test_results_are_counted_since_the_last_prompt() -> None:
    """A second prompt starts at zero; remarks of the agent next to results are not prompts."""
    turn = turn_of(user("One."), result("a"), result("b", "<system-reminder>x</system-reminder>"))
    assert (turn.prompt, turn.done, turn.result) == ("One.", 2, "b")
    turn = turn_of(user("One."), result("a"), user("Two."), result("c"))
    assert (turn.prompt, turn.done, turn.result) == ("Two.", 1, "c")
    turn = turn_of(user("One."), result("a", "Two."))
    assert (turn.prompt, turn.done) == ("Two.", 0)


def test_random_numbers_depend_on_seed_and_step() -> None:
    """The same step gives the same number; a side request in between changes nothing."""
    draws = [a_turn("x", "r", seed=seed).random.random() for seed in (1, 1, 2)]
    assert draws[0] == draws[1] != draws[2]
    assert a_turn("x", seed=1).random.random() != draws[0]


def test_a_chance_is_drawn_once_for_all_steps() -> None:
    """The result is the same at every step."""
    chances = [[a_turn("x", *["r"] * step, seed=seed).chance(0.5) for step in range(3)] for seed in range(50)]
    assert all(len(set(steps)) == 1 for steps in chances)
    assert {steps[0] for steps in chances} == {True, False}


def test_a_script_may_return_many_things() -> None:
    """A text, a call, an answer, a list of them, or a generator."""

    def bit_by_bit() -> Iterator[ScriptPiece]:
        yield Answer(thinking="Hm.")
        yield "One."
        yield CALL

    assert to_answer("Hi.") == Answer(text="Hi.")
    assert to_answer(CALL) == to_answer([CALL]) == Answer(calls=(CALL,))
    assert to_answer(bit_by_bit()) == Answer(thinking="Hm.", text="One.", calls=(CALL,))
    with pytest.raises(TypeError, match="not int"):
        to_answer([1])  # type: ignore[list-item]


async def test_calls_get_ids_from_a_counter() -> None:
    """Ids are unique in a conversation and the same in every run."""
    tools = [{"type": "function", "function": {"name": "read_file", "parameters": a_tool("x", "path").schema}}]
    async with playing(lambda turn: [turn.call("read", path="a"), turn.call("read", path="b")]) as session:
        message = json.loads((await post(session, chat(tools=tools))).body)["choices"][0]["message"]
        first = [call["id"] for call in message["tool_calls"]]
        results = [{"role": "tool", "tool_call_id": name, "content": "x"} for name in first]
        body = chat(tools=tools) | {"messages": [*chat()["messages"], message, *results]}
        second = json.loads((await post(session, body)).body)["choices"][0]
    assert first == ["call_1", "call_2"]
    assert [call["id"] for call in second["message"]["tool_calls"]] == ["call_3", "call_4"]
    assert second["finish_reason"] == "tool_calls"


ISSUE = (
    "Please solve this issue: Do it.\n\nYou can execute bash commands and edit files to implement the changes.\n"
    "Finish by issuing the following command: `echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT`."
)
COMPLAINT = "Tool call error:\n\n<error>\nError parsing tool call arguments\n</error>\n\nHere is general guidance …"


def test_an_error_about_a_call_is_its_result() -> None:
    """mini-swe-agent removes a call that it can't parse, and reports the error in a user message."""
    turn = turn_of(user(ISSUE), user(COMPLAINT))
    assert turn.prompt == "Do it."
    assert [(found.text, found.is_error) for found in turn.results] == [("Error parsing tool call arguments", True)]
    assert turn.calls_before == 1


def test_an_agent_with_a_submit_command_gets_it() -> None:
    """Only if its prompt says so, and a shell is offered."""
    shell = a_tool("bash", command={"type": "string"})
    asked = Turn(Request(model="m", messages=(user(ISSUE),), tools=(shell,)), seed=1)
    assert (submit := asked.submit_call()) is not None
    assert submit.arguments == {"command": "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"}
    assert Turn(Request(model="m", messages=(user("Do it."),), tools=(shell,)), seed=1).submit_call() is None
    assert turn_of(user(ISSUE)).submit_call() is None


def test_the_text_is_handed_over_by_a_call_where_a_text_does_not_end_the_conversation() -> None:
    """A sub-agent of gemini-cli must call `complete_task`."""
    request = Request(model="m", messages=(user("Look."),), tools=(a_tool("complete_task", "result"),))
    submit = Turn(request, seed=1).submit_call("Found it.")
    assert submit is not None
    assert (submit.name, submit.arguments) == ("complete_task", {"result": "Found it."})
    schema = {"type": "object", "properties": {"response": {"type": "string"}}, "required": ["response"]}
    request = Request(model="m", messages=(user("Look."),), tools=(a_tool("complete_task", result=schema),))
    submit = Turn(request, seed=1).submit_call("Found it.")
    assert submit is not None
    assert submit.arguments == {"result": {"response": "Found it."}}


@pytest.mark.parametrize("tag", ["system-reminder", "subagent_notification"])
def test_a_remark_of_the_agent_in_a_message_of_its_own_is_no_prompt(tag: str) -> None:
    """Codex tells in one that a sub-agent has ended; the results before it still count."""
    turn = turn_of(user("One."), result("a"), user(f"<{tag}>\nIt has ended.\n</{tag}>"))
    assert (turn.prompt, turn.done) == ("One.", 1)
